#include "cli/source_counting.hpp"

#include <set>

namespace gpuexp::cli {

SourceCounting count_source(Executor& executor, const CountedLaunch& launch, std::uint64_t seed,
                            const std::vector<sim::KernelExecution>& executions) {
  SourceCounterReader* const reader = executor.source_counter_reader();
  if (!reader) return {{}, "this executor does not count instructions"};
  SourceCounting counting;
  std::set<const sim::Program*> counted;
  for (std::size_t i = 0; i < executions.size(); ++i) {
    const bool is_first = counted.empty();
    if (!counted.insert(executions[i].program).second) continue;
    if (!is_first && !executor.restart())
      return {{}, "each kernel must be counted in a new process, which this executor cannot start"};
    try {
      for (CountedInstruction& instruction : reader->count_source(launch, seed, i))
        counting.instructions.push_back(std::move(instruction));
    } catch (const DeviceError& error) {
      if (error.device_lost()) throw;
      return {{}, error.what()};
    }
  }
  return counting;
}

}  // namespace gpuexp::cli
