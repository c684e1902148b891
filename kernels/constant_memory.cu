// constant_memory: latency of a load from constant memory, with one index per warp and with 32.
//
// The question: when is a table of constants faster in constant memory than in shared memory? A
// constant cache delivers one word at a time, to all lanes of a warp that request it. Each step of
// a chain over `bytes` loads the address that the previous step returned, as in hierarchy.
#include "kernels/common/chase.cuh"
#include "kernels/common/family.cuh"

namespace gpuexp::constant_memory {

constexpr std::int64_t kWords = 16384;   // all 64 KiB of constant memory
constexpr std::int64_t kMinWords = 256;  // words of the shortest chain
constexpr std::int64_t kWordBytes = sizeof(unsigned);

struct Problem {
  int steps;
  std::int64_t bytes;
};

struct Data {
  std::uint32_t* word;   // output of uniform_index, per lane: the word that the last step reaches
  std::uint32_t* words;  // output of index_per_lane, per lane: the word that the last step reaches
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// The contents of constant memory are fixed at compile time, so there is one chain per size: the
// chain of n words starts at word n. It follows a linear congruential generator with full period
// (Hull and Dobell, Random Number Generators, 1962: an odd increment, a multiplier of 1 modulo 4).
__host__ __device__ constexpr std::int64_t next_word(std::int64_t word, std::int64_t words) {
  return (word * 1229 + 3571) % words;
}

struct Chains {
  unsigned next[kWords];  // byte offset of the next word
  constexpr Chains() : next() {
    for (std::int64_t words = kMinWords; words < kWords; words *= 2) {
      for (std::int64_t i = 0; i < words; ++i)
        next[words + i] = static_cast<unsigned>((words + next_word(i, words)) * kWordBytes);
    }
  }
};
__constant__ Chains chains = Chains();

// ---- uniform_index: one index for the whole warp
//
// All lanes load the same word (LDC). A step takes the latency of the level of the constant cache
// that holds the set, once per warp.

/// Lane l starts at word l · stride of the chain.
struct Task {
  std::int64_t words;
  int stride;
  int steps;
  std::uint32_t* arrived;
  Clocks* clocks;
};

__global__ void __launch_bounds__(kWarp) constant_kernel(Task t) {
  const auto* const begin = reinterpret_cast<const char*>(chains.next);
  auto at = static_cast<unsigned>((t.words + threadIdx.x * t.stride) * kWordBytes);
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

int lane_stride(const Problem& p, bool is_uniform) {
  return static_cast<int>(is_uniform ? 0 : chain_words(p) / kWarp);
}

Variant walking(std::string id, bool is_uniform) {
  Variant v(std::move(id));
  v.writes = {is_uniform ? "word" : "words"};
  v.work = work;
  v.without_time = "the levels of the constant cache are not modelled";
  measure_walks<Variant, Problem, Data>(
      v, [is_uniform](const Problem& p, const Data& d, const LaunchContext&, Clocks* clocks) {
        return launch(constant_kernel, shape_of_blocks(1, kWarp),
                      Task{chain_words(p), lane_stride(p, is_uniform), p.steps,
                           is_uniform ? d.word : d.words, clocks});
      });
  return v;
}

Variant uniform_index() {
  return walking("uniform_index", true);
}

// ---- index_per_lane: a different index for each lane
//
// Each lane starts at a different word of the chain, so a step requests 32 different words. The
// cache delivers these words one by one: a step takes as many passes as there are words, and
// constant_requests increases by the same factor.

Variant index_per_lane() {
  return walking("index_per_lane", false)
      .against("uniform_index", {{"metric.step_cycles", Direction::increases, 8},
                                 {"constant_requests", Direction::increases, 30},
                                 {"warp_instructions", Direction::unchanged, 1.1}});
}

// ---- the plain reference

struct Expected {
  std::int64_t words;
  std::int64_t stride;
  std::int64_t steps;  // timed steps; the untimed lap before them ends where it starts
  __host__ __device__ ReferenceElement operator()(std::int64_t lane) const {
    std::int64_t word = lane * stride;
    for (std::int64_t i = 0; i < steps; ++i)
      word = next_word(word, words);
    return {static_cast<double>(word), 0.0};
  }
};

Expected expected(const Problem& p, bool is_uniform) {
  return {chain_words(p), lane_stride(p, is_uniform), p.steps};
}

// ---- declaration

Family declare() {
  Family f("constant_memory", Topic::memory,
           "What is the latency of a load from constant memory, with one index per warp and with "
           "32?");
  f.physics =
      "Constant memory is read through its own caches, which deliver one word at a time to all "
      "lanes that request it. One index for the whole warp takes one pass of the cache; different "
      "indices take one pass each. If the working set exceeds the first level of the cache, the "
      "next level serves it, with a few times the latency.";
  f.extent("steps", &Problem::steps, (1 << 15) + 1, 1 << 20, "dependent steps that are timed")
      .integer("bytes", &Problem::bytes, kMinWords * kWordBytes, kMinWords * kWordBytes,
               kWords / 2 * kWordBytes, "B", "size of the working set, a power of two");
  f.output("word", &Data::word, [](const Problem&) {
     return kWarp;
   }).output("words", &Data::words, [](const Problem&) { return kWarp; });
  f.metric(kStepCyclesMetric, "", kStepCyclesDoc).metric("step_ns", "ns", kStepNsDoc);
  f.plot("hierarchy", "working_sets", "Latency of a dependent load by working set",
         {{"param.bytes", "working set"}});
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const std::int64_t words = chain_words(p);
    if (p.bytes % kWordBytes != 0 || (words & (words - 1)) != 0)
      return "needs bytes to be a power of two: chains exist only for these sizes";
    return lacks_unique_end(words, p.steps);
  };
  f.outputs = [](const Problem&) { return Extent{1, 1, 1}; };
  f.inputs = [](const Problem&, const Data&, std::uint64_t) { return Steps(); };
  set_references(
      f, [](const Problem&) { return kWarp; },
      [](const Problem& p, const Data&, int o) { return expected(p, o == 0); });
  f.tolerance_derivation = "Zero: words are integers below 2^14.";
  f.variants(uniform_index(), index_per_lane());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::constant_memory
