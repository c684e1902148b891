// Result rows to explain: one experiment, its counters, and a device with round rates.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analysis/explanation.hpp"
#include "family/counters.hpp"
#include "render/explanation_text.hpp"
#include "support/record_rows.hpp"

namespace gpuexp::test::explained {

using Numbers = std::map<std::string, double>;

struct Measured {
  std::string variant;
  double time_us;
  Numbers counters = {};
  std::string expected_changes = {};
  std::string status = "passed";
  std::int64_t n = 1024;
  double half_interval = 0.005;  ///< relative
  std::string flags = {};
  double predicted_us = 0;  ///< 0: none
  Numbers numbers = {};     ///< columns of kNumbers
  std::string limit_by = {};
  std::string bound_by = {};
};

inline constexpr std::array kNumbers{
    "floor_us",        "grid_blocks",   "operations",  "metric.bytes_in_flight_per_thread",
    "kernel_launches", "occupancy_pct", "sm_clock_mhz"};

/// 100 SMs at 1 GHz, each with 4 instructions and one wavefront per cycle; DRAM with 1 TB/s, L2
/// with 4 TB/s.
inline DeviceRates device() {
  DeviceRates rates;
  Ceilings& c = rates.ceilings;
  c.sm_clock_hz = 1e9;
  c.dram_read_bytes_per_s = c.dram_write_bytes_per_s = c.dram_copy_bytes_per_s = 1e12;
  c.l2_read_bytes_per_s = c.l2_write_bytes_per_s = 4e12;
  c.shared_bytes_per_s = 128 * 100 * 1e9;
  c.dram_latency_ns = 500;
  const auto bf16 = static_cast<std::size_t>(Pipe::tensor_bf16_fp32);
  c.ops_per_s[bf16] = 8e14;
  c.mma_sync_ops_per_s[bf16] = 4e14;
  rates.sm_count = 100;
  rates.sm_rates = SmRates{};
  return rates;
}

/// Rows of one experiment; all others are compared to `first`.
inline Table table_of(const std::vector<Measured>& rows) {
  constexpr FieldType kText = FieldType::text;
  constexpr FieldType kReal = FieldType::real;
  Table table;
  table.columns = {{"experiment", "", kText, ""},
                   {"family", "", kText, ""},
                   {"variant", "", kText, ""},
                   {"key", "", kText, ""},
                   {"mode", "", kText, ""},
                   {"status", "", kText, ""},
                   {"flags", "", kText, ""},
                   {"time_median_us", "us", kReal, ""},
                   {"time_ci95_low_us", "us", kReal, ""},
                   {"time_ci95_high_us", "us", kReal, ""},
                   {"compare_to", "", kText, ""},
                   {"expected_changes", "", kText, ""},
                   {"predicted_time_us", "us", kReal, ""},
                   {"limit_by", "", kText, ""},
                   {"bound_by", "", kText, ""},
                   {"param.n", "", FieldType::integer, ""}};
  for (const char* name : kNumbers) {
    const FixedColumn* fixed = find_fixed_column(name);
    table.columns.push_back({name, "", fixed ? fixed->type : kReal, ""});
  }
  std::vector<std::string> counters;
  for (const Counter& c : kCounters)
    counters.emplace_back(c.id);
  for (const std::string& id : counters)
    table.columns.push_back({"counter." + id, "", kReal, ""});
  const auto text = [](const std::string& value) { return value.empty() ? Field{} : Field{value}; };
  const auto number = [](const Numbers& numbers, std::string_view name) {
    const auto found = numbers.find(std::string(name));
    const FixedColumn* fixed = find_fixed_column(name);
    if (found == numbers.end()) return Field{};
    return fixed && fixed->type == FieldType::integer
               ? Field{static_cast<std::int64_t>(found->second)}
               : Field{found->second};
  };
  for (const Measured& m : rows) {
    std::vector<Field>& row = table.rows.emplace_back();
    row = {"reads",
           "toy",
           m.variant,
           m.variant,
           "cold",
           m.status,
           text(m.flags),
           m.time_us,
           m.time_us * (1 - m.half_interval),
           m.time_us * (1 + m.half_interval),
           text(m.variant == "first" ? "" : "first"),
           text(m.expected_changes),
           m.predicted_us > 0 ? Field{m.predicted_us} : Field{},
           text(m.limit_by),
           text(m.bound_by),
           m.n};
    for (const char* name : kNumbers)
      row.push_back(number(m.numbers, name));
    for (const std::string& id : counters)
      row.push_back(number(m.counters, id));
  }
  return table;
}

/// Counters of a kernel bound by DRAM: it reads `bytes`, with `sectors` per request.
inline Numbers reading(double bytes, double sectors) {
  return {{"dram_read_bytes", bytes},
          {"dram_write_bytes", 0},
          {"l2_sectors", bytes / 32},
          {"l1_data_wavefronts", 1e4},
          {"l1_tag_wavefronts", 1e4},
          {"warp_instructions", 1e6},
          {"issue_active_pct", 10},
          {"tensor_instructions", 0},
          {"tensor_active_pct", 0},
          {"sm_balance_pct", 100},
          {"global_load_sectors", bytes / 32},
          {"global_load_sectors_per_request", sectors},
          {"stalled_long_scoreboard", 40},
          {"stalled_barrier", 2}};
}

/// Counters of a kernel bound by issue slots: 4e8 instructions take 1 ms on 100 SMs.
inline Numbers issuing(double instructions) {
  Numbers numbers = reading(1e6, 4);
  numbers["warp_instructions"] = instructions;
  return numbers;
}

inline Numbers with(Numbers numbers, const std::string& counter, double value) {
  numbers[counter] = value;
  return numbers;
}

struct Read {
  RecordTable table;
  std::vector<ExperimentResults> experiments;
  std::vector<Explanation> explanations;

  std::string text(std::size_t i = 0) const {
    return text_of(experiments.at(0), explanations.at(i));
  }
};

inline std::unique_ptr<Read> read(const std::vector<Measured>& rows,
                                  const DeviceRates& rates = device(), bool all_problems = false) {
  auto read = std::make_unique<Read>();
  read->table = record_table(table_of(rows));
  read->experiments = experiments_of(read->table);
  read->explanations = explanations_of(read->experiments.at(0), {rates, all_problems});
  return read;
}

inline double least_us(const ResultRecord& row, Resource resource) {
  for (const LeastTime& t : least_times(row, device(), {}).of_resources) {
    if (t.resource == resource) return t.time_us;
  }
  return 0;
}

}  // namespace gpuexp::test::explained
