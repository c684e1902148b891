#include "analysis/measured_ceilings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "model/l2_cache.hpp"
#include "record/row.hpp"
#include "results/results.hpp"
#include "run/rounds.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

namespace {

/// Rows by what they measure; an empty member matches any.
struct Rows {
  std::string family;
  std::vector<std::string> variants;
  Mode mode;
  std::string parameter = {};  ///< "param.pipe"
  std::string value = {};
};

/// What of a row's time belongs to something else.
enum class Overhead {
  none,
  floor,   ///< the launch
  ordered  ///< of a gather: the indices that it reads and the values that it writes, in order
};

/// Where a ceiling comes from: `amount` over time (a rate), or time over `amount` (a latency).
struct Source {
  std::string ceiling;
  Rows rows;
  std::string amount;  ///< a column
  double per = 1;      ///< of the ceiling's unit, one of the amount
  Overhead overhead = Overhead::none;
  bool is_latency = false;
};

std::vector<Source> pipe_sources() {
  std::vector<Source> sources;
  const std::vector<std::string> by_mma_sync{"mma_sync", "mma_sync_k16"};
  std::vector<std::string> by_any = by_mma_sync;
  by_any.emplace_back("wgmma");
  for (int i = 0; i < kPipeCount; ++i) {
    const std::string pipe(name_of(static_cast<Pipe>(i)));
    const auto rows = [&](const char* family, const std::vector<std::string>& variants) {
      return Rows{family, variants, Mode::warm, "param.pipe", pipe};
    };
    if (!pipe.starts_with("tensor_")) {
      sources.push_back({pipe, rows("pipe_rate", {"fma_chains"}), "operations"});
      continue;
    }
    sources.push_back({pipe, rows("tensor_rate", by_any), "operations"});
    sources.push_back({"mma_sync." + pipe, rows("tensor_rate", by_mma_sync), "operations"});
  }
  return sources;
}

// DRAM is read cold, L2 in passes over what fits in it.
std::vector<Source> sources_of(const DeviceSpec& device) {
  const auto memory = [](std::vector<std::string> variants, Mode mode) {
    return Rows{"memory_bandwidth", std::move(variants), mode};
  };
  const auto step = [](const char* ceiling, const char* variant, Mode mode) {
    return Source{ceiling, {"latency", {variant}, mode}, "metric.chain_steps", 1, Overhead::floor,
                  true};
  };
  const auto fetch = static_cast<double>(l2_fetch_bytes(device));
  const double sms = device.sm_count;
  std::vector<Source> sources{
      {"dram_read", memory({"read", "read_bulk"}, Mode::cold), "useful_bytes"},
      {"dram_write", memory({"write"}, Mode::cold), "useful_bytes"},
      {"dram_copy", memory({"copy", "copy_bulk"}, Mode::cold), "useful_bytes"},
      {"dram_random",
       {"gather", {"gather_random"}, Mode::cold},
       "param.n",
       fetch,
       Overhead::ordered},
      {"l2_read", memory({"read", "read_bulk"}, Mode::warm), "metric.passed_bytes"},
      {"l2_write", memory({"write"}, Mode::warm), "metric.passed_bytes"},
      {"shared", {"shared_bandwidth", {"read_16b"}, Mode::warm}, "metric.shared_bytes"},
      step("dram_latency", "dram", Mode::cold),
      step("l2_latency", "l2", Mode::warm),
      step("l1_latency", "l1", Mode::warm),
      step("shared_latency", "shared", Mode::warm),
      step("barrier_latency", "barrier", Mode::warm),
      step("fma_latency", "fma", Mode::warm),
      // One block after the other on each SM.
      {"block_latency",
       {"block_start", {"one_resident"}, Mode::warm},
       "param.blocks",
       1 / sms,
       Overhead::floor,
       true},
      {"block_rate",
       {"block_start", {"many_resident"}, Mode::warm},
       "param.blocks",
       1,
       Overhead::floor}};
  const auto pipes = pipe_sources();
  sources.insert(sources.end(), pipes.begin(), pipes.end());
  return sources;
}

std::vector<Source> vendor_sources() {
  std::vector<Source> sources{
      {"dram_copy", {"memory_bandwidth", {"memcpy"}, Mode::cold}, "useful_bytes"},
      {"fp32", {"matmul", {"cublas"}, Mode::warm}, "operations"}};
  for (const auto& [ceiling, type] :
       {std::pair{"tensor_tf32", "tf32"}, std::pair{"tensor_fp16_fp32", "fp16"},
        std::pair{"tensor_bf16_fp32", "bf16"}}) {
    sources.push_back(
        {ceiling, {"matmul_tensor", {"cublas"}, Mode::warm, "param.dtype", type}, "operations"});
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
  explicit Reading(const Table& table) : table_(table) {
    for (std::size_t i = 0; i < table.rows.size(); ++i)
      rows_.emplace_back(table_, i);
  }

  std::optional<MeasuredCeiling> fastest(const Source& source) const {
    std::optional<MeasuredCeiling> best;
    for (const ResultRow& row : rows_) {
      if (!matches(row, source.rows)) continue;
      if (!row.passed() && row.text("status") != name_of(Status::skipped)) return std::nullopt;
      const auto found = ceiling(row, source);
      const auto is_faster = [&] {
        return source.is_latency ? found->value < best->value : found->value > best->value;
      };
      if (found && (!best || is_faster())) best = found;
    }
    return best;
  }

  /// Of a row that waits for memory, in which no power limit lowers the clock.
  std::optional<MeasuredCeiling> clock() const {
    for (const ResultRow& row : rows_) {
      if (!row.passed() || !matches(row, {"memory_bandwidth", {"copy"}, Mode::cold})) continue;
      const auto mhz = row.number("sm_clock_mhz");
      const auto low = row.number("sm_clock_min_mhz");
      const auto high = row.number("sm_clock_max_mhz");
      if (mhz && low && high) return MeasuredCeiling{*mhz, *low, *high, row.text("key")};
    }
    return std::nullopt;
  }

  std::string variant_of(const std::string& key) const {
    for (const ResultRow& row : rows_) {
      if (row.text("key") == key) return row.variant();
    }
    return "";
  }

 private:
  static bool matches(const ResultRow& row, const Rows& rows) {
    return row.text("family") == rows.family &&
           std::count(rows.variants.begin(), rows.variants.end(), row.variant()) > 0 &&
           row.text("mode") == name_of(rows.mode) &&
           (rows.parameter.empty() || row.text(rows.parameter) == rows.value);
  }

  static std::optional<Span> time_of(const ResultRow& row) {
    const auto time = row.time_us();
    const auto low = row.number("time_ci95_low_us");
    const auto high = row.number("time_ci95_high_us");
    if (!time || !low || !high) return std::nullopt;
    return Span{*time, *low, *high};
  }

  std::optional<Span> overhead(const ResultRow& row, Overhead kind) const {
    if (kind == Overhead::none) return Span{0, 0, 0};
    if (kind == Overhead::floor) {
      const auto floor = row.number("floor_us");
      return floor ? std::optional(Span{*floor, *floor, *floor}) : std::nullopt;
    }
    // gather_sequential reads an index and a value and writes a value, of 4 bytes each.
    constexpr double kShare = 2.0 / 3.0;
    const Rows ordered{"gather", {"gather_sequential"}, Mode::cold, "param.n", row.text("param.n")};
    for (const ResultRow& other : rows_) {
      const auto time = matches(other, ordered) ? time_of(other) : std::nullopt;
      if (time) return Span{kShare * time->us, kShare * time->low, kShare * time->high};
    }
    return std::nullopt;
  }

  std::optional<MeasuredCeiling> ceiling(const ResultRow& row, const Source& source) const {
    const auto whole = time_of(row);
    const auto taken_off = overhead(row, source.overhead);
    const auto column = row.number(source.amount);
    if (!whole || !taken_off || !column) return std::nullopt;
    const double amount = *column * source.per;
    const Span time = difference(*whole, *taken_off);
    if (!(time.low > 0 && amount > 0)) return std::nullopt;
    const double scale = find_ceiling_term(source.ceiling)->scale;
    const auto latency = [&](double us) { return us * 1e3 / amount / scale; };  // in ns
    const auto rate = [&](double us) { return amount / (us * 1e-6) / scale; };
    const std::string key = row.text("key");
    if (source.is_latency)
      return MeasuredCeiling{latency(time.us), latency(time.low), latency(time.high), key};
    return MeasuredCeiling{rate(time.us), rate(time.high), rate(time.low), key};
  }

  ResultTable table_;
  std::vector<ResultRow> rows_;
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
                                   const DeviceSpec& device) {
  const Reading reading(rows);
  MeasuredCeilings found;
  const auto add = [&](const std::string& id, const std::optional<MeasuredCeiling>& ceiling) {
    if (ceiling) found.emplace(id, *ceiling);
  };
  for (const Source& source : sources_of(device))
    add(source.ceiling, reading.fastest(source));
  add("sm_clock", reading.clock());
  for (const auto& [mode, samples_us] : floors_us)
    add(fmt::format("floor_{}", name_of(mode)), floor_of(mode, samples_us));
  return found;
}

std::vector<VendorCall> vendor_calls(const Table& rows) {
  const Reading reading(rows);
  std::vector<VendorCall> calls;
  for (const Source& source : vendor_sources()) {
    if (const auto best = reading.fastest(source))
      calls.push_back({source.ceiling, reading.variant_of(best->from), best->from, best->value});
  }
  return calls;
}

}  // namespace gpuexp
