// The phases of a rank's launch in a problem that spans GPUs, from which the launch's time is
// predicted. Its kernels wait for other ranks, and their machine code does not show for how long.
// C++17, included by .cu files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace gpuexp {

struct Operations {
  Pipe pipe;
  double count;  ///< a fused multiply-add counts as 2
};

/// The unit that moves bytes between GPUs.
enum class LinkUse {
  copy_engine,  ///< copies by a copy engine
  loads,        ///< SM loads from another GPU's memory
  stores,       ///< SM stores to another GPU's memory
};

/// One part of a launch: a kernel, a copy, or a part of one. Numbers are those of the busiest rank.
/// Phases of one stream run in order. Phases of different streams run concurrently and share
/// resources that both use.
struct Phase {
  std::string what;  ///< name in timelines: "product"
  LinkUse by = LinkUse::loads;
  double link_bytes = 0;   ///< into the rank or out of it, whichever is more
  bool both_ways = false;  ///< the same number of bytes moves in the other direction
  // Successive waits on the longest dependency chain:
  int signals = 0;          ///< waits for a word that another rank stores into this rank's memory
  int link_loads = 0;       ///< loads from another rank's memory
  int fences = 0;           ///< fences before signals, until stores to another rank are visible
  int memory_loads = 0;     ///< loads from the rank's own memory, served by L2
  double memory_bytes = 0;  ///< bytes read from and written to the rank's own memory
  std::vector<Operations> operations = {};
  TensorPath tensor_path = TensorPath::wgmma;  ///< path of operations on tensor cores
  bool by_library = false;                     ///< a vendor library executes the operations
  /// Kernel of the phase, in a launch of some rank with grid `grid`. If its machine code is
  /// available, its time by itself is determined from the code, not from `operations`. A kernel
  /// that waits for other ranks is executed as if they were ahead (Buffer::flags_from) and their
  /// memory were local.
  const void* kernel = nullptr;
  std::string kernel_of = {};     ///< variant whose launch has the kernel; empty: this one
  double kernel_time_factor = 1;  ///< ratio of its iterations to the kernel's
  Extent grid = {};
  std::optional<double> kernel_us = {};  ///< the kernel's time by itself, once determined
  double kernel_latency_us = 0;          ///< kernel_us less the time of its busiest resource
  double sm_share = 1;                   ///< share of the SMs that it occupies; copies occupy none
  int stream = 0;                        ///< Step::stream
  std::vector<std::size_t> after = {};   ///< indices of earlier phases that it waits for
};

}  // namespace gpuexp
