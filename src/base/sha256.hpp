#pragma once

#include <string>
#include <string_view>

namespace gpuexp {

/// SHA-256 (FIPS 180-4) of `bytes`, as 64 lower-case hexadecimal digits. For provenance: it says
/// which config a result came from, and what `sha256sum` prints for the same file.
std::string sha256(std::string_view bytes);

}  // namespace gpuexp
