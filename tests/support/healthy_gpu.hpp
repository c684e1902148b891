// A GPU that passes every check, with readings of an H200.
#pragma once

#include "device/device_spec.hpp"
#include "device/device_state.hpp"

namespace gpuexp::test {

inline DeviceSpec healthy_device() {
  DeviceSpec d;
  d.name = "NVIDIA H200";
  d.cc_major = 9;
  d.sm_count = 132;
  d.sm_clock_max_mhz = 1980;
  d.memory_bytes_per_s = 4.8e12;
  d.peak_ops_per_s[static_cast<std::size_t>(Pipe::fp32)] = 67e12;
  return d;
}

inline DeviceState healthy_state() {
  DeviceState s;
  s.mig_on = false;
  s.ecc_on = s.ecc_on_next = s.ecc_on_by_default = true;
  s.uncorrected_errors = s.uncorrected_errors_lifetime = 0;
  s.row_remap_failed = s.row_remap_pending = false;
  s.power_w = 310;
  s.power_limit_w = s.power_limit_default_w = 700;
  s.temperature_c = 53;
  s.slowdown_margin_c = 34;
  s.sm_clock_mhz = s.sm_clock_max_mhz = s.sm_clock_max_boost_mhz = 1980;
  s.sm_clock_set_mhz = s.sm_clock_set_by_default_mhz = 1980;
  s.memory_clock_mhz = s.memory_clock_max_mhz = 3201;
  s.performance_state = 0;
  s.clock_reasons.emplace();
  s.pcie_generation = s.pcie_generation_max = s.pcie_generation_gpu_max = 5;
  s.pcie_width = s.pcie_width_max = 16;
  s.persistence_on = true;
  s.compute_mode = "default";
  s.processes = 0;
  LoadReadings load;
  load.rows = 60;
  load.sm_clock_mhz = 1971;
  load.memory_clock_mhz = 3201;
  load.temperature_c = 63;
  load.power_w = 698;
  s.load = load;
  return s;
}

}  // namespace gpuexp::test
