// Problems that span several GPUs. Each GPU is a rank, as in MPI and NCCL, with its own pointers
// to the buffers of all ranks. C++17, included by .cu files.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

namespace gpuexp {

/// Maximum number of ranks: the number of GPUs that NVSwitch connects in one host.
inline constexpr int kMaxRanks = 8;

/// One rank's pointers to a buffer on each rank; null past the last rank. Can be a kernel
/// argument.
template <class T>
struct Ranks {
  T* of[kMaxRanks];
};

/// A kernel that has waited too long for another rank writes this report to host memory before it
/// traps. Host memory stays readable when the trap destroys the context.
struct WaitReport {
  int missing;    ///< 1 + the rank waited for; 0: no report
  unsigned step;  ///< number of waits of the launch that the block had completed
};

struct RankBuffers {
  int rank = 0;
  std::vector<std::vector<void*>> of_ranks;  ///< by rank, in the order of Family::buffers

  RankBuffers(std::vector<void*> buffers) : of_ranks{std::move(buffers)} {}
  RankBuffers(std::initializer_list<void*> buffers) : of_ranks{std::vector<void*>(buffers)} {}
  RankBuffers(int own_rank, std::vector<std::vector<void*>> buffers_of_ranks)
      : rank(own_rank), of_ranks(std::move(buffers_of_ranks)) {}
};

}  // namespace gpuexp
