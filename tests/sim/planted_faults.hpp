// Kernels with one fault each, and the same kernels without the fault.
#pragma once

#include "family/step.hpp"

namespace gpuexp::test {

/// Each kernel stores kPlantedThreads words of `out`. With the fault, the simulator must report the
/// line of planted_faults.cu that names it in a comment ("fault: race_between_warps").
inline constexpr int kPlantedThreads = 64;

Steps race_between_warps(bool is_faulty, int* out);
/// The second warp stores words that the first one may still be loading.
Steps race_with_readers(bool is_faulty, int* out);
/// Half a warp loads what the other half stores in another branch.
Steps race_in_warp(bool is_faulty, int* out);
/// All threads store to one word: different values with the fault, else the same value.
Steps race_in_instruction(bool is_faulty, int* out);
/// Half of the loaded words were never stored.
Steps unwritten_shared(bool is_faulty, int* out);
/// `in` holds kPlantedThreads words.
Steps copy_not_waited_for(bool is_faulty, const int* in, int* out);
/// Each thread waits for its own copy; the second warp loads what the first one copied.
Steps copy_of_another(bool is_faulty, const int* in, int* out);
/// The wait leaves one group too many in flight.
Steps copy_one_group_early(bool is_faulty, const int* in, int* out);
/// Half a warp waits at the block's barrier, the other half does not.
Steps barrier_in_branch(bool is_faulty, int* out);
/// Half of the threads wait at a named barrier that expects all of them.
Steps named_barrier_missed(bool is_faulty, int* out);
/// The consumer signals before it has loaded.
Steps named_barrier_ring(bool is_faulty, int* out);
/// Loads a word of a thread's local array that the thread has not stored.
Steps unwritten_local(bool is_faulty, int* out);
/// Counts to 100; with the fault, never ends.
Steps endless_loop(bool is_faulty, int* out);

}  // namespace gpuexp::test
