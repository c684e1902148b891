// Times on the host's clock, from steps with round times.
#include "model/host_time.hpp"

#include "family/step.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

// A call takes 2 µs, each way between host and GPU 3 µs; the bus moves 1 MB per ms.
Ceilings machine() {
  Ceilings c;
  c.host_call_ns = 2000;
  c.host_launch_ns = 8000;
  c.bus_to_device_bytes_per_s = 1e9;
  c.bus_to_host_bytes_per_s = 1e9;
  return c;
}

constexpr double kFurtherUs = 1;

HostedStep kernel(double us, int stream = 0) {
  return {Unit::sms, us, 0, stream, {}};
}
HostedStep copy(Unit unit, int stream) {
  return {unit, 0, 100'000, stream, {}};  // 100 µs
}

double time_us(const std::vector<HostedStep>& steps, bool as_graph = false) {
  const HostTime time = host_time(steps, as_graph, kFurtherUs, machine());
  CHECK(time.refusal.empty());
  return time.total_us;
}

TEST_CASE("a kernel takes its call, the way to the GPU, its own time and the way back") {
  CHECK(time_us({kernel(10)}) == 2 + 3 + 10 + 3);
}

TEST_CASE("a chain takes the longer of host and GPU time per kernel") {
  CHECK(time_us(std::vector<HostedStep>(5, kernel(0.5))) == 5 * 2 + 3 + 0.5 + 3);
  CHECK(time_us(std::vector<HostedStep>(5, kernel(10))) == 2 + 3 + 5 * 10 + 4 * kFurtherUs + 3);
}

TEST_CASE("a graph is one call, and its kernels run consecutively") {
  CHECK(time_us(std::vector<HostedStep>(5, kernel(0.5)), true) ==
        2 + 3 + 5 * 0.5 + 4 * kFurtherUs + 3);
}

TEST_CASE("a host that waits pays a round trip per kernel") {
  const HostedStep wait{Unit::host, 0, 0, 0, {}};
  CHECK(time_us({kernel(10), wait, kernel(10), wait}) == 2 * (2 + 3 + 10 + 3));
}

TEST_CASE("copies and kernels overlap only between different streams") {
  const auto chunk = [](int stream) {
    return std::vector{copy(Unit::copy_to_device, stream), kernel(100, stream),
                       copy(Unit::copy_to_host, stream)};
  };
  const auto both = [&](int first, int second) {
    std::vector<HostedStep> steps = chunk(first);
    for (const HostedStep& step : chunk(second))
      steps.push_back(step);
    return time_us(steps);
  };
  CHECK(both(1, 1) == 5 + 600 + 3);
  CHECK(both(1, 2) == 5 + 400 + 3);
  SECTION("the second copy waits for the engine") {
    CHECK(time_us({copy(Unit::copy_to_device, 1), copy(Unit::copy_to_device, 2)}) == 5 + 200 + 3);
    CHECK(time_us({copy(Unit::copy_to_device, 1), copy(Unit::copy_to_host, 2)}) == 2 + 5 + 100 + 3);
  }
}

TEST_CASE("the legacy default stream orders only blocking streams") {
  const auto three = [](int first, int second, int third) {
    return time_us(
        {copy(Unit::copy_to_device, first), kernel(100, second), copy(Unit::copy_to_host, third)});
  };
  CHECK(three(kFirstBlockingStream, kDefaultStream, kFirstBlockingStream - 1) == 5 + 300 + 3);
  CHECK(three(1, kDefaultStream, 2) == 4 + 5 + 100 + 3);
}

TEST_CASE("a step waits for the named steps of other streams") {
  HostedStep after = kernel(100, 2);
  after.after = {0};
  CHECK(time_us({copy(Unit::copy_to_device, 1), after}) == 5 + 200 + 3);
}

TEST_CASE("without figures of the host or the bus the time is unknown") {
  Ceilings c = machine();
  c.bus_to_host_bytes_per_s = std::nullopt;
  CHECK(host_time({kernel(1)}, false, kFurtherUs, c).refusal.empty());
  CHECK_FALSE(host_time({copy(Unit::copy_to_device, 1)}, false, kFurtherUs, c).refusal.empty());
  c.host_call_ns = std::nullopt;
  CHECK_FALSE(host_time({kernel(1)}, false, kFurtherUs, c).refusal.empty());
}

TEST_CASE("a change of units takes time, within a stream and between streams of an engine") {
  Ceilings c = machine();
  c.unit_change_ns = 5000;
  const auto time_of = [&](const std::vector<HostedStep>& steps) {
    return host_time(steps, false, kFurtherUs, c).total_us;
  };
  CHECK(time_of({copy(Unit::copy_to_device, 1), kernel(100, 1)}) == Approx(5 + 100 + 5 + 100 + 3));
  CHECK(time_of({copy(Unit::copy_to_device, 1), copy(Unit::copy_to_device, 1)}) ==
        Approx(5 + 200 + 3));
  CHECK(time_of({copy(Unit::copy_to_device, 1), copy(Unit::copy_to_device, 2)}) ==
        Approx(5 + 100 + 5 + 100 + 3));
}

TEST_CASE("a copy engine prefers a stream with more copies") {
  Ceilings c = machine();
  c.unit_change_ns = 5000;
  const HostTime time = host_time(
      {copy(Unit::copy_to_device, 1), copy(Unit::copy_to_device, 2), copy(Unit::copy_to_device, 1)},
      false, kFurtherUs, c);
  const auto end_us = [&](std::size_t step) { return time.timeline[3 + step].end_us; };
  CHECK(end_us(0) == Approx(105));
  CHECK(end_us(2) == Approx(205));
  CHECK(end_us(1) == Approx(310));
}

TEST_CASE("copies in both directions slow each other down while both run") {
  Ceilings c = machine();
  c.bus_both_bytes_per_s = 0.5e9;
  const auto time_of = [&](std::int64_t there, std::int64_t back) {
    return host_time(
               {{Unit::copy_to_device, 0, there, 1, {}}, {Unit::copy_to_host, 0, back, 2, {}}},
               false, kFurtherUs, c)
        .total_us;
  };
  // The second copy starts 2 µs later. Both have half the rate until the shorter one ends.
  CHECK(time_of(100'000, 0) == Approx(5 + 100 + 3));
  CHECK(time_of(100'000, 100'000) == Approx(5 + 2 + 2 * 98 + 2 + 3));
  CHECK(time_of(100'000, 10'000) == Approx(5 + 2 + 2 * 10 + (98 - 10) + 3));
}

TEST_CASE("the terms are the host's calls and the copies, longest first") {
  const HostTime time =
      host_time({copy(Unit::copy_to_device, 1), kernel(1, 1)}, false, kFurtherUs, machine());
  REQUIRE(time.terms.size() == 2);
  CHECK(time.terms[0].resource == "copy_to_device");
  CHECK(time.terms[0].time_us == 100);
  CHECK(time.terms[1].resource == "host");
  CHECK(time.terms[1].time_us == 4);
}

}  // namespace
}  // namespace gpuexp::test
