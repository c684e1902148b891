// Registers and memory of every compiled kernel, read from the machine code at build time, so that
// occupancy is known where no GPU is.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gpuexp {

/// One kernel on one architecture, as `cuobjdump --dump-resource-usage` reports it.
struct KernelResource {
  const void* host_function;  ///< the host stub, as Shape::kernel carries it
  const char* mangled_name;
  int architecture;  ///< 80 for sm_80, 90 for sm_90 and sm_90a
  int registers;     ///< per thread
  int static_shared_bytes;
  int local_bytes;  ///< per thread
  int stack_bytes;  ///< per thread
};

/// The table generated from the object files of kernels/; empty when cuobjdump was not found at
/// build time.
const KernelResource* kernel_resource_table(std::size_t& count);

/// Looks kernels up by host stub and compute capability.
class KernelResources {
 public:
  struct Found {
    KernelResource resource;
    bool exact;  ///< false: this architecture was not built, another one's figures stand in
  };

  KernelResources() = default;
  KernelResources(const KernelResource* table, std::size_t count);

  /// The figures for `compute_capability` (90 for 9.0): those of the newest architecture built that
  /// is not newer, else of the oldest built. Exact when the major version agrees, because code of
  /// one major version runs on its later minor versions as it is. Empty when the kernel is not in
  /// the table.
  std::optional<Found> find(const void* kernel, int compute_capability) const;

 private:
  std::vector<KernelResource> sorted_;  ///< by host function, then architecture
};

}  // namespace gpuexp
