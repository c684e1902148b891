// Merging the logs of several runs into one result: the shards of a run, or whole runs of one
// config on different GPUs.
#pragma once

#include <string>
#include <vector>

#include "results/report.hpp"
#include "results/run_log_read.hpp"

namespace gpuexp {

struct RunPart {
  std::string name;  ///< name of its folder
  RunLog log;
};

struct MergedRuns {
  /// Rows in the order of the plan, each with its host and GPU. The provenance has the parts and
  /// the members that all parts share. Complete if nothing is missing.
  Report report;
  std::vector<std::string> notes;    ///< ignored parts, each with the part used instead
  std::vector<std::string> missing;  ///< missing shards, and missing cells of shards
};

/// Merges the parts. If several parts have the same shard, or are whole runs on the same GPU or
/// simulated, it uses one: a finished part first, then the part that ended last. Throws
/// ReportError, with two parts and their difference, if the parts differ in build, config, seed,
/// options, cells or division into shards.
MergedRuns merge_runs(std::vector<RunPart> parts);

}  // namespace gpuexp
