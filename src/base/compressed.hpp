// Zstandard compression of text, which reduces results to a tenth of their size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuexp {

/// Maximum size of a decompressed text, in bytes, because a small damaged file may decompress to a
/// large text.
inline constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

bool is_compressed(std::string_view bytes);

bool has_compressed_name(std::string_view path);

std::string compressed(std::string_view text);

/// The decompressed text. `file` is its name for messages. Throws ReportError if the bytes are
/// damaged or truncated, or if the text has more than max_bytes bytes.
std::string decompressed(std::string_view bytes, const std::string& file,
                         std::size_t max_bytes = kMaxTextBytes);

}  // namespace gpuexp
