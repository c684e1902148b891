#include "analysis/health.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/health_signs.hpp"

namespace gpuexp {

namespace {

using health::Sign;

constexpr const char* kUnknown = "unknown";
constexpr const char* kLinkCure =
    "nvidia-smi -i GPU -q shows it under GPU Link Info; reseat the board, look at slot, riser and "
    "BIOS";

Finding unknown(const char* topic, std::string expected = "") {
  return {FindingVerdict::unknown, topic, kUnknown, std::move(expected), "", "", ""};
}

Finding plain(FindingVerdict verdict, const char* topic, std::string found,
              std::string expected = "") {
  return {verdict, topic, std::move(found), std::move(expected), "", "", ""};
}

Finding failed(const char* topic, std::string found, std::string expected, std::string cost,
               std::string cure) {
  return {FindingVerdict::off, topic, std::move(found), std::move(expected), std::move(cost),
          std::move(cure),     ""};
}

const char* on_or_off(bool on) {
  return on ? "on" : "off";
}

Finding mig(const DeviceState& s) {
  constexpr const char* kTopic = "MIG";
  if (!s.mig_on && !s.is_mig_instance) return unknown(kTopic, "off");
  if (!health::partitioned(s)) return plain(FindingVerdict::pass, kTopic, "off", "off");
  return failed(
      kTopic, s.is_mig_instance ? "on, and this is an instance" : "on", "off",
      "an instance has a part of the SMs, of L2 and of the bandwidth, so that no figure of the "
      "whole GPU is reached",
      "nvidia-smi mig -lgi lists instances; nvidia-smi -i GPU -mig 0 turns MIG off (root)");
}

Finding ecc(const DeviceState& s) {
  constexpr const char* kTopic = "ECC";
  const std::string expected =
      s.ecc_on_by_default ? fmt::format("{}, the default", on_or_off(*s.ecc_on_by_default)) : "";
  if (!s.ecc_on) return unknown(kTopic, expected);
  const char* found = on_or_off(*s.ecc_on);
  if (!s.ecc_on_by_default) return plain(FindingVerdict::unknown, kTopic, found, "default unknown");
  if (*s.ecc_on != *s.ecc_on_by_default) {
    return failed(kTopic, found, expected,
                  *s.ecc_on
                      ? "boards with GDDR store check bits beside the data, which takes bandwidth "
                        "and memory"
                      : "errors in memory go unseen, and figures are of other traffic than on "
                        "boards that check",
                  fmt::format("nvidia-smi -i GPU -e {} (root), then a reset", *s.ecc_on ? 0 : 1));
  }
  if (s.ecc_on_next && *s.ecc_on_next != *s.ecc_on) {
    return plain(FindingVerdict::note, kTopic,
                 fmt::format("{}; {} after the next reset", found, on_or_off(*s.ecc_on_next)),
                 expected);
  }
  return plain(FindingVerdict::pass, kTopic, found, expected);
}

// Those of the board's life alone are a note: what they hit has been remapped or retired since, and
// whether that went well is a topic of its own.
Finding memory_errors(const DeviceState& s) {
  constexpr const char* kTopic = "uncorrected errors";
  if (!s.uncorrected_errors) return unknown(kTopic, "none");
  if (*s.uncorrected_errors > 0) {
    return failed(
        kTopic, fmt::format("{} since the driver was loaded", *s.uncorrected_errors), "none",
        "a program that used that memory was ended, or went on with wrong data",
        "nvidia-smi -i GPU -q -d ECC,ROW_REMAPPER shows where; reset the GPU, and replace the "
        "board if they come back");
  }
  const auto lifetime = s.uncorrected_errors_lifetime.value_or(0);
  if (lifetime > 0) {
    return plain(FindingVerdict::note, kTopic,
                 fmt::format("none since the driver was loaded, {} before", lifetime), "none");
  }
  return plain(FindingVerdict::pass, kTopic, "none since the driver was loaded", "none");
}

Finding memory_repair(const DeviceState& s) {
  constexpr const char* kRows = "row remapping";
  constexpr const char* kPages = "page retirement";
  constexpr const char* kExpected = "none failed or pending";
  constexpr const char* kReset =
      "nvidia-smi -i GPU -q -d ROW_REMAPPER,PAGE_RETIREMENT shows it; reset the GPU";
  constexpr const char* kCost = "faulty memory stays in use until the next reset";
  if (s.row_remap_failed == true) {
    return failed(kRows, "failed", kExpected,
                  "faulty memory stays in use: no spare row is left for it",
                  "nvidia-smi -i GPU -q -d ROW_REMAPPER shows it; replace the board");
  }
  if (s.row_remap_pending == true) return failed(kRows, "pending", kExpected, kCost, kReset);
  if (s.page_retirement_pending == true)
    return failed(kPages, "pending", "none pending", kCost, kReset);
  if (s.row_remap_failed && s.row_remap_pending)
    return plain(FindingVerdict::pass, kRows, "none failed or pending", kExpected);
  if (s.page_retirement_pending)
    return plain(FindingVerdict::pass, kPages, "none pending", "none pending");
  return unknown(kRows, kExpected);
}

Finding power_limit(const DeviceState& s) {
  constexpr const char* kTopic = "power limit";
  const auto watts = [](const std::optional<double>& w) { return fmt::format("{:.0f} W", *w); };
  const std::string expected =
      s.power_limit_default_w ? watts(s.power_limit_default_w) + ", the default" : "";
  if (!s.power_limit_w) return unknown(kTopic, expected);
  if (!s.power_limit_default_w)
    return plain(FindingVerdict::unknown, kTopic, watts(s.power_limit_w), "default unknown");
  if (!health::power_limit_low(s))
    return plain(FindingVerdict::pass, kTopic, watts(s.power_limit_w), expected);
  return failed(
      kTopic, watts(s.power_limit_w), expected,
      "kernels that draw more, those on tensor cores first, run at a lower clock",
      fmt::format("nvidia-smi -i GPU -q -d POWER shows who limits it; nvidia-smi -i GPU -pl "
                  "{:.0f} (root) sets the default",
                  *s.power_limit_default_w));
}

Finding pcie_width(const DeviceState& s) {
  constexpr const char* kTopic = "PCIe width";
  const auto lanes = [](int width) { return fmt::format("×{}", width); };
  if (s.pcie_width_max.value_or(0) <= 0) return unknown(kTopic);
  if (s.pcie_width.value_or(0) <= 0) return unknown(kTopic, lanes(*s.pcie_width_max));
  if (*s.pcie_width >= *s.pcie_width_max)
    return plain(FindingVerdict::pass, kTopic, lanes(*s.pcie_width), lanes(*s.pcie_width_max));
  return failed(kTopic, lanes(*s.pcie_width), lanes(*s.pcie_width_max),
                "copies between host and GPU take longer in proportion; kernels do not", kLinkCure);
}

// Links train down when the GPU has nothing to do, so that a lower generation is a fault of one
// under load alone.
Finding pcie_generation(const DeviceState& s) {
  constexpr const char* kTopic = "PCIe generation";
  if (s.pcie_generation_max.value_or(0) <= 0) return unknown(kTopic);
  const std::string expected = fmt::format("{}", *s.pcie_generation_max);
  if (s.pcie_generation.value_or(0) <= 0) return unknown(kTopic, expected);
  const std::string found = fmt::format("{}", *s.pcie_generation);
  const bool under_load = s.clock_reasons && std::count(s.clock_reasons->begin(),
                                                        s.clock_reasons->end(), "gpu_idle") == 0;
  if (*s.pcie_generation < *s.pcie_generation_max && !under_load)
    return plain(FindingVerdict::note, kTopic, found + " while idle", expected + " under load");
  if (*s.pcie_generation < *s.pcie_generation_max) {
    return failed(kTopic, found, expected,
                  "copies between host and GPU take longer; kernels do not", kLinkCure);
  }
  if (s.pcie_generation_gpu_max.value_or(0) > *s.pcie_generation_max) {
    return plain(
        FindingVerdict::note, kTopic, found,
        fmt::format("{} in this slot, {} in a newer", expected, *s.pcie_generation_gpu_max));
  }
  return plain(FindingVerdict::pass, kTopic, found, expected);
}

std::string megahertz(double mhz) {
  return fmt::format("{:.0f} MHz", mhz);
}

Finding sm_clock(const DeviceState& s, const DeviceSpec& device) {
  constexpr const char* kTopic = "SM clock";
  const auto highest = health::sm_clock_to_expect(s, device);
  const std::string expected = highest ? fmt::format("{} or more, {:.0f} % of {:.0f}",
                                                     megahertz(health::kHeldClockShare * *highest),
                                                     100 * health::kHeldClockShare, *highest)
                                       : "";
  if (!s.load || !s.load->sm_clock_mhz || !highest) return unknown(kTopic, expected);
  const std::string found = megahertz(*s.load->sm_clock_mhz);
  if (!health::sm_clock_low(s, device)) return plain(FindingVerdict::pass, kTopic, found, expected);
  return failed(
      kTopic, found, expected,
      "whatever SMs compute takes longer in proportion, though no power limit slowed them",
      "nvidia-smi -i GPU -q -d CLOCK,PERFORMANCE shows what limits it; nvidia-smi -i GPU -rgc "
      "and -rac (root) lift locked and applications clocks");
}

Finding memory_clock(const DeviceState& s) {
  constexpr const char* kTopic = "memory clock";
  const std::string expected = s.memory_clock_max_mhz ? megahertz(*s.memory_clock_max_mhz) : "";
  if (!s.load || !s.load->memory_clock_mhz || !s.memory_clock_max_mhz)
    return unknown(kTopic, expected);
  const double clock = *s.load->memory_clock_mhz;
  if (health::memory_clock_low(s)) {
    return failed(
        kTopic, megahertz(clock), expected, "device memory has less bandwidth in proportion",
        "nvidia-smi -i GPU -q -d CLOCK,PERFORMANCE shows what limits it; nvidia-smi -i GPU "
        "-rmc and -rac (root) lift locked and applications clocks");
  }
  if (clock < health::kHeldMemoryClockShare * *s.memory_clock_max_mhz) {
    return plain(FindingVerdict::note, kTopic, megahertz(clock) + ", in performance state 2",
                 expected + " in state 0, which GeForce boards do not compute in");
  }
  return plain(FindingVerdict::pass, kTopic, megahertz(clock), expected);
}

// The rows tell no reason from none known, the driver's answer to the same question does.
bool reasons_are_known(const DeviceState& s) {
  return s.clock_reasons && s.load && s.load->rows > 0;
}

Finding slowdowns(const DeviceState& s) {
  constexpr const char* kTopic = "slowdowns";
  if (!reasons_are_known(s)) return unknown(kTopic, "none");
  if (!health::slowed(s)) return plain(FindingVerdict::pass, kTopic, "none", "none");
  std::vector<std::string> found;
  for (const std::string& reason : health::harmful_reasons(*s.load)) {
    found.push_back(
        fmt::format("{} in {} of {} rows", reason, s.load->clock_reasons.at(reason), s.load->rows));
  }
  return failed(
      kTopic, fmt::format("{}", fmt::join(found, ", ")), "none",
      "clocks fall, and figures are those of a GPU that is too hot or is short of power",
      "nvidia-smi -i GPU -q -d PERFORMANCE,TEMPERATURE,POWER shows which; look at air flow, "
      "dust, power cables and supply");
}

Finding power_cap(const DeviceState& s) {
  constexpr const char* kTopic = "power cap";
  if (!reasons_are_known(s)) return unknown(kTopic);
  const auto rows = s.load->clock_reasons.find("sw_power_cap");
  const std::string most =
      s.load->power_w ? fmt::format("{:.0f} W at most", *s.load->power_w) : "power unknown";
  if (rows == s.load->clock_reasons.end())
    return plain(FindingVerdict::pass, kTopic, "not reached: " + most);
  return plain(FindingVerdict::note, kTopic,
               fmt::format("reached in {} of {} rows: {}", rows->second, s.load->rows, most),
               "normal at full load, as of tensor cores");
}

Finding temperature(const DeviceState& s) {
  constexpr const char* kTopic = "temperature";
  const std::string expected =
      fmt::format("{:.0f} °C or more below slowdown", kLeastSlowdownMarginC);
  if (!s.slowdown_margin_c || !s.temperature_c) return unknown(kTopic, expected);
  const double highest = std::max(*s.temperature_c, s.load ? s.load->temperature_c.value_or(0) : 0);
  const double margin = *s.slowdown_margin_c - (highest - *s.temperature_c);
  const std::string found = fmt::format("{:.0f} °C, {:.0f} °C below slowdown", highest, margin);
  if (margin >= kLeastSlowdownMarginC) return plain(FindingVerdict::pass, kTopic, found, expected);
  return failed(kTopic, found, expected, "a longer load or a warmer room lowers clocks",
                "nvidia-smi -i GPU -q -d TEMPERATURE shows it; look at air flow and dust");
}

Finding clock_settings(const DeviceState& s) {
  constexpr const char* kTopic = "applications clock";
  if (!s.sm_clock_set_mhz || !s.sm_clock_set_by_default_mhz) return unknown(kTopic);
  const std::string expected = megahertz(*s.sm_clock_set_by_default_mhz) + ", the default";
  const bool is_default = *s.sm_clock_set_mhz == *s.sm_clock_set_by_default_mhz;
  return plain(is_default ? FindingVerdict::pass : FindingVerdict::note, kTopic,
               megahertz(*s.sm_clock_set_mhz), expected);
}

Finding persistence(const DeviceState& s) {
  constexpr const char* kTopic = "persistence";
  if (!s.persistence_on) return unknown(kTopic, "on");
  return plain(*s.persistence_on ? FindingVerdict::pass : FindingVerdict::note, kTopic,
               *s.persistence_on ? "on" : "off: programs start later", "on");
}

Finding compute_mode(const DeviceState& s) {
  constexpr const char* kTopic = "compute mode";
  if (!s.compute_mode) return unknown(kTopic, "default");
  const bool is_default = *s.compute_mode == "default";
  return plain(is_default ? FindingVerdict::pass : FindingVerdict::note, kTopic, *s.compute_mode,
               "default");
}

Finding other_processes(const DeviceState& s) {
  constexpr const char* kTopic = "other processes";
  constexpr double kGiga = 1e9;
  if (!s.processes) return unknown(kTopic, "none");
  if (*s.processes == 0) return plain(FindingVerdict::pass, kTopic, "none", "none");
  const std::string memory =
      s.process_bytes
          ? fmt::format(" with {:.1f} GB", static_cast<double>(*s.process_bytes) / kGiga)
          : "";
  return plain(FindingVerdict::note, kTopic, fmt::format("{}{}", *s.processes, memory),
               "none: they may take time, power and bandwidth");
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
