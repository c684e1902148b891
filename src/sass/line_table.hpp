// Source lines of machine code, from cuobjdump's listing of an object compiled with -lineinfo.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

/// Source line of the instructions from `address` up to the address of the next row.
struct LineRow {
  std::uint32_t address = 0;  ///< bytes from the kernel's first instruction
  std::string file;
  std::uint32_t line = 0;
  /// For inlined code, the line of the kernel itself at which it was inlined; else empty.
  std::string from_file = {};
  std::uint32_t from_line = 0;
};

/// Rows by address, for each architecture ("sm_90a") and lowered name.
using LinesByKernel = std::map<std::pair<std::string, std::string>, std::vector<LineRow>>;

/// Reads the section .debug_line from the output of `cuobjdump -elf` for an object. Files below
/// `source_root` are named relative to it. An instruction of another file, such as a header of the
/// toolkit, gets the line below `source_root` at which its function was inlined. If there is no
/// such line, the file is named without its folder. Throws std::runtime_error for an invalid table.
LinesByKernel read_lines(std::string_view dump, std::string_view source_root);

}  // namespace gpuexp
