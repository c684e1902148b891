// The log of a run: one JSON line per event, appended when the event happens. A killed run loses at
// most the line being written.
//
// First line: {"gpuexp_log": 2, "report": <results.json without rows>, "cells": N, "origin": {…}}.
// The other lines, by their first member:
//   {"floor": "cold", "samples_us": […]}     times of an empty kernel
//   {"cell": I, "fields": […]}               a cell's row before it ran; its group has started
//   [I, ROUND, TIME] or [I, ROUND, TIME, MHZ]  a sample of cell I, in microseconds, and its clock
//   {"clock": I, "mhz": F, "rounds": [A, B]}  mean SM clock over these rounds of cell I's group
//   {"sustained": I, "samples_us": […]}      samples of cell I after sustained launches; the row
//                                            does not contain them
//   {"row": I, "fields": […]}                a cell's row; a later one replaces it
//   {"kernels": I, "rows": [[…], …]}         hardware counters of each kernel of cell I's launch
//   {"rank": {…}}                            a rank, as in the provenance's "ranks"; a later one
//                                            replaces it
//   {"group": I, "experiment": …, …}        time of the group whose first cell is I, as in a
//                                            report's "group_times"; a later one replaces it
//   {"times_s": {NAME: F, …}}                time of the run, by phase; one line per resumption
//   {"event": TEXT, "utc": TIME}             resumed, recovered, interrupted, complete
// Fields are in the order of the report's columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/shard.hpp"

namespace gpuexp {

inline constexpr int kRunLogVersion = 2;
/// File name of the log in a run's folder.
inline constexpr const char* kRunLogName = "log.jsonl";
/// File name of the results of a finished run.
inline constexpr const char* kResultsName = "results.json";

/// Properties that must be equal in a run and the run that it resumes.
struct RunOrigin {
  std::string build_id;               ///< build id of the program
  std::optional<std::uint64_t> seed;  ///< --seed; `sets` and `filters` are --set and --filter
  std::vector<std::string> sets;
  std::vector<std::string> filters;
  bool profile = false;
  std::optional<Shard> shard = {};  ///< the log's shard; empty: the whole run
  /// The cells of the whole run. The log has its shard's cells, in the same order.
  std::vector<ShardedCell> plan = {};
};

}  // namespace gpuexp
