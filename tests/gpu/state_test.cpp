// Device state of a GPU, read through NVML.
#include "gpu/device_query.hpp"
#include "gpu/nvml_state.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

TEST_CASE("the driver reports clocks, power and temperature of this GPU", "[state]") {
  const auto uuid = device_uuid(0);
  REQUIRE(uuid);
  CHECK(*uuid == query_device(0, {}).uuid);
  const DeviceState s = read_device_state(*uuid);
  REQUIRE(s.sm_clock_mhz);
  REQUIRE(s.sm_clock_max_mhz);
  CHECK(*s.sm_clock_mhz <= *s.sm_clock_max_mhz);
  REQUIRE(s.memory_clock_mhz);
  REQUIRE(s.memory_clock_max_mhz);
  CHECK(*s.memory_clock_mhz <= *s.memory_clock_max_mhz);
  REQUIRE(s.power_w);
  REQUIRE(s.power_limit_w);
  CHECK(*s.power_limit_w > 0);
  REQUIRE(s.temperature_c);
  CHECK((*s.temperature_c > 0 && *s.temperature_c < 120));
  CHECK(s.clock_reasons);
  CHECK(s.performance_state);
}

TEST_CASE("an ordinal without a GPU is refused", "[state]") {
  CHECK_FALSE(device_uuid(device_count()));
  CHECK_FALSE(device_uuid(-1));
}

}  // namespace gpuexp::test
