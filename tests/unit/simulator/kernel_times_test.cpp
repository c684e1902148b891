// Kernels shared by launches of one problem.
#include "model/kernel_times.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

int stub = 0;

KernelStep step_of(std::int64_t blocks, int argument) {
  KernelStep step;
  step.shape.kernel = &stub;
  step.shape.grid = {blocks, 1, 1};
  step.arguments.add(argument);
  return step;
}

KernelTraffic traffic_of(double read) {
  KernelTraffic traffic;
  traffic.read_sectors = 1000;
  traffic.dram.read = read;
  traffic.buffers = 2;
  return traffic;
}

TEST_CASE("a kernel is identified by shape, arguments and device-memory traffic",
          "[kernel_times]") {
  const KernelStep step = step_of(8, 1);
  KernelTimes times;
  KernelCodeTime time;
  time.time_us = 5;
  times.keep({&step, 4}, traffic_of(32'000), time);
  const auto finds = [&](const KernelStep& other, int blocks_per_sm, const KernelTraffic& traffic) {
    const KernelCodeTime* const found = times.find({&other, blocks_per_sm}, traffic);
    return found && found->time_us == 5;
  };
  CHECK(finds(step_of(8, 1), 4, traffic_of(32'000)));
  CHECK_FALSE(finds(step_of(8, 1), 4, traffic_of(31'999)));
  CHECK_FALSE(finds(step_of(8, 2), 4, traffic_of(32'000)));
  CHECK_FALSE(finds(step_of(9, 1), 4, traffic_of(32'000)));
  CHECK_FALSE(finds(step_of(8, 1), 2, traffic_of(32'000)));
  KernelTraffic in_place = traffic_of(32'000);
  in_place.buffers = 1;
  CHECK_FALSE(finds(step_of(8, 1), 4, in_place));
  KernelTraffic scattered = traffic_of(32'000);
  scattered.dram.read_scattered = 32;
  CHECK_FALSE(finds(step_of(8, 1), 4, scattered));
}

TEST_CASE("kernels with different tensor maps differ", "[kernel_times]") {
  const auto with_map = [](std::int64_t rows) {
    KernelStep step;
    TensorMap map;
    map.base = &stub;
    map.extents = {64, rows};
    step.arguments.add(map, kMinTensorMapAlignment);
    return step;
  };
  CHECK(identity_of(with_map(8)) == identity_of(with_map(8)));
  CHECK(identity_of(with_map(8)) != identity_of(with_map(9)));
}

}  // namespace
}  // namespace gpuexp::test
