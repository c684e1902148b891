// The log of a run: one line of JSON per event, appended as it happens, so that whatever ends the
// run costs no more than the line in flight.
//
// First line: {"gpuexp_log": 2, "report": <a results.json without rows>, "cells": N, "origin":
// {…}}. Then, by their first member:
//   {"floor": "cold", "samples_us": […]}     times of an empty kernel
//   {"cell": I, "fields": […]}               a cell's row before it ran; its group has started
//   [I, ROUND, TIME] or [I, ROUND, TIME, MHZ]  a sample of cell I, in microseconds, and its clock
//   {"clock": I, "mhz": F, "rounds": [A, B]}  mean SM clock over these rounds of cell I's group
//   {"sustained": I, "samples_us": […]}      samples of cell I that show what a longer run would
//                                            come to; they are not its row's
//   {"row": I, "fields": […]}                a cell's row; a later one replaces it
//   {"kernels": I, "rows": [[…], …]}         hardware counters of each kernel of cell I's launch
//   {"rank": {…}}                            a rank of problems that span GPUs, as the provenance's
//                                            "ranks" have it; a later one replaces it
//   {"group": I, "experiment": …, "began_s": F, …}  what was spent on the group whose first cell is
//                                            I, as a report's "group_times" has it; a later one
//                                            replaces it
//   {"times_s": {NAME: F, …}}                where the time of the run went; one for each time that
//                                            it was resumed
//   {"event": TEXT, "utc": TIME}             resumed, recovered, interrupted, complete
// Fields stand in the order of the report's columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/shard.hpp"

namespace gpuexp {

inline constexpr int kRunLogVersion = 2;
/// The log's name in a run's folder.
inline constexpr const char* kRunLogName = "log.jsonl";
/// That of its results, once it has ended.
inline constexpr const char* kResultsName = "results.json";

/// What a run must share with the one that it resumes.
struct RunOrigin {
  std::string build_id;               ///< of the program
  std::optional<std::uint64_t> seed;  ///< given on the command line, as are the next two
  std::vector<std::string> sets;
  std::string filter;
  bool profile = false;
  std::optional<Shard> shard = {};  ///< the part of the run that the log is of; empty: all of it
  /// The cells of the whole run; the log's are those of its shard, in the same order.
  std::vector<ShardedCell> plan = {};
};

}  // namespace gpuexp
