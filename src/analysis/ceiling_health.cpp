#include "analysis/ceiling_health.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "analysis/health_signs.hpp"

namespace gpuexp {

namespace {

using health::Sign;

struct Evidence {
  const MeasuredCeilings& measured;
  const ExpectedBands& bands;
  const DeviceState& state;
  const DeviceSpec& device;

  /// A measured SM clock below its band, which shows the fault even if the state is unknown.
  Sign measured_clock_low() const {
    const auto clock = measured.find("sm_clock");
    const auto band = bands.find("sm_clock");
    if (clock == measured.end() || band == bands.end() || !band->second.low) return std::nullopt;
    if (clock->second.value >= *band->second.low) return std::nullopt;
    return fmt::format("the SM clock was at {:.0f} MHz, below its band", clock->second.value);
  }

  /// The first cause whose sign is present and which can worsen ceilings of this kind (DRAM, on
  /// chip, launch floor); "" if there is none.
  std::string likely_cause(const CeilingTerm& term) const {
    const bool is_dram = term.id.starts_with("dram_");
    const bool is_floor = term.id.starts_with("floor_");
    const bool is_on_chip = !is_dram && !is_floor;
    const std::pair<bool, Sign> causes[] = {
        {!is_floor, health::partitioned(state)},
        {is_dram, health::memory_clock_low(state)},
        {is_dram, health::ecc_newly_on(state)},
        {is_on_chip, health::sm_clock_low(state, device)},
        {!is_floor, health::slowed(state)},
        {is_on_chip, health::power_limit_low(state)},
        {true, health::shared_with_others(state)},
        {is_on_chip && term.id != "sm_clock", measured_clock_low()}};
    for (const auto& [concerns_term, sign] : causes) {
      if (concerns_term && sign) return *sign;
    }
    return "";
  }
};

// Four significant digits without trailing zeros, but all digits before the decimal point.
std::string number(double value) {
  constexpr double kFourDigits = 1e3;
  return value >= kFourDigits ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string band_text(const ExpectedBand& band, const std::string& unit) {
  if (band.low && band.high)
    return fmt::format("{} to {} {}", number(*band.low), number(*band.high), unit);
  if (band.low) return fmt::format("{} {} or more", number(*band.low), unit);
  return fmt::format("{} {} or less", number(*band.high), unit);
}

// False for NaN.
bool is_within(const ExpectedBand& band, double value) {
  return (!band.low || value >= *band.low) && (!band.high || value <= *band.high) &&
         !std::isnan(value);
}

Finding judge(const CeilingTerm& term, double value, const ExpectedBand& band,
              const std::optional<double>& datasheet, const Evidence& evidence) {
  Finding f;
  f.topic = term.id;
  f.found = fmt::format("{} {}", number(value), term.unit);
  f.expected = band_text(band, term.unit);
  if (is_within(band, value)) {
    f.verdict = FindingVerdict::pass;
    return f;
  }
  const bool below = band.low && value < *band.low;
  const bool above = band.high && value > *band.high;
  f.verdict = FindingVerdict::off;
  if (!below && !above) {
    f.cost = "no number was measured";
    return f;
  }
  const double end = below ? *band.low : *band.high;
  const double percent = 100 * (below ? 1 - value / end : value / end - 1);
  f.cost = fmt::format("{:.1f} % {} its band", percent, below ? "below" : "above");
  if (below != is_time(term)) {
    f.likely = evidence.likely_cause(term);
  } else if (datasheet && value > kAboveDatasheet * *datasheet) {
    f.cost +=
        ", and more than the datasheet allows: another board model, a wrong spec, or a cache "
        "served the data";
  } else {
    f.verdict = FindingVerdict::note;
    f.cost += ", better than all recorded GPUs";
  }
  return f;
}

/// Maxima of ceilings according to the datasheet. Random reads get the value of DRAM reads, and
/// mma.sync gets the rates of the pipes.
Ceilings maxima_by_datasheet(const DeviceSpec& device) {
  Ceilings most = datasheet_ceilings(device);
  most.dram_random_bytes_per_s = most.dram_read_bytes_per_s;
  most.mma_sync_ops_per_s = most.ops_per_s;
  return most;
}

/// Bytes per second of one NVLink per direction; empty for an unknown version (NVIDIA, NVLink and
/// NVSwitch, https://www.nvidia.com/en-us/data-center/nvlink/: 25 GB/s per direction in the second
/// to fourth generation, 50 GB/s in the fifth).
std::optional<double> nvlink_bytes_per_s(const std::optional<std::string>& version) {
  if (!version || version->empty()) return std::nullopt;
  switch (version->front()) {
    case '2':
    case '3':
    case '4': return 25e9;
    case '5': return 50e9;
    default: return std::nullopt;
  }
}

}  // namespace

std::vector<CeilingFinding> ceiling_findings(const MeasuredCeilings& measured,
                                           const ExpectedBands& bands, const DeviceState& state,
                                           const DeviceSpec& device) {
  const Evidence evidence{measured, bands, state, device};
  Ceilings listed = maxima_by_datasheet(device);
  std::vector<CeilingFinding> findings;
  for (const CeilingTerm& term : ceiling_terms()) {
    const auto found = measured.find(term.id);
    const auto band = bands.find(term.id);
    if (found == measured.end() && band == bands.end()) continue;
    CeilingFinding f;
    f.term = &term;
    if (const auto& datasheet = term.of(listed)) f.datasheet = *datasheet / term.scale;
    f.finding.topic = term.id;
    if (found != measured.end()) {
      f.measured = found->second;
      f.finding.found = fmt::format("{} {}", number(found->second.value), term.unit);
    } else {
      f.finding.found = "not measured";
    }
    f.finding.expected = "no band recorded";
    if (band != bands.end()) {
      f.band = band->second;
      f.finding.expected = band_text(band->second, term.unit);
    }
    if (f.measured && f.band)
      f.finding = judge(term, f.measured->value, *f.band, f.datasheet, evidence);
    findings.push_back(std::move(f));
  }
  return findings;
}

std::vector<Finding> link_findings(const GpuLink& link, const std::string& way,
                                   const Machine& listed) {
  Finding access{FindingVerdict::unknown, "peer access", "unknown", "", "", "", ""};
  if (link.peer_access) {
    access.found = *link.peer_access ? "yes" : "no";
    access.verdict = *link.peer_access || listed.link == LinkKind::none ? FindingVerdict::pass
                                                                        : FindingVerdict::off;
  }
  if (access.verdict == FindingVerdict::off) {
    access.expected = "yes";
    access.cost = "copies between the two GPUs go through host memory";
  }
  Finding links{FindingVerdict::unknown, "links", way, "", "", "", ""};
  if (listed.link != LinkKind::nvlink || listed.layout == LinkLayout::pairs) return {access, links};
  if (link.nvlinks == 0) {
    links.verdict = FindingVerdict::off;
    links.expected = "NVLink";
    links.cost = "no NVLink is active between the two GPUs: copies use PCI Express";
    return {access, links};
  }
  const auto each = nvlink_bytes_per_s(link.nvlink_version);
  if (!each || listed.layout != LinkLayout::by_switch) {
    links.verdict = FindingVerdict::pass;
    return {access, links};
  }
  const int expected = static_cast<int>(std::lround(listed.link_bytes_per_s / *each));
  links.expected = fmt::format("NV{}", expected);
  links.verdict = link.nvlinks >= expected ? FindingVerdict::pass : FindingVerdict::off;
  if (links.verdict == FindingVerdict::off) {
    links.cost = fmt::format("{} of {} NVLinks are not active and carry no data",
                             expected - link.nvlinks, expected);
  }
  return {access, links};
}

}  // namespace gpuexp
