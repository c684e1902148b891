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
  DeviceState state;  ///< read right after the last row, before the GPU idles
  ExitCode code = ExitCode::ok;
  std::vector<std::string> missing;  ///< rows that neither passed nor were skipped, with the reason
  double duration_s = 0;
};

/// Runs a config of ceilings until it ends or a signal arrives. Throws ConfigError.
CeilingsRun run_ceilings(const Context& context, OpenDevice& device,
                         const std::string& config = "ceilings");

/// Opens the device with this ordinal and, if given, `peer`. If no GPU can be used, prints the
/// reason and returns empty. Throws ConfigError.
std::optional<OpenDevice> open_to_measure(int device, std::optional<int> peer = std::nullopt);

/// Path of the ceilings file to write: `out`, or if `out` is empty, the file that
/// ceiling_source_of() reads. Throws ConfigError if no folder is known, ReportError if the file
/// cannot be written.
std::filesystem::path ceilings_output(const std::string& out, const DeviceInfo& device);

/// Writes the ceilings to `path`, and prints the path on standard error. Throws ReportError.
void keep_ceilings(const CeilingsRun& run, const std::filesystem::path& path);

void report_missing(const CeilingsRun& run);

Topology topology_here();

struct LinkRun {
  DeviceInfo peer;
  GpuLink link;     ///< properties of the link according to NVML
  std::string way;  ///< kind of connection, such as "NV18"
  CeilingsRun run;  ///< configs/links.json; empty if `link` has no peer access
};

/// Measures the links from `device` to every other GPU with an ordinal of at least `first_peer`,
/// until a signal arrives. Throws ConfigError.
std::vector<LinkRun> measure_links(const Context& context, const DeviceInfo& device,
                                   int first_peer = 0);

/// Writes the link ceilings to the files that ceiling_source_of() reads. Throws ReportError.
void keep_links(const std::vector<LinkRun>& links, const std::string& uuid);

}  // namespace gpuexp::cli
