// Makes the source of kernel_resource_table() (kernel_resource.hpp) out of what binary tools say of
// the compiled kernels. Runs during the build, in the program make_kernel_table.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "sass/compiled_kernels.hpp"

namespace gpuexp {

/// Collects the kernels of all objects that are linked into one program.
class KernelTable {
 public:
  /// Source files below `source_root` are named from there.
  explicit KernelTable(std::string source_root = {}) : source_root_(std::move(source_root)) {}

  /// Adds one row per kernel and architecture. Throws std::runtime_error when
  /// - a kernel has no host symbol of its own name, by which the program could look it up: a static
  ///   one (its stub is local to its object), or a template whose argument is a lambda (nvcc gives
  ///   the stub another name). Kernels in unnamed namespaces do have one, which nvcc makes unique.
  ///   Kernels of libraries may lack one; they get no row.
  /// - a kernel differs from its namesake in another object: the linker keeps one of their stubs,
  ///   so which of them a launch runs would be chance.
  /// - a tool printed something else than expected.
  void add(const ObjectDump& object);

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
  /// The machine code of all rows, in their order, then the text of all sources.
  std::string code() const;

 private:
  using Key = std::pair<std::string, int>;  // mangled name, compute capability
  struct Row {
    std::string figures;  // the row's members from `registers` to `instructions`, as source
    std::string code;
    std::string architecture;  // sm_90a
    std::string object;
  };

  // Of code for sm_90 and for sm_90a in one program, the more specific one gets the row.
  void insert(const Key& key, const Row& row);
  std::string source_of_texts(std::size_t begin) const;

  std::string source_root_;
  std::map<Key, Row> rows_;
  std::set<std::string> source_files_;
  std::map<std::string, std::string> source_texts_;
};

}  // namespace gpuexp
