// A library with NVML's functions, whose answers a test sets.
#pragma once

#include <set>
#include <string>

namespace gpuexp::test {

struct FakeNvml {
  std::set<std::string> uuids;      ///< GPUs and MIG instances
  std::set<std::string> not_there;  ///< functions that answer "not supported"
  unsigned long long reasons = 0;
  unsigned processes = 0;     ///< number of compute processes, with pids 1, 2, …
  unsigned drawing_from = 0;  ///< pid of the first of two graphics processes; 0: none
  unsigned power_now_mw = 0;  ///< 0: the driver reports only the mean
  /// UUID of a second GPU.
  std::string other = {};
  unsigned links = 0;        ///< active links per GPU; one more is inactive
  bool has_switches = true;  ///< links end at switches, else at the other GPU
  int pcie_level = 0;        ///< nvmlGpuTopologyLevel_t
  int peer_status = 0;       ///< nvmlGpuP2PStatus_t of reads and writes
};

/// Exported by the library in addition to NVML's functions.
using FakeNvmlAnswers = FakeNvml*();

}  // namespace gpuexp::test
