// One result made of the logs of several runs: the shards of a run, or whole runs of one config,
// one on each GPU.
#pragma once

#include <string>
#include <vector>

#include "results/report.hpp"
#include "results/run_log_read.hpp"

namespace gpuexp {

struct RunPart {
  std::string name;  ///< of its folder
  RunLog log;
};

struct MergedRuns {
  /// Rows in the order of the plan, each with its host and GPU; in provenance what all parts have
  /// in common, and the parts. Complete when nothing is missing.
  Report report;
  std::vector<std::string> notes;    ///< which part was left out, and for which other one
  std::vector<std::string> missing;  ///< which shard, and which cells of a shard
};

/// Takes each shard once: one that finished before one that did not, then the one that ended last.
/// Whole runs are taken once for each GPU, simulated ones once. Throws ReportError, naming two
/// parts and what differs, where parts are not of one run: another build, config, seed or option,
/// other cells, or another division into shards.
MergedRuns merge_runs(std::vector<RunPart> parts);

}  // namespace gpuexp
