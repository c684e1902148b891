// Source lines of machine code, from cuobjdump's listing of an object compiled with -lineinfo.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

/// Source line of the instructions from `address` to the next row's address.
struct LineRow {
  std::uint32_t address = 0;
  std::string file;
  std::uint32_t line = 0;
  /// Kernel line at which the code was inlined; `from_file` is empty if it was not.
  std::string from_file = {};
  std::uint32_t from_line = 0;
};

/// Rows by address, for each architecture ("sm_90a") and lowered name.
using LinesByKernel = std::map<std::pair<std::string, std::string>, std::vector<LineRow>>;

/// Parses the section .debug_line in the output of `cuobjdump -elf`. Files below `source_root` get
/// names relative to it. An instruction of another file, such as a toolkit header, gets the line at
/// which its function was inlined into a file below `source_root`; without such a line, its file is
/// named without its folder. Throws std::runtime_error for an invalid table.
LinesByKernel read_lines(std::string_view dump, std::string_view source_root);

}  // namespace gpuexp
