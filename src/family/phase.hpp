// What a rank of a problem that spans GPUs does in one launch, from which the launch's time is
// predicted: its kernels wait for other ranks, and no machine code says for how long. C++17,
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
  double count;  ///< a fused multiply-add counts 2
};

/// Who moves bytes between GPUs.
enum class LinkUse {
  copy_engine,  ///< the bytes of one copy
  loads,        ///< of the SMs, from another GPU's memory
  stores,       ///< of the SMs, to it
};

/// One part of a launch: a kernel, a copy, or a part of one. Figures are the busiest rank's. Phases
/// of one stream follow each other. Those of different streams run side by side, and share what
/// both use.
struct Phase {
  std::string what;  ///< for timelines: "product"
  LinkUse by = LinkUse::loads;
  double link_bytes = 0;   ///< into the rank, or out of it, whichever is more
  bool both_ways = false;  ///< as many go the other way meanwhile
  // How often its longest chain waits, one time after the other:
  int signals = 0;          ///< for a word that another rank stores into this one's memory
  int link_loads = 0;       ///< for a load from another rank's memory
  int fences = 0;           ///< before a signal, for its stores to another rank to be there
  int memory_loads = 0;     ///< for a load from its own, which L2 answers
  double memory_bytes = 0;  ///< read from and written to its own memory
  std::vector<Operations> operations = {};
  TensorPath tensor_path = TensorPath::wgmma;  ///< of those on tensor cores
  bool by_library = false;                     ///< likewise: a vendor's library makes them
  /// The kernel that does it, of a step of some rank's launch that has so many blocks: what it
  /// takes by itself is found in its machine code, if that is known, and not reckoned from
  /// `operations`. One that waits for other ranks is executed as if they were ahead
  /// (Buffer::flags_from) and their memory its own GPU's.
  const void* kernel = nullptr;
  std::string kernel_of = {};  ///< the variant whose launch has it; empty: this one's
  double kernel_times = 1;     ///< so many times as long, where this one has more turns or fewer
  Extent grid = {};
  std::optional<double> kernel_us = {};  ///< that time, once it is found
  double kernel_latency_us = 0;  ///< of it, what no resource is busy for: latencies, one by one
  double sm_share = 1;           ///< of the SMs, that it holds while it runs; copies hold none
  int stream = 0;                ///< Step::stream
  std::vector<std::size_t> after = {};  ///< places of earlier phases that it waits for
};

}  // namespace gpuexp
