// A small report with one row of every status, missing numbers, and names that need quotes or are
// not ASCII.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "results/report.hpp"
#include "support/record_rows.hpp"

namespace gpuexp {

inline const Field kMissing;

// A passed row: a cubic product with a limit of 50 TFLOP/s.
inline std::vector<Field> timed_row(const std::string& variant, std::int64_t n, double time_us,
                                    double speedup, const std::string& flags = "") {
  const double operations = 2.0 * std::pow(static_cast<double>(n), 3);
  const double limit_us = operations / 50e12 * 1e6;
  return {"ladder",
          "matmul",
          variant,
          "cold",
          "passed",
          kMissing,
          flags.empty() ? kMissing : Field{flags},
          time_us,
          time_us * 0.99,
          time_us * 1.01,
          "naive",
          speedup,
          12.0 * static_cast<double>(n * n),
          operations,
          kMissing,
          operations / time_us / 1e6,
          "fp32",
          100 * limit_us / time_us,
          n,
          n,
          std::int64_t{64},
          variant == "naive" ? 1.0 : 4.5,
          variant == "cublas" ? "library" : "kernel"};
}

inline std::vector<Field> untimed_row(const std::string& variant, std::int64_t n,
                                      const std::string& status, const Field& reason) {
  std::vector<Field> row(23);
  row[0] = "ladder";
  row[1] = "matmul";
  row[2] = variant;
  row[3] = "cold";
  row[4] = status;
  row[5] = reason;
  row[10] = "naive";
  row[18] = n;
  row[19] = n;
  row[20] = std::int64_t{64};
  return row;
}

inline std::vector<ColumnInfo> small_columns() {
  constexpr FieldType kText = FieldType::text;
  constexpr FieldType kInteger = FieldType::integer;
  constexpr FieldType kReal = FieldType::real;
  return {{"experiment", "", kText, "the experiment"},
          {"family", "", kText, "the family"},
          {"variant", "", kText, "the mechanism"},
          {"mode", "", kText, "cache state"},
          {"status", "", kText, "what happened"},
          {"reason", "", kText, "why"},
          {"flags", "", kText, "warnings"},
          {"time_median_us", "us", kReal, "median"},
          {"time_ci95_low_us", "us", kReal, "low"},
          {"time_ci95_high_us", "us", kReal, "high"},
          {"baseline", "", kText, "refers to"},
          {"speedup", "x", kReal, "over the baseline"},
          {"useful_bytes", "B", kReal, "bytes"},
          {"operations", "", kReal, "operations"},
          {"useful_gb_per_s", "GB/s", kReal, "bandwidth"},
          {"tflops", "TFLOP/s", kReal, "rate"},
          {"limit_by", "", kText, "what binds"},
          {"limit_pct", "%", kReal, "share of it"},
          {"param.m", "", kInteger, "rows"},
          {"param.n", "", kInteger, "columns"},
          {"param.k", "", kInteger, "depth"},
          {"metric.reuse", "", kReal, "uses of a byte"},
          {"implementation", "", kText, "whose code"}};
}

/// The rows of small_report(), as fields.
inline Table small_table() {
  Table table;
  table.columns = small_columns();
  table.rows = {
      timed_row("naive", 1024, 4300, 1),
      timed_row("smem_tile", 1024, 430, 10, "few_samples"),
      timed_row("naive", 2048, 34400, 1),
      timed_row("smem_tile", 2048, 3200, 10.75, "few_samples;of_tomorrow"),
      timed_row("cublas", 2048, 400, 86),
      untimed_row("a,b", 2048, "incorrect", "expected \"1\", got nan"),
      untimed_row("tensor×", 2048, "skipped", "needs compute capability 9.0\nor later"),
      untimed_row("warp", 2048, "failed", "too many resources | launch.cu:1"),
      untimed_row("slow", 2048, "timeout", kMissing),
      untimed_row("last", 2048, "not_run", "interrupted"),
  };
  return table;
}

inline Report small_report() {
  Report report;
  report.complete = true;
  report.table = test::record_table(small_table());
  report.samples_us.resize(report.table.rows.size());
  report.samples_us[0] = {4300, 4299.5, 4300.25};
  Provenance& p = report.provenance;
  p.gpuexp_version = "0.1.0";
  p.git_commit = "0123456789abcdef0123456789abcdef01234567";
  p.git_dirty = false;
  p.utc = "2025-01-02T03:04:05Z";
  p.argv = {"gpuexp", "run", "configs/a b.json"};
  p.config = {"configs/a b.json", "a b", "e3b0c442", "{\"name\": \"a b\"}\n"};
  p.settings = {{"seed", std::int64_t{7}},
                {"measure.max_seconds", 0.1},
                {"mode", "cold"},
                {"filter", kMissing}};
  p.device.name = "NVIDIA H200";
  p.device.driver_version = "580.65.06";
  p.device.sm_count = 132;
  p.device.power_limit_w = 700;
  p.device.ecc_enabled = true;
  p.ceilings = {"ceilings measured on NVIDIA H200",
                {{"dram_read", "GB/s", 4650.5, 4640, 4660, "dram/memory_bandwidth/read", 4800},
                 {"tensor_fp64", "TFLOP/s", {}, {}, {}, {}, 67}}};
  return report;
}

/// Hardware counters per kernel of two rows, one of which launches two kernels.
inline Table small_kernels() {
  Table kernels;
  kernels.columns = {{"key", "", FieldType::text, "of the row"},
                     {"kernel", "", FieldType::integer, "its place"},
                     {"name", "", FieldType::text, "its name"},
                     {"counter.dram_read_bytes", "B", FieldType::real, "bytes read"}};
  kernels.rows = {{"ladder/matmul/naive", std::int64_t{0}, "_Z5naive", 8e6},
                  {"ladder/matmul/cublas", std::int64_t{0}, "split_k", 4e6},
                  {"ladder/matmul/cublas", std::int64_t{1}, kMissing, kMissing}};
  return kernels;
}

}  // namespace gpuexp
