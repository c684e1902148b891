// The phases of a rank's launch in a problem that spans GPUs, from which the launch's time is
// predicted. A kernel's machine code does not show how long it waits for other ranks. C++17,
// included by .cu files.
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

enum class LinkUse {
  copy_engine,
  loads,
  stores,
};

/// A part of a launch: a kernel, a copy, or a part of one of these. Numbers refer to the busiest
/// rank. Phases of one stream run in order. Phases of different streams run concurrently and
/// share resources.
struct Phase {
  std::string what;
  LinkUse by = LinkUse::loads;
  double link_bytes = 0;   ///< maximum of the bytes received and the bytes sent by the rank
  bool both_ways = false;  ///< the same number of bytes is sent in the other direction
  // Successive waits on the longest dependency chain:
  int signals = 0;     ///< waits for a word that another rank stores into this rank's memory
  int link_loads = 0;  ///< loads from another rank's memory
  int fences = 0;  ///< fences before signals, which wait until stores to another rank are visible
  int memory_loads = 0;  ///< loads from the rank's own memory, served by L2
  double memory_bytes = 0;
  std::vector<Operations> operations = {};
  TensorPath tensor_path = TensorPath::wgmma;  ///< path of operations on tensor cores
  bool by_library = false;                     ///< a vendor library executes the operations
  /// The kernel of the phase, in a rank's launch with grid `grid`. If its machine code is
  /// available, the simulator determines the kernel's time from the code, not from `operations`.
  /// For this, waits for other ranks are satisfied (Buffer::flags_from), and their memory is
  /// local.
  const void* kernel = nullptr;
  std::string kernel_of = {};     ///< variant whose launch contains the kernel; empty: this variant
  double kernel_time_factor = 1;  ///< iterations of the phase divided by iterations of the kernel
  Extent grid = {};
  std::optional<double> kernel_us = {};  ///< the kernel's time on an idle GPU, once determined
  double kernel_latency_us = 0;  ///< kernel_us minus the time of the kernel's busiest resource
  double sm_share = 1;           ///< share of the SMs that the phase occupies; copies occupy none
  int stream = 0;
  std::vector<std::size_t> after = {};  ///< indices of earlier phases for which this phase waits
};

}  // namespace gpuexp
