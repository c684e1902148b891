// What a kernel really moves and executes at each level of the machine, declared by its variant.
// C++17 and free of CUDA.
#pragma once

#include "base/types.hpp"

namespace gpuexp {

/// Accesses of warps to global or shared memory.
struct Accesses {
  double requests = 0;  ///< instructions of a warp
  double sectors = 0;   ///< 32-byte sectors that they touch; of global memory alone
  /// L1 data-stage wavefronts (128 bytes each) that they take: 1 where the lanes of a warp
  /// share a 128-byte line or hit 32 banks, more where they are wider or scattered over more.
  double wavefronts = 0;
  /// L1 tag-stage wavefronts, which look lines up before data are read; of global memory alone.
  double tag_wavefronts = 0;
};

/// Steps that wait for each other, of one warp from its first instruction to its last.
struct Chain {
  double dram = 0;      ///< round trips of loads that come from DRAM
  double l2 = 0;        ///< of loads that L2 holds
  double l1 = 0;        ///< of loads that L1 holds
  double shared = 0;    ///< of loads from shared memory
  double barriers = 0;  ///< of a block
  /// Clocks of dependent arithmetic. Where it says less than one clock per instruction, the issue
  /// of a warp's instructions is the chain.
  double cycles = 0;
};

/// Everything that one kernel of a launch moves and executes: totals over its grid, with caches
/// clean and empty at the start. Counts follow from the problem, the shape and the loops of the
/// kernel; no figure here is fitted to a time.
struct Traffic {
  double dram_read_bytes = 0;
  double dram_write_bytes = 0;
  /// Of dram_read_bytes, those fetched one by one at random places, each from a DRAM row of its
  /// own.
  double dram_random_bytes = 0;
  double l2_read_sectors = 0;   ///< 32-byte sectors that SMs ask of L2: what L1 did not hold
  double l2_write_sectors = 0;  ///< that SMs write to L2
  Accesses global_load;
  Accesses global_store;
  Accesses shared_load;
  Accesses shared_store;
  double instructions = 0;  ///< of warps, of every kind; the compiler has a say in it
  double fma = 0;           ///< of these, on the fp32 pipes (multiply-adds, also of 16-bit pairs)
  double alu = 0;           ///< integer, logic, comparison, selection
  double fp64 = 0;
  double xu = 0;  ///< transcendental functions, and conversions between types of different size
  double tensor_operations = 0;  ///< a multiply-add counts 2
  Pipe tensor_pipe = Pipe::tensor_bf16_fp32;
  TensorPath tensor_path = TensorPath::mma_sync;
  /// Of the round trips beyond L1 that the chain of a matrix product has, those that wait for DRAM:
  /// a line that is on its way for another block keeps whoever asks for it waiting as long.
  double trips_to_dram = 0;
  Chain chain;
  /// Barriers hold the warps of a block together, so that they wait as one.
  bool in_step = false;
  /// Loads are issued iterations of a loop before their use, so that a warp has work for several
  /// stations at once: it counts for as many as an SM has schedulers.
  bool works_ahead = false;
  /// The kernel is launched so many times in a row; the figures above are of one.
  double launches = 1;
};

}  // namespace gpuexp
