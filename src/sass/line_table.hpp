// Source lines of machine code, as cuobjdump lists them of an object that was compiled with
// -lineinfo.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

/// From this address on, to that of the next row, instructions come from this line.
struct LineRow {
  std::uint32_t address = 0;  ///< bytes from the kernel's first instruction
  std::string file;
  std::uint32_t line = 0;
  /// Of inlined code: the kernel's own line that it was reached from; else empty.
  std::string from_file = {};
  std::uint32_t from_line = 0;
};

/// By architecture ("sm_90a") and lowered name; rows by address.
using LinesByKernel = std::map<std::pair<std::string, std::string>, std::vector<LineRow>>;

/// Reads the section .debug_line of what `cuobjdump -elf` prints of an object. Files below
/// `source_root` are named from there. An instruction of another file, such as a header of the
/// toolkit, counts as the line below `source_root` that its function was inlined at; where there is
/// none, the file is named without its folder. Throws std::runtime_error for a table that is not
/// understood.
LinesByKernel read_lines(std::string_view dump, std::string_view source_root);

}  // namespace gpuexp
