#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/report.hpp"
#include "results/run_log.hpp"

namespace gpuexp {

/// Appends one line per call to a log (run_log.hpp); `fields` are in the order of the report's
/// columns. Members throw ReportError if the line cannot be written; earlier lines stay intact.
class RunLogWriter {
 public:
  /// Creates a log; `report` has columns but no rows. Throws if the file exists.
  RunLogWriter(const std::string& path, const Report& report, std::size_t cells,
               const RunOrigin& origin);
  /// Continues an existing log, after removing an incomplete last line.
  explicit RunLogWriter(const std::string& path);
  ~RunLogWriter();
  RunLogWriter(const RunLogWriter&) = delete;
  RunLogWriter& operator=(const RunLogWriter&) = delete;

  void floor(std::string_view mode, const std::vector<double>& samples_us);
  void cell_started(std::size_t cell, const std::vector<Field>& fields);
  void sample(std::size_t cell, int round, double time_us,
              std::optional<double> sm_clock_mhz = std::nullopt);
  void clock(std::size_t cell, int first_round, int last_round, double mhz);
  void sustained(std::size_t cell, const std::vector<double>& samples_us);
  void row(std::size_t cell, const std::vector<Field>& fields);
  void kernels(std::size_t cell, const std::vector<std::vector<Field>>& rows);
  void rank(const RankProvenance& rank);
  void event(const std::string& what);
  void group_times(std::size_t cell, const GroupTimes& group);
  void times(const RunTimes& times);

 private:
  void append(std::string line);

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace gpuexp
