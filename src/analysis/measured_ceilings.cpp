#include "analysis/measured_ceilings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "family/family.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

namespace {

// Own variants determine ceilings; vendor calls are compared with the ceilings.
enum class Of { own, vendor };

struct FamilySource {
  const Family* family;
  const CeilingRows* source;
};

std::map<std::string, std::vector<FamilySource>> sources_of(const Registry& registry, Of whose) {
  std::map<std::string, std::vector<FamilySource>> sources;
  for (const Family& family : registry.families()) {
    for (const CeilingRows& source : family.ceilings) {
      const Variant* variant = family.find(source.variants.front());
      if (variant && variant->is_vendor == (whose == Of::vendor))
        sources[source.ceiling].push_back({&family, &source});
    }
  }
  return sources;
}

struct Span {
  double us;
  double low;
  double high;
};

// Combines the distances to the interval's ends as the root of the sum of squares, for each side
// separately, as in stats/ratio.hpp.
Span difference(const Span& a, const Span& b) {
  const double us = a.us - b.us;
  return {us, us - std::hypot(a.us - a.low, b.high - b.us),
          us + std::hypot(a.high - a.us, b.us - b.low)};
}

class Reading {
 public:
  Reading(const RecordTable& table, const DeviceSpec& device)
      : rows_(table.rows), device_(device) {}

  std::optional<MeasuredCeiling> best_of(const std::vector<FamilySource>& sources) const {
    std::optional<MeasuredCeiling> best;
    for (const FamilySource& from : sources) {
      const CeilingRows& source = *from.source;
      for (const ResultRecord& row : rows_) {
        if (!matches(row, from)) continue;
        const bool may_be_absent =
            source.kind == CeilingRows::Kind::sm_clock || row.status == Status::skipped;
        if (!row.passed() && !may_be_absent) return std::nullopt;
        const auto found = row.passed() ? ceiling(row, from) : std::nullopt;
        if (found && (!best || is_better(source.kind, *found, *best))) best = found;
      }
    }
    return best;
  }

  std::string variant_of(const std::string& key) const {
    for (const ResultRecord& row : rows_) {
      if (row.key == key) return row.variant;
    }
    return "";
  }

 private:
  using Kind = CeilingRows::Kind;

  static bool is_better(Kind kind, const MeasuredCeiling& a, const MeasuredCeiling& b) {
    if (kind == Kind::sm_clock) return false;  // keep the clock of the first row
    return kind == Kind::latency ? a.value < b.value : a.value > b.value;
  }

  static bool matches(const ResultRecord& row, const FamilySource& from) {
    const CeilingRows& source = *from.source;
    return row.family == from.family->id &&
           std::count(source.variants.begin(), source.variants.end(), row.variant) > 0 &&
           row.mode == source.mode &&
           (source.parameter.empty() || row.parameters.text(source.parameter) == source.value);
  }

  static std::optional<Span> time_of(const ResultRecord& row) {
    const auto time = row.time_us();
    const auto low = row.time_ci95_low_us;
    const auto high = row.time_ci95_high_us;
    if (!time || !low || !high) return std::nullopt;
    return Span{*time, *low, *high};
  }

  // Time that is subtracted from the row's time: 0, the floor, or a share of the time of another
  // variant.
  std::optional<Span> overhead(const ResultRecord& row, const FamilySource& from) const {
    const CeilingRows& source = *from.source;
    if (source.launch_is_overhead) {
      const auto floor = row.floor_us;
      return floor ? std::optional(Span{*floor, *floor, *floor}) : std::nullopt;
    }
    if (source.overhead_variant.empty()) return Span{0, 0, 0};
    const double share = source.overhead_share;
    for (const ResultRecord& other : rows_) {
      const bool is_it = other.family == from.family->id &&
                         other.variant == source.overhead_variant && other.mode == row.mode &&
                         other.parameters == row.parameters;
      const auto time = is_it ? time_of(other) : std::nullopt;
      if (time) return Span{share * time->us, share * time->low, share * time->high};
    }
    return std::nullopt;
  }

  std::optional<MeasuredCeiling> ceiling(const ResultRecord& row, const FamilySource& from) const {
    const CeilingRows& source = *from.source;
    if (source.kind == Kind::sm_clock) return clock(row);
    const auto whole = time_of(row);
    const auto taken_off = overhead(row, from);
    const auto column = column_named(source.amount).number(row);
    if (!whole || !taken_off || !column) return std::nullopt;
    const double amount = *column * (source.units_of ? source.units_of(device_) : 1);
    const Span time = difference(*whole, *taken_off);
    if (!(time.low > 0 && amount > 0)) return std::nullopt;
    const double scale = find_ceiling_term(source.ceiling)->scale;
    const auto latency = [&](double us) { return us * 1e3 / amount / scale; };  // in ns
    const auto rate = [&](double us) { return amount / (us * 1e-6) / scale; };
    const std::string key = row.key;
    if (source.kind == Kind::latency)
      return MeasuredCeiling{latency(time.us), latency(time.low), latency(time.high), key};
    return MeasuredCeiling{rate(time.us), rate(time.high), rate(time.low), key};
  }

  static std::optional<MeasuredCeiling> clock(const ResultRecord& row) {
    const auto mhz = row.sm_clock_mhz;
    const auto low = row.sm_clock_min_mhz;
    const auto high = row.sm_clock_max_mhz;
    if (!mhz || !low || !high) return std::nullopt;
    return MeasuredCeiling{*mhz, *low, *high, row.key};
  }

  const std::vector<ResultRecord>& rows_;
  const DeviceSpec& device_;
};

// A sample in a graph or back to back is a mean over many launches, which hides the timer
// resolution.
std::optional<MeasuredCeiling> floor_of(Mode mode, const std::vector<double>& samples_us) {
  if (samples_us.empty()) return std::nullopt;
  const double quantum =
      mode == Mode::graph || is_back_to_back(mode) ? 0 : timer_quantum_us(samples_us);
  const Statistics s = summarize(samples_us, quantum);
  if (!s.median_ci95 || !(s.median_ci95->low > 0)) return std::nullopt;
  return MeasuredCeiling{s.median, s.median_ci95->low, s.median_ci95->high,
                         fmt::format("floor/{}", name_of(mode))};
}

}  // namespace

MeasuredCeilings measured_ceilings(const RecordTable& rows,
                                   const std::map<Mode, std::vector<double>>& floors_us,
                                   const DeviceSpec& device, const Registry& registry) {
  const Reading reading(rows, device);
  MeasuredCeilings found;
  const auto add = [&](const std::string& id, const std::optional<MeasuredCeiling>& ceiling) {
    if (ceiling) found.emplace(id, *ceiling);
  };
  for (const auto& [ceiling, sources] : sources_of(registry, Of::own))
    add(ceiling, reading.best_of(sources));
  for (const auto& [ceiling, sources] : sources_of(registry, Of::vendor)) {
    const std::string of_library = "library." + ceiling;
    if (!find_ceiling_term(of_library)) continue;
    add(of_library, reading.best_of(sources));
  }
  for (const auto& [mode, samples_us] : floors_us)
    add(fmt::format("floor_{}", name_of(mode)), floor_of(mode, samples_us));
  return found;
}

std::vector<VendorCall> vendor_calls(const RecordTable& rows, const DeviceSpec& device,
                                     const Registry& registry) {
  const Reading reading(rows, device);
  const auto sources = sources_of(registry, Of::vendor);
  std::vector<VendorCall> calls;
  for (const CeilingTerm& term : ceiling_terms()) {
    const auto of_term = sources.find(term.id);
    if (of_term == sources.end()) continue;
    if (const auto best = reading.best_of(of_term->second))
      calls.push_back({term.id, reading.variant_of(best->from), best->from, best->value});
  }
  return calls;
}

LoadReadings load_readings(const RecordTable& rows) {
  constexpr const char* kPowerCap = "sw_power_cap";
  LoadReadings load;
  std::vector<double> sm_clocks;
  std::vector<double> memory_clocks;
  for (const ResultRecord& row : rows.rows) {
    if (!row.passed() || !row.nvml_sm_clock_mhz) continue;
    ++load.rows;
    const std::vector<std::string>& reasons = row.clock_reasons;
    for (const std::string& reason : reasons)
      ++load.clock_reasons[reason];
    const auto sm_clock = row.sm_clock_mhz;
    if (sm_clock && std::count(reasons.begin(), reasons.end(), kPowerCap) == 0)
      sm_clocks.push_back(*sm_clock);
    if (const auto memory_clock = row.memory_clock_mhz) memory_clocks.push_back(*memory_clock);
    load.temperature_c = std::max(load.temperature_c, row.temperature_c);
    load.power_w = std::max(load.power_w, row.power_w);
  }
  load.sm_clock_mhz = median_of(std::move(sm_clocks));
  load.memory_clock_mhz = median_of(std::move(memory_clocks));
  return load;
}

}  // namespace gpuexp
