#include "gpu/floor_times.hpp"

#include <memory>

#include "gpu/cuda_graph.hpp"
#include "gpu/device_ops.hpp"
#include "gpu/problem_launches.hpp"

namespace gpuexp {

std::vector<double> floor_times_us(const CudaStream& stream, EventTimer& timer, Mode mode,
                                   int samples, const std::function<void()>& before_each) {
  const auto launches = static_cast<int>(mode == Mode::graph     ? kMaxGraphLaunches
                                         : is_back_to_back(mode) ? kBackToBackLaunches
                                                                 : 1);
  const int replays = mode == Mode::back_to_back_graph ? kMaxReplays : 1;
  const auto queue_each = [&] {
    for (int i = 0; i < launches; ++i)
      queue_empty_kernel(stream.get());
  };
  queue_each();
  stream.synchronize();
  std::unique_ptr<CapturedLaunches> graph;
  if (is_captured(mode)) {
    graph = std::make_unique<CapturedLaunches>(stream, queue_each);
    graph->replay(stream);
  }
  const auto queue = [&] {
    if (!graph) return queue_each();
    for (int i = 0; i < replays; ++i)
      graph->replay(stream);
  };
  std::vector<double> times_us;
  for (int i = 0; i < samples; ++i) {
    before_each();
    const double us = is_back_to_back(mode)
                          ? host_clock_us(stream, queue)
                          : timer.time_us(stream, timer.can_gate(), "an empty kernel", queue);
    times_us.push_back(us / (launches * replays));
  }
  return times_us;
}

}  // namespace gpuexp
