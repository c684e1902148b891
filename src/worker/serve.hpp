// The worker's side: does on its own executor what the other process asks for.
#pragma once

#include <functional>
#include <memory>

#include "family/registry.hpp"
#include "run/executor.hpp"
#include "run/tracer.hpp"
#include "worker/channel.hpp"

namespace gpuexp {

/// Answers requests until the other end is gone or the device is lost. An executor that cannot be
/// made is the answer to the first request. It has a timer and both counter readers, as a
/// RemoteExecutor promises, and controls profilers. `tracer` gets a range around what is done with
/// each launch, named by rank, variant, problem and mode.
void serve(Channel& channel, const Registry& registry,
           const std::function<std::unique_ptr<Executor>()>& make_executor, Tracer& tracer);

}  // namespace gpuexp
