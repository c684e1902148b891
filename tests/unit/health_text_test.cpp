// Text and JSON of a health check.
#include "render/health_text.hpp"

#include <nlohmann/json.hpp>

#include "analysis/ceiling_health.hpp"
#include "analysis/measured_ceilings.hpp"
#include "render/health_json.hpp"
#include "support/catch.hpp"
#include "support/healthy_gpu.hpp"
#include "support/record_rows.hpp"

namespace gpuexp::test {

namespace {

const MeasuredCeilings kMeasured{{"dram_copy", {4270, 4264, 4280, "copy"}},
                                 {"fp32", {65.11, 65.1, 65.12, "fma"}},
                                 {"floor_cold", {2.976, 2.816, 2.976, "floor/cold"}}};
const ExpectedBands kBands{{"dram_copy", {4179, 4366, "cards", ""}},
                           {"fp32", {63.8, {}, "cards", ""}},
                           {"floor_cold", {{}, 3.036, "cards", ""}}};

HealthReport report(const DeviceState& state, const ExpectedBands& bands,
                    const MeasuredCeilings& measured = kMeasured) {
  HealthReport r;
  r.device = "NVIDIA H200";
  r.uuid = "GPU-0123";
  r.spec_id = "h200";
  r.source = "measured in 31.2 s";
  r.utc = "2026-01-02T03:04:05Z";
  r.git_commit = "0123456789ab";
  r.before = DeviceState{};
  r.after = state;
  r.state = state_findings(state, healthy_device());
  r.ceilings = ceiling_findings(measured, bands, state, healthy_device());
  return r;
}

std::string part_from(const std::string& text, const std::string& start) {
  const std::size_t at = text.find(start);
  REQUIRE(at != std::string::npos);
  return text.substr(at);
}

}  // namespace

TEST_CASE("text of a healthy GPU", "[health][golden]") {
  DeviceState state = healthy_state();
  state.load->clock_reasons["sw_power_cap"] = 12;
  const HealthReport healthy = report(state, kBands);
  CHECK(verdict_of(healthy) == HealthVerdict::healthy);
  CHECK(health_text(healthy, 100) == R"(NVIDIA H200  (GPU-0123), measured in 31.2 s

state               verdict  found                                    expected
------------------  -------  ---------------------------------------  --------------------------------------------
MIG                 pass     off                                      off
ECC                 pass     on                                       on, the default
uncorrected errors  pass     none since the driver was loaded         none
row remapping       pass     none failed or pending                   none failed or pending
power limit         pass     700 W                                    700 W, the default
power cap           note     reached in 12 of 60 rows: 698 W at most  normal at full load, such as on tensor cores
slowdowns           pass     none                                     none
temperature         pass     63 °C, 24 °C below slowdown              5 °C or more below slowdown
SM clock            pass     1971 MHz                                 1881 MHz or more, 95 % of 1980
memory clock        pass     3201 MHz                                 3201 MHz
applications clock  pass     1980 MHz                                 1980 MHz, the default
PCIe width          pass     ×16                                      ×16
PCIe generation     pass     5                                        5
persistence         pass     on                                       on
compute mode        pass     default                                  default
other processes     pass     none                                     none

ceiling     verdict  measured  unit     healthy       datasheet  % of it
----------  -------  --------  -------  ------------  ---------  -------
dram_copy   pass         4270  GB/s     4179 to 4366       4800     89.0
fp32        pass        65.11  TFLOP/s  ≥ 63.8               67     97.2
floor_cold  pass        2.976  us       ≤ 3.036

healthy: 3 ceilings within their bands
)");
}

TEST_CASE("the text has failures, costs and cures", "[health][golden]") {
  DeviceState state = healthy_state();
  state.load->memory_clock_mhz = 2619;
  state.power_limit_w = 500;
  state.row_remap_failed.reset();
  MeasuredCeilings measured = kMeasured;
  measured["dram_copy"] = {3500, 3490, 3510, "copy"};
  measured["floor_cold"].value = 4;
  const HealthReport off = report(state, kBands, measured);
  CHECK(verdict_of(off) == HealthVerdict::off);
  CHECK(part_from(health_text(off, 100), "\noff:") == R"(
off:
  power limit: 500 W instead of 700 W, the default: kernels that need more power, first those on
  tensor cores, run at a lower clock.
    nvidia-smi -i GPU-0123 -q -d POWER shows the limits; nvidia-smi -i GPU-0123 -pl 700 (root) sets
    the default
  memory clock: 2619 MHz instead of 3201 MHz: device memory has proportionally less bandwidth.
    nvidia-smi -i GPU-0123 -q -d CLOCK,PERFORMANCE shows the reason; nvidia-smi -i GPU-0123 -rmc and
    -rac (root) reset locked and applications clocks
  dram_copy: 3500 GB/s instead of 4179 to 4366 GB/s: 16.2 % below its band. Likely because the
  memory clock was at 2619 of 3201 MHz.
  floor_cold: 4 us instead of 3.036 us or less: 31.8 % above its band. The state does not explain
  it.

unknown to the driver: row remapping
4 checks failed: power limit, memory clock, dram_copy, floor_cold
)");
}

TEST_CASE("commands name the GPU, except a MIG instance", "[health]") {
  DeviceState state = healthy_state();
  state.power_limit_w = 500;
  CHECK_THAT(health_text(report(state, kBands), 0),
             contains_text("nvidia-smi -i GPU-0123 -pl 700"));
  state.is_mig_instance = true;
  CHECK_THAT(health_text(report(state, kBands), 0), contains_text("nvidia-smi -i GPU -pl 700"));
}

TEST_CASE("without bands only the state is judged, and the text says so", "[health]") {
  const HealthReport bare = report(healthy_state(), {});
  CHECK(verdict_of(bare) == HealthVerdict::healthy);
  CHECK(part_from(health_text(bare, 0), "\n\nno band recorded") == R"(

no band recorded for 3 ceilings of NVIDIA H200: see docs/health.md to contribute one
no check failed, but only the state could be judged
)");
  CHECK_THAT(health_text(bare, 0),
             contains_text("dram_copy   unknown      4270  GB/s     no band recorded"));
}

TEST_CASE("a band without a measured ceiling leaves the GPU unjudged", "[health]") {
  MeasuredCeilings measured = kMeasured;
  measured.erase("dram_copy");
  HealthReport part = report(healthy_state(), kBands);
  part.ceilings = ceiling_findings(measured, kBands, healthy_state(), healthy_device());
  CHECK(verdict_of(part) == HealthVerdict::unjudged);
  CHECK_THAT(health_text(part, 0),
             contains_text("\nnot known to be healthy: 1 ceiling with a band not measured\n"));
}

TEST_CASE("a GPU without readings is not healthy", "[health]") {
  CHECK(verdict_of(report({}, {})) == HealthVerdict::unjudged);
  CHECK_THAT(health_text(report({}, {}), 0), contains_text("\nnothing could be judged\n"));
  CHECK(verdict_of(report({}, kBands)) == HealthVerdict::healthy);
  CHECK(verdict_of(HealthReport{}) == HealthVerdict::unjudged);
}

TEST_CASE("the JSON of a check has all findings and readings", "[health][json]") {
  DeviceState state = healthy_state();
  state.power_limit_w = 500;
  MeasuredCeilings measured = kMeasured;
  measured.erase("fp32");
  measured["l2_read"] = {8800, 8700, 8900, "l2"};
  const auto json = nlohmann::json::parse(to_json(report(state, kBands, measured)));
  CHECK(json["schema_version"] == kHealthSchemaVersion);
  CHECK(json["device_spec"] == "h200");
  CHECK(json["verdict"] == "off");
  CHECK(json["counts"]["off"] == 1);
  CHECK(json["counts"]["unknown"] == 2);
  CHECK(json["counts"]["pass"].get<int>() + 1 ==
        static_cast<int>(state_findings(state, healthy_device()).size()) + 2);
  const auto by = [](const nlohmann::json& list, const char* key, const char* value) {
    for (const auto& item : list) {
      if (item[key] == value) return item;
    }
    return nlohmann::json();
  };
  const auto limit = by(json["state"], "topic", "power limit");
  CHECK(limit["verdict"] == "off");
  CHECK(limit["found"] == "500 W");
  CHECK_FALSE(limit["cost"].get<std::string>().empty());
  const auto copy = by(json["figures"], "ceiling", "dram_copy");
  CHECK(copy["value"] == 4270);
  CHECK(copy["band"]["low"] == 4179);
  CHECK(copy["band"]["source"] == "cards");
  CHECK(copy["datasheet"] == 4800);
  CHECK(copy["verdict"] == "pass");
  CHECK(by(json["figures"], "ceiling", "floor_cold")["band"]["low"].is_null());
  CHECK(by(json["figures"], "ceiling", "fp32")["value"].is_null());
  CHECK(by(json["figures"], "ceiling", "l2_read")["band"].is_null());
  CHECK(json["readings"]["before"]["ecc_on"].is_null());
  CHECK(json["readings"]["after"]["ecc_on"] == true);
  CHECK(json["readings"]["after"]["load"]["sm_clock_mhz"] == 1971);
}

TEST_CASE("load readings come from passed rows", "[health]") {
  Table table;
  for (const char* text : {"status", "clock_reasons"})
    table.columns.push_back({text, "", FieldType::text, ""});
  for (const char* number :
       {"nvml_sm_clock_mhz", "sm_clock_mhz", "memory_clock_mhz", "power_w", "temperature_c"})
    table.columns.push_back({number, "", FieldType::real, ""});
  const Field none;
  table.rows = {{"passed", none, 1980.0, 1975.0, 3201.0, 300.0, 50.0},
                {"passed", "sw_power_cap", 1700.0, 1690.0, 3201.0, 698.0, 60.0},
                {"passed", "sw_power_cap;hw_slowdown", 1600.0, 1590.0, 2619.0, 690.0, 63.0},
                {"passed", none, 1980.0, 1960.0, 3201.0, 310.0, 55.0},
                {"passed", "hw_slowdown", 1200.0, 1190.0, 3201.0, 200.0, 58.0},
                {"failed", "hw_slowdown", 1000.0, 1000.0, 1000.0, 900.0, 90.0},
                {"passed", none, none, 900.0, none, none, none}};
  const LoadReadings load = load_readings(record_table(table));
  CHECK(load.rows == 5);
  CHECK(load.sm_clock_mhz == 1960.0);
  CHECK(load.memory_clock_mhz == 3201.0);
  CHECK(load.power_w == 698.0);
  CHECK(load.temperature_c == 63.0);
  CHECK(load.clock_reasons == std::map<std::string, int>{{"sw_power_cap", 2}, {"hw_slowdown", 2}});
  table.rows.clear();
  CHECK(load_readings(record_table(table)) == LoadReadings{});
}

}  // namespace gpuexp::test
