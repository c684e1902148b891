// printf() of device code: the text of one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace gpuexp::sim {

/// The arguments of a call, in the buffer that the caller passes to vprintf().
struct PrintfArguments {
  /// Reads 4 or 8 bytes at an offset in the buffer, which is a multiple of their number.
  std::function<std::uint64_t(std::size_t offset, std::size_t bytes)> value;
  /// Reads a text that ends with a zero byte.
  std::function<std::string(std::uint64_t address)> text;
};

struct PrintfResult {
  std::string text;
  int arguments = 0;  ///< number of arguments that the format uses, the value that printf() returns
};

/// Formats as CUDA does (CUDA C++ Programming Guide, "Formatted Output"): at most 32 arguments; a
/// specifier that CUDA lacks, such as %zu, and one with a width above 4096, remain as they are.
PrintfResult format_printf(std::string_view format, const PrintfArguments& arguments);

}  // namespace gpuexp::sim
