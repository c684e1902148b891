// Times of a plan's cells, predicted from the machine code of their kernels by threads of their
// own, while whoever needs them does something else.
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
  /// Where predictions are kept; empty: nowhere.
  std::filesystem::path kept_in;
  /// Of the program: it has the kernels' code, and makes the predictions. Empty: none are kept.
  std::string build_id;
  /// Of what find_code needs (ToolkitTools::identity).
  std::string tools = {};
  sim::FindCode find_code = compiled_from_ptx;  ///< as Simulator::find_code
  /// Asked now and then, by several threads; true ends all that is under way.
  std::function<bool()> interrupted = [] { return false; };
};

class CodePredictor {
 public:
  /// Begins with the plan's cells, the longest launches first. The plan and the kernels outlive it.
  CodePredictor(const Plan& plan, const KernelResources& kernels,
                const CodePredictorOptions& options);
  /// Ends what is under way.
  ~CodePredictor();

  /// Whether the cell's prediction is there, or why there is none.
  bool is_predicted(const Cell& cell) const;

  /// `prediction` is the cell's. It gets the time, or why there is none; where that is not there
  /// yet, waits for it.
  void refine(const Cell& cell, Prediction& prediction);

  /// Sets the counts of caches and of DRAM among the cell's. Where code has no time, or none of
  /// them is asked for, it changes nothing.
  void count_caches(const Cell& cell, LaunchCounts& counts);

  /// The same where nobody has executed the launch: of `metrics` those that caches decide, kernel
  /// by kernel. No kernels where code has no time.
  LaunchCounts cache_counts(const Cell& cell, const std::vector<std::string>& metrics);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuexp
