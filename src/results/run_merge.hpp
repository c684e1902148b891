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
  /// Rows in the order of the plan, each with its host and GPU. The provenance has the members that
  /// all parts share, and the parts. Complete if no shard and no cell is missing.
  Report report;
  std::vector<std::string> notes;    ///< ignored parts, each with the part that replaces it
  std::vector<std::string> missing;  ///< missing shards, and missing cells of shards
};

/// Merges the parts. Parts with the same shard, whole runs on the same GPU, and simulated runs
/// replace each other: a finished part is used first, then the part that ended last. Throws
/// ReportError that names two parts and their difference if parts differ in build, config, seed,
/// options, cells or division into shards.
MergedRuns merge_runs(std::vector<RunPart> parts);

}  // namespace gpuexp
