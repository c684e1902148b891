// Kernels with one fault each, and the same kernels without it.
#pragma once

#include "family/step.hpp"

namespace gpuexp::test {

/// Each stores kPlantedThreads words of `out`. With the fault, the line of planted_faults.cu that
/// has its name in a comment ("fault: race_between_warps") is the one to be reported.
inline constexpr int kPlantedThreads = 64;

Steps race_between_warps(bool is_faulty, int* out);
/// The second warp writes what the first one may still read.
Steps race_with_readers(bool is_faulty, int* out);
/// Half a warp reads what the other half has written in another branch.
Steps race_in_warp(bool is_faulty, int* out);
/// All threads write one word: different values, or the same.
Steps race_in_instruction(bool is_faulty, int* out);
/// Half of what is read was written.
Steps unwritten_shared(bool is_faulty, int* out);
/// `in` holds as many words.
Steps copy_not_waited_for(bool is_faulty, const int* in, int* out);
/// Each thread waits for its own copy; the second warp reads what the first one copied.
Steps copy_of_another(bool is_faulty, const int* in, int* out);
/// One group more is left on its way than may be.
Steps copy_one_group_early(bool is_faulty, const int* in, int* out);
/// Half a warp waits for the block, the other half does not.
Steps barrier_in_branch(bool is_faulty, int* out);
/// Half of the threads wait at a barrier with a number and a count of all.
Steps named_barrier_missed(bool is_faulty, int* out);
/// The consumer says that it has read before it has.
Steps named_barrier_ring(bool is_faulty, int* out);
/// A word of a thread's own array that it has not written.
Steps unwritten_local(bool is_faulty, int* out);
/// Counts to 100, or not.
Steps endless_loop(bool is_faulty, int* out);

}  // namespace gpuexp::test
