// The main loop: groups in plan order, each cell verified, warmed up, sampled and verified again.
#pragma once

#include <functional>
#include <vector>

#include "core/executor.hpp"
#include "core/plan.hpp"
#include "core/row.hpp"

namespace gpuexp {

/// What the caller is told while a run goes on.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void cell_started(const Group&, const Cell&, const std::string& /*key*/) {}
  virtual void row_finished(const Row&) {}
};

enum class RunKind {
  measure,  ///< verify, warm up, sample, verify again
  verify,   ///< verify alone
  profile,  ///< one launch per cell, in the range "measure", and verified
};

struct RunOptions {
  RunKind kind = RunKind::measure;
  std::uint64_t seed = 1;
  /// Asked between samples; true ends the run, and the cells that had no turn become not_run.
  std::function<bool()> interrupted = [] { return false; };
  /// Seconds on a steady clock; tests script it.
  std::function<double()> now_s;
};

/// Runs the plan and returns one row per cell, in plan order. A DeviceError fails its cell; one
/// that lost the device leaves the remaining cells not_run. Whatever else throws passes through.
std::vector<Row> run_plan(const Plan& plan, const KernelResources& resources, Executor& executor,
                          Tracer& tracer, RunObserver& observer, const RunOptions& options);

}  // namespace gpuexp
