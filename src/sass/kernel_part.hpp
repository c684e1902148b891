// File with the entries of one compiled object for the kernel table (kernel_table.hpp). If a kernel
// changes, only its own object is disassembled again.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sass/compiled_kernels.hpp"

namespace gpuexp {

struct KernelPart {
  struct Row {
    std::string lowered_name;
    int compute_capability = 0;  ///< 90 for sm_90a
    std::string architecture;
    std::size_t code_begin = 0;  ///< offset in the object's uncompressed code
    std::size_t code_size = 0;
    /// KernelResource's members from registers to instructions, as C++ source.
    std::string usage;
  };

  std::string object;  ///< for messages; its stem is the module's name
  std::vector<Row> rows;
  std::set<std::string> source_files;  ///< files that the code's source lines name
  std::string frame;                   ///< compressed code of all rows
};

/// Reads the kernels of an object. Source files below `source_root` get names relative to it. Skips
/// library kernels without a host symbol. Throws std::runtime_error for unexpected output of a
/// tool, and for any other kernel without a host symbol of its name, by which the program looks up
/// kernels. The symbol of a static kernel is local to its object, and nvcc gives a template with a
/// lambda argument a different symbol. Kernels in unnamed namespaces have a unique symbol.
KernelPart make_part(const ObjectDump& object, const std::string& source_root);

/// Convert to and from the file's text. read_part() throws std::runtime_error for other text.
std::string to_text(const KernelPart& part);
KernelPart read_part(std::string_view text);

}  // namespace gpuexp
