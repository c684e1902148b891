// Predicts the times of a plan's cells from machine code, in background threads.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "family/counters.hpp"
#include "plan/plan.hpp"
#include "sim/simulator.hpp"
#include "simulated/ptx_compiler.hpp"

namespace gpuexp {

struct CodePredictorOptions {
  unsigned threads = 1;  ///< at least one
  /// Folder of the stored predictions; empty: none are stored.
  std::filesystem::path kept_in;
  /// Build id of the program, which contains the kernels' code and the model. Empty: no predictions
  /// are stored.
  std::string build_id;
  /// Identity of the tools that find_code needs (ToolkitTools::identity).
  std::string tools = {};
  sim::FindCode find_code = compiled_from_ptx;  ///< see Simulator::find_code
  /// Called repeatedly by several threads; true ends all predictions in progress.
  std::function<bool()> interrupted = [] { return false; };
};

class CodePredictor {
 public:
  /// Starts predicting the plan's cells, longest launches first. The plan and the kernels must
  /// outlive it.
  CodePredictor(const Plan& plan, const KernelResources& kernels,
                const CodePredictorOptions& options);
  /// Ends the predictions in progress.
  ~CodePredictor();

  /// True if the cell's prediction, or the reason why there is none, is available.
  bool is_predicted(const Cell& cell) const;

  /// Waits for the cell's prediction and adds its time, or the reason why there is none, to
  /// `prediction`.
  void refine(const Cell& cell, Prediction& prediction);

  /// Sets the cache and DRAM counts among the cell's counts. Does nothing if the cell has no
  /// predicted time or none of these counts is requested.
  void count_caches(const Cell& cell, LaunchCounts& counts);

  /// Cache and DRAM counts per kernel of a launch that was not executed, for those of `metrics`
  /// that the caches determine. No kernels if the cell has no predicted time.
  LaunchCounts cache_counts(const Cell& cell, const std::vector<std::string>& metrics);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuexp
