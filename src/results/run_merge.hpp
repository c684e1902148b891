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
  /// Rows in the order of the plan, each with its host and GPU. The provenance has the earliest
  /// start, the members that are equal in all parts, and the parts. Complete if no shard and no
  /// cell is missing.
  Report report;
  std::vector<std::string> notes;    ///< ignored parts, each with the part that replaces it
  std::vector<std::string> missing;  ///< missing shards, and missing cells of shards
};

/// Merges the parts. Uses one part per shard, one whole run per GPU, and one simulated whole run:
/// the finished part that ended last, or, if none is finished, the part that ended last. Throws
/// ReportError that names two parts and their difference if parts differ in build, config, seed,
/// options, cells or division into shards.
MergedRuns merge_runs(std::vector<RunPart> parts);

}  // namespace gpuexp
