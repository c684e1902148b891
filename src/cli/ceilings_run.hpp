// Measuring a device's ceilings, and those of its links to other GPUs: what `info --measure` keeps
// and `info --check` judges.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/measured_ceilings.hpp"
#include "cli/app.hpp"
#include "cli/worker.hpp"
#include "device/ceilings_file.hpp"
#include "device/device_state.hpp"
#include "device/topology.hpp"

namespace gpuexp::cli {

struct CeilingsRun {
  CeilingsFile file;
  std::vector<VendorCall> vendor;
  DeviceState state;  ///< right after the last row, while the GPU is awake
  ExitCode code = ExitCode::ok;
  std::vector<std::string> missing;  ///< rows that should have passed, and why they did not
  double took_s = 0;
};

/// Runs a config of ceilings, until a signal comes. Throws ConfigError.
CeilingsRun run_ceilings(const Context& context, OpenDevice& device,
                         const std::string& config = "ceilings");

/// The device with this ordinal, to be measured, or the pair of it and `peer`; empty, and said on
/// standard error, when no GPU can be used. Throws ConfigError.
std::optional<OpenDevice> open_to_measure(int device, std::optional<int> peer = std::nullopt);

/// Where the file of ceilings goes: `out`, or where ceiling_source_of looks for it if that is
/// empty. Throws ConfigError when there is no place, ReportError when nothing can be written there.
std::filesystem::path ceilings_output(const std::string& out, const DeviceInfo& device);

/// Writes what was measured there and says so on standard error. Throws ReportError.
void keep_ceilings(const CeilingsRun& run, const std::filesystem::path& path);

/// On standard error: rows that are missing, or that the run was interrupted.
void report_missing(const CeilingsRun& run);

/// How this machine's GPUs are connected.
Topology topology_here();

struct LinkRun {
  DeviceInfo peer;
  GpuLink link;     ///< to it, as the driver tells
  std::string way;  ///< "NV18"
  CeilingsRun run;  ///< of configs/links.json; empty where the two do not reach each other's memory
};

/// The links from `device` to each other GPU of this machine whose ordinal is at least
/// `first_peer`, until a signal comes. Throws ConfigError.
std::vector<LinkRun> measure_links(const Context& context, const DeviceInfo& device,
                                   int first_peer = 0);

/// Writes what was measured where ceiling_source_of looks for it, and says so on standard error.
/// Throws ReportError.
void keep_links(const std::vector<LinkRun>& links, const std::string& uuid);

}  // namespace gpuexp::cli
