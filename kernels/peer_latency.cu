// peer_latency: latency of accesses from one GPU to another.
//
// The question: how long does one dependent access between two GPUs take? Every algorithm that
// spans GPUs contains a chain of such accesses, which more bandwidth does not shorten.
//
// One block of GPU 0 makes `steps` steps on the memory of GPU 1, each of which needs the result of
// the previous one. For signals, both GPUs alternate.
#include <algorithm>
#include <string>
#include <utility>

#include "kernels/common/permutation.cuh"
#include "kernels/common/rank_signals.cuh"
#include "kernels/common/reference.cuh"

namespace gpuexp::peer_latency {

struct Problem {
  std::int64_t steps;
  int gpus;
};

struct Data {
  int rank;
  Ranks<const std::uint64_t>
      chain;            // first word of a line: distance of the next line from the start, in bytes
  std::uint32_t* last;  // output of chases: line at which the last step of rank 0 arrived
  Ranks<std::uint32_t> counter;
  Ranks<std::uint32_t> mailbox;  // number of the last signal received
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- own_loads: pointer chase in the GPU's own memory
//
// The loads of the chase bypass L1 and go across the chip to L2 and back. Each line contains the
// position of the next one, in random order, so no address is known in advance.

constexpr std::int64_t kLineWords = 16;
constexpr std::int64_t kLines = 2048;

struct Chase {
  const std::uint64_t* chain;
  std::uint32_t* last;
  std::int64_t steps;
};

// System scope, because L1 may cache another GPU's memory unless a load must observe the stores of
// other GPUs (PTX ISA, memory consistency model).
__global__ void __launch_bounds__(32) chase_kernel(Chase chase) {
  const auto begin = __cvta_generic_to_global(chase.chain);
  std::uint64_t distance = 0;
#pragma unroll 8
  for (std::int64_t i = 0; i < chase.steps; ++i)
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                 : "=l"(distance)
                 : "l"(begin + distance)
                 : "memory");
  if (threadIdx.x == 0)
    *chase.last = static_cast<std::uint32_t>(distance / (kLineWords * sizeof(std::uint64_t)));
}

// ---- how the variants are launched

/// Useful bytes: a word per visited line or, for signals, the word that the other rank receives.
Work work(const Problem& p, bool own) {
  const double bytes = 8.0 * static_cast<double>(std::min(p.steps, kLines));
  Work w;
  w.bytes_read = bytes;
  w.bytes_written = sizeof(std::uint32_t);
  if (!own) w.from_peers = w.to_peers = bytes;
  return w;
}

Variant variant(std::string id, std::string compare_to, std::string output) {
  Variant v(std::move(id), std::move(compare_to));
  v.writes = {std::move(output)};
  v.deterministic = true;
  v.work = [own = v.compare_to.empty()](const Problem& p) { return work(p, own); };
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    return MetricValues{{"chain_steps", static_cast<double>(p.steps)}};
  };
  return v;
}

/// A chain that waits `steps` times for one kind of event.
auto waits(int Phase::*kind) {
  return [kind](const Problem& p, const DeviceSpec&) {
    Phase phase;
    phase.what = "chain";
    phase.*kind = static_cast<int>(p.steps);
    return std::vector<Phase>{phase};
  };
}

ExpectedChangesOf<Problem> time(Direction direction, double factor) {
  return {{std::string(kTimeColumn), direction, factor,
           [](const Problem& p) { return p.steps >= 256; }}};
}

Steps chase(const Problem& p, const Data& d, int of_rank) {
  if (d.rank != 0) return {};
  return launch(chase_kernel, shape_of_blocks(1, 32), Chase{d.chain.of[of_rank], d.last, p.steps});
}

Variant own_loads() {
  Variant v = variant("own_loads", "", "last");
  v.phases = waits(&Phase::memory_loads);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) { return chase(p, d, 0); };
  return v;
}

// ---- loads: pointer chase in the other GPU's memory
//
// The same chase runs through GPU 1's memory: each step goes over the link to the other GPU's L2
// and back, and the time increases. The bandwidth of the link times this latency is the number of
// bytes that must be in flight to use the full bandwidth.

Variant loads() {
  Variant v = variant("loads", "own_loads", "last").expecting(time(Direction::increases, 2));
  v.phases = waits(&Phase::link_loads);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) { return chase(p, d, 1); };
  return v;
}

// ---- atomics: atomic additions in the other GPU's memory
//
// Each atomic addition to one word of GPU 1 waits for the result of the previous one. GPU 1's L2
// performs the addition. The request and its answer cross the link as for a load, so the time is
// unchanged.

struct Additions {
  std::uint32_t* counter;
  std::int64_t steps;
  std::uint32_t zero;  ///< 0, unknown to the compiler
};

__global__ void __launch_bounds__(32) additions_kernel(Additions additions) {
  if (threadIdx.x != 0) return;
  const auto counter = __cvta_generic_to_global(additions.counter);
  std::uint32_t before = 0;
#pragma unroll 8
  for (std::int64_t i = 0; i < additions.steps; ++i)
    asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], 1;"
                 : "=r"(before)
                 : "l"(counter + before * additions.zero)
                 : "memory");
}

Variant atomics() {
  Variant v = variant("atomics", "loads", "counter").expecting(time(Direction::unchanged, 1.5));
  v.phases = waits(&Phase::link_loads);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) -> Steps {
    if (d.rank != 0) return {};
    return launch(additions_kernel, shape_of_blocks(1, 32), Additions{d.counter.of[1], p.steps, 0});
  };
  return v;
}

// ---- signals: stores that the other GPU polls for
//
// The two GPUs alternate: each polls for a number in its own memory, and stores the next number to
// the other GPU's memory. A step is one transfer over the link, and the time until the other GPU
// has loaded the number. The time per step decreases, because no GPU waits for an answer.

struct Turns {
  std::uint32_t* own;
  std::uint32_t* other;
  std::uint32_t* data;  // in the other GPU's memory; null: no data to store
  std::int64_t steps;
  RankPeers peers;
};

__global__ void __launch_bounds__(32) turns_kernel(Turns turns) {
  if (threadIdx.x != 0) return;
  // Rank 0 stores odd numbers.
  const std::int64_t first = turns.peers.rank == 0 ? 1 : 2;
  for (std::int64_t i = first; i <= turns.steps + 1; i += 2) {
    const auto before = static_cast<std::uint32_t>(i - 1);
    for (unsigned polls = 0; load_acquire_sys(turns.own) < before; ++polls) {
      if (polls > kMaxPolls) give_up_waiting(turns.peers, 1 - turns.peers.rank, before);
    }
    if (i > turns.steps) break;
    if (turns.data) {
      *turns.data = before;
      store_release_sys(turns.other, static_cast<std::uint32_t>(i));
    } else {
      store_relaxed_sys(turns.other, static_cast<std::uint32_t>(i));
    }
  }
}

Variant turns(std::string id, std::string compare_to, bool stores_data) {
  Variant v = variant(std::move(id), std::move(compare_to), "mailbox");
  v.launch = [stores_data](const Problem& p, const Data& d, const LaunchContext& x) -> Steps {
    if (d.rank > 1) return {};
    const int other = 1 - d.rank;
    return launch(turns_kernel, shape_of_blocks(1, 32),
                  Turns{d.mailbox.of[d.rank],
                        d.mailbox.of[other],
                        stores_data ? d.counter.of[other] : nullptr,
                        p.steps,
                        {{}, d.rank, 2, x.report}});
  };
  return v;
}

Variant signals() {
  Variant v = turns("signals", "loads", false).expecting(time(Direction::decreases, 1.1));
  v.phases = waits(&Phase::signals);
  return v;
}

// ---- stored_signals: a data store before each signal
//
// Before its number, each step also stores a word of data, as kernels do that pass results to each
// other. A GPU that has loaded the number must also see the data. The store-release therefore waits
// for a round trip, until the data have reached the other GPU. The time increases.

Variant stored_signals() {
  Variant v = turns("stored_signals", "signals", true).expecting(time(Direction::increases, 1.5));
  v.phases = [](const Problem& p, const DeviceSpec&) {
    Phase phase;
    phase.what = "chain";
    phase.signals = phase.fences = static_cast<int>(p.steps);
    return std::vector<Phase>{phase};
  };
  return v;
}

// ---- inputs

/// A random order of the lines, which visits all of them before it repeats one.
struct Order {
  Permutation places;
  Order() : places(0, kLines) {}
  /// The line at which step i starts; the first step starts at line 0.
  __host__ __device__ std::int64_t operator()(std::int64_t i) const {
    return (places(i % kLines) + kLines - places(0)) % kLines;
  }
};

struct Links {
  Order order;
  Permutation places{0, kLines};
  __host__ __device__ std::uint64_t operator()(std::int64_t word) const {
    const std::int64_t line = word / kLineWords;
    if (word % kLineWords != 0) return 0;
    const std::int64_t step = places.inverse((line + places(0)) % kLines);
    return static_cast<std::uint64_t>(order(step + 1)) * kLineWords * sizeof(std::uint64_t);
  }
};

Steps reset(const Problem&, const Data& d) {
  return Steps(MemsetStep{d.last, 0, 4}) + MemsetStep{d.counter.of[d.rank], 0, 4} +
         MemsetStep{d.mailbox.of[d.rank], 0, 4};
}

Steps inputs(const Problem& p, const Data& d, std::uint64_t) {
  return fill(const_cast<std::uint64_t*>(d.chain.of[d.rank]), kLines * kLineWords, Links{}) +
         reset(p, d);
}

// ---- the plain reference

enum Output { last, counter, mailbox };  // in the order of their declaration

struct Expected {
  Output output;
  Order order;
  std::int64_t steps;
  int rank;

  __host__ __device__ ReferenceElement operator()(std::int64_t) const {
    std::int64_t value = 0;
    if (output == last && rank == 0) value = order(steps);
    if (output == counter && rank == 1) value = steps;
    if (output == mailbox && rank == 0) value = steps / 2 * 2;
    if (output == mailbox && rank == 1) value = (steps + 1) / 2 * 2 - 1;
    return {static_cast<double>(value), 0};
  }
};

// ---- declaration

Family declare() {
  Family f("peer_latency", Topic::links,
           "How long does one dependent access between two GPUs take?");
  f.physics =
      "A request to another GPU's memory crosses the link, and a switch if there is one, to the "
      "other GPU's L2, and the answer returns the same way. This takes several times as long as a "
      "request to the GPU's own L2. A store crosses the link once and its GPU does not wait, but "
      "the receiver must poll for it. Small collectives consist of chains of such steps, which "
      "more bandwidth does not shorten.";
  f.extent("steps", &Problem::steps, 4097, 1 << 20, "dependent steps of the chain")
      .spans(&Problem::gpus, &Data::rank);
  const auto one = [](const Problem&) { return std::int64_t{1}; };
  f.input("chain", &Data::chain, [](const Problem&) { return kLines * kLineWords; })
      .in_out("last", &Data::last, one)
      .in_out("counter", &Data::counter, one)
      .in_out("mailbox", &Data::mailbox, one);
  f.metric("chain_steps", "", "steps of the chain");
  const auto latency = [](const char* ceiling, const char* variant) {
    return CeilingRows::latency(ceiling, {variant}, Mode::warm, "metric.chain_steps")
        .without_launch();
  };
  f.ceilings = {latency("link_load_latency", "loads"), latency("link_atomic_latency", "atomics"),
                latency("link_signal_latency", "signals"),
                CeilingRows::latency("link_fence_latency", {"stored_signals"}, Mode::warm,
                                     "metric.chain_steps")
                    .without("signals", 1),
                CeilingRows::latency("link_kernel", {"own_loads"}, Mode::warm, "param.steps")
                    .where("steps", "1")};
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.steps % kLines != 0) return std::nullopt;
    return "steps must not be a multiple of " + std::to_string(kLines) +
           ", the number of lines: a chase that never moved would end at the same line";
  };
  f.inputs = inputs;
  f.reset = reset;
  set_references(
      f, [](const Problem&) { return std::int64_t{1}; },
      [](const Problem& p, const Data& d, int output) {
        return Expected{static_cast<Output>(output), Order(), p.steps, d.rank};
      });
  f.tolerance_derivation = "Zero: line numbers and counters are exact.";
  f.variants(own_loads(), loads(), atomics(), signals(), stored_signals());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::peer_latency
