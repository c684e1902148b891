// Predicts the times of a plan's cells from machine code, on background threads.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "family/counters.hpp"
#include "plan/plan.hpp"
#include "sim/simulator.hpp"
#include "compile/ptx_compiler.hpp"

namespace gpuexp {

struct CodePredictorOptions {
  unsigned threads = 1;
  /// Folder of stored predictions; empty: predictions are not stored.
  std::filesystem::path kept_in;
  /// Build id of the program, which identifies the kernels' code and the model. Empty: predictions
  /// are not stored.
  std::string build_id;
  /// ToolkitTools::identity of the tools that find_code needs.
  std::string tools = {};
  sim::FindCode find_code = compiled_from_ptx;
  /// Called repeatedly by several threads. If it returns true, all predictions in progress end.
  std::function<bool()> interrupted = [] { return false; };
};

class CodePredictor {
 public:
  /// Starts predicting the plan's cells, longest launches first. Copies of this process execute the
  /// kernels of users' files, so that a crash costs only one cell's prediction; construct this
  /// object while no other thread runs (base/process_copies.hpp). The plan and the kernels must
  /// outlive it. Throws std::system_error if the system cannot fork.
  CodePredictor(const Plan& plan, const KernelResources& kernels,
                const CodePredictorOptions& options);
  ~CodePredictor();

  /// Whether the cell's prediction, or the reason why there is none, is available.
  bool is_predicted(const Cell& cell) const;

  /// Waits for the cell's prediction, and adds its time or the reason for a missing time to
  /// `prediction`.
  void refine(const Cell& cell, Prediction& prediction);

  /// Sets the cache and DRAM counts in `counts`. Does nothing if the cell has no predicted time or
  /// none of these counts is requested.
  void count_caches(const Cell& cell, LaunchCounts& counts);

  /// Counts per kernel of a launch that was not executed, for the metrics of `metrics` that caches
  /// determine. Has no kernels if the cell has no predicted time.
  LaunchCounts cache_counts(const Cell& cell, const std::vector<std::string>& metrics);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuexp
