// A report of any length as `run` writes it: every core column, rows of every status, missing
// numbers, and sweeps with as many sizes as rows. No number was measured.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "config/config_reader.hpp"
#include "render/ceilings_text.hpp"
#include "results/report.hpp"
#include "run/record_of.hpp"
#include "support/fake_family.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {

/// Half of the cells sweep one variant, the others compare four variants in two modes.
inline std::string sample_config(std::size_t cells) {
  constexpr std::size_t kCompared = 8;  // variants × modes
  const std::size_t swept = std::max<std::size_t>(1, cells / 2);
  return fmt::format(
      R"({{"name": "sample", "experiments": [
  {{"family": "scale", "variants": ["grid_stride"],
    "axes": {{"n": {{"from": 1, "to": {}, "step": 1}}, "alpha": 0.1}},
    "counters": ["dram_read_bytes", "l2_hit_pct"]}},
  {{"family": "matmul", "variants": ["naive", "coalesced", "smem_*"], "baseline": "naive",
    "axes": {{"m": {{"from": 1, "to": {}, "step": 1}}}}, "modes": ["cold", "warm"]}}],
  "figures": [{{"title": "A step", "published_on": "any GPU",
    "source": {{"author": "A. Author", "title": "Steps", "year": 2022,
      "address": "https://example.org", "place": "figure 1"}},
    "claims": [{{"name": "rate of one step over none", "published": 2.5, "unit": "×",
      "column": "tflops", "band": [0.5, 2], "because": "a sample",
      "rows": {{"experiment": "matmul", "variant": "coalesced", "mode": "warm", "at": {{"m": 1}}}},
      "over": [{{"experiment": "matmul", "variant": "naive", "mode": "warm",
        "at": {{"m": 1}}}}]}}]}}]}})",
      swept, ceil_div(static_cast<std::int64_t>(cells - swept) + 1, kCompared));
}

/// Counters of one kernel, or of two kernels, the second without a name and with zero counts.
inline LaunchCounts sample_counts(std::size_t cell) {
  const auto metrics = metrics_of(select_counters({"dram_read_bytes", "l2_hit_pct"}));
  LaunchCounts counts{metrics, {{"_Z6kernelPf", std::vector<double>(metrics.size(), 32.0)}}, 1};
  if (cell % 2 == 1) counts.kernels.push_back({"", std::vector<double>(metrics.size(), 0.0)});
  return counts;
}

/// A row near its limit. Every 16 cells include one row of each other status.
inline Row sample_row(const Plan& plan, const Group& group, const Cell& cell, std::size_t samples) {
  constexpr std::size_t kPeriod = 16;
  constexpr double kSpread = 1e-3;
  Row row;
  row.group = &group;
  row.cell = &cell;
  row.key = cell_key(plan, group, cell);
  row.prediction = predict_cell(plan, group, cell, {});
  const std::size_t turn = cell.index % kPeriod;
  row.status = turn < kStatuses.size() ? kStatuses[turn] : Status::passed;
  if (row.status != Status::passed) {
    row.reason = fmt::format("\"{}\", as sampled:\nno device × no time", name_of(row.status));
    return row;
  }
  row.verification.emplace();
  row.stop_reason = StopReason::converged;
  if (turn == kStatuses.size()) row.flags = {"few_samples", "output_in_l2"};
  const double time_us =
      3.7 + row.prediction->limit.time_us.value_or(0) * (1 + 0.1 * static_cast<double>(turn));
  for (std::size_t i = 0; i < samples; ++i)
    row.samples_us.push_back(time_us * (1 + kSpread * static_cast<double>(i % 7)));
  row.time_us = summarize(row.samples_us, 0.032);
  if (!plan.experiment(group).counters.empty()) row.counts = sample_counts(cell.index);
  row.baseline_time_us = plan.experiment(group).baseline ? std::optional(time_us) : std::nullopt;
  return row;
}

/// Provenance of partly measured ceilings.
inline CeilingsProvenance sample_ceilings(const Plan& plan) {
  CeilingSource ceiling_source = plan.ceiling_source;
  ceiling_source.source = "ceilings measured on a toy";
  ceiling_source.ceilings.floor_cold_us = 3.7;
  ceiling_source.measured = {{"dram_read", {900, 890, 910, "dram/read"}}};
  return ceilings_in_force(ceiling_source, plan.device);
}

/// At least `rows` rows of `samples` samples each.
inline Report sample_report(std::size_t rows, std::size_t samples) {
  const Config config = parse_config(sample_config(rows), "sample.json", fake::registry());
  const Plan plan = make_plan(config, toy_device(), {}, toy_device().memory_bytes);
  Report report;
  report.table = empty_table(plan);
  report.kernels = empty_kernel_table(plan);
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) {
      Row row = sample_row(plan, group, cell, samples);
      report.table.rows.push_back(record_of(report.table, plan, row));
      for (std::vector<Field>& kernel : kernel_fields_of(plan, row))
        report.kernels.rows.push_back(std::move(kernel));
      report.samples_us.push_back(std::move(row.samples_us));
    }
  }
  report.figures = config.figures;
  report.complete = true;
  report.provenance.gpuexp_version = "0.0.0";
  report.provenance.argv = {"gpuexp", "run", "sample.json"};
  report.provenance.config = {config.path, config.name, config.hash, config.text};
  report.provenance.settings = {{"seed", std::to_string(config.seed)}, {"max_seconds", 2.0}};
  report.provenance.ceilings = sample_ceilings(plan);
  return report;
}

}  // namespace gpuexp::test
