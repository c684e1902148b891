// Generates the source of kernel_resource_table() (kernel_resource.hpp) from the kernels of all
// objects of a program. The tool make_kernel_table does this during the build.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sass/kernel_part.hpp"

namespace gpuexp {

class KernelTable {
 public:
  /// Adds one row per kernel and architecture. Throws std::runtime_error if another object has a
  /// different kernel of the same name: the linker would keep only one of the two host stubs.
  void add(const KernelPart& part);

  /// Files that the code's source lines name.
  const std::set<std::string>& source_files() const { return source_files_; }
  /// Adds the text of one of these files, or of another source file of kernels. The text is stored
  /// with the code.
  void add_source(const std::string& file, std::string text) {
    source_texts_[file] = std::move(text);
  }

  /// C++ source that defines kernel_resource_table(), sorted by name, then architecture, and
  /// kernel_source_table(), sorted by file. It declares each host stub by its symbol, extern "C"
  /// void kernel_0() __asm__("_ZN6gpuexp4copy6scalarEPfPKfl"), and includes the machine code from
  /// the file at `code_path`, which must contain code().
  std::string source(const std::string& code_path) const;
  /// Compressed machine code of all parts, in order, followed by the text of all sources.
  std::string code() const;

 private:
  using Key = std::pair<std::string, int>;
  struct Row {
    KernelPart::Row kernel;
    std::size_t frame = 0;
    std::string object;  // first object by name, if several contain the kernel
  };

  // If a program has code for both sm_90 and sm_90a, the row is for sm_90a.
  void insert(const Row& row);
  std::string source_of_frames() const;
  std::string source_of_rows() const;
  std::string source_of_texts() const;

  std::map<Key, Row> rows_;
  std::vector<std::string> frames_;
  std::set<std::string> source_files_;
  std::map<std::string, std::string> source_texts_;
};

}  // namespace gpuexp
