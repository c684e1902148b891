// What every compiled kernel needs and consists of, read from the machine code at build time, so
// that occupancy and instructions are known where no GPU is.
#pragma once

#include <concepts>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// The machine code of all kernels of one source file, as the binary keeps it: compressed.
class CodeFrame {
 public:
  constexpr CodeFrame(const char* bytes, std::size_t size) : bytes_(bytes, size) {}
  /// Decompressed by the first call, and kept. Threads may call it at the same time.
  std::string_view text() const;

 private:
  std::string_view bytes_;
  mutable std::once_flag decompressed_;
  mutable std::string text_;
};

/// The machine code of one kernel: a part of a frame's text, or a text that outlives this.
class CodeText {
 public:
  CodeText() = default;
  template <std::convertible_to<std::string_view> Text>
  CodeText(const Text& text) : text_(text), size_(text_.size()) {}
  constexpr CodeText(const CodeFrame& frame, std::size_t begin, std::size_t size)
      : frame_(&frame), begin_(begin), size_(size) {}

  bool empty() const { return size_ == 0; }
  std::string_view text() const { return frame_ ? frame_->text().substr(begin_, size_) : text_; }

 private:
  const CodeFrame* frame_ = nullptr;
  std::string_view text_ = {};
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

/// What the compiler made of one kernel on one architecture, read out of the compiled objects with
/// cuobjdump: what a prediction of occupancy needs where there is no GPU to ask with
/// cudaFuncGetAttributes, and the instructions. A kernel has one row per architecture that the
/// binary holds machine code for; PTX has none.
struct KernelResource {
  /// Address of the kernel's host stub: the pointer that cudaLaunchKernel takes, so a variant finds
  /// the rows of its kernels by the pointers that it launches.
  const void* host_function = nullptr;
  /// What the kernel is known by where there is no stub: the source that it was compiled from
  /// ("matmul" for kernels/matmul.cu; of several, the first by name), and its lowered name there.
  const char* module = "";
  const char* lowered_name = "";
  /// 10 × major + minor compute capability: 80, 90. sm_90a counts as 90.
  int architecture = 0;
  /// Per thread.
  int registers = 0;
  /// Per block, as declared in the kernel: without what a launch asks for on top, and without the
  /// 1 KiB per block that the system keeps from compute capability 8.0 on.
  int static_shared_bytes = 0;
  /// Per thread, both in local memory: what cuobjdump calls LOCAL, which nvcc 13 leaves at 0, and
  /// the stack, which holds local arrays, spilled registers and call frames.
  int local_bytes = 0;
  int stack_bytes = 0;
  /// Whether the kernel launches kernels (CUDA dynamic parallelism): its code calls the device
  /// runtime's function for it. False where the code is not known.
  bool launches_kernels = false;
  /// Its instructions by kind, for read_counts() of sass/machine_code.hpp; empty where the build
  /// had no nvdisasm, which cuobjdump calls.
  const char* instructions = "";
  /// Its machine code, for read_code_text() of sass/code_listing.hpp; empty likewise.
  CodeText code = {};
};

/// The kernel's name as its source has it, with template arguments and without the namespaces that
/// it stands in: "step_kernel<master_weights::Stochastic, __half>".
std::string kernel_name(const std::string& lowered_name);

/// The rows of this binary's kernels, sorted by name, then architecture; count receives how many
/// there are. The table is generated while the kernels are built (kernels/kernel_resources.cmake),
/// and has no rows where the build had no cuobjdump or no CUDA. Lives as long as the program.
const KernelResource* kernel_resource_table(std::size_t& count);

/// A file that kernels were compiled from.
struct SourceText {
  const char* file = "";  ///< as lines of code name it: "kernels/matmul.cu"
  std::string_view text = {};
};

/// Those that this binary's kernels were compiled from, and those that lines of their machine code
/// are in, as they were then, sorted by name. Generated beside kernel_resource_table(); the first
/// are there without cuobjdump, too.
const SourceText* kernel_source_table(std::size_t& count);

/// Looks kernels up by host stub and compute capability.
class KernelResources {
 public:
  struct Found {
    KernelResource resource;
    bool exact = false;  ///< false: this architecture was not built, another one's figures stand in
  };

  KernelResources() = default;
  KernelResources(const KernelResource* table, std::size_t count);

  bool empty() const { return sorted_.empty(); }

  /// The figures for `compute_capability` (90 for 9.0): those of the newest architecture built that
  /// is not newer, else of the oldest built. Exact when the major version agrees, because code of
  /// one major version runs on its later minor versions as it is. Empty when the kernel is not in
  /// the table.
  std::optional<Found> find(const void* kernel, int compute_capability) const;

 private:
  std::vector<KernelResource> sorted_;  ///< by host function, then architecture
};

}  // namespace gpuexp
