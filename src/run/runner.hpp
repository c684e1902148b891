// The main loop over groups in plan order. The variants of a group are verified one by one,
// sampled in interleaved rounds, so that drift affects all variants, and verified again.
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "run/executor.hpp"
#include "run/row.hpp"
#include "run/run_observer.hpp"
#include "run/run_options.hpp"
#include "run/tracer.hpp"

namespace gpuexp {

/// Runs the plan and returns one row per unfinished cell, in plan order. A DeviceError ends only
/// its cell. If the device is lost and the executor cannot recover, the remaining cells become
/// not_run. Other exceptions propagate.
std::vector<Row> run_plan(const Plan& plan, const KernelResources& resources, Executor& executor,
                          Tracer& tracer, RunObserver& observer, const RunOptions& options);

}  // namespace gpuexp
