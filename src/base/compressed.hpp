// Texts compressed by Zstandard: recorded results are a tenth as large.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuexp {

/// The maximum size of a decompressed text: a small file can decompress to any size.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

/// Whether the bytes begin with Zstandard's magic number.
bool is_compressed(std::string_view bytes);

/// Whether a file of this name is written compressed: it ends in `.zst`.
bool has_compressed_name(std::string_view path);

std::string compressed(std::string_view text);

/// `file` is for messages. Throws ReportError for damaged or truncated bytes, and for a text of
/// more than max_bytes.
std::string decompressed(std::string_view bytes, const std::string& file,
                         std::size_t max_bytes = kMaxTextBytes);

}  // namespace gpuexp
