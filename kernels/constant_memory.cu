// constant_memory: what a load from constant memory takes, with one index for a warp and with 32.
//
// The question: when is a table of constants faster in constant memory than in shared memory? A
// constant cache delivers one word at a time to all lanes of a warp that want it. So it is made for
// what every lane reads at one index (a kernel's parameters, coefficients), and a table that lanes
// index by their data takes a turn for each different word.
//
// The chain of constant words is walked as those of hierarchy are, each step by the address that
// the last one brought, over a working set of `bytes`: the levels of the constant cache show as
// knees. A program has 64 KiB of constant memory.
#include "kernels/common/chase.cuh"
#include "kernels/common/family.cuh"

namespace gpuexp::constant_memory {

constexpr std::int64_t kWords = 16384;      // of all constant memory
constexpr std::int64_t kFewestWords = 256;  // of a chain
constexpr std::int64_t kWordBytes = sizeof(unsigned);

struct Problem {
  int steps;
  std::int64_t bytes;
};

struct Data {
  std::uint32_t* word;   // of uniform_index, by lane: the word that the last step came to
  std::uint32_t* words;  // of index_per_lane, the same
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// What constant memory holds is fixed when the program is compiled, so there is a chain for each
// size: that of n words begins at word n. Its order is that of a congruential generator of full
// period (Hull and Dobell, Random Number Generators, 1962: an odd increment, a multiplier of 1
// modulo 4).
__host__ __device__ constexpr std::int64_t word_behind(std::int64_t word, std::int64_t words) {
  return (word * 1229 + 3571) % words;
}

struct Chains {
  unsigned next[kWords];  // byte offsets
  constexpr Chains() : next() {
    for (std::int64_t words = kFewestWords; words < kWords; words *= 2) {
      for (std::int64_t i = 0; i < words; ++i)
        next[words + i] = static_cast<unsigned>((words + word_behind(i, words)) * kWordBytes);
    }
  }
};
__constant__ Chains chains = Chains();

// ---- uniform_index
//
// LDC of one word for all lanes: the latency of the level of the constant cache that holds the set,
// once for the warp.

/// Lane l starts `apart` words behind lane l - 1.
struct Task {
  std::int64_t words;
  int apart;
  int steps;
  std::uint32_t* arrived;
  Clocks* clocks;
};

__global__ void __launch_bounds__(kWarp) constant_kernel(Task t) {
  const auto* const begin = reinterpret_cast<const char*>(chains.next);
  auto at = static_cast<unsigned>((t.words + threadIdx.x * t.apart) * kWordBytes);
  const Clocks clocks = timed_steps(static_cast<int>(t.words), t.steps,
                                    [&] { at = *reinterpret_cast<const unsigned*>(begin + at); });
  t.arrived[threadIdx.x] = at / kWordBytes - static_cast<unsigned>(t.words);
  if (threadIdx.x == 0) *t.clocks = clocks;
}

std::int64_t chain_words(const Problem& p) {
  return p.bytes / kWordBytes;
}

Work work(const Problem& p) {
  Work w;
  w.bytes_read = static_cast<double>(chain_words(p) * kWordBytes);
  w.bytes_written = static_cast<double>(kWarp * sizeof(std::uint32_t));
  w.moved_read = w.bytes_read;
  w.moved_written = sector_bytes<std::uint32_t>(kWarp);
  return w;
}

int words_apart(const Problem& p, bool is_uniform) {
  return static_cast<int>(is_uniform ? 0 : chain_words(p) / kWarp);
}

Variant walking(std::string id, bool is_uniform) {
  Variant v(std::move(id));
  v.writes = {is_uniform ? "word" : "words"};
  v.work = work;
  v.without_time = "the time model has no levels of the constant cache";
  measure_walks<Variant, Problem, Data>(
      v, [is_uniform](const Problem& p, const Data& d, const LaunchContext&, Clocks* clocks) {
        return launch(constant_kernel, shape_of_blocks(1, kWarp),
                      Task{chain_words(p), words_apart(p, is_uniform), p.steps,
                           is_uniform ? d.word : d.words, clocks});
      });
  return v;
}

Variant uniform_index() {
  return walking("uniform_index", true);
}

// ---- index_per_lane
//
// The same where each lane walks from a place of its own, so that a step wants 32 different words.
// The cache delivers them one by one: it takes as many turns for a step as there are words, and
// constant_requests grow by the same factor.

Variant index_per_lane() {
  return walking("index_per_lane", false)
      .against("uniform_index", {{"metric.step_cycles", Direction::increases, 8},
                                 {"constant_requests", Direction::increases, 30},
                                 {"warp_instructions", Direction::unchanged, 1.1}});
}

// ---- the plain reference

struct Expected {
  std::int64_t words;
  std::int64_t apart;
  std::int64_t steps;  // the lap before the clock starts ends where it began
  __host__ __device__ ReferenceElement operator()(std::int64_t lane) const {
    std::int64_t word = lane * apart;
    for (std::int64_t i = 0; i < steps; ++i)
      word = word_behind(word, words);
    return {static_cast<double>(word), 0.0};
  }
};

Expected expected(const Problem& p, bool is_uniform) {
  return {chain_words(p), words_apart(p, is_uniform), p.steps};
}

// ---- declaration

Family declare() {
  Family f("constant_memory", Topic::memory,
           "What does a load from constant memory take, with one index for a warp and with 32?");
  f.physics =
      "Constant memory is read through caches of its own, which deliver one word at a time to all "
      "lanes that want it. One index for the whole warp takes one turn; different indices take one "
      "each. A set beyond the first level of the cache comes from the next, at a few times the "
      "latency.";
  f.extent("steps", &Problem::steps, (1 << 15) + 1, 1 << 20, "dependent steps under the clock")
      .integer("bytes", &Problem::bytes, kFewestWords * kWordBytes, kFewestWords * kWordBytes,
               kWords / 2 * kWordBytes, "B", "the working set; a power of two");
  f.output("word", &Data::word, [](const Problem&) {
     return kWarp;
   }).output("words", &Data::words, [](const Problem&) { return kWarp; });
  f.metric(kStepCyclesMetric, "", kStepCyclesDoc).metric("step_ns", "ns", kStepNsDoc);
  f.figure("hierarchy", "working_sets", "Memory hierarchy: what a dependent load takes",
           {{"param.bytes", "working set"}});
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const std::int64_t words = chain_words(p);
    if (p.bytes % kWordBytes != 0 || (words & (words - 1)) != 0)
      return "needs bytes that are a power of two, for which there is a chain";
    return ends_at_its_start(words, p.steps);
  };
  f.outputs = [](const Problem&) { return Extent{1, 1, 1}; };
  f.inputs = [](const Problem&, const Data&, std::uint64_t) { return Steps(); };
  set_references(
      f, [](const Problem&) { return kWarp; },
      [](const Problem& p, const Data&, int o) { return expected(p, o == 0); });
  f.tolerance_derivation = "Zero: words are whole numbers below 2^14.";
  f.variants(uniform_index(), index_per_lane());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::constant_memory
