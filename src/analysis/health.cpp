#include "analysis/health.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/health_signs.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

constexpr const char* kLinkCure =
    "nvidia-smi -i GPU -q shows it under GPU Link Info; reseat the board, check slot, riser and "
    "BIOS";

struct Topic {
  const char* name;
  std::string expected = {};

  Finding finding(FindingVerdict verdict, std::string found) const {
    return {verdict, name, std::move(found), expected, "", "", ""};
  }
  Finding unknown() const { return finding(FindingVerdict::unknown, "unknown"); }
  Finding pass(std::string found) const { return finding(FindingVerdict::pass, std::move(found)); }
  Finding note(std::string found) const { return finding(FindingVerdict::note, std::move(found)); }
  Finding off(std::string found, std::string cost, std::string cure) const {
    return {FindingVerdict::off, name, std::move(found), expected, std::move(cost),
            std::move(cure),     ""};
  }
};

const char* on_or_off(bool on) {
  return on ? "on" : "off";
}

Finding mig(const DeviceState& s) {
  const Topic topic{"MIG", "off"};
  if (!s.mig_on && !s.is_mig_instance) return topic.unknown();
  if (!health::partitioned(s)) return topic.pass("off");
  return topic.off(
      s.is_mig_instance ? "on, and this is an instance" : "on",
      "an instance has a share of the SMs, L2 and bandwidth, so ceilings of the whole GPU are not "
      "reached",
      "nvidia-smi mig -lgi lists instances; nvidia-smi -i GPU -mig 0 turns MIG off (root)");
}

Finding ecc(const DeviceState& s) {
  Topic topic{"ECC"};
  if (s.ecc_on_by_default)
    topic.expected = fmt::format("{}, the default", on_or_off(*s.ecc_on_by_default));
  if (!s.ecc_on) return topic.unknown();
  const std::string found = on_or_off(*s.ecc_on);
  if (!s.ecc_on_by_default)
    return Topic{topic.name, "default unknown"}.finding(FindingVerdict::unknown, found);
  if (*s.ecc_on != *s.ecc_on_by_default) {
    return topic.off(
        found,
        *s.ecc_on ? "boards with GDDR store check bits in device memory, which costs bandwidth "
                    "and capacity"
                  : "memory errors are not detected, and memory traffic differs from boards with "
                    "ECC",
        fmt::format("nvidia-smi -i GPU -e {} (root), then a reset", *s.ecc_on ? 0 : 1));
  }
  if (s.ecc_on_next && *s.ecc_on_next != *s.ecc_on)
    return topic.note(fmt::format("{}; {} after the next reset", found, on_or_off(*s.ecc_on_next)));
  return topic.pass(found);
}

// Errors before the driver was loaded are only a note, because the driver has remapped or retired
// the memory, as memory_repair() checks.
Finding memory_errors(const DeviceState& s) {
  const Topic topic{"uncorrected errors", "none"};
  if (!s.uncorrected_errors) return topic.unknown();
  if (*s.uncorrected_errors > 0) {
    return topic.off(
        fmt::format("{} since the driver was loaded", *s.uncorrected_errors),
        "a program that used the memory was ended, or continued with wrong data",
        "nvidia-smi -i GPU -q -d ECC,ROW_REMAPPER shows where; reset the GPU, and replace the "
        "board if errors recur");
  }
  const auto lifetime = s.uncorrected_errors_lifetime.value_or(0);
  if (lifetime > 0)
    return topic.note(fmt::format("none since the driver was loaded, {} before", lifetime));
  return topic.pass("none since the driver was loaded");
}

Finding memory_repair(const DeviceState& s) {
  const Topic rows{"row remapping", "none failed or pending"};
  const Topic pages{"page retirement", "none pending"};
  constexpr const char* kReset =
      "nvidia-smi -i GPU -q -d ROW_REMAPPER,PAGE_RETIREMENT shows it; reset the GPU";
  constexpr const char* kCost = "faulty memory stays in use until the next reset";
  if (s.row_remap_failed == true) {
    return rows.off("failed", "faulty memory stays in use: no spare row is left",
                    "nvidia-smi -i GPU -q -d ROW_REMAPPER shows it; replace the board");
  }
  if (s.row_remap_pending == true) return rows.off("pending", kCost, kReset);
  if (s.page_retirement_pending == true) return pages.off("pending", kCost, kReset);
  if (s.row_remap_failed && s.row_remap_pending) return rows.pass(rows.expected);
  return s.page_retirement_pending ? pages.pass(pages.expected) : rows.unknown();
}

Finding power_limit(const DeviceState& s) {
  Topic topic{"power limit"};
  const auto watts = [](const std::optional<double>& w) { return fmt::format("{:.0f} W", *w); };
  if (s.power_limit_default_w) topic.expected = watts(s.power_limit_default_w) + ", the default";
  if (!s.power_limit_w) return topic.unknown();
  const std::string found = watts(s.power_limit_w);
  if (!s.power_limit_default_w)
    return Topic{topic.name, "default unknown"}.finding(FindingVerdict::unknown, found);
  if (!health::power_limit_low(s)) return topic.pass(found);
  return topic.off(
      found, "kernels that need more power, first those on tensor cores, run at a lower clock",
      fmt::format("nvidia-smi -i GPU -q -d POWER shows the limits; nvidia-smi -i GPU -pl "
                  "{:.0f} (root) sets the default",
                  *s.power_limit_default_w));
}

Finding pcie_width(const DeviceState& s) {
  Topic topic{"PCIe width"};
  const auto lanes = [](int width) { return fmt::format("×{}", width); };
  if (s.pcie_width_max.value_or(0) <= 0) return topic.unknown();
  topic.expected = lanes(*s.pcie_width_max);
  if (s.pcie_width.value_or(0) <= 0) return topic.unknown();
  if (*s.pcie_width >= *s.pcie_width_max) return topic.pass(lanes(*s.pcie_width));
  return topic.off(lanes(*s.pcie_width),
                   "copies between host and GPU take proportionally longer; kernels do not",
                   kLinkCure);
}

// A lower generation is a fault only under load, because an idle GPU lowers the generation of its
// link.
Finding pcie_generation(const DeviceState& s) {
  Topic topic{"PCIe generation"};
  if (s.pcie_generation_max.value_or(0) <= 0) return topic.unknown();
  topic.expected = fmt::format("{}", *s.pcie_generation_max);
  if (s.pcie_generation.value_or(0) <= 0) return topic.unknown();
  const std::string found = fmt::format("{}", *s.pcie_generation);
  const bool under_load = s.clock_reasons && std::count(s.clock_reasons->begin(),
                                                        s.clock_reasons->end(), "gpu_idle") == 0;
  if (*s.pcie_generation < *s.pcie_generation_max && !under_load)
    return Topic{topic.name, topic.expected + " under load"}.note(found + " while idle");
  if (*s.pcie_generation < *s.pcie_generation_max) {
    return topic.off(found, "copies between host and GPU take longer; kernels do not", kLinkCure);
  }
  if (s.pcie_generation_gpu_max.value_or(0) > *s.pcie_generation_max) {
    topic.expected = fmt::format("{} in this slot, {} in a newer one", topic.expected,
                                 *s.pcie_generation_gpu_max);
    return topic.note(found);
  }
  return topic.pass(found);
}

std::string megahertz(double mhz) {
  return fmt::format("{:.0f} MHz", mhz);
}

Finding sm_clock(const DeviceState& s, const DeviceSpec& device) {
  Topic topic{"SM clock"};
  if (const auto highest = health::sm_clock_to_expect(s, device)) {
    topic.expected =
        fmt::format("{} or more, {:.0f} % of {:.0f}", megahertz(health::kHeldClockShare * *highest),
                    100 * health::kHeldClockShare, *highest);
  }
  if (!s.load || !s.load->sm_clock_mhz || topic.expected.empty()) return topic.unknown();
  const std::string found = megahertz(*s.load->sm_clock_mhz);
  if (!health::sm_clock_low(s, device)) return topic.pass(found);
  return topic.off(
      found, "computation on SMs takes proportionally longer, although no power limit applied",
      "nvidia-smi -i GPU -q -d CLOCK,PERFORMANCE shows the reason; nvidia-smi -i GPU -rgc "
      "and -rac (root) reset locked and applications clocks");
}

Finding memory_clock(const DeviceState& s) {
  Topic topic{"memory clock"};
  if (s.memory_clock_max_mhz) topic.expected = megahertz(*s.memory_clock_max_mhz);
  if (!s.load || !s.load->memory_clock_mhz || !s.memory_clock_max_mhz) return topic.unknown();
  const double clock = *s.load->memory_clock_mhz;
  if (health::memory_clock_low(s)) {
    return topic.off(
        megahertz(clock), "device memory has proportionally less bandwidth",
        "nvidia-smi -i GPU -q -d CLOCK,PERFORMANCE shows the reason; nvidia-smi -i GPU "
        "-rmc and -rac (root) reset locked and applications clocks");
  }
  if (clock < health::kHeldMemoryClockShare * *s.memory_clock_max_mhz) {
    topic.expected += " in performance state 0, which GeForce boards do not use for computation";
    return topic.note(megahertz(clock) + ", in performance state 2");
  }
  return topic.pass(megahertz(clock));
}

// True if the driver reports reasons: then rows without a reason had none.
bool reasons_are_known(const DeviceState& s) {
  return s.clock_reasons && s.load && s.load->rows > 0;
}

Finding slowdowns(const DeviceState& s) {
  const Topic topic{"slowdowns", "none"};
  if (!reasons_are_known(s)) return topic.unknown();
  if (!health::slowed(s)) return topic.pass("none");
  std::vector<std::string> found;
  for (const std::string& reason : health::harmful_reasons(*s.load)) {
    found.push_back(fmt::format("{} in {} of {}", reason, s.load->clock_reasons.at(reason),
                                counted(s.load->rows, "row")));
  }
  return topic.off(
      fmt::format("{}", fmt::join(found, ", ")),
      "clocks are lower, because the GPU is too hot or lacks power",
      "nvidia-smi -i GPU -q -d PERFORMANCE,TEMPERATURE,POWER shows the reason; check air flow, "
      "dust, power cables and supply");
}

Finding power_cap(const DeviceState& s) {
  constexpr const char* kTopic = "power cap";
  if (!reasons_are_known(s)) return Topic{kTopic}.unknown();
  const auto rows = s.load->clock_reasons.find("sw_power_cap");
  const std::string most =
      s.load->power_w ? fmt::format("{:.0f} W at most", *s.load->power_w) : "power unknown";
  if (rows == s.load->clock_reasons.end()) return Topic{kTopic}.pass("not reached: " + most);
  return Topic{kTopic, "normal at full load, such as on tensor cores"}.note(
      fmt::format("reached in {} of {}: {}", rows->second, counted(s.load->rows, "row"), most));
}

Finding temperature(const DeviceState& s) {
  const Topic topic{"temperature",
                    fmt::format("{:.0f} °C or more below slowdown", kMinSlowdownMarginC)};
  if (!s.slowdown_margin_c || !s.temperature_c) return topic.unknown();
  const double highest = std::max(*s.temperature_c, s.load ? s.load->temperature_c.value_or(0) : 0);
  const double margin = *s.slowdown_margin_c - (highest - *s.temperature_c);
  const std::string found = fmt::format("{:.0f} °C, {:.0f} °C below slowdown", highest, margin);
  if (margin >= kMinSlowdownMarginC) return topic.pass(found);
  return topic.off(found, "a longer load or a warmer room lowers clocks",
                   "nvidia-smi -i GPU -q -d TEMPERATURE shows it; check air flow and dust");
}

Finding clock_settings(const DeviceState& s) {
  Topic topic{"applications clock"};
  if (!s.sm_clock_set_mhz || !s.sm_clock_set_by_default_mhz) return topic.unknown();
  topic.expected = megahertz(*s.sm_clock_set_by_default_mhz) + ", the default";
  const std::string found = megahertz(*s.sm_clock_set_mhz);
  return *s.sm_clock_set_mhz == *s.sm_clock_set_by_default_mhz ? topic.pass(found)
                                                               : topic.note(found);
}

Finding persistence(const DeviceState& s) {
  const Topic topic{"persistence", "on"};
  if (!s.persistence_on) return topic.unknown();
  return *s.persistence_on ? topic.pass("on") : topic.note("off: programs start later");
}

Finding compute_mode(const DeviceState& s) {
  const Topic topic{"compute mode", "default"};
  if (!s.compute_mode) return topic.unknown();
  return *s.compute_mode == "default" ? topic.pass("default") : topic.note(*s.compute_mode);
}

Finding other_processes(const DeviceState& s) {
  Topic topic{"other processes", "none"};
  constexpr double kGiga = 1e9;
  if (!s.processes) return topic.unknown();
  if (*s.processes == 0) return topic.pass("none");
  topic.expected += ": they may use time, power and bandwidth";
  return topic.note(fmt::format(
      "{}{}", *s.processes,
      s.process_bytes
          ? fmt::format(" with {:.1f} GB", static_cast<double>(*s.process_bytes) / kGiga)
          : ""));
}

}  // namespace

std::string_view name_of(FindingVerdict verdict) {
  constexpr std::array<std::string_view, 4> kNames{"pass", "note", "unknown", "off"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::vector<Finding> state_findings(const DeviceState& state, const DeviceSpec& device) {
  return {mig(state),
          ecc(state),
          memory_errors(state),
          memory_repair(state),
          power_limit(state),
          power_cap(state),
          slowdowns(state),
          temperature(state),
          sm_clock(state, device),
          memory_clock(state),
          clock_settings(state),
          pcie_width(state),
          pcie_generation(state),
          persistence(state),
          compute_mode(state),
          other_processes(state)};
}

}  // namespace gpuexp
