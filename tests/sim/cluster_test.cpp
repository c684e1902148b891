// Thread block clusters and distributed shared memory.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "model/ceiling_source.hpp"
#include "model/code_time.hpp"
#include "sim/cluster_kernels.hpp"
#include "sim/device_cases.hpp"
#include "sim/execution.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using sim::FaultKind;

unsigned at(const DeviceWords& in, unsigned i) {
  return in[i % in.size()];
}

/// The block `back` ranks before, in the same cluster.
unsigned before(unsigned block, unsigned blocks, unsigned back = 1) {
  return block / blocks * blocks + (block % blocks + blocks * back - back) % blocks;
}
unsigned after(unsigned block, unsigned blocks) {
  return before(block, blocks, blocks - 1);
}

void expect_places(const DeviceWords&, DeviceWords& out) {
  unsigned* to = out.data();
  for (unsigned z = 0; z < 2; ++z) {
    for (unsigned y = 0; y < 6; ++y) {
      for (unsigned x = 0; x < 4; ++x) {
        const unsigned words[kPlaceWords] = {
            x / 2, y / 3, z, 2, 2, x % 2, y % 3, 2, 3, x % 2 + y % 3 * 2, 6, 1};
        to = std::copy(std::begin(words), std::end(words), to);
      }
    }
  }
}

void expect_loads(const DeviceWords& in, DeviceWords& out) {
  for (unsigned i = 0; i < 6 * 96; ++i) {
    const unsigned next = 96 * after(i / 96, 3);
    const unsigned seed = at(in, next + 95 - i % 96);
    unsigned* const to = &out[5 * i];
    to[0] = seed * 3 >> 8 & 0xff;
    to[1] = seed * 5;
    to[2] = seed * 7;
    to[3] = seed ^ seed * 3 << 1 ^ seed * 5 << 2 ^ seed * 7 << 3;
    to[4] = at(in, next + i % 96) * 3;
  }
}

void expect_stores(const DeviceWords& in, DeviceWords& out) {
  for (unsigned i = 0; i < 6 * 96; ++i) {
    const unsigned of = 96 * before(i / 96, 3);
    const unsigned t = i % 96;
    out[3 * i] = ~at(in, of + 95 - t);
    out[3 * i + 1] = at(in, of + 95 - t) + 1;
    out[3 * i + 2] = at(in, of + t) & 0xff;
  }
}

void expect_atomics(const DeviceWords& in, DeviceWords& out) {
  for (unsigned cluster = 0; cluster < 3; ++cluster) {
    unsigned* const first = &out[cluster * 4 * 16];
    std::fill_n(first, 4 * 16, 0);
    std::uint64_t pairs = 0, sum = 0;
    double real = 0;
    unsigned small = 0;
    for (unsigned i = 0; i < 4 * 64; ++i) {
      const unsigned seed = at(in, cluster * 256 + i);
      first[0] += seed;
      first[1] ^= seed;
      first[2] = std::max(first[2], seed);
      small += seed % 16;
      pairs += 0x100000001ull * (seed % 8);
      first[6] = first[6] >= 100 ? 0 : first[6] + 1;
      first[7] += i % 64;
      real += seed % 4;
      sum += seed;
      first[12] |= 1u << (seed % 32);
    }
    first[3] = std::bit_cast<unsigned>(static_cast<float>(small));
    std::memcpy(first + 4, &pairs, sizeof pairs);
    std::memcpy(first + 8, &real, sizeof real);
    std::memcpy(first + 10, &sum, sizeof sum);
  }
}

void expect_spaces(const DeviceWords&, DeviceWords& out) {
  for (unsigned i = 0; i < 3 * 32; ++i) {
    const unsigned rank = (i / 32 + i % 32) % 3;
    out[i] = (rank == i / 32 ? 1u : 0u) | 2 | rank << 8 | rank << 16 | 5u << 24;
  }
}

void expect_phases(const DeviceWords& in, DeviceWords& out) {
  for (unsigned i = 0; i < 10 * 33; ++i) {
    unsigned token = in[before(i / 33, 5, 7)];
    unsigned work = i % 33;
    for (unsigned phase = 0; phase < 7; ++phase) {
      token = token * 3 + 1;
      work = work * 5 + phase;
    }
    out[i] = token + work;
  }
}

void expect_async_stores(const DeviceWords& in, DeviceWords& out) {
  for (unsigned i = 0; i < 6 * 96; ++i) {
    const unsigned t = 95 - i % 96;
    const unsigned seed = at(in, 96 * before(i / 96, 3) + t);
    unsigned sum = 0;
    for (const unsigned word : {seed, t, seed, t, seed, t, 106 + seed, seed})
      sum = sum * 31 + word;
    out[i] = sum;
  }
}

void expect_arrivals(const DeviceWords& in, DeviceWords& out) {
  for (unsigned i = 0; i < 2 * 3 * 3; ++i)
    out[i] = in[i / 9 * 3 + i % 3] + 3 + i / 3 % 3;
}

void expect_remote_bulk(const DeviceWords& in, DeviceWords& out) {
  for (unsigned i = 0; i < 6 * 96; ++i) {
    const unsigned t = i % 96;
    out[i] = t >= 8 && t < 92 ? at(in, 96 * before(i / 96, 3) + t + 4) : 1;
  }
}

void expect_multicast(const DeviceWords& in, DeviceWords& out) {
  for (unsigned i = 0; i < 6 * 64; ++i)
    out[i] = i / 64 % 3 == 1 ? 7 : in[i / 192 * 64 + i % 64];
}

// ---- reductions over vectors of 16 words

/// A 16-bit floating-point format, computed in fp64.
struct Half {
  int fraction_bits;
  int min_exponent;

  double value(unsigned bits) const {
    const double fraction = bits & ((1u << fraction_bits) - 1);
    const int exponent = static_cast<int>(bits >> fraction_bits & (0x7fffu >> fraction_bits));
    const double one = exponent == 0 ? 0 : std::ldexp(1.0, fraction_bits);
    const double magnitude =
        std::ldexp(one + fraction, std::max(exponent - 1, 0) + min_exponent - fraction_bits);
    return bits & 0x8000 ? -magnitude : magnitude;
  }
  unsigned nearest(double value) const {
    unsigned best = 0;
    for (unsigned bits = 0; bits < 0x8000; ++bits) {
      const double distance = std::fabs(this->value(bits) - std::fabs(value));
      const double least = std::fabs(this->value(best) - std::fabs(value));
      if (distance < least || (distance == least && bits % 2 == 0)) best = bits;
    }
    return best | (std::signbit(value) ? 0x8000 : 0);
  }
};
constexpr Half kHalf{10, -14};
constexpr Half kBfloat{7, -126};

template <class T, class Function>
void change(unsigned* to, const unsigned* with, const Function& function) {
  for (unsigned at = 0; at < 64; at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, reinterpret_cast<char*>(to) + at, sizeof a);
    std::memcpy(&b, reinterpret_cast<const char*>(with) + at, sizeof b);
    const auto result = static_cast<T>(function(a, b));
    std::memcpy(reinterpret_cast<char*>(to) + at, &result, sizeof result);
  }
}

const auto kAdd = [](auto a, auto b) { return a + b; };
const auto kMin = [](auto a, auto b) { return std::min(a, b); };
const auto kMax = [](auto a, auto b) { return std::max(a, b); };
const auto kAnd = [](auto a, auto b) { return a & b; };
const auto kOr = [](auto a, auto b) { return a | b; };
const auto kXor = [](auto a, auto b) { return a ^ b; };
const auto kInc = [](unsigned a, unsigned b) { return a >= b ? 0 : a + 1; };
const auto kDec = [](unsigned a, unsigned b) { return a == 0 || a > b ? b : a - 1; };

void reduce_global(unsigned* out, const unsigned* with, bool is_first) {
  change<unsigned>(out, with, kAdd);
  change<unsigned>(out + 16, with, kAdd);
  change<std::uint64_t>(out + 32, with, kAdd);
  change<unsigned>(out + 48, with, kAnd);
  change<unsigned>(out + 64, with, kOr);
  change<unsigned>(out + 80, with, kXor);
  change<unsigned>(out + 96, with, kMin);
  change<int>(out + 112, with, kMax);
  change<std::int64_t>(out + 128, with, kMin);
  change<std::uint64_t>(out + 144, with, kMax);
  change<std::uint16_t>(out + 160, with, [](unsigned a, unsigned b) {
    return kHalf.value(b) < kHalf.value(a) ? b : a;
  });
  change<std::uint16_t>(out + 176, with, [](unsigned a, unsigned b) {
    return kBfloat.value(b) > kBfloat.value(a) ? b : a;
  });
  if (!is_first) return;
  change<unsigned>(out + 192, with, kInc);
  change<unsigned>(out + 208, with, kDec);
  change<float>(out + 224, with, kAdd);
  change<double>(out + 240, with, kAdd);
  change<std::uint16_t>(out + 256, with, [](unsigned a, unsigned b) {
    return kHalf.nearest(kHalf.value(a) + kHalf.value(b));
  });
  change<std::uint16_t>(out + 272, with, [](unsigned a, unsigned b) {
    return kBfloat.nearest(kBfloat.value(a) + kBfloat.value(b));
  });
}

void expect_reductions(const DeviceWords& in, DeviceWords& out) {
  for (unsigned i = 0; i < 20 * 16; ++i)
    out[i] = in[(3 + i / 16 % 13) * 16 + i % 16];
  reduce_global(out.data(), &in[0], true);
  reduce_global(out.data(), &in[16], false);
  for (unsigned block = 0; block < 2; ++block) {
    unsigned* const words = &out[20 * 16 + block * 6 * 16];
    const unsigned* const with = &in[(1 - block) * 16];
    std::copy_n(&in[5 * 16], 6 * 16, words);
    change<unsigned>(words, with, kAdd);
    change<unsigned>(words + 16, with, kInc);
    change<int>(words + 32, with, kMin);
    change<unsigned>(words + 48, with, kXor);
    change<unsigned>(words + 64, with, kDec);
    change<unsigned>(words + 80, with, kMax);
  }
}

const std::vector<DeviceCase>& cases() {
  static const std::vector<DeviceCase> all{
      {"cluster_places", 48 * kPlaceWords, cluster_places, expect_places},
      {"remote_loads", 5 * 6 * 96, remote_loads, expect_loads},
      {"remote_stores", 3 * 6 * 96, remote_stores, expect_stores},
      {"remote_atomics", 16 * 12, remote_atomics,
       [](const DeviceWords& in, DeviceWords& out) { expect_atomics(in, out); }},
      {"address_spaces", 3 * 32, address_spaces, expect_spaces},
      {"barrier_phases", 10 * 33, barrier_phases, expect_phases},
      {"async_stores", 6 * 96, async_stores, expect_async_stores},
      {"remote_arrivals", 2 * 3 * 3, remote_arrivals, expect_arrivals},
      {"remote_bulk_copies", 6 * 96, remote_bulk_copies, expect_remote_bulk},
      {"bulk_multicast", 6 * 64, bulk_multicast, expect_multicast},
      {"bulk_reductions", 32 * 16, bulk_reductions, expect_reductions},
  };
  return all;
}

TEST_CASE("cluster kernels match the host's results", "[clusters]") {
  if (!has_machine_code()) return;
  const DeviceWords in = device_input(kClusterInput);
  for (const DeviceCase& c : cases())
    check_on_cpu(c, in);
}

TEST_CASE("cluster kernels match on the GPU and the CPU", "[clusters][gpu]") {
  check_on_gpu(cases(), device_input(kClusterInput));
}

struct ClusterFault {
  std::string name;
  FaultKind kind;
  std::string words;
  Steps (*steps)(bool is_faulty, unsigned* out);
  bool has_thread = true;
};

TEST_CASE("cluster faults are reported with their line, and correct kernels without a fault",
          "[clusters]") {
  if (!has_machine_code()) return;
  for (const ClusterFault& f : {
           ClusterFault{
               "remote_overrun", FaultKind::out_of_bounds,
               "are outside of the block's 256 bytes of shared memory; the block is (0, 0, 0)",
               remote_overrun},
           ClusterFault{"no_such_block", FaultKind::out_of_bounds,
                        "in shared memory of block 2, which a cluster of size 2", no_such_block},
           ClusterFault{
               "remote_unwritten", FaultKind::unwritten,
               "4 bytes of shared memory at 0x80 are read before anything wrote them, and used",
               remote_unwritten},
           ClusterFault{"exits_early", FaultKind::race,
                        "of shared memory of block (0, 0, 0) at 0xfc are read, but nothing "
                        "keeps the block from exiting before the read",
                        exits_early},
           ClusterFault{"exits_unasked", FaultKind::race,
                        "of shared memory of block (1, 0, 0) at 0xfc are read, but nothing "
                        "keeps the block from exiting before the read",
                        exits_unasked},
           ClusterFault{"cluster_barrier_missed", FaultKind::barrier,
                        "barrier 3 is never reached by all of its threads: 32 of 64 have arrived",
                        cluster_barrier_missed, false},
           ClusterFault{"cluster_barrier_twice", FaultKind::barrier,
                        "arrives at the cluster's barrier twice", cluster_barrier_twice, false},
           ClusterFault{"remote_wait", FaultKind::other, "is in shared memory of block (0, 0, 0)",
                        remote_wait},
       }) {
    INFO(f.name);
    const auto fault = fault_of([&](unsigned* out) { return f.steps(true, out); });
    REQUIRE(fault);
    INFO(fault->what());
    CHECK(fault->kind == f.kind);
    CHECK_THAT(fault->words, contains_text(f.words));
    CHECK(fault->place == fault_line("tests/sim/cluster_faults.cu", f.name));
    CHECK(fault->kernel == f.name + "_kernel<true>");
    CHECK(fault->thread.has_value() == f.has_thread);
    const auto none = fault_of([&](unsigned* out) { return f.steps(false, out); });
    if (none) FAIL(none->what());
  }
}

/// Time of a launch with one block per SM.
CodeTime time_of(const DeviceCase& c, DeviceWords in, DeviceWords& out) {
  sim::Simulator simulator(kernels(), device().compute_capability());
  simulator.memory().add(in.data(), in.size() * sizeof(unsigned), "in");
  simulator.memory().add(out.data(), out.size() * sizeof(unsigned), "out", sim::Contents::poison);
  const Steps steps = c.steps(in.data(), out.data());
  std::vector<ResidentKernel> resident;
  for (const Step& step : steps.all())
    resident.push_back({&std::get<KernelStep>(step.action), 1});
  const LaunchFootprint footprint = footprint_of(simulator, resident, device());
  REQUIRE(footprint.refusal.empty());
  const Ceilings ceilings =
      choose_ceiling_source(device(), "h200", std::string(GPUEXP_SOURCE_DIR) + "/configs", {})
          .ceilings;
  const CodeTimeModel model(device(), ceilings, Mode::warm);
  return model.launch_time(simulator, resident,
                           launch_traffic(footprint, Mode::warm, device(), simulator.stop));
}

TEST_CASE("cluster kernels have predicted times", "[clusters]") {
  if (!has_machine_code()) return;
  const DeviceWords in = device_input(kClusterInput);
  for (const DeviceCase& c : cases()) {
    INFO(c.name);
    DeviceWords out(c.words, kPoison);
    const CodeTime time = time_of(c, in, out);
    CHECK(time.refusal.empty());
    const double own_us = time.total_us - time.launch_us;
    CHECK(own_us > 0.05);
    CHECK(own_us < 100);  // includes compare-and-swap loops, which retry
  }
}

TEST_CASE("sampling draws whole clusters", "[clusters]") {
  if (!has_machine_code()) return;
  const DeviceWords in = device_input(kClusterInput);
  DeviceWords out(48 * kPlaceWords, kPoison);
  sim::Simulator simulator(kernels(), 90);
  simulator.memory().add(out.data(), out.size() * sizeof(unsigned), "out");
  sim::BlockSampling sampling;
  sampling.blocks = 12;
  const auto executions = simulator.run(cluster_places(in.data(), out.data()), sampling);
  REQUIRE(executions.size() == 1);
  CHECK(executions[0].blocks == 48);
  CHECK(executions[0].executed_blocks % 6 == 0);
  DeviceWords wanted(out.size());
  expect_places(in, wanted);
  std::int64_t executed = 0;
  for (std::size_t block = 0; block < 48; ++block) {
    const auto begin = static_cast<std::ptrdiff_t>(block * kPlaceWords);
    if (out[block * kPlaceWords] == kPoison) continue;
    ++executed;
    CHECK(
        std::equal(out.begin() + begin, out.begin() + begin + kPlaceWords, wanted.begin() + begin));
  }
  CHECK(executed == executions[0].executed_blocks);
}

TEST_CASE("a kernel compiled for a cluster size is refused without clusters", "[clusters]") {
  if (!has_machine_code()) return;
  sim::Simulator simulator(kernels(), 90);
  Steps steps = fixed_clusters(nullptr);
  CHECK(simulator.refusal(steps).empty());
  Shape& shape = std::get<KernelStep>(steps.all()[0].action).shape;
  shape.cluster = {};
  CHECK_THAT(simulator.refusal(steps), contains_text("is compiled for clusters"));
  shape.grid.x = shape.cluster.x = 16;
  CHECK_THAT(simulator.refusal(steps), contains_text("a cluster of 16 blocks exceeds 8"));
}

TEST_CASE("a grid that is not a multiple of its cluster is refused", "[clusters]") {
  if (!has_machine_code()) return;
  sim::Simulator simulator(kernels(), 90);
  Steps steps = cluster_places(nullptr, nullptr);
  std::get<KernelStep>(steps.all()[0].action).shape.grid.x = 3;
  CHECK_THAT(simulator.refusal(steps), contains_text("is not a multiple of clusters of (2, 3, 1)"));
}

}  // namespace
}  // namespace gpuexp::test
