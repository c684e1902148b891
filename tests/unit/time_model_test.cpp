#include "model/time_model.hpp"

#include "model/l2_cache.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// Round figures: 100 SMs at 1 GHz, so that a clock of the whole device is 100 SM clocks.
DeviceSpec device() {
  DeviceSpec d;
  d.name = "round";
  d.cc_major = 9;
  d.sm_count = 100;
  d.sm_clock_max_mhz = 1000;
  d.l2_bytes = 100'000'000;
  d.memory_bytes_per_s = 1e12;
  d.sm = sm_limits(9, 0);
  return d;
}

Ceilings ceilings() {
  Ceilings c;
  c.sm_clock_hz = 1e9;
  c.dram_read_bytes_per_s = 1e12;
  c.dram_write_bytes_per_s = 1e12;
  c.dram_copy_bytes_per_s = 0.8e12;
  c.dram_random_bytes_per_s = 0.5e12;
  c.l2_read_bytes_per_s = 4e12;
  c.l2_write_bytes_per_s = 4e12;
  c.shared_bytes_per_s = 128 * 100 * 1e9;
  c.ops_per_s[static_cast<std::size_t>(Pipe::tensor_bf16_fp32)] = 1e15;
  c.dram_latency_ns = 500;
  c.l2_latency_ns = 200;
  c.l1_latency_ns = 30;
  c.shared_latency_ns = 20;
  c.barrier_latency_ns = 20;
  c.block_latency_ns = 100;
  c.blocks_per_s = 1e9;
  c.floor_cold_us = 3;
  c.floor_warm_us = 2;
  c.floor_graph_us = 1;
  return c;
}

KernelOnDevice kernel(std::int64_t blocks, int threads, int resident) {
  KernelOnDevice k;
  k.shape.grid = {blocks, 1, 1};
  k.shape.block = {threads, 1, 1};
  k.blocks_per_sm = resident;
  return k;
}

LaunchTime time_of(const KernelOnDevice& k, Mode mode = Mode::cold, const Work& work = {}) {
  return TimeModel(device(), ceilings(), mode).launch_time({k}, work).value();
}

double term(const LaunchTime& time, const std::string& resource) {
  for (const Term& t : time.terms) {
    if (t.resource == resource) return t.time_us;
  }
  return 0;
}

TEST_CASE("a kernel with much in flight takes its bytes over DRAM's bandwidth") {
  KernelOnDevice k = kernel(100'000, 256, 8);
  k.traffic.dram_read_bytes = 1e9;
  k.traffic.l2_read_sectors = 1e9 / 32;
  k.traffic.chain.dram = 1;
  const LaunchTime read = time_of(k);
  CHECK(read.total_us == Approx(3 + 1000).epsilon(0.01));
  CHECK(read.terms.front().resource == "dram");
  k.traffic.dram_read_bytes = 0.5e9;
  k.traffic.dram_write_bytes = 0.5e9;
  CHECK(time_of(k).total_us == Approx(3 + 1250).epsilon(0.01));
  k.traffic.dram_write_bytes = 0;
  k.traffic.dram_random_bytes = 0.5e9;
  CHECK(time_of(k).total_us == Approx(3 + 1000).epsilon(0.01));
}

TEST_CASE("a chain in one warp takes its latencies and nothing else") {
  KernelOnDevice k = kernel(1, 32, 8);
  k.traffic.chain.dram = 1000;
  k.traffic.instructions = 1000;
  const LaunchTime chain = time_of(k);
  CHECK(chain.total_us == Approx(3 + 500 + 1).epsilon(0.001));
  CHECK(chain.terms.front().resource == "latency");
  k.traffic.chain.cycles = 4000;
  CHECK(time_of(k).total_us == Approx(3 + 500 + 4).epsilon(0.001));
}

TEST_CASE("an SM whose tensor cores work keeps their clock, unless they multiply fp64") {
  KernelOnDevice k = kernel(100'000, 256, 8);
  k.traffic.shared_load.wavefronts = 1e9;
  k.traffic.tensor_operations = 1e9;
  DeviceSpec slower = device();
  slower.sm_clock_tensor_mhz = 800;
  const auto shared_us = [&](const DeviceSpec& d) {
    return term(*TimeModel(d, ceilings(), Mode::cold).launch_time({k}, {}), "shared");
  };
  CHECK(shared_us(slower) == Approx(shared_us(device()) / 0.8));
  k.traffic.tensor_pipe = Pipe::tensor_fp64;
  CHECK(shared_us(slower) == Approx(shared_us(device())));
  k.traffic.tensor_operations = 0;
  k.traffic.tensor_pipe = Pipe::tensor_bf16_fp32;
  CHECK(shared_us(slower) == Approx(shared_us(device())));
}

TEST_CASE("half the warps in flight take a latency-bound kernel twice the time") {
  KernelOnDevice k = kernel(8000, 256, 8);
  k.traffic.dram_read_bytes = 1e6;
  k.traffic.chain.dram = 100;
  const double full = time_of(k).total_us - 3;
  k.blocks_per_sm = 4;
  CHECK((time_of(k).total_us - 3) / full == Approx(2).epsilon(0.01));
}

TEST_CASE("one block more than a wave costs another one where barriers hold a block together") {
  const auto product = [](std::int64_t blocks) {
    KernelOnDevice k = kernel(blocks, 128, 1);
    k.traffic.in_step = true;
    k.traffic.instructions = 4e6 * static_cast<double>(blocks);
    k.traffic.fma = k.traffic.instructions;
    return time_of(k).total_us - 3;
  };
  CHECK(product(101) / product(100) == Approx(2).epsilon(0.001));
  CHECK(product(200) / product(100) == Approx(2).epsilon(0.001));
}

TEST_CASE("what L2 keeps from the launch before is not read from DRAM") {
  KernelOnDevice k = kernel(1000, 256, 8);
  k.traffic.dram_read_bytes = 10e6;
  k.traffic.l2_read_sectors = 10e6 / 32;
  k.traffic.chain.dram = 1;
  Work work;
  work.moved_read = 10e6;
  CHECK(term(time_of(k, Mode::cold, work), "dram") == Approx(10));
  CHECK(term(time_of(k, Mode::warm, work), "dram") == 0);
  CHECK(time_of(k, Mode::warm, work).total_us < time_of(k, Mode::cold, work).total_us - 5);
  // A graph takes copies in turn that L2 cannot hold together.
  CHECK(term(time_of(k, Mode::graph, work), "dram") == Approx(10));
}

TEST_CASE("further kernels of a launch cost what they cost in a graph") {
  const TimeModel model(device(), ceilings(), Mode::cold);
  KernelOnDevice k = kernel(1, 32, 1);
  CHECK(model.launch_time({k, k, k}, {})->total_us ==
        Approx(model.launch_time({k}, {})->total_us + 2 * (1 + 0.001)).epsilon(0.001));
  KernelOnDevice three = k;
  three.traffic.launches = 3;
  CHECK(model.launch_time({three}, {})->total_us ==
        Approx(model.launch_time({k, k, k}, {})->total_us));
}

TEST_CASE("empty blocks start at the device's rate") {
  const LaunchTime time = time_of(kernel(1'000'000, 32, 32));
  CHECK(time.total_us == Approx(3 + 1000).epsilon(0.01));
  CHECK(time.terms.front().resource == "blocks");
}

TEST_CASE("no time is made of figures that are not known") {
  for (const auto figure : {&Ceilings::l2_latency_ns, &Ceilings::dram_random_bytes_per_s,
                            &Ceilings::block_latency_ns, &Ceilings::blocks_per_s}) {
    Ceilings unknown = ceilings();
    (unknown.*figure).reset();
    CHECK_FALSE(TimeModel(device(), unknown, Mode::cold).launch_time({kernel(1, 32, 1)}, {}));
  }
  CHECK_FALSE(TimeModel(device(), ceilings(), Mode::profile).launch_time({kernel(1, 32, 1)}, {}));
}

TEST_CASE("every term that a launch can have is a named resource") {
  KernelOnDevice k = kernel(1000, 256, 8);
  Traffic& t = k.traffic;
  t.dram_read_bytes = t.l2_read_sectors = t.instructions = t.fma = t.alu = t.fp64 = t.xu = 1e6;
  t.tensor_operations = 1e9;
  t.global_load = t.shared_load = {1e6, 1e6, 1e6};
  const auto& names = resource_names();
  for (const Term& term : time_of(k).terms) {
    INFO(term.resource);
    CHECK(std::find(names.begin(), names.end(), term.resource) != names.end());
    CHECK(term.time_us >= 0);
  }
}

TEST_CASE("L2 keeps little, writes back most of much, and fetches pairs of sectors") {
  const DeviceSpec d = device();
  CHECK(kept_share(0, d) == 1);
  CHECK(kept_share(35e6, d) == 1);
  CHECK(kept_share(57.5e6, d) == Approx(0.5));
  CHECK(kept_share(80e6, d) == 0);
  CHECK(kept_share(1e12, d) == 0);
  CHECK(written_back(1e6, d) == 0);
  CHECK(written_back(125e6, d) == Approx(100e6));
  CHECK(l2_fetch_bytes(d) == 64);
  DeviceSpec turing = d;
  turing.cc_major = 7;
  turing.cc_minor = 5;
  CHECK(l2_fetch_bytes(turing) == 32);
}

}  // namespace
}  // namespace gpuexp::test
