// peer_latency: how long a GPU waits for something of another's.
//
// The question: what does one step between two GPUs cost? Every algorithm that spans GPUs has a
// chain of such steps, which no bandwidth shortens: a load from the other's memory goes there and
// back, an atomic addition likewise, and a word that the other stores comes one way, but has to be
// looked for. Small collectives are made of little else.
//
// One block of GPU 0 makes `steps` steps, each of which needs the result of the one before, against
// the memory of GPU 1; of signals both take turns. Time over steps is the latency.
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
      chain;            // a line's first word: how many bytes behind the begin the next is
  std::uint32_t* last;  // of chases: the line that the last step of rank 0 arrived at
  Ranks<std::uint32_t> counter;
  Ranks<std::uint32_t> mailbox;  // the number of the last signal that came
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- own_loads
//
// The chase within GPU 0's own memory, past L1: across the chip to L2 and back. Lines are visited
// in a random order, and each holds the place of the next, so that nothing is known ahead.

constexpr std::int64_t kLineWords = 16;
constexpr std::int64_t kLines = 2048;

struct Chase {
  const std::uint64_t* chain;
  std::uint32_t* last;
  std::int64_t steps;
};

// System scope: another GPU's memory may be kept in L1 as any other, unless a load asks to see what
// other GPUs write (PTX ISA, memory consistency model).
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

/// Of a line's word per step, or of the word that another rank is told.
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

/// A launch whose chain waits so many times of one kind.
auto waits(int Phase::*kind) {
  return [kind](const Problem& p, const DeviceSpec&) {
    Phase phase;
    phase.what = "chain";
    phase.*kind = static_cast<int>(p.steps);
    return std::vector<Phase>{phase};
  };
}

/// Changes of the time of long chains.
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

// ---- loads
//
// The same chase through GPU 1's memory: each step goes out over the link to the other's L2 and
// comes back. What one has to have in flight to fill the link is its rate times this.

Variant loads() {
  Variant v = variant("loads", "own_loads", "last").expecting(time(Direction::increases, 2));
  v.phases = waits(&Phase::link_loads);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) { return chase(p, d, 1); };
  return v;
}

// ---- atomics
//
// Atomic additions to one word of GPU 1, each of which waits for the last one's result. The other's
// L2 adds; the way is that of a load.

struct Additions {
  std::uint32_t* counter;
  std::int64_t steps;
  std::uint32_t zero;  ///< which the compiler does not know
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

// ---- signals
//
// The two GPUs take turns: each waits for a number in its own memory and stores the next into the
// other's. A step is one way over the link, and the time until the other GPU has read it. A
// ping-pong is two steps.

struct Turns {
  std::uint32_t* own;
  std::uint32_t* other;
  std::uint32_t* data;  // of the other GPU; null: there are none to store
  std::int64_t steps;
  RankPeers peers;
};

__global__ void __launch_bounds__(32) turns_kernel(Turns turns) {
  if (threadIdx.x != 0) return;
  // Odd numbers come from rank 0.
  const std::int64_t first = turns.peers.rank == 0 ? 1 : 2;
  for (std::int64_t i = first; i <= turns.steps + 1; i += 2) {
    const auto before = static_cast<std::uint32_t>(i - 1);
    for (unsigned looks = 0; told(turns.own) < before; ++looks) {
      if (looks > kMostLooks) give_up_waiting(turns.peers, 1 - turns.peers.rank, before);
    }
    if (i > turns.steps) break;
    if (turns.data) {
      *turns.data = before;
      tell_after_stores(turns.other, static_cast<std::uint32_t>(i));
    } else {
      tell(turns.other, static_cast<std::uint32_t>(i));
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

// ---- stored_signals
//
// The same, and each turn stores a word of data before its number, as kernels do that have results
// for each other. Who sees the number has to see the data: a store-release waits until they have
// come to the other GPU, there and back, before the number leaves.

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

/// Line after line: a random order that comes to all of them before it comes to one again.
struct Order {
  Permutation places;
  Order() : places(0, kLines) {}
  /// The line that step i leaves; the first leaves line 0.
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
  Family f("peer_latency", Topic::links, "What does one step between two GPUs cost?");
  f.physics =
      "What a GPU asks of another's memory crosses the link, and where there is one a switch, "
      "comes "
      "to the other's L2, and the answer takes the way back: several times as long as its own L2 "
      "takes. A store crosses once and nobody waits for it, but who is to notice it has to look. "
      "Chains of such steps are what small collectives consist of, and no bandwidth shortens them.";
  f.extent("steps", &Problem::steps, 4097, 1 << 20, "steps that need each other's results")
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
    return "needs steps that are no multiple of " + std::to_string(kLines) +
           ", the number of lines: a chase that never moved would end there, too";
  };
  f.inputs = inputs;
  f.reset = reset;
  set_references(
      f, [](const Problem&) { return std::int64_t{1}; },
      [](const Problem& p, const Data& d, int output) {
        return Expected{static_cast<Output>(output), Order(), p.steps, d.rank};
      });
  f.tolerance_derivation = "Zero: places and numbers.";
  f.variants(own_loads(), loads(), atomics(), signals(), stored_signals());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::peer_latency
