// Times per launch in a series without gaps, with round ceilings.
#include "model/back_to_back.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

Ceilings series_ceilings() {
  Ceilings c;
  c.floor_graph_us = 0.5;
  c.kernel_latency_ns = 1700;
  c.l2_latency_ns = 200;
  c.host_call_ns = 4000;
  c.host_launch_ns = 10'000;
  return c;
}

TEST_CASE("a kernel follows sooner in a graph than in a stream", "[back_to_back]") {
  const Ceilings c = series_ceilings();
  CHECK(next_kernel_us(Mode::back_to_back_graph, c).value() == 0.5);
  CHECK(next_kernel_us(Mode::graph, c).value() == 0.5);
  CHECK(next_kernel_us(Mode::back_to_back, c).value() == Approx(1.5));
  CHECK_FALSE(next_kernel_us(Mode::back_to_back, {}));
}

TEST_CASE("the host or the GPU limits a series of launches", "[back_to_back]") {
  const Ceilings c = series_ceilings();
  CHECK(back_to_back_us(Mode::back_to_back_graph, 2, 1, c).value() == 2);
  // 20 launches: 10 µs for the host's first call and for the end, one launch, and 19 intervals.
  CHECK(back_to_back_us(Mode::back_to_back, 2, 1, c).value() == Approx((10 + 2 + 19 * 4) / 20.0));
  CHECK(back_to_back_us(Mode::back_to_back, 30, 1, c).value() == Approx((10 + 20 * 30) / 20.0));
  CHECK(back_to_back_us(Mode::back_to_back, 10, 3, c).value() ==
        Approx((10 + 10 + 19 * 12) / 20.0));
  Ceilings unknown = c;
  unknown.host_call_ns.reset();
  CHECK_FALSE(back_to_back_us(Mode::back_to_back, 2, 1, unknown));
  CHECK(back_to_back_us(Mode::back_to_back_graph, 2, 1, unknown).value() == 2);
}

}  // namespace
}  // namespace gpuexp::test
