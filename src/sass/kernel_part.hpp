// What the kernel table (kernel_table.hpp) has of one compiled object, as a file: one changed
// kernel costs the reading of its own object's listing only.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sass/compiled_kernels.hpp"

namespace gpuexp {

struct KernelPart {
  /// One kernel on one architecture.
  struct Row {
    std::string lowered_name;
    int compute_capability = 0;  ///< 90 of sm_90a
    std::string architecture;    ///< sm_90a
    std::size_t code_begin = 0;  ///< in the code of the object, as it was before it was compressed
    std::size_t code_size = 0;
    std::string
        figures;  ///< KernelResource's members from registers to instructions, as C++ source
  };

  std::string object;  ///< for messages; its stem is the module's name
  std::vector<Row> rows;
  std::set<std::string> source_files;  ///< that the code's lines are in, as the lines name them
  std::string frame;                   ///< the code of all rows, compressed
};

/// Throws std::runtime_error when
/// - a kernel has no host symbol of its own name, by which the program could look it up: a static
///   one (its stub is local to its object), or a template whose argument is a lambda (nvcc gives
///   the stub another name). Kernels in unnamed namespaces do have one, which nvcc makes unique.
///   Kernels of libraries may lack one; they get no row.
/// - a tool printed something else than expected.
/// Source files below `source_root` are named from there.
KernelPart make_part(const ObjectDump& object, const std::string& source_root);

/// The file, and back. Throws std::runtime_error for other text.
std::string to_text(const KernelPart& part);
KernelPart read_part(std::string_view text);

}  // namespace gpuexp
