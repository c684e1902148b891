// The log of a run: one line of JSON per event, appended as it happens, so that whatever ends the
// run costs no more than the line in flight.
//
// First line: {"gpuexp_log": 1, "report": <a results.json without rows>, "cells": N, "origin":
// {…}}. Then, by their first member:
//   {"floor": "cold", "samples_us": […]}     times of an empty kernel
//   {"cell": I, "fields": […]}               a cell's row before it ran; its group has started
//   [I, ROUND, TIME] or [I, ROUND, TIME, MHZ]  a sample of cell I, in microseconds, and its clock
//   {"discard": [I, …], "rounds": [A, B]}    these cells' samples of rounds A to B do not count;
//                                            only older versions wrote it
//   {"clock": I, "mhz": F, "rounds": [A, B]}  mean SM clock over these rounds of cell I's group;
//                                            older versions have no rounds: those since the last
//   {"sustained": I, "samples_us": […]}      samples of cell I that show what a longer run would
//                                            come to; they are not its row's
//   {"row": I, "fields": […]}                a cell's row; a later one replaces it
//   {"kernels": I, "rows": [[…], …]}         hardware counters of each kernel of cell I's launch
//   {"times_s": {NAME: F, …}}                where the time of the run went
//   {"event": TEXT, "utc": TIME}             resumed, recovered, interrupted, complete
// Fields stand in the order of the report's columns.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/report.hpp"

namespace gpuexp {

inline constexpr int kRunLogVersion = 1;
/// The log's name in a run's folder.
inline constexpr const char* kRunLogName = "log.jsonl";

/// What a run must share with the one that it resumes.
struct RunOrigin {
  std::string build_id;               ///< of the program
  std::optional<std::uint64_t> seed;  ///< given on the command line, as are the next two
  std::vector<std::string> sets;
  std::string filter;
  bool profile = false;
};

/// Appends lines to a log. Every member throws ReportError when the line cannot be written, and
/// then what was there before still is, whole.
class RunLogWriter {
 public:
  /// Begins a log; `report` has columns and no rows. Refuses a file that exists.
  RunLogWriter(const std::string& path, const Report& report, std::size_t cells,
               const RunOrigin& origin);
  /// Goes on with a log that was read; cuts off a last line that is not whole.
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
  void event(const std::string& what);
  void times(const std::vector<std::pair<std::string, double>>& seconds);

 private:
  void append(std::string line);

  std::string path_;
  int descriptor_ = -1;
};

/// A log as it was left.
struct RunLog {
  /// A row for each cell whose group started, in the order of cells. One that has no row of its own
  /// is not_run, and its reason tells of the samples that it got. Complete when the run said so.
  Report report;
  std::size_t cells = 0;  ///< of the plan
  std::vector<std::size_t> cell_of_row;
  RunOrigin origin;
};

/// Reads a log; a last line that is not whole is left out. Throws ReportError naming file and line.
RunLog read_run_log(const std::string& path);
/// The same from text; `file` is for messages.
RunLog parse_run_log(std::string_view text, const std::string& file);

}  // namespace gpuexp
