// File with one compiled object's entries of the kernel table (kernel_table.hpp). If a kernel
// changes, only the listing of its own object is read again.
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
    int compute_capability = 0;  ///< 90 for sm_90a
    std::string architecture;    ///< sm_90a
    std::size_t code_begin = 0;  ///< offset in the object's code before compression
    std::size_t code_size = 0;
    std::string
        figures;  ///< KernelResource's members from registers to instructions, as C++ source
  };

  std::string object;  ///< for messages; its stem is the module's name
  std::vector<Row> rows;
  std::set<std::string> source_files;  ///< source files of the code, as its lines name them
  std::string frame;                   ///< the code of all rows, compressed
};

/// Reads the kernels of an object. Names source files below `source_root` relative to it. Throws
/// std::runtime_error if
/// - a kernel has no host symbol of its own name, by which the program could look it up. This is so
///   for a static kernel (its stub is local to its object), and for a template whose argument is a
///   lambda (nvcc gives the stub another name). Kernels in unnamed namespaces have a symbol, which
///   nvcc makes unique. Library kernels without a symbol are skipped.
/// - a tool printed unexpected output.
KernelPart make_part(const ObjectDump& object, const std::string& source_root);

/// Writes and reads the file's text. read_part() throws std::runtime_error for other text.
std::string to_text(const KernelPart& part);
KernelPart read_part(std::string_view text);

}  // namespace gpuexp
