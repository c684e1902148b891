#include "cli/source_counting.hpp"

#include <set>

namespace gpuexp::cli {

SourceCounting count_source(Executor& executor, const CountedLaunch& launch, std::uint64_t seed,
                            const std::vector<sim::KernelExecution>& executions) {
  SourceCounterReader* const reader = executor.source_counter_reader();
  if (!reader) return {{}, "this executor has no counters of instructions"};
  SourceCounting counting;
  std::set<const sim::Program*> counted;
  for (std::size_t i = 0; i < executions.size(); ++i) {
    const bool is_first = counted.empty();
    if (!counted.insert(executions[i].program).second) continue;
    if (!is_first && !executor.restart())
      return {{}, "each kernel is counted in a process of its own, and there is no other"};
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
