// Opening the GPU, in this process or in a worker: a process that owns the GPU during a run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "gpu/device_query.hpp"
#include "results/report.hpp"
#include "run/executor.hpp"
#include "worker/job_ranks.hpp"

namespace gpuexp::cli {

struct DeviceOptions {
  int device = 0;
  std::optional<int> peer = {};  ///< rank 1's GPU; empty: the machine's other GPUs in order
  bool isolated = true;          ///< a separate process owns the GPU
  bool gated = true;             ///< block the stream until launches are enqueued
  double launch_timeout_s = 30.0;
  std::vector<std::string> kernel_files = {};  ///< users' files that the worker loads, too
  std::vector<std::filesystem::path> module_folders = {};  ///< with their machine code
  JobRanks* others = nullptr;  ///< other ranks of a job; null: this process starts workers
  /// Called for each rank whose worker has started: for rank 0 when the device is opened, for other
  /// ranks when a problem first spans their GPUs.
  std::function<void(const RankProvenance&)> joined = [](const RankProvenance&) {};
};

/// The worker loads the files that `files` has loaded, with their machine code.
void use_kernel_files(DeviceOptions& options, const own::OwnFiles& files);

struct OpenDevice {
  DeviceInfo info;
  std::unique_ptr<Executor> executor;
};

/// Opens the device. If no GPU can be used, returns empty and sets `no_device` to the reason.
/// Throws ConfigError for an ordinal that this machine does not have.
std::optional<OpenDevice> open_device(const DeviceOptions& options, std::string& no_device);

/// Name of the profiler, sanitizer or debugger attached to this process, such as "Nsight Compute"
/// or "a debugger"; empty if no tool is attached.
std::string attached_tool();

/// If a tool is attached, disables the gate, because the tool may wait for the GPU while the GPU
/// waits for the host. Also disables isolation, because one process is easiest to observe, unless
/// problems span GPUs and the tool is no debugger (debuggers do not follow child processes).
void adapt_to_attached_tool(DeviceOptions& options, bool spans_gpus, bool quiet);

}  // namespace gpuexp::cli
