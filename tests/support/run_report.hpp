// Reports of a few named rows, for run comparisons.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "results/report.hpp"
#include "support/record_rows.hpp"

namespace gpuexp::test {

struct RunRow {
  std::string key;  ///< "experiment/…"
  std::vector<double> samples_us;
  std::string status = "passed";
  std::string reason = {};
  double sm_clock_mhz = 0;           ///< 0: unknown
  double floor_us = 0;               ///< 0: unknown
  std::int64_t kernel_launches = 0;  ///< 0: unknown
};

inline Report run_report(const std::vector<RunRow>& rows, double quantum_us = 0) {
  Report report;
  report.complete = true;
  Table table;
  table.columns = {{"experiment", "", FieldType::text, ""},
                   {"status", "", FieldType::text, ""},
                   {"reason", "", FieldType::text, ""},
                   {"timer_resolution_us", "us", FieldType::real, ""},
                   {"sm_clock_mhz", "MHz", FieldType::real, ""},
                   {"floor_us", "us", FieldType::real, ""},
                   {"kernel_launches", "", FieldType::integer, ""},
                   {"key", "", FieldType::text, ""}};
  for (const RunRow& row : rows) {
    const Field reason = row.reason.empty() ? Field{} : Field{row.reason};
    const Field quantum = quantum_us > 0 ? Field{quantum_us} : Field{};
    const Field floor = row.floor_us > 0 ? Field{row.floor_us} : Field{};
    const Field clock = row.sm_clock_mhz > 0 ? Field{row.sm_clock_mhz} : Field{};
    const Field kernels = row.kernel_launches > 0 ? Field{row.kernel_launches} : Field{};
    table.rows.push_back({row.key.substr(0, row.key.find('/')), row.status, reason, quantum, clock,
                          floor, kernels, row.key});
    report.samples_us.push_back(row.samples_us);
  }
  report.table = record_table(table);
  return report;
}

}  // namespace gpuexp::test
