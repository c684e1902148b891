// Times of launches across GPUs, from phases and ceilings with round numbers.
#include "model/phase_time.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

constexpr double kGiga = 1e9;

/// One way, 400 GB/s for copies and 300 GB/s for loads; in both directions, three quarters of each.
/// 1e9 tensor operations take 1 µs; a link load takes 1 µs.
Ceilings ceilings() {
  Ceilings c;
  c.floor_warm_us = 3;
  c.floor_cold_us = 4;
  c.kernel_latency_ns = 2000;
  c.l2_latency_ns = 250;
  c.dram_copy_bytes_per_s = 4000 * kGiga;
  c.l2_read_bytes_per_s = 8000 * kGiga;
  c.link_copy_bytes_per_s = 400 * kGiga;
  c.link_both_bytes_per_s = 300 * kGiga;
  c.link_read_bytes_per_s = 300 * kGiga;
  c.link_write_bytes_per_s = 200 * kGiga;
  c.link_both_write_bytes_per_s = 100 * kGiga;
  c.link_load_ns = 1000;
  c.link_signal_ns = 500;
  c.link_copy_ns = 5000;
  c.link_fence_ns = 1500;
  c.unit_change_ns = 2000;
  c.library_ops_per_s[static_cast<std::size_t>(Pipe::tensor_bf16_fp32)] = 0.5e15;
  c.ops_per_s[static_cast<std::size_t>(Pipe::tensor_bf16_fp32)] = 1e15;
  return c;
}

DeviceSpec device() {
  DeviceSpec d;
  d.l2_bytes = 50 << 20;
  return d;
}

PhaseTime warm(const std::vector<Phase>& phases) {
  return phase_time(phases, Mode::warm, device(), ceilings());
}

Phase moving(double microseconds, LinkUse by = LinkUse::loads) {
  Phase phase;
  phase.what = "moving";
  phase.by = by;
  phase.link_bytes = microseconds * 1e-6 * (by == LinkUse::loads ? 300 : 400) * kGiga;
  phase.sm_share = 0.25;
  return phase;
}

Phase product(double microseconds) {
  Phase phase;
  phase.what = "product";
  phase.operations = {{Pipe::tensor_bf16_fp32, microseconds * 1e9}};
  return phase;
}

TEST_CASE("a phase takes its launch, its waits and its bytes", "[phase_time]") {
  Phase phase = moving(30);
  phase.signals = 2;
  phase.link_loads = 3;
  phase.memory_loads = 4;
  const PhaseTime time = warm({phase});
  CHECK(time.refusal.empty());
  CHECK(time.total_us == Approx(3.0 + 2 * 0.5 + 3 * 1 + 4 * 0.25 + 30));
  REQUIRE(time.timeline.size() == 1);
  CHECK(time.timeline.front().what == "moving");
  REQUIRE(!time.terms.empty());
  CHECK(time.terms.front().resource == "links");
}

TEST_CASE("a launch without bytes takes only its launch time", "[phase_time]") {
  Phase phase;
  CHECK(warm({phase}).total_us == Approx(3.0));
  CHECK(phase_time({phase}, Mode::cold, device(), ceilings()).total_us == Approx(4.0));
  CHECK(warm({}).total_us == 0);
}

TEST_CASE("a launch of a series starts when the previous one has ended", "[phase_time]") {
  Ceilings c = ceilings();
  c.floor_graph_us = 0.5;
  c.host_call_ns = 4000;
  c.host_launch_ns = 10'000;
  const auto time = [&](const Phase& phase, Mode mode) {
    return phase_time({phase}, mode, device(), c);
  };
  CHECK(time(moving(30), Mode::back_to_back_graph).total_us == Approx(0.5 + 30));
  // In a stream, the next kernel starts after kernel_latency less the latency of L2.
  CHECK(time(moving(30), Mode::back_to_back).total_us == Approx((10 + 20 * (1.75 + 30)) / 20));
  const PhaseTime by_host = time(Phase(), Mode::back_to_back);
  CHECK(by_host.total_us == Approx((10 + 1.75 + 19 * 4) / 20));
  CHECK(by_host.terms.front().resource == "host");
  c.host_call_ns.reset();
  CHECK_FALSE(time(moving(30), Mode::back_to_back).refusal.empty());
  CHECK(time(moving(30), Mode::back_to_back_graph).refusal.empty());
}

TEST_CASE("a signal after data waits for the data, and a kernel takes more than an empty one") {
  Phase phase;
  phase.signals = 2;
  phase.fences = 2;
  CHECK(warm({phase}).total_us == Approx(3.0 + 2 * (0.5 + 1.5)));
  Ceilings c = ceilings();
  c.link_kernel_ns = 4250;  // 250 of them for a load
  CHECK(phase_time({phase}, Mode::warm, device(), c).total_us == Approx(4.0 + 2 * (0.5 + 1.5)));
  CHECK(phase_time({phase}, Mode::cold, device(), c).total_us == Approx(5.0 + 2 * (0.5 + 1.5)));
}

TEST_CASE("a library's product has the library's rate") {
  Phase by_library = product(10);
  by_library.by_library = true;
  CHECK(warm({product(10)}).total_us == Approx(3.0 + 10));
  CHECK(warm({by_library}).total_us == Approx(3.0 + 20));
}

TEST_CASE("a phase that is too short to advance the clock ends") {
  Phase little = product(1e-18);
  Phase more = product(1e-15);
  more.stream = 1;
  CHECK(warm({little, more, product(1)}).total_us < 10);
}

TEST_CASE("links are slower in both directions at once", "[phase_time]") {
  Phase loads = moving(30);
  loads.both_ways = true;
  // Without a measurement, the rate falls as for copies.
  CHECK(warm({loads}).total_us == Approx(3 + 40.0));
  Phase stores = moving(20);
  stores.by = LinkUse::stores;
  CHECK(warm({stores}).total_us == Approx(3 + 30.0));
  stores.both_ways = true;
  CHECK(warm({stores}).total_us == Approx(3 + 60.0));
}

TEST_CASE("phases of a stream run consecutively", "[phase_time]") {
  const PhaseTime time = warm({product(10), product(20), moving(30)});
  CHECK(time.total_us == Approx(3 + 10 + 2 + 20 + 2 + 30.0));
  CHECK(time.timeline.at(1).begin_us == Approx(13.0));
}

TEST_CASE("products hide all copies except the last", "[phase_time]") {
  std::vector<Phase> phases;
  for (std::size_t chunk = 0; chunk < 3; ++chunk) {
    phases.push_back(product(20));
    Phase copy = moving(10, LinkUse::copy_engine);
    copy.stream = 1;
    copy.after = {2 * chunk};
    phases.push_back(copy);
  }
  // A further kernel starts in 2 µs, as does a copy in another stream, for which the end waits.
  CHECK(warm(phases).total_us == Approx(3 + 20 + 22 + 22 + 2 + 10.0 + 2));
  for (Phase& phase : phases)
    phase.stream = 0;
  CHECK(warm(phases).total_us > 95);
}

TEST_CASE("a kernel that occupies SMs slows others down", "[phase_time]") {
  Phase pushing = moving(30);
  pushing.stream = 1;
  const double alone = warm({product(30)}).total_us;
  const double together = warm({product(30), pushing}).total_us;
  // Both run at 4/5 of their rate, since they request 1.25 times the SMs.
  CHECK(together > alone + 5);
  CHECK(together < alone + 12);
  pushing.sm_share = 0;
  CHECK(warm({product(30), pushing}).total_us == Approx(2 + 30.0 + 2));
}

TEST_CASE("two phases share the links", "[phase_time]") {
  Phase one = moving(30, LinkUse::copy_engine);
  Phase two = moving(30, LinkUse::copy_engine);
  two.stream = 1;
  CHECK(warm({one, two}).total_us == Approx(5 + 60.0).epsilon(0.05));
}

TEST_CASE("a timed kernel takes its time, regardless of its operations", "[phase_time]") {
  Phase phase = product(10);
  const double untimed_us = warm({phase}).total_us;
  phase.kernel_us = 35;
  const PhaseTime timed = warm({phase});
  CHECK(timed.total_us == Approx(untimed_us + 25));
  CHECK(timed.terms.front().resource == "tensor");
  CHECK(timed.terms.front().time_us == Approx(35));
}

TEST_CASE("a waiting kernel adds its latencies, and its loads replace those of the waits",
          "[phase_time]") {
  Phase waiting = moving(30);
  waiting.signals = 2;
  waiting.memory_loads = 1;
  const double reckoned_us = warm({waiting}).total_us;
  waiting.kernel_us = 5;
  waiting.kernel_latency_us = 3;
  const double l2_us = *ceilings().l2_latency_ns / 1e3;
  const PhaseTime timed = warm({waiting});
  CHECK(timed.total_us == Approx(reckoned_us + 3 - 3 * l2_us));
  waiting.kernel_latency_us = 0;
  CHECK(warm({waiting}).total_us == Approx(reckoned_us - 3 * l2_us));
  waiting.kernel_us = 50;  // on all SMs; links take 30 µs
  waiting.sm_share = 1;
  CHECK(warm({waiting}).total_us == Approx(reckoned_us - 3 * l2_us + 20));
}

TEST_CASE("missing ceilings of a device are reported", "[phase_time]") {
  Ceilings c = ceilings();
  c.link_signal_ns.reset();
  Phase waiting;
  waiting.signals = 1;
  CHECK(phase_time({waiting}, Mode::warm, device(), c).refusal.find("a signal takes") !=
        std::string::npos);
  CHECK(phase_time({moving(1)}, Mode::warm, device(), c).refusal.empty());
  c.link_read_bytes_per_s.reset();
  CHECK(phase_time({moving(1)}, Mode::warm, device(), c).refusal.find("links deliver") !=
        std::string::npos);
}

}  // namespace
}  // namespace gpuexp::test
