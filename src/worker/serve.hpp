// The worker's side: executes the other process's requests on its own executor.
#pragma once

#include <functional>
#include <memory>

#include "family/registry.hpp"
#include "run/executor.hpp"
#include "run/tracer.hpp"
#include "worker/channel.hpp"

namespace gpuexp {

/// Answers requests until the connection closes or the device is lost. If the executor cannot be
/// created, the first request is answered with the error. The executor must have a timer and both
/// counter readers, as RemoteExecutor expects, and control profilers. `tracer` receives a range for
/// each request about a launch, named after rank, variant, problem and mode.
void serve(Channel& channel, const Registry& registry,
           const std::function<std::unique_ptr<Executor>()>& make_executor, Tracer& tracer);

}  // namespace gpuexp
