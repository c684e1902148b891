// Problems that span several GPUs: each GPU is a rank, as in MPI and NCCL, and reaches the buffers
// of the others by pointers of its own. C++17, included by .cu files.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

namespace gpuexp {

/// Of one problem. As many as one host of today's has GPUs behind one NVSwitch.
inline constexpr int kMaxRanks = 8;

/// One buffer on each rank, as the rank that holds this reaches it; null behind the last. It may be
/// a kernel's parameter.
template <class T>
struct Ranks {
  T* of[kMaxRanks];
};

/// What a kernel writes to host memory before it traps, when it has waited for another rank in
/// vain: nothing else outlives its context.
struct WaitReport {
  int missing;    ///< one more than that rank; 0: nobody waits in vain
  unsigned step;  ///< of the launch: how many waits the block had behind it
};

/// Where one rank finds the family's buffers: its own, and those of all ranks.
struct RankBuffers {
  int rank = 0;
  std::vector<std::vector<void*>> of_ranks;  ///< by rank, in the order of Family::buffers

  /// Of a problem on one GPU.
  RankBuffers(std::vector<void*> buffers) : of_ranks{std::move(buffers)} {}
  RankBuffers(std::initializer_list<void*> buffers) : of_ranks{std::vector<void*>(buffers)} {}
  RankBuffers(int own_rank, std::vector<std::vector<void*>> buffers_of_ranks)
      : rank(own_rank), of_ranks(std::move(buffers_of_ranks)) {}
};

}  // namespace gpuexp
