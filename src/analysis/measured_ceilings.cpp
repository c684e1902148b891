#include "analysis/measured_ceilings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "family/family.hpp"
#include "record/row.hpp"
#include "results/results.hpp"
#include "run/rounds.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

namespace {

// A family's own calls make ceilings, a vendor's are held beside them.
enum class Of { own, vendor };

struct FamilySource {
  const Family* family;
  const CeilingSource* source;
};

// By ceiling.
std::map<std::string, std::vector<FamilySource>> sources_of(const Registry& registry, Of whose) {
  std::map<std::string, std::vector<FamilySource>> sources;
  for (const Family& family : registry.families()) {
    for (const CeilingSource& source : family.ceilings) {
      const Variant* variant = family.find(source.variants.front());
      if (variant && variant->is_vendor == (whose == Of::vendor))
        sources[source.ceiling].push_back({&family, &source});
    }
  }
  return sources;
}

/// A time with its interval.
struct Span {
  double us;
  double low;
  double high;
};

// The ends' distances add in squares, each side of its own, as those of ratios do
// (stats/ratio.hpp).
Span difference(const Span& a, const Span& b) {
  const double us = a.us - b.us;
  return {us, us - std::hypot(a.us - a.low, b.high - b.us),
          us + std::hypot(a.high - a.us, b.us - b.low)};
}

class Reading {
 public:
  Reading(const Table& table, const DeviceSpec& device) : table_(table), device_(device) {
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      rows_.emplace_back(table_, i);
    for (const ColumnInfo& column : table.columns) {
      if (column.name.starts_with("param.")) parameters_.push_back(column.name);
    }
  }

  std::optional<MeasuredCeiling> best_of(const std::vector<FamilySource>& sources) const {
    std::optional<MeasuredCeiling> best;
    for (const FamilySource& from : sources) {
      const CeilingSource& source = *from.source;
      for (const ResultRow& row : rows_) {
        if (!matches(row, from)) continue;
        const bool may_be_absent = source.kind == CeilingSource::Kind::sm_clock ||
                                   row.text("status") == name_of(Status::skipped);
        if (!row.passed() && !may_be_absent) return std::nullopt;
        const auto found = row.passed() ? ceiling(row, from) : std::nullopt;
        if (found && (!best || is_better(source.kind, *found, *best))) best = found;
      }
    }
    return best;
  }

  std::string variant_of(const std::string& key) const {
    for (const ResultRow& row : rows_) {
      if (row.text("key") == key) return row.variant();
    }
    return "";
  }

 private:
  using Kind = CeilingSource::Kind;

  static bool is_better(Kind kind, const MeasuredCeiling& a, const MeasuredCeiling& b) {
    if (kind == Kind::sm_clock) return false;  // the first row's stands
    return kind == Kind::latency ? a.value < b.value : a.value > b.value;
  }

  static bool matches(const ResultRow& row, const FamilySource& from) {
    const CeilingSource& source = *from.source;
    return row.text("family") == from.family->id &&
           std::count(source.variants.begin(), source.variants.end(), row.variant()) > 0 &&
           row.text("mode") == name_of(source.mode) &&
           (source.parameter.empty() || row.text("param." + source.parameter) == source.value);
  }

  static std::optional<Span> time_of(const ResultRow& row) {
    const auto time = row.time_us();
    const auto low = row.number("time_ci95_low_us");
    const auto high = row.number("time_ci95_high_us");
    if (!time || !low || !high) return std::nullopt;
    return Span{*time, *low, *high};
  }

  // What of the row's time belongs to something else.
  std::optional<Span> overhead(const ResultRow& row, const FamilySource& from) const {
    const CeilingSource& source = *from.source;
    if (source.launch_is_overhead) {
      const auto floor = row.number("floor_us");
      return floor ? std::optional(Span{*floor, *floor, *floor}) : std::nullopt;
    }
    if (source.overhead_variant.empty()) return Span{0, 0, 0};
    const double share = source.overhead_share;
    for (const ResultRow& other : rows_) {
      const bool is_it = other.text("family") == from.family->id &&
                         other.variant() == source.overhead_variant &&
                         other.text("mode") == row.text("mode") && is_same_problem(other, row);
      const auto time = is_it ? time_of(other) : std::nullopt;
      if (time) return Span{share * time->us, share * time->low, share * time->high};
    }
    return std::nullopt;
  }

  bool is_same_problem(const ResultRow& a, const ResultRow& b) const {
    return std::all_of(parameters_.begin(), parameters_.end(),
                       [&](const std::string& column) { return a.text(column) == b.text(column); });
  }

  std::optional<MeasuredCeiling> ceiling(const ResultRow& row, const FamilySource& from) const {
    const CeilingSource& source = *from.source;
    if (source.kind == Kind::sm_clock) return clock(row);
    const auto whole = time_of(row);
    const auto taken_off = overhead(row, from);
    const auto column = row.number(source.amount);
    if (!whole || !taken_off || !column) return std::nullopt;
    const double amount = *column * (source.units_of ? source.units_of(device_) : 1);
    const Span time = difference(*whole, *taken_off);
    if (!(time.low > 0 && amount > 0)) return std::nullopt;
    const double scale = find_ceiling_term(source.ceiling)->scale;
    const auto latency = [&](double us) { return us * 1e3 / amount / scale; };  // in ns
    const auto rate = [&](double us) { return amount / (us * 1e-6) / scale; };
    const std::string key = row.text("key");
    if (source.kind == Kind::latency)
      return MeasuredCeiling{latency(time.us), latency(time.low), latency(time.high), key};
    return MeasuredCeiling{rate(time.us), rate(time.high), rate(time.low), key};
  }

  static std::optional<MeasuredCeiling> clock(const ResultRow& row) {
    const auto mhz = row.number("sm_clock_mhz");
    const auto low = row.number("sm_clock_min_mhz");
    const auto high = row.number("sm_clock_max_mhz");
    if (!mhz || !low || !high) return std::nullopt;
    return MeasuredCeiling{*mhz, *low, *high, row.text("key")};
  }

  ResultTable table_;
  const DeviceSpec& device_;
  std::vector<ResultRow> rows_;
  std::vector<std::string> parameters_;
};

// Samples in a graph are means over so many launches that nothing is left of the clock's step.
std::optional<MeasuredCeiling> floor_of(Mode mode, const std::vector<double>& samples_us) {
  if (samples_us.empty()) return std::nullopt;
  const double quantum = mode == Mode::graph ? 0 : timer_quantum_us(samples_us);
  const Statistics s = summarize(samples_us, quantum);
  if (!s.median_ci95 || !(s.median_ci95->low > 0)) return std::nullopt;
  return MeasuredCeiling{s.median, s.median_ci95->low, s.median_ci95->high,
                         fmt::format("floor/{}", name_of(mode))};
}

}  // namespace

MeasuredCeilings measured_ceilings(const Table& rows,
                                   const std::map<Mode, std::vector<double>>& floors_us,
                                   const DeviceSpec& device, const Registry& registry) {
  const Reading reading(rows, device);
  MeasuredCeilings found;
  const auto add = [&](const std::string& id, const std::optional<MeasuredCeiling>& ceiling) {
    if (ceiling) found.emplace(id, *ceiling);
  };
  for (const auto& [ceiling, sources] : sources_of(registry, Of::own))
    add(ceiling, reading.best_of(sources));
  for (const auto& [mode, samples_us] : floors_us)
    add(fmt::format("floor_{}", name_of(mode)), floor_of(mode, samples_us));
  return found;
}

std::vector<VendorCall> vendor_calls(const Table& rows, const DeviceSpec& device,
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

}  // namespace gpuexp
