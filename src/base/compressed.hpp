// Zstandard compression of text. Compressed results have a tenth of the size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuexp {

/// Maximum size of a decompressed text. It limits what a small file can decompress to.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

/// Whether the bytes start with Zstandard's magic number.
bool is_compressed(std::string_view bytes);

/// Whether a file of this name is written compressed: the name ends in `.zst`.
bool has_compressed_name(std::string_view path);

std::string compressed(std::string_view text);

/// Returns the decompressed text. `file` is the name in messages. Throws ReportError if the bytes
/// are damaged or truncated, or if the text has more than max_bytes.
std::string decompressed(std::string_view bytes, const std::string& file,
                         std::size_t max_bytes = kMaxTextBytes);

}  // namespace gpuexp
