// Resources and machine code of every compiled kernel, read at build time, so that occupancy and
// instructions are known without a GPU.
#pragma once

#include <concepts>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// Machine code of all kernels of one source file, compressed, as the binary stores it.
class CodeFrame {
 public:
  constexpr CodeFrame(const char* bytes, std::size_t size) : bytes_(bytes, size) {}
  /// The first call decompresses the text, which is then kept. Several threads may call it.
  std::string_view text() const;

 private:
  std::string_view bytes_;
  mutable std::once_flag decompressed_;
  mutable std::string text_;
};

/// Machine code of one kernel: a part of a frame's text, or a text that outlives this object.
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

/// One kernel on one architecture as compiled, read from the compiled objects with cuobjdump. It
/// has the instructions, and the resources that determine occupancy, for which no GPU and no call
/// of cudaFuncGetAttributes is needed. A kernel has one row per architecture that the binary has
/// machine code for; PTX has none.
struct KernelResource {
  /// Address of the kernel's host stub, the pointer that cudaLaunchKernel takes. Variants look up
  /// their kernels by the pointers that they launch.
  const void* host_function = nullptr;
  /// Identify the kernel without a stub: the source that it was compiled from ("matmul" for
  /// kernels/matmul.cu; the first by name if there are several), and its lowered name.
  const char* module = "";
  const char* lowered_name = "";
  /// 10 × major + minor compute capability: 80, 90. sm_90a counts as 90.
  int architecture = 0;
  /// Per thread.
  int registers = 0;
  /// Per block, as declared in the kernel. Dynamic shared memory of a launch is not included, nor
  /// the 1 KiB per block that the system reserves on compute capability 8.0 and later.
  int static_shared_bytes = 0;
  /// Per thread, both in local memory: LOCAL in cuobjdump's output, which nvcc 13 leaves at 0, and
  /// the stack, which holds local arrays, spilled registers and call frames.
  int local_bytes = 0;
  int stack_bytes = 0;
  /// Whether the kernel launches kernels (CUDA dynamic parallelism): its code calls a function of
  /// the device runtime. False if the code is unknown.
  bool launches_kernels = false;
  /// Instructions by kind, for read_counts() of sass/machine_code.hpp. Empty if the build had no
  /// nvdisasm, which cuobjdump calls.
  const char* instructions = "";
  /// Machine code, for read_code_text() of sass/code_listing.hpp. Empty without nvdisasm.
  CodeText code = {};
};

/// The kernel's name in its source, with template arguments and without its namespaces:
/// "step_kernel<master_weights::Stochastic, __half>".
std::string kernel_name(const std::string& lowered_name);

/// Rows of this binary's kernels, sorted by name, then architecture; count receives their number.
/// The table is generated when the kernels are built (kernels/kernel_resources.cmake). It has no
/// rows if the build had no cuobjdump or no CUDA. It lives as long as the program.
const KernelResource* kernel_resource_table(std::size_t& count);

/// A source file of kernels.
struct SourceText {
  const char* file = "";  ///< as lines of code name it: "kernels/matmul.cu"
  std::string_view text = {};
};

/// Source files that this binary's kernels were compiled from, and files that lines of their
/// machine code refer to, as they were at build time, sorted by name. Generated together with
/// kernel_resource_table(). Without cuobjdump, only the compiled files are listed.
const SourceText* kernel_source_table(std::size_t& count);

/// Looks up kernels by host stub and compute capability.
class KernelResources {
 public:
  struct Found {
    KernelResource resource;
    bool exact = false;  ///< false: not built for this architecture, values are another one's
  };

  KernelResources() = default;
  KernelResources(const KernelResource* table, std::size_t count);

  bool empty() const { return sorted_.empty(); }

  /// Resources for `compute_capability` (90 for 9.0), of the newest built architecture that is not
  /// newer, else of the oldest one built. Exact if the architecture is not newer and its major
  /// version agrees, because code runs unchanged on later minor versions. Empty if the kernel is
  /// not in the table.
  std::optional<Found> find(const void* kernel, int compute_capability) const;

 private:
  std::vector<KernelResource> sorted_;  ///< by host function, then architecture
};

}  // namespace gpuexp
