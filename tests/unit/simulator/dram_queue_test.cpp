// Waits in the queues of DRAM by its utilization.
#include "timing/dram_queue.hpp"

#include <utility>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

constexpr double kService = 288;  // cycles

/// The wait after `clocks` cycles in which DRAM was busy for the given share of the time.
double wait_after(DramQueue& queue, double& now, double& busy, double clocks, double share) {
  constexpr double kStep = 16;
  double wait = 0;
  for (const double end = now + clocks; now < end;) {
    now += kStep;
    busy += share * kStep;
    wait = queue.wait(now, busy, kService);
  }
  return wait;
}

TEST_CASE("requests wait as in a queue with constant service times", "[dram_queue]") {
  constexpr double kLong = 50'000;
  for (const auto& [share, services] :
       {std::pair{0.0, 0.0}, std::pair{0.5, 0.5}, std::pair{0.75, 1.5}}) {
    CAPTURE(share);
    DramQueue queue;
    double now = 0, busy = 0;
    CHECK(wait_after(queue, now, busy, kLong, share) == Approx(services * kService).epsilon(0.01));
  }
  DramQueue queue;
  double now = 0, busy = 0;
  const double full = wait_after(queue, now, busy, kLong, 1);
  CHECK(full == Approx(0.85 / 0.3 * kService));  // as at a utilization of 0.85
  CHECK(wait_after(queue, now, busy, kLong, 0.5) == Approx(0.5 * kService).epsilon(0.01));
}

TEST_CASE("the first requests of a kernel do not wait", "[dram_queue]") {
  DramQueue queue;
  CHECK(queue.wait(10, 10, kService) < 0.01 * kService);
}

}  // namespace
}  // namespace gpuexp::test
