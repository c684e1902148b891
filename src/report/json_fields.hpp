// The members of a report's provenance, each named once for the writer and the reader of JSON.
#pragma once

namespace gpuexp {

/// Member of a row that holds its raw samples; no column may be called so.
inline constexpr const char* kSamplesMember = "samples_us";

/// Calls visit(name, member) for each optional member, in the order of the file.
template <class Device, class Visit>
void visit_device(Device& device, Visit&& visit) {
  visit("name", device.name);
  visit("uuid", device.uuid);
  visit("pci_bus_id", device.pci_bus_id);
  visit("compute_capability", device.compute_capability);
  visit("sm_count", device.sm_count);
  visit("driver_version", device.driver_version);
  visit("runtime_version", device.runtime_version);
  visit("sm_clock_mhz", device.sm_clock_mhz);
  visit("sm_clock_max_mhz", device.sm_clock_max_mhz);
  visit("memory_clock_mhz", device.memory_clock_mhz);
  visit("power_limit_w", device.power_limit_w);
  visit("temperature_c", device.temperature_c);
  visit("ecc_enabled", device.ecc_enabled);
  visit("memory_total_bytes", device.memory_total_bytes);
  visit("memory_free_bytes", device.memory_free_bytes);
}

template <class Config, class Visit>
void visit_config(Config& config, Visit&& visit) {
  visit("path", config.path);
  visit("name", config.name);
  visit("sha256", config.sha256);
  visit("text", config.text);
}

template <class Run, class Visit>
void visit_run(Run& run, Visit&& visit) {
  visit("gpuexp_version", run.gpuexp_version);
  visit("git_commit", run.git_commit);
  visit("git_dirty", run.git_dirty);
  visit("compiler", run.compiler);
  visit("cuda_toolkit", run.cuda_toolkit);
  visit("utc", run.utc);
  visit("host", run.host);
}

}  // namespace gpuexp
