#pragma once

#include <functional>
#include <memory>

#include "base/channel.hpp"
#include "family/registry.hpp"
#include "run/executor.hpp"
#include "run/tracer.hpp"

namespace gpuexp {

/// Answers requests until the connection closes or the device is lost. If the executor cannot be
/// created, answers the first request with the error. The executor must satisfy RemoteExecutor's
/// requirements. `tracer` receives a range for each sample and for each other request that launches
/// or verifies one variant, named after rank, variant, problem and mode.
void serve(Channel& channel, const Registry& registry,
           const std::function<std::unique_ptr<Executor>()>& make_executor, Tracer& tracer);

}  // namespace gpuexp
