// A library with NVML's functions and the answers that a test gives it.
#pragma once

#include <set>
#include <string>

namespace gpuexp::test {

struct FakeNvml {
  std::set<std::string> uuids;      ///< of GPUs and MIG instances
  std::set<std::string> not_there;  ///< functions that answer "not supported"
  unsigned long long reasons = 0;
  unsigned processes = 0;     ///< that compute, with pids from 1 on
  unsigned drawing_from = 0;  ///< pid of the first of two that draw; 0: none does
  unsigned power_now_mw = 0;  ///< 0: the driver knows the mean alone
  // Of the GPU and of another one, with this UUID.
  std::string other = {};
  unsigned links = 0;        ///< of each, that are active; one more is not
  bool has_switches = true;  ///< that they end at; else at the other GPU
  int pcie_level = 0;        ///< nvmlGpuTopologyLevel_t
  int peer_status = 0;       ///< nvmlGpuP2PStatus_t of reads and writes
};

/// What the library exports beside NVML's functions.
using FakeNvmlAnswers = FakeNvml*();

}  // namespace gpuexp::test
