// Findings of a GPU's state and ceilings: each rule has a case that fails, one that passes and one
// without a driver reading.
#include "analysis/health.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "analysis/ceiling_health.hpp"
#include "support/catch.hpp"
#include "support/healthy_gpu.hpp"

namespace gpuexp::test {

namespace {

using Change = std::function<void(DeviceState&)>;

Finding finding(const DeviceState& state, const std::string& topic) {
  for (const Finding& f : state_findings(state, healthy_device())) {
    if (f.topic == topic) return f;
  }
  FAIL("no finding of " << topic);
  return {};
}

DeviceState changed(const Change& change) {
  DeviceState state = healthy_state();
  change(state);
  return state;
}

CeilingFinding ceiling(const std::string& id, double value, const ExpectedBand& band,
                     const DeviceState& state = {}, const ExpectedBands& more = {}) {
  ExpectedBands bands = more;
  bands[id] = band;
  const MeasuredCeilings measured{{id, {value, value, value, "row"}}};
  for (const CeilingFinding& f : ceiling_findings(measured, bands, state, healthy_device())) {
    if (f.term->id == id) return f;
  }
  FAIL("no finding of " << id);
  return {};
}

const ExpectedBand kBand{95, 105, "cards", ""};

}  // namespace

TEST_CASE("a healthy state passes in every topic", "[health]") {
  std::set<std::string> topics;
  for (const Finding& f : state_findings(healthy_state(), healthy_device())) {
    CAPTURE(f.topic, f.found);
    CHECK(f.verdict == FindingVerdict::pass);
    CHECK(topics.insert(f.topic).second);
    CHECK(f.cost.empty());
    CHECK(f.cure.empty());
  }
}

TEST_CASE("readings that the driver lacks are unknown and never pass", "[health]") {
  for (const Finding& f : state_findings({}, healthy_device())) {
    CAPTURE(f.topic);
    CHECK(f.verdict == FindingVerdict::unknown);
    CHECK(f.found == "unknown");
  }
}

TEST_CASE("failures of a state have a cost and a cure", "[health]") {
  struct Case {
    const char* topic;
    Change change;
    const char* found;
  };
  const Case cases[] = {
      {"MIG", [](auto& s) { s.mig_on = true; }, "on"},
      {"MIG", [](auto& s) { s.is_mig_instance = true; }, "on, and this is an instance"},
      {"ECC", [](auto& s) { s.ecc_on = false; }, "off"},
      {"ECC", [](auto& s) { s.ecc_on_by_default = false; }, "on"},
      {"uncorrected errors", [](auto& s) { s.uncorrected_errors = 3; },
       "3 since the driver was loaded"},
      {"row remapping", [](auto& s) { s.row_remap_failed = true; }, "failed"},
      {"row remapping", [](auto& s) { s.row_remap_pending = true; }, "pending"},
      {"page retirement",
       [](auto& s) {
         s.row_remap_failed.reset();
         s.row_remap_pending.reset();
         s.page_retirement_pending = true;
       },
       "pending"},
      {"power limit", [](auto& s) { s.power_limit_w = 500; }, "500 W"},
      {"PCIe width", [](auto& s) { s.pcie_width = 8; }, "×8"},
      {"PCIe generation", [](auto& s) { s.pcie_generation = 3; }, "3"},
      {"SM clock", [](auto& s) { s.load->sm_clock_mhz = 1880; }, "1880 MHz"},
      {"SM clock", [](auto& s) { s.load->sm_clock_mhz = std::nan(""); }, "nan MHz"},
      {"memory clock", [](auto& s) { s.load->memory_clock_mhz = 2619; }, "2619 MHz"},
      {"memory clock", [](auto& s) { s.load->memory_clock_mhz = std::nan(""); }, "nan MHz"},
      {"slowdowns", [](auto& s) { s.load->clock_reasons["hw_thermal_slowdown"] = 7; },
       "hw_thermal_slowdown in 7 of 60 rows"},
      {"temperature", [](auto& s) { s.slowdown_margin_c = 14; }, "63 °C, 4 °C below slowdown"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.topic, c.found);
    const Finding f = finding(changed(c.change), c.topic);
    CHECK(f.verdict == FindingVerdict::off);
    CHECK(f.found == c.found);
    CHECK_FALSE(f.expected.empty());
    CHECK_FALSE(f.cost.empty());
    CHECK_FALSE(f.cure.empty());
  }
}

TEST_CASE("other remarkable readings are notes", "[health]") {
  struct Case {
    const char* topic;
    Change change;
    const char* found;
  };
  const Case cases[] = {
      {"ECC", [](auto& s) { s.ecc_on_next = false; }, "on; off after the next reset"},
      {"uncorrected errors", [](auto& s) { s.uncorrected_errors_lifetime = 2; },
       "none since the driver was loaded, 2 before"},
      {"PCIe generation",
       [](auto& s) {
         s.pcie_generation = 1;
         s.clock_reasons = {"gpu_idle"};
       },
       "1 while idle"},
      {"PCIe generation",
       [](auto& s) {
         s.pcie_generation = 1;
         s.clock_reasons.reset();
       },
       "1 while idle"},
      {"PCIe generation", [](auto& s) { s.pcie_generation_gpu_max = 6; }, "5"},
      {"memory clock",
       [](auto& s) {
         s.load->memory_clock_mhz = 3120;
         s.performance_state = 2;
       },
       "3120 MHz, in performance state 2"},
      {"power cap", [](auto& s) { s.load->clock_reasons["sw_power_cap"] = 12; },
       "reached in 12 of 60 rows: 698 W at most"},
      {"applications clock", [](auto& s) { s.sm_clock_set_mhz = 1200; }, "1200 MHz"},
      {"persistence", [](auto& s) { s.persistence_on = false; }, "off: programs start later"},
      {"compute mode", [](auto& s) { s.compute_mode = "exclusive_process"; }, "exclusive_process"},
      {"other processes",
       [](auto& s) {
         s.processes = 2;
         s.process_bytes = 1'500'000'000;
       },
       "2 with 1.5 GB"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.topic, c.found);
    const Finding f = finding(changed(c.change), c.topic);
    CHECK(f.verdict == FindingVerdict::note);
    CHECK(f.found == c.found);
  }
}

TEST_CASE("incomplete readings are unknown", "[health]") {
  struct Case {
    const char* topic;
    Change change;
  };
  const Case cases[] = {
      {"ECC", [](auto& s) { s.ecc_on_by_default.reset(); }},
      {"row remapping", [](auto& s) { s.row_remap_failed.reset(); }},
      {"power limit", [](auto& s) { s.power_limit_default_w.reset(); }},
      {"PCIe width", [](auto& s) { s.pcie_width_max.reset(); }},
      {"PCIe width", [](auto& s) { s.pcie_width = 0; }},
      {"PCIe generation", [](auto& s) { s.pcie_generation_max.reset(); }},
      {"SM clock", [](auto& s) { s.load->sm_clock_mhz.reset(); }},
      {"SM clock", [](auto& s) { s.load.reset(); }},
      {"memory clock", [](auto& s) { s.memory_clock_max_mhz.reset(); }},
      {"slowdowns", [](auto& s) { s.clock_reasons.reset(); }},
      {"slowdowns", [](auto& s) { s.load->rows = 0; }},
      {"temperature", [](auto& s) { s.slowdown_margin_c.reset(); }},
      {"applications clock", [](auto& s) { s.sm_clock_set_by_default_mhz.reset(); }},
  };
  for (const Case& c : cases) {
    CAPTURE(c.topic);
    CHECK(finding(changed(c.change), c.topic).verdict == FindingVerdict::unknown);
  }
}

TEST_CASE("limits have the documented values", "[health]") {
  const auto verdict = [](const char* topic, const Change& change) {
    return finding(changed(change), topic).verdict;
  };
  const auto pass = FindingVerdict::pass;
  const auto off = FindingVerdict::off;
  CHECK(verdict("SM clock", [](auto& s) { s.load->sm_clock_mhz = 1882; }) == pass);
  CHECK(verdict("memory clock", [](auto& s) { s.load->memory_clock_mhz = 3180; }) == pass);
  CHECK(verdict("power limit", [](auto& s) { s.power_limit_w = 699.8; }) == pass);
  CHECK(verdict("power limit", [](auto& s) { s.power_limit_w = 699; }) == off);
  CHECK(verdict("power limit", [](auto& s) { s.power_limit_w = 750; }) == pass);
  CHECK(verdict("temperature", [](auto& s) { s.slowdown_margin_c = 15; }) == pass);
  CHECK(verdict("memory clock", [](auto& s) {
          s.load->memory_clock_mhz = 3020;
          s.performance_state = 2;
        }) == off);
}

TEST_CASE("the board's rated clock takes precedence over the driver's maximum", "[health]") {
  DeviceState state = healthy_state();
  state.sm_clock_max_mhz = 3105;
  state.load->sm_clock_mhz = 2700;
  DeviceSpec geforce = healthy_device();
  geforce.sm_clock_max_mhz = 2520;
  const auto clock = [&](const DeviceSpec& device) {
    for (const Finding& f : state_findings(state, device)) {
      if (f.topic == "SM clock") return f.verdict;
    }
    return FindingVerdict::unknown;
  };
  CHECK(clock(geforce) == FindingVerdict::pass);
  geforce.sm_clock_max_mhz = 0;
  CHECK(clock(geforce) == FindingVerdict::off);
}

// ---- ceilings

TEST_CASE("a ceiling is compared with its band", "[health]") {
  CHECK(ceiling("dram_copy", 95, kBand).finding.verdict == FindingVerdict::pass);
  CHECK(ceiling("dram_copy", 105, kBand).finding.verdict == FindingVerdict::pass);
  const Finding low = ceiling("dram_copy", 76, kBand).finding;
  CHECK(low.verdict == FindingVerdict::off);
  CHECK(low.found == "76 GB/s");
  CHECK(low.expected == "95 to 105 GB/s");
  CHECK(low.cost == "20.0 % below its band");
  CHECK(low.likely.empty());
  const Finding high = ceiling("dram_copy", 126, kBand).finding;
  CHECK(high.verdict == FindingVerdict::note);
  CHECK(high.cost == "20.0 % above its band, better than all recorded GPUs");
  // Random reads count as reads.
  for (const char* id : {"dram_copy", "dram_random"}) {
    CAPTURE(id);
    const Finding impossible = ceiling(id, 9000, kBand).finding;
    CHECK(impossible.verdict == FindingVerdict::off);
    CHECK_THAT(impossible.cost, contains_text("more than the datasheet allows"));
  }
  // All instructions of a tensor pipe have the same peak.
  DeviceSpec device = healthy_device();
  device.peak_ops_per_s[static_cast<std::size_t>(Pipe::tensor_tf32)] = 494.5e12;
  const char* const slower = "mma_sync.tensor_tf32";
  const auto findings = ceiling_findings({{slower, {1290, 1290, 1290, ""}}}, {{slower, kBand}},
                                        healthy_state(), device);
  REQUIRE(findings.size() == 1);
  CHECK(findings.front().finding.verdict == FindingVerdict::off);
}

TEST_CASE("lower times are better", "[health]") {
  const DeviceState slow = changed([](auto& s) { s.load->sm_clock_mhz = 1000; });
  const Finding high = ceiling("l1_latency", 126, kBand, slow).finding;
  CHECK(high.cost == "20.0 % above its band");
  CHECK(high.likely == "the SM clock was at 1000 of 1980 MHz");
  const Finding low = ceiling("l1_latency", 76, kBand, slow).finding;
  CHECK(high.verdict == FindingVerdict::off);
  CHECK_THAT(low.cost, contains_text("20.0 % below its band, better than all "));
  CHECK(low.verdict == FindingVerdict::note);
  CHECK(low.likely.empty());
}

TEST_CASE("a band may lack one end", "[health]") {
  CHECK(ceiling("fp32", 1000, {95, {}, "", ""}).finding.verdict == FindingVerdict::pass);
  CHECK(ceiling("fp32", 94, {95, {}, "", ""}).finding.expected == "95 TFLOP/s or more");
  CHECK(ceiling("fp32", 94, {95, {}, "", ""}).finding.verdict == FindingVerdict::off);
  CHECK(ceiling("floor_cold", 1, {{}, 3, "", ""}).finding.verdict == FindingVerdict::pass);
  CHECK(ceiling("floor_cold", 4, {{}, 3, "", ""}).finding.verdict == FindingVerdict::off);
}

TEST_CASE("NaN is outside every band", "[health]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const ExpectedBand& band :
       {kBand, ExpectedBand{95, {}, "", ""}, ExpectedBand{{}, 105, "", ""}}) {
    const Finding f = ceiling("dram_copy", nan, band).finding;
    CHECK(f.verdict == FindingVerdict::off);
    CHECK(f.cost == "no number was measured");
  }
}

TEST_CASE("without a band or a ceiling the verdict is unknown", "[health]") {
  const MeasuredCeilings measured{{"fp32", {60, 59, 61, "row"}}};
  const ExpectedBands bands{{"dram_copy", kBand}};
  const auto findings = ceiling_findings(measured, bands, healthy_state(), healthy_device());
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].term->id == "dram_copy");
  CHECK(findings[0].finding.verdict == FindingVerdict::unknown);
  CHECK(findings[0].finding.found == "not measured");
  CHECK_FALSE(findings[0].measured);
  CHECK(findings[1].term->id == "fp32");
  CHECK(findings[1].finding.verdict == FindingVerdict::unknown);
  CHECK(findings[1].finding.expected == "no band recorded");
  CHECK(*findings[1].datasheet == Approx(67));
}

TEST_CASE("a low ceiling has a likely cause from the state", "[health]") {
  struct Case {
    const char* id;
    Change change;
    const char* likely;
  };
  const Change clock = [](auto& s) { s.load->memory_clock_mhz = 2619; };
  const Change ecc = [](auto& s) { s.ecc_on_by_default = false; };
  const Change sm = [](auto& s) { s.load->sm_clock_mhz = 1200; };
  const Change limit = [](auto& s) { s.power_limit_w = 500; };
  const Change hot = [](auto& s) { s.load->clock_reasons["sw_thermal_slowdown"] = 3; };
  const Change others = [](auto& s) { s.processes = 1; };
  const Change mig = [](auto& s) { s.mig_on = true; };
  const Case cases[] = {
      {"dram_copy", clock, "the memory clock was at 2619 of 3201 MHz"},
      {"dram_read", ecc, "ECC is on, but off by default"},
      {"fp32", sm, "the SM clock was at 1200 of 1980 MHz"},
      {"tensor_bf16_fp32", limit, "power is limited to 500 of 700 W"},
      {"dram_copy", hot, "the driver slowed clocks down (sw_thermal_slowdown)"},
      {"shared", others, "other processes are on the GPU"},
      {"l2_read", mig, "MIG is on, and an instance is only a part of the GPU"},
      // Readings that do not affect a ceiling are not its cause.
      {"fp32", clock, ""},
      {"fp32", ecc, ""},
      {"dram_copy", sm, ""},
      {"dram_copy", limit, ""},
      {"dram_copy", [](auto&) {}, ""},
      // The most closely related of several.
      {"dram_copy",
       [&](auto& s) {
         clock(s);
         others(s);
       },
       "the memory clock was at 2619 of 3201 MHz"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.id, c.likely);
    CHECK(ceiling(c.id, 50, kBand, changed(c.change)).finding.likely == c.likely);
  }
}

TEST_CASE("without a state, the measured clock explains ceilings of SMs", "[health]") {
  const ExpectedBands bands{{"fp32", kBand}, {"sm_clock", {1930, 2020, "", ""}}};
  const auto likely = [&](double mhz) {
    const MeasuredCeilings measured{{"fp32", {50, 50, 50, ""}}, {"sm_clock", {mhz, mhz, mhz, ""}}};
    return ceiling_findings(measured, bands, {}, healthy_device())[0].finding.likely;
  };
  CHECK(likely(1500) == "the SM clock was at 1500 MHz, below its band");
  CHECK(likely(1980).empty());
}

}  // namespace gpuexp::test
