// The main loop: groups in plan order. The variants of a group are verified one by one, sampled in
// interleaved rounds, so that drift hits all alike, and verified again.
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "run/executor.hpp"
#include "run/row.hpp"
#include "run/run_observer.hpp"
#include "run/run_options.hpp"
#include "run/tracer.hpp"

namespace gpuexp {

/// Runs the plan and returns one row per cell that is not finished, in plan order. A DeviceError
/// costs its cell; when the device was lost and the executor cannot recover, the remaining cells
/// are not_run. Whatever else throws passes through.
std::vector<Row> run_plan(const Plan& plan, const KernelResources& resources, Executor& executor,
                          Tracer& tracer, RunObserver& observer, const RunOptions& options);

}  // namespace gpuexp
