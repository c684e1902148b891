// NCCL's collectives between a problem's ranks as reference variants, loaded at run time. NVLink
// multicast (NVLS) is disabled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::nccl {

/// Why NCCL cannot be used; empty if it can. Does not load NCCL if the environment rules it out.
std::optional<std::string> unavailable();

enum class Operation { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, shift };

enum class Buffers {
  plain,       ///< not registered
  registered,  ///< registered with the communicator (ncclCommRegister)
  windows,     ///< symmetric windows (ncclCommWindowRegister), which kernels of other ranks access
};

/// One rank's call of a collective. Reductions are sums of fp32 or bf16; `x` and `y` have n
/// elements.
struct Call {
  Operation operation;
  Buffers buffers;
  DataType type;
  std::int64_t n;  ///< a multiple of `ranks` if each rank has a part of its own
  const void* x;
  void* y;
  int rank;
  int ranks;
};

/// Enqueues the collective. All ranks must call in the same order; the first call of a group of
/// ranks creates its communicator. Throws DeviceError if NCCL fails.
Steps step_of(const Call& call);

/// Sets NCCL_NVLS_ENABLE=0. Returns a reason if NCCL_ALGO requests NVLS, else empty. Must be called
/// before anything loads NCCL.
std::optional<std::string> prepare_environment();

}  // namespace gpuexp::nccl
