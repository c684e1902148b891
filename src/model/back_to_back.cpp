#include "model/back_to_back.hpp"

#include <algorithm>

namespace gpuexp {

namespace {

double microseconds(double ns) {
  return ns / 1e3;
}

}  // namespace

// kernel_latency is the latency of kernels with a store, whose acknowledgement is also part of the
// time of each kernel.
std::optional<double> next_kernel_us(Mode mode, const Ceilings& ceilings) {
  if (!ceilings.floor_graph_us || !ceilings.l2_latency_ns) return std::nullopt;
  if (is_captured(mode) || !ceilings.kernel_latency_ns) return ceilings.floor_graph_us;
  return std::max(*ceilings.floor_graph_us,
                  microseconds(*ceilings.kernel_latency_ns - *ceilings.l2_latency_ns));
}

std::optional<double> back_to_back_us(Mode mode, double gpu_us, double calls,
                                      const Ceilings& ceilings) {
  if (is_captured(mode)) return gpu_us;
  if (!ceilings.host_call_ns || !ceilings.host_launch_ns) return std::nullopt;
  const double host_us = calls * microseconds(*ceilings.host_call_ns);
  const double first_us = microseconds(*ceilings.host_launch_ns) + gpu_us;
  constexpr double kLaunches = kBackToBackLaunches;
  return (first_us + (kLaunches - 1) * std::max(host_us, gpu_us)) / kLaunches;
}

}  // namespace gpuexp
