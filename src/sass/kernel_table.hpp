// Makes the source of kernel_resource_table() (kernel_resource.hpp) out of the kernels of all
// objects that are linked into one program. Runs during the build, in the program
// make_kernel_table.
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
  /// Adds one row per kernel and architecture. Throws std::runtime_error when a kernel differs from
  /// its namesake in another object: the linker keeps one of their stubs, so which of them a launch
  /// runs would be chance.
  void add(const KernelPart& part);

  /// The source files that the code's lines are in, as the lines name them.
  const std::set<std::string>& source_files() const { return source_files_; }
  /// What one of them, or another that kernels were compiled from, holds, to be kept beside the
  /// code.
  void add_source(const std::string& file, std::string text) {
    source_texts_[file] = std::move(text);
  }

  /// A C++ source that defines kernel_resource_table(), rows by name, then architecture, and
  /// kernel_source_table(), rows by file. It
  /// declares each host stub by its symbol,
  ///   extern "C" void kernel_0() __asm__("_ZN6gpuexp4copy6scalarEPfPKfl");
  /// and includes the machine code from the file at `code_path`, which holds code().
  std::string source(const std::string& code_path) const;
  /// The compressed machine code of all parts, in their order, then the text of all sources.
  std::string code() const;

 private:
  using Key = std::pair<std::string, int>;  // mangled name, compute capability
  struct Row {
    KernelPart::Row kernel;
    std::size_t frame = 0;
    std::string object;  // of several, the first by name
  };

  // Of code for sm_90 and for sm_90a in one program, the more specific one gets the row.
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
