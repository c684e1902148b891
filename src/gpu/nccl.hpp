// NCCL's collectives between the ranks of a problem, loaded at run time where NCCL is: a reference
// variant there, a skip elsewhere. Its NVLink multicast (NVLS) stays off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::nccl {

/// A reason when NCCL is not on this machine. Loads nothing where that can be known without.
std::optional<std::string> unavailable();

enum class Operation { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, shift };

/// How NCCL knows the buffers.
enum class Buffers {
  plain,       ///< by the pointers of the call
  registered,  ///< registered with the communicator before (ncclCommRegister)
  windows,     ///< in symmetric windows (ncclCommWindowRegister): each rank's kernels reach the
               ///< others'
};

/// One rank's part. Sums of fp32 or bf16; `x` and `y` hold n elements.
struct Call {
  Operation operation;
  Buffers buffers;
  DataType type;
  std::int64_t n;  ///< a multiple of the ranks, where each has a part of its own
  const void* x;
  void* y;
  int rank;
  int ranks;
};

/// One step that enqueues it. All ranks call in one order; the first call of a group of ranks makes
/// its communicator. It throws DeviceError when NCCL refuses.
Steps step_of(const Call& call);

/// What the environment must not ask NCCL for; empty where it is in order. Sets NCCL_NVLS_ENABLE=0,
/// whatever it was, and leaves the other variables. To be called before anything loads NCCL.
std::optional<std::string> prepare_environment();

}  // namespace gpuexp::nccl
