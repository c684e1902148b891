// l2_persistence: a working set that one kernel reads repeatedly while another kernel streams.
//
// The question: can a working set stay in L2 while other data stream through? L2 replaces the least
// recently used lines. If the working set and the data streamed between two reads of a line exceed
// L2's capacity, the line is evicted, although the working set by itself would fit.
//
// Both kernels run concurrently, each in its own stream. The kernel that reads the working set has
// few SMs and one load in flight per thread, so its time depends on whether lines come from L2 or
// DRAM.
#include "kernels/common/checksum.cuh"
#include "kernels/common/family.cuh"

namespace gpuexp::l2_persistence {

struct Problem {
  std::int64_t hot;
  std::int64_t passes;
  std::int64_t streamed;
  double hit_ratio;
  std::int64_t set_aside_mib;

  std::int64_t hot_bytes() const { return hot * std::int64_t{sizeof(float)}; }
};

constexpr int kBlock = 1024;
constexpr int kHotThreads = 32 * kBlock;     // one block on each of 32 SMs
constexpr int kStreamThreads = 96 * kBlock;  // on the remaining SMs, of 132 or more

struct Data {
  const float* hot;            ///< p.hot
  const float* streamed;       ///< p.streamed
  std::uint32_t* hot_sums;     ///< kHotThreads: checksum of each thread
  std::uint32_t* stream_sums;  ///< kStreamThreads
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- hot_alone: the working set without a second kernel
//
// The kernel reads its working set several times, with no other kernel on the GPU. L2 serves all
// passes over a set that fits in it.

/// Eviction priority of the lines of a load in L2 (PTX ISA, createpolicy).
enum class Eviction { normal, first, last };

/// Returns the checksum of one thread's share of n elements; kThreads threads read them with kLoads
/// loads in flight each.
template <Eviction eviction, int kThreads, int kLoads>
__device__ std::uint32_t sum_of(const float* in, std::int64_t n);

template <Eviction eviction>
__global__ void __launch_bounds__(kBlock)
    hot_kernel(const float* hot, std::int64_t n, std::int64_t passes, std::uint32_t* sums) {
  std::uint32_t sum = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass)
    sum += sum_of<eviction, kHotThreads, 1>(hot, n);
  sums[blockIdx.x * kBlock + threadIdx.x] = sum;
}

template <Eviction eviction>
__device__ std::uint64_t policy() {
  std::uint64_t policy = 0;
  if (eviction == Eviction::first)
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  if (eviction == Eviction::last)
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

// Volatile, so that each pass loads again; bypasses L1, which would keep part of the set.
template <Eviction eviction>
__device__ float4 load(const float4* from, std::uint64_t policy) {
  float4 v;
  if (eviction == Eviction::normal) {
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(__cvta_generic_to_global(from)));
  } else {
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(__cvta_generic_to_global(from)), "l"(policy));
  }
  return v;
}

template <Eviction eviction, int kThreads, int kLoads>
__device__ std::uint32_t sum_of(const float* in, std::int64_t n) {
  const auto* const vectors = reinterpret_cast<const float4*>(in);
  const int thread = static_cast<int>(blockIdx.x) * kBlock + static_cast<int>(threadIdx.x);
  const int count = static_cast<int>(n / 4);
  const std::uint64_t how = policy<eviction>();
  std::uint32_t sum = 0;
#pragma unroll 1
  for (int i = thread; i < count; i += kLoads * kThreads) {
    float4 v[kLoads];
#pragma unroll
    for (int j = 0; j < kLoads; ++j)
      v[j] = i < count - j * kThreads ? load<eviction>(vectors + i + j * kThreads, how) : float4{};
#pragma unroll
    for (int j = 0; j < kLoads; ++j)
      sum += bits_sum(v[j]);
  }
  const int last = static_cast<int>(n % 4);
  return thread < last ? sum + bits_sum(in[n - last + thread]) : sum;
}

template <Eviction eviction = Eviction::normal>
Steps hot_step(const Problem& p, const Data& d) {
  return launch(hot_kernel<eviction>, shape_of_tiles(kHotThreads, kBlock, kBlock), d.hot, p.hot,
                p.passes, d.hot_sums);
}

/// Returns a variant, without its launch, that reads `hot`, `streamed`, or both.
Variant variant(std::string id, std::string compare_to, bool hot, bool streamed,
                ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.deterministic = true;
  v.without_time = "the sharing of L2 between concurrent kernels is not modelled";
  if (!streamed) v.writes = {"hot_sums"};
  if (!hot) v.writes = {"stream_sums"};
  v.work = [hot, streamed](const Problem& p) {
    const auto of = [](std::int64_t n, int threads) {
      return reads<float>(n) + writes<std::uint32_t>(threads);
    };
    return (hot ? of(p.hot, kHotThreads) : Work{}) +
           (streamed ? of(p.streamed, kStreamThreads) : Work{});
  };
  return v;
}

Variant hot_alone() {
  Variant v = variant("hot_alone", "", true, false, {});
  v.without_time.clear();
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) { return hot_step(p, d); };
  return v;
}

// ---- stream_alone: the streaming kernel by itself
//
// A kernel loads its data once, with no other kernel on the GPU. Its time, which DRAM limits, is a
// lower bound for all variants below. If L2 holds the set of hot_alone, dram_read_bytes increases.

constexpr std::int64_t kMiB = 1 << 20;

/// Whether an L2 of 50 MiB holds the working set, even if both of its partitions store each line.
bool fits_alone(const Problem& p) {
  return p.hot_bytes() <= 16 * kMiB;
}

template <Eviction eviction>
__global__ void __launch_bounds__(kBlock)
    stream_kernel(const float* streamed, std::int64_t n, std::uint32_t* sums) {
  sums[blockIdx.x * kBlock + threadIdx.x] = sum_of<eviction, kStreamThreads, 4>(streamed, n);
}

template <Eviction eviction = Eviction::normal>
Steps stream_step(const Problem& p, const Data& d) {
  return launch(stream_kernel<eviction>, shape_of_tiles(kStreamThreads, kBlock, kBlock), d.streamed,
                p.streamed, d.stream_sums);
}

Variant stream_alone() {
  Variant v = variant("stream_alone", "hot_alone", false, true,
                      {{"dram_read_bytes", Direction::increases, 4, [](const Problem& p) {
                          return fits_alone(p) && p.streamed >= 8 * p.hot;
                        }}});
  v.without_time.clear();
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return stream_step(p, d);
  };
  return v;
}

// ---- side_by_side: both kernels concurrently, without a hint
//
// Both kernels run concurrently. L2 treats their lines equally, so the stream evicts lines of the
// working set between two passes. DRAM serves these lines again: dram_read_bytes increases over
// stream_alone. Only a part of the set is evicted, on an H200 a larger part of larger sets.

Steps concurrently(Steps first, Steps other) {
  for (Step& step : other.all())
    step.stream = 1;
  return std::move(first) + std::move(other);
}

/// Whether L2 could hold the working set by itself, and the stream lasts as long as its passes.
bool is_evicted(const Problem& p) {
  constexpr std::int64_t kMinPasses = 8;
  return p.hot_bytes() >= 8 * kMiB && fits_alone(p) && p.passes >= kMinPasses &&
         2 * p.streamed >= p.hot * p.passes;
}

Variant side_by_side() {
  Variant v = variant("side_by_side", "stream_alone", true, true,
                      {{"dram_read_bytes", Direction::increases, 1.03, is_evicted}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return concurrently(hot_step(p, d), stream_step(p, d));
  };
  return v;
}

// ---- window: access-policy window with a set-aside part of L2
//
// A part of L2 is set aside for persisting accesses. The working set is the access-policy window: a
// share `hit_ratio` of its accesses persist, and the others count as streaming accesses, whose
// lines are evicted first. If the window fits in the set-aside part, L2 serves all passes after the
// first: dram_read_bytes decreases. The cost is less L2 for all other accesses.

bool is_kept(const Problem& p) {
  return is_evicted(p) && p.hit_ratio == 1 && p.set_aside_mib << 20 >= p.hot_bytes();
}

// CUDA C++ Programming Guide, "L2 cache Set-Aside for Persisting Accesses": at most three quarters.
std::optional<std::string> set_aside_too_large(const Problem& p, const DeviceSpec& device) {
  const std::int64_t most_mib = device.l2_bytes * 3 / 4 >> 20;
  if (p.set_aside_mib <= most_mib) return std::nullopt;
  return "needs set_aside_mib <= " + std::to_string(most_mib) + ", three quarters of L2";
}

Variant keeping(std::string id, std::string compare_to) {
  Variant v = variant(std::move(id), std::move(compare_to), true, true,
                      {{"dram_read_bytes", Direction::decreases, 1.03, is_kept}});
  v.unsupported = set_aside_too_large;
  return v;
}

Variant window() {
  Variant v = keeping("window", "side_by_side");
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    Steps hot = hot_step(p, d);
    std::get<KernelStep>(hot.all().front().action).window = AccessPolicyWindow{
        d.hot, p.hot_bytes(), static_cast<float>(p.hit_ratio), p.set_aside_mib << 20};
    return concurrently(std::move(hot), stream_step(p, d));
  };
  return v;
}

// ---- evict_first: evict-first loads of the stream
//
// No part of L2 is set aside. The streaming loads mark their lines to be evicted first, which
// protects the lines of other kernels: dram_read_bytes decreases. The cost is a change of the
// streaming kernel, which itself gains nothing.

Variant evict_first() {
  Variant v = variant("evict_first", "side_by_side", true, true,
                      {{"dram_read_bytes", Direction::decreases, 1.02, is_evicted}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return concurrently(hot_step(p, d), stream_step<Eviction::first>(p, d));
  };
  return v;
}

// ---- evict_last: evict-last loads of the working set
//
// The loads of the working set mark their lines to be evicted last. Such accesses persist, but no
// part of L2 is set aside for them, so L2 treats them as normal. For sets of 8 MiB and more
// dram_read_bytes is unchanged.

// About a tenth of all bytes from DRAM belong to the working set. This share varies with the
// overlap of its passes with the stream; the default factor allows it to change by half.
Variant evict_last() {
  Variant v = variant("evict_last", "side_by_side", true, true,
                      {{"dram_read_bytes", Direction::unchanged, kUnchangedFactor, is_evicted}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return concurrently(hot_step<Eviction::last>(p, d), stream_step(p, d));
  };
  return v;
}

// ---- evict_last_set_aside: evict-last loads with a set-aside part of L2
//
// The loads are the same as in evict_last, with a part of L2 set aside: dram_read_bytes decreases.
// The loads have the effect of a window without a launch attribute.

Variant evict_last_set_aside() {
  Variant v = keeping("evict_last_set_aside", "evict_last");
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    Steps hot = hot_step<Eviction::last>(p, d);
    std::get<KernelStep>(hot.all().front().action).window =
        AccessPolicyWindow{nullptr, 0, 1, p.set_aside_mib << 20};
    return concurrently(std::move(hot), stream_step(p, d));
  };
  return v;
}

// ---- inputs

struct Uniform {
  std::uint64_t seed;
  __host__ __device__ float operator()(std::int64_t i) const {
    return random_unit(seed, static_cast<std::uint64_t>(i));
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill(const_cast<float*>(d.hot), p.hot, Uniform{stream_seed(seed, 0)}) +
         fill(const_cast<float*>(d.streamed), p.streamed, Uniform{stream_seed(seed, 1)});
}

// ---- the plain reference

struct Reference {
  const float* in;
  std::int64_t n;
  std::int64_t threads;
  std::int64_t passes;
  __host__ __device__ ReferenceElement operator()(std::int64_t thread) const {
    std::uint32_t sum = 0;
    for (std::int64_t i = thread; i < n / 4; i += threads) {
      for (int j = 0; j < 4; ++j)
        sum += bits_sum(in[4 * i + j]);
    }
    if (thread < n % 4) sum += bits_sum(in[n / 4 * 4 + thread]);
    return {static_cast<double>(sum * static_cast<std::uint32_t>(passes)), 0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("l2_persistence", Topic::memory,
           "Can a working set stay in L2 while other data stream through?");
  f.physics =
      "L2 keeps the most recently used lines. Streamed data are used once, and evict lines that "
      "will be used again. A program can set a part of L2 aside for persisting accesses and name a "
      "window of addresses whose accesses persist, or mark the lines of each load to be evicted "
      "first or last. Each mechanism helps as long as the persisting data fit. A set-aside part is "
      "unavailable to all other accesses until it is released.";
  f.extent("hot", &Problem::hot, 4 << 20, std::int64_t{1} << 30, "floats of the working set")
      .extent("passes", &Problem::passes, 128, 1 << 16,
              "number of times that the working set is read")
      .extent("streamed", &Problem::streamed, std::int64_t{1} << 30, std::int64_t{1} << 32,
              "floats that the other kernel reads once")
      .real("hit_ratio", &Problem::hit_ratio, 1, 0, 1, "",
            "share of the window's accesses that persist; ignored by all variants except window")
      .integer("set_aside_mib", &Problem::set_aside_mib, 24, 1, 256, "MiB",
               "part of L2 set aside for persisting accesses; ignored by variants without one");
  f.input("hot", &Data::hot, &Problem::hot)
      .input("streamed", &Data::streamed, &Problem::streamed)
      .output("hot_sums", &Data::hot_sums, [](const Problem&) { return kHotThreads; })
      .output("stream_sums", &Data::stream_sums, [](const Problem&) { return kStreamThreads; });
  f.plot("l2_persistence", "kept_sets", "L2 persistence: time and DRAM reads by working set",
         {{"param.hot", "working set"}});
  f.inputs = inputs;
  f.reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    return evaluate_reference(out[0], kHotThreads, Reference{d.hot, p.hot, kHotThreads, p.passes}) +
           evaluate_reference(out[1], kStreamThreads,
                              Reference{d.streamed, p.streamed, kStreamThreads, 1});
  };
  f.tolerance_derivation = "Zero: sums of integers modulo 2^32.";
  f.variants(hot_alone(), stream_alone(), side_by_side(), window(), evict_first(), evict_last(),
             evict_last_set_aside());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::l2_persistence
