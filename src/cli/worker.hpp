// The process that owns the GPU during a run, and what decides whether there is one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/app.hpp"
#include "gpu/device_query.hpp"
#include "results/report.hpp"
#include "run/executor.hpp"
#include "worker/job_ranks.hpp"

namespace gpuexp::cli {

struct DeviceOptions {
  int device = 0;
  std::optional<int> peer = {};  ///< the second rank's GPU; none: the machine's others in order
  bool isolated = true;          ///< the GPU's owner is a process of its own
  bool gated = true;
  double launch_timeout_s = 30.0;
  JobRanks* others = nullptr;  ///< processes that a launcher started; null: this one starts workers
  /// Told of each rank whose worker has begun: of the first when the device is opened, of others
  /// when a problem first spans as many GPUs.
  std::function<void(const RankProvenance&)> joined = [](const RankProvenance&) {};
};

/// A device and the executor that runs on it.
struct OpenDevice {
  DeviceInfo info;
  std::unique_ptr<Executor> executor;
};

/// Empty, with the reason in `no_device`, when no GPU can be used. Throws ConfigError for an
/// ordinal that this machine does not have.
std::optional<OpenDevice> open_device(const DeviceOptions& options, std::string& no_device);

/// What watches this process and would not follow a second one, or wait for a GPU that waits for
/// the host: "Nsight Compute", "a debugger"; empty when nothing does.
std::string watcher();

/// A profiler, sanitizer or debugger may wait for a GPU that would wait for the host, and is
/// simplest to use on one process: leaves the gate out where there is one, and other processes
/// unless problems span GPUs, which a debugger does not follow. Says so unless quiet.
void make_room_for_watcher(DeviceOptions& options, bool spans_gpus, bool quiet);

}  // namespace gpuexp::cli
