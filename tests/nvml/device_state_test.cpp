// Reading a GPU's state without a GPU: a fake library replaces NVML.
#include "base/steady_clock.hpp"
#include "gpu/nvml_sampler.hpp"
#include "gpu/nvml_state.hpp"
#include "nvml/loaded_fake.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

const std::string kUuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
const std::string kInstance = "MIG" + kUuid.substr(3);

TEST_CASE("every part of a state comes from its NVML function") {
  fake() = {{kUuid}, {}, 0x1ff, 0, 0};
  const DeviceState s = read_device_state(kUuid);
  CHECK_FALSE(s.is_mig_instance);
  CHECK(s.mig_on == false);
  CHECK(s.ecc_on == true);
  CHECK(s.ecc_on_next == false);
  CHECK(s.ecc_on_by_default == true);
  CHECK(s.uncorrected_errors == std::uint64_t{3});
  CHECK(s.uncorrected_errors_lifetime == std::uint64_t{5});
  CHECK(s.row_remap_pending == true);
  CHECK(s.row_remap_failed == false);
  CHECK(s.page_retirement_pending == true);
  CHECK(s.power_w == 310.5);
  CHECK(s.power_limit_w == 500.0);
  CHECK(s.power_limit_default_w == 700.0);
  CHECK(s.temperature_c == 53.0);
  CHECK(s.slowdown_margin_c == 31.0);
  CHECK(s.sm_clock_mhz == 1900.0);
  CHECK(s.sm_clock_max_mhz == 1980.0);
  CHECK(s.sm_clock_max_boost_mhz == 1970.0);
  CHECK(s.sm_clock_set_mhz == 1200.0);
  CHECK(s.sm_clock_set_by_default_mhz == 1500.0);
  CHECK(s.memory_clock_mhz == 3001.0);
  CHECK(s.memory_clock_max_mhz == 3201.0);
  CHECK(s.performance_state == 2);
  REQUIRE(s.clock_reasons);
  CHECK(*s.clock_reasons == std::vector<std::string>{"gpu_idle", "applications_clocks_setting",
                                                     "sw_power_cap", "hw_slowdown", "sync_boost",
                                                     "sw_thermal_slowdown", "hw_thermal_slowdown",
                                                     "hw_power_brake_slowdown",
                                                     "display_clock_setting"});
  CHECK(s.pcie_generation == 3);
  CHECK(s.pcie_generation_max == 4);
  CHECK(s.pcie_generation_gpu_max == 5);
  CHECK(s.pcie_width == 8);
  CHECK(s.pcie_width_max == 16);
  CHECK(s.persistence_on == true);
  CHECK(s.compute_mode == "exclusive_process");
  CHECK(s.processes == 0);
  CHECK_FALSE(s.process_bytes);
  CHECK_FALSE(s.load);
}

TEST_CASE("no clock reasons and unknown clock reasons differ") {
  fake() = {{kUuid}, {}, 0, 0, 0};
  CHECK(read_device_state(kUuid).clock_reasons == std::vector<std::string>{});
  fake().not_there = {"nvmlDeviceGetCurrentClocksEventReasons"};
  CHECK_FALSE(read_device_state(kUuid).clock_reasons);
}

TEST_CASE("processes are counted once, with the memory that NVML reports") {
  fake() = {{kUuid}, {}, 0, 40, 0};
  CHECK(read_device_state(kUuid).processes == 40);
  CHECK(read_device_state(kUuid).process_bytes == 1'000'000'000);
  fake().drawing_from = 40;  // one counted process and a new one
  CHECK(read_device_state(kUuid).processes == 41);
  fake().not_there = {"nvmlDeviceGetComputeRunningProcesses_v3"};
  CHECK(read_device_state(kUuid).processes == 2);
  fake().not_there.insert("nvmlDeviceGetGraphicsRunningProcesses_v3");
  CHECK_FALSE(read_device_state(kUuid).processes);
}

TEST_CASE("unsupported values are empty") {
  fake() = {{kUuid},
            {"nvmlDeviceGetEccMode", "nvmlDeviceGetDefaultEccMode", "nvmlDeviceGetTotalEccErrors",
             "nvmlDeviceGetRemappedRows", "nvmlDeviceGetMigMode", "nvmlDeviceGetMarginTemperature"},
            0,
            0,
            0};
  const DeviceState s = read_device_state(kUuid);
  CHECK_FALSE(s.ecc_on);
  CHECK_FALSE(s.ecc_on_next);
  CHECK_FALSE(s.ecc_on_by_default);
  CHECK_FALSE(s.uncorrected_errors);
  CHECK_FALSE(s.row_remap_failed);
  CHECK_FALSE(s.mig_on);
  CHECK(s.slowdown_margin_c == 34.0);  // threshold of 87 minus the temperature
  CHECK(s.power_limit_w == 500.0);
  fake().not_there.insert("nvmlDeviceGetTemperatureThreshold");
  CHECK_FALSE(read_device_state(kUuid).slowdown_margin_c);
}

TEST_CASE("a MIG instance is recognized, and its GPU's state is read") {
  fake() = {{kInstance}, {}, 0, 0, 0};
  const DeviceState s = read_device_state(kUuid);
  CHECK(s.is_mig_instance);
  CHECK(s.power_limit_w == 500.0);
}

TEST_CASE("a GPU that NVML does not find has an empty state") {
  fake() = {};
  CHECK(read_device_state(kUuid) == DeviceState{});
  CHECK(read_device_state("") == DeviceState{});
}

TEST_CASE("telemetry of an interval was read within it, or is empty") {
  fake() = {{kUuid}, {}, 0x005, 0, 0, 640'500};
  const double before_s = steady_seconds();
  const NvmlSampler sampler(kUuid);
  Telemetry telemetry;
  while (!telemetry.power_w && steady_seconds() - before_s < 10)
    telemetry = sampler.between(before_s, steady_seconds());
  CHECK(telemetry.power_w == 640.5);
  CHECK(telemetry.power_limit_w == 500.0);
  CHECK(telemetry.sm_clock_mhz == 1900.0);
  CHECK(telemetry.clock_reasons == std::vector<std::string>{"sw_power_cap"});
  // An empty interval has no reading, even if there is an earlier one.
  const double now_s = steady_seconds();
  CHECK_FALSE(sampler.between(now_s, now_s).power_w);
  CHECK(sampler.between(now_s, now_s).clock_reasons.empty());
}

TEST_CASE("without instantaneous power, the driver's mean is used") {
  fake() = {{kUuid}, {}, 0, 0, 0};
  const double before_s = steady_seconds();
  const NvmlSampler sampler(kUuid);
  Telemetry telemetry;
  while (!telemetry.power_w && steady_seconds() - before_s < 10)
    telemetry = sampler.between(before_s, steady_seconds());
  CHECK(telemetry.power_w == 310.5);
}

}  // namespace
}  // namespace gpuexp::test
