// histogram: counts how often each value occurs among n samples.
//
// The question: which memory should hold the counters? Any thread may need any counter, and equal
// samples conflict: in data that follows Zipf's law a few values make up most samples.
#include <algorithm>
#include <vector>

#include "gpu/cub.hpp"
#include "kernels/common/family.cuh"
#include "kernels/common/zipf.cuh"

namespace gpuexp::histogram {

enum class Distribution { uniform, zipf };

struct Problem {
  std::int64_t n;
  DataType dtype;  // uint8 or uint16: every value has a bin
  Distribution distribution;
  double exponent;
};

struct Data {
  void* samples;
  std::uint32_t* counts;
};

template <class T>
struct Samples {
  const T* at;
  std::int64_t n;
};

template <class T>
constexpr int kBins = 1 << 8 * static_cast<int>(sizeof(T));

constexpr int kBlock = 1024;

// ---- global_atomics: one thread per sample, counters in global memory
//
// Each thread adds its sample to a counter with a reduction (RED), which returns no value, so no
// thread waits for the addition. A warp sends one load request and one reduction request for 32
// samples, and the reduction touches the sectors of up to 32 bins. Each L2 slice adds to one sector
// at a time. The most frequent bin, which many lanes of the GPU increment at once, is in one slice.

constexpr int kPlainBlock = 256;

template <class T>
__global__ void __launch_bounds__(kPlainBlock)
    global_kernel(Samples<T> samples, std::uint32_t* counts) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kPlainBlock + threadIdx.x;
  if (i < samples.n) atomicAdd(counts + samples.at[i], 1u);
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Returns make(zero), where zero is 0 of the sample type.
template <class Make>
auto of_type(const Problem& p, Make make) {
  return p.dtype == DataType::uint8 ? make(std::uint8_t{}) : make(std::uint16_t{});
}

std::int64_t bins_of(const Problem& p) {
  return of_type(p, [](auto zero) { return std::int64_t{kBins<decltype(zero)>}; });
}

Work work(const Problem& p) {
  const auto bytes = p.n * static_cast<std::int64_t>(size_of(p.dtype));
  const auto counters = bins_of(p) * static_cast<std::int64_t>(sizeof(std::uint32_t));
  return streaming_work<char>(bytes, counters, {{Pipe::int32, static_cast<double>(p.n)}});
}

template <class T>
Steps counting(void (*kernel)(Samples<T>, std::uint32_t*), Shape s, const Problem& p,
               const Data& d) {
  s.tile = {kBins<T>, 1, 1};
  return Steps(MemsetStep{d.counts, 0, bins_of(p) * std::int64_t{sizeof(std::uint32_t)}}) +
         launch(kernel, s, Samples<T>{static_cast<const T*>(d.samples), p.n}, d.counts);
}

Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.deterministic = true;  // sums of integers are the same in any order
  v.work = work;
  return v;
}

Variant global_atomics() {
  Variant v = variant("global_atomics", "", {});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const Shape s = shape_of_blocks(ceil_div(p.n, kPlainBlock), kPlainBlock);
    return of_type(p, [&](auto zero) { return counting<decltype(zero)>(global_kernel, s, p, d); });
  };
  return v;
}

// ---- vector_loads: 16-byte loads
//
// A thread loads 16 samples (uint16: 8) with one 16-byte load: global_load_requests decreases to a
// sixteenth (uint16: an eighth). Resident blocks iterate in a grid-stride loop. Each of an SM's
// 2048 threads has two loads in flight, 32 bytes, where a thread of global_atomics has one sample.
// global_reduction_requests is unchanged, and so is the time if L2 atomics are the limit.
// held: global_load_requests = 1/16 × global_atomics
// held: global_load_requests = 1/8 × global_atomics at dtype=uint16

template <class T>
constexpr int kWidth = static_cast<int>(sizeof(uint4) / sizeof(T));

// Calls add(sample, lanes) for each sample of a vector.
template <class T, class Add>
__device__ __forceinline__ void for_samples(uint4 vector, unsigned lanes, const Add& add) {
  const unsigned words[] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (unsigned word : words) {
    if constexpr (sizeof(T) == 1) {
#pragma unroll
      for (unsigned byte = 0; byte < 4; ++byte)
        add(__byte_perm(word, 0, 0x4440 + byte), lanes);  // the upper three bytes are 0
    } else {
      add(__byte_perm(word, 0, 0x4410), lanes);
      add(__byte_perm(word, 0, 0x4432), lanes);
    }
  }
}

// Calls add(sample, lanes) for this thread's samples in a grid-stride loop, with two vectors in
// flight. `lanes` is the mask of the lanes that call `add` together.
template <class T, class Add>
__device__ __forceinline__ void for_all_samples(const Samples<T>& s, const Add& add) {
  const auto* const vectors = reinterpret_cast<const uint4*>(s.at);
  const std::int64_t count = s.n / kWidth<T>;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const int lane = threadIdx.x % kWarp;
  std::int64_t i = thread;
#pragma unroll 1
  for (; i - lane + kWarp - 1 + stride < count; i += 2 * stride) {
    const uint4 one = vectors[i];
    const uint4 other = vectors[i + stride];
    for_samples<T>(one, kAllLanes, add);
    for_samples<T>(other, kAllLanes, add);
  }
#pragma unroll 1
  for (; i - lane < count; i += stride) {
    const unsigned lanes = __ballot_sync(kAllLanes, i < count);
    if (i < count) for_samples<T>(vectors[i], lanes, add);
  }
  const std::int64_t last = count * kWidth<T> + thread;
  const unsigned lanes = __ballot_sync(kAllLanes, last < s.n);
  if (last < s.n) add(s.at[last], lanes);
}

template <class T>
__global__ void __launch_bounds__(kBlock) vector_kernel(Samples<T> samples, std::uint32_t* counts) {
  for_all_samples(samples, [&](unsigned sample, unsigned) { atomicAdd(counts + sample, 1u); });
}

// As many blocks as are resident, or fewer if some threads would have no vector.
Shape resident_shape(const Problem& p, const DeviceSpec& device, int blocks_per_sm) {
  const std::int64_t bytes = p.n * static_cast<std::int64_t>(size_of(p.dtype));
  return shape_of_blocks(std::min(std::int64_t{device.sm_count} * blocks_per_sm,
                                  ceil_div(bytes, std::int64_t{kBlock * sizeof(uint4)})),
                         kBlock);
}

constexpr auto is_large = at_least(&Problem::n, 1 << 22);  // every block has many samples
bool is_uint8(const Problem& p) {
  return p.dtype == DataType::uint8;
}

Variant vector_loads() {
  Variant v = variant("vector_loads", "global_atomics",
                      {{"global_load_requests", Direction::decreases, 7.5, is_large},
                       {"global_reduction_requests", Direction::unchanged, 1.05, is_large}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return of_type(p, [&](auto zero) {
      return counting<decltype(zero)>(vector_kernel, resident_shape(p, x.device, 2), p, d);
    });
  };
  return v;
}

// ---- match_aggregated: one addition per distinct sample of a warp
//
// __match_any_sync returns to each lane the mask of lanes with the same sample, and the lowest of
// these lanes adds the number of these lanes to the counter. L2 receives one addition per distinct
// sample of a warp, far fewer than one per sample if the data is skewed. If samples are uniform,
// hardly any lanes agree, and the matching only adds instructions: warp_instructions increases.
// global_load_requests is unchanged.

template <class T>
__global__ void __launch_bounds__(kBlock) match_kernel(Samples<T> samples, std::uint32_t* counts) {
  const unsigned lane = threadIdx.x % kWarp;
  for_all_samples(samples, [&](unsigned sample, unsigned lanes) {
    const unsigned peers = __match_any_sync(lanes, sample);
    if (__ffs(static_cast<int>(peers)) - 1 == static_cast<int>(lane))
      atomicAdd(counts + sample, static_cast<unsigned>(__popc(peers)));
  });
}

Variant match_aggregated() {
  Variant v = variant("match_aggregated", "vector_loads",
                      {{"warp_instructions", Direction::increases, 1.5, is_large},
                       {"global_load_requests", Direction::unchanged, 1.05, is_large}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return of_type(p, [&](auto zero) {
      return counting<decltype(zero)>(match_kernel, resident_shape(p, x.device, 2), p, d);
    });
  };
  return v;
}

// ---- shared_atomics: one copy of the counters per block in shared memory
//
// Each block counts in shared memory and adds its 256 counters to global memory at the end.
// global_reduction_requests decreases from one per warp and sample to eight per block, so L2 has
// almost no additions. global_load_requests is unchanged. ptxas compiles the addition to
// ATOMS.POPC.INC, which counts lanes with the same address at once. Lanes with different counters
// in one bank are still serialized, so an addition takes as many wavefronts as the fullest bank has
// lanes. 65536 counters of 4 bytes exceed the size of shared memory.

constexpr int kFewBins = kBins<std::uint8_t>;

using Bytes = Samples<std::uint8_t>;

__global__ void __launch_bounds__(kBlock) shared_kernel(Bytes samples, std::uint32_t* counts) {
  __shared__ std::uint32_t of_block[kFewBins];
  if (threadIdx.x < kFewBins) of_block[threadIdx.x] = 0;
  __syncthreads();
  for_all_samples(samples, [&](unsigned sample, unsigned) { atomicAdd(of_block + sample, 1u); });
  __syncthreads();
  if (threadIdx.x < kFewBins && of_block[threadIdx.x] > 0)
    atomicAdd(counts + threadIdx.x, of_block[threadIdx.x]);
}

std::optional<std::string> needs_few_bins(const Problem& p, const DeviceSpec&) {
  if (is_uint8(p)) return std::nullopt;
  return "needs dtype = uint8: 65536 counters of 4 bytes are more than a block's shared memory";
}

Variant of_bytes(Variant v, void (*kernel)(Bytes, std::uint32_t*)) {
  v.unsupported = needs_few_bins;
  v.launch = [kernel](const Problem& p, const Data& d, const LaunchContext& x) {
    return counting(kernel, resident_shape(p, x.device, 2), p, d);
  };
  return v;
}

Variant shared_atomics() {
  return of_bytes(variant("shared_atomics", "vector_loads",
                          {{"global_reduction_requests", Direction::decreases, 20, is_large},
                           {"global_load_requests", Direction::unchanged, 1.05, is_large}}),
                  shared_kernel);
}

// ---- lane_copies: one copy of the counters per lane
//
// A block has 32 copies of the counters, one per lane, each in the lane's own bank: counter b of
// lane l is word 32·b + l. No two lanes of a warp access the same bank, so an addition takes one
// wavefront: shared_atomic_wavefronts decreases to a third. Uniform and skewed data take the same
// time. global_load_requests is unchanged. The cost is 32 KB per block, and 32 words per counter to
// sum at the end with redux.sync.
// held: shared_atomic_wavefronts = 1/3 × shared_atomics within 10 %

__global__ void __launch_bounds__(kBlock) lane_kernel(Bytes samples, std::uint32_t* counts) {
  __shared__ std::uint32_t lane_bins[kFewBins * kWarp];
  for (int i = threadIdx.x; i < kFewBins * kWarp; i += kBlock)
    lane_bins[i] = 0;
  __syncthreads();
  const unsigned lane = threadIdx.x % kWarp;
  for_all_samples(samples, [&](unsigned sample, unsigned) {
    atomicAdd(lane_bins + sample * kWarp + lane, 1u);
  });
  __syncthreads();
  for (unsigned bin = threadIdx.x / kWarp; bin < kFewBins; bin += kBlock / kWarp) {
    const unsigned sum = __reduce_add_sync(kAllLanes, lane_bins[bin * kWarp + lane]);
    if (lane == 0 && sum > 0) atomicAdd(counts + bin, sum);
  }
}

Variant lane_copies() {
  return of_bytes(variant("lane_copies", "shared_atomics",
                          {{"shared_atomic_wavefronts", Direction::decreases, 1.5,
                            [](const Problem& p) {
                              return is_large(p) && p.distribution == Distribution::uniform;
                            }},
                           {"global_load_requests", Direction::unchanged, 1.05, is_large}}),
                  lane_kernel);
}

// ---- half_counters: 65536 counters of 16 bits in shared memory
//
// Each block counts in shared memory. The counters of bin b and bin b + 32768 share a word, so all
// counters use 128 KB: one block per SM. An addition returns the old word (ATOMS). If it increases
// a counter to 32768, its thread moves these 32768 to the counter in global memory. Nearly all
// global reductions add the final 65536 counters of a block, so global_reduction_requests decreases
// by the samples per block over 65536. global_load_requests is unchanged.

using Halves = Samples<std::uint16_t>;

constexpr int kHalfWords = kBins<std::uint16_t> / 2;
constexpr unsigned kHalfLimit = 1u << 15;
constexpr int kRoundVectors = 4;  // per thread
static_assert(kRoundVectors * kWidth<std::uint16_t> * kBlock <= kHalfLimit,
              "a counter could carry into its neighbour");

// Counts samples; all additions are in flight before the first result is used. A counter above
// 65535 would carry into its neighbour. Between two barriers a block adds at most 32·1024 = 32768
// samples, so a counter below 32768 stays below 65536, and the thread whose addition reaches 32768
// subtracts 32768 before the second barrier.
template <int kCount>
__device__ __forceinline__ void add_halves(std::uint32_t* words, std::uint32_t* counts,
                                           const unsigned (&samples)[kCount]) {
  unsigned one[kCount];
  unsigned passed[kCount];  // the counter's limit bit, if this addition has set it
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    one[i] = samples[i] < kHalfWords ? 1u : 1u << 16;
    passed[i] = atomicAdd(words + samples[i] % kHalfWords, one[i]);
  }
  unsigned any = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    any |= passed[i] = (passed[i] ^ (passed[i] + one[i])) & one[i] * kHalfLimit;
  if (any == 0) return;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (passed[i] == 0) continue;
    atomicSub(words + samples[i] % kHalfWords, passed[i]);
    atomicAdd(counts + samples[i], kHalfLimit);
  }
}

// Loads this thread's vectors of a round. The kernel calls this before the additions of the
// previous round: no other block on the SM could hide the latency.
__device__ __forceinline__ void load_round(const Halves& samples, std::int64_t round,
                                           uint4 (&vectors)[kRoundVectors]) {
#pragma unroll
  for (int i = 0; i < kRoundVectors; ++i) {
    const std::int64_t at = round + i * kBlock + threadIdx.x;
    if (at < samples.n / kWidth<std::uint16_t>)
      vectors[i] = reinterpret_cast<const uint4*>(samples.at)[at];
  }
}

__global__ void __launch_bounds__(kBlock, 1) half_kernel(Halves samples, std::uint32_t* counts) {
  extern __shared__ std::uint32_t words[];
  for (int i = threadIdx.x; i < kHalfWords; i += kBlock)
    words[i] = 0;

  const std::int64_t count = samples.n / kWidth<std::uint16_t>;
  constexpr std::int64_t kRound = kRoundVectors * kBlock;
  uint4 next[kRoundVectors] = {};
  load_round(samples, blockIdx.x * kRound, next);
  __syncthreads();
#pragma unroll 1
  for (std::int64_t round = blockIdx.x * kRound; round < count; round += gridDim.x * kRound) {
    uint4 of_round[kRoundVectors];
#pragma unroll
    for (int i = 0; i < kRoundVectors; ++i)
      of_round[i] = next[i];
    load_round(samples, round + gridDim.x * kRound, next);
#pragma unroll
    for (int i = 0; i < kRoundVectors; ++i) {
      if (round + i * kBlock + threadIdx.x >= count) continue;
      unsigned of_vector[kWidth<std::uint16_t>];
      int filled = 0;
      for_samples<std::uint16_t>(of_round[i], kAllLanes,
                                 [&](unsigned sample, unsigned) { of_vector[filled++] = sample; });
      add_halves(words, counts, of_vector);
    }
    __syncthreads();
  }
  const std::int64_t last = count * kWidth<std::uint16_t> + threadIdx.x;
  if (blockIdx.x == 0 && last < samples.n) add_halves(words, counts, {samples.at[last]});
  __syncthreads();

  // Blocks start at different counters, so their additions go to different addresses in L2.
  for (int i = threadIdx.x; i < kHalfWords; i += kBlock) {
    const unsigned at = (i + blockIdx.x * kBlock) % kHalfWords;
    const unsigned word = words[at];
    if (word % (1u << 16) > 0) atomicAdd(counts + at, word % (1u << 16));
    if (word >> 16 > 0) atomicAdd(counts + at + kHalfWords, word >> 16);
  }
}

Variant half_counters() {
  Variant v = variant("half_counters", "vector_loads",
                      {{"global_reduction_requests", Direction::decreases, 8,
                        [](const Problem& p) { return p.n >= 1 << 27; }},
                       {"global_load_requests", Direction::unchanged, 1.05, is_large}});
  constexpr std::int64_t kBytes = kHalfWords * sizeof(std::uint32_t);
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (is_uint8(p)) return "needs dtype = uint16: 256 counters of 32 bits fit in shared memory";
    if (device.sm.shared_bytes_per_block < kBytes)
      return "needs " + std::to_string(kBytes) + " bytes of shared memory per block";
    return std::nullopt;
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    Shape s = resident_shape(p, x.device, 1);
    s.dynamic_shared_bytes = kBytes;
    return counting(half_kernel, s, p, d);
  };
  return v;
}

// ---- cub
//
// cub::DeviceHistogram::HistogramEven with a bin per value, the library baseline. With at most 256
// bins, each block counts in shared memory, otherwise in its own copy in global memory, which must
// stay in L2.

Variant vendor_cub() {
  Variant v = variant("cub", "vector_loads", {});
  v.is_vendor = true;
  v.workspace_bytes = [](const Problem& p, const DeviceSpec& device) {
    return cub::workspace_bytes(bins_of(p), device);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return cub::step_of(cub::Histogram{p.dtype, p.n, d.samples, d.counts, x.workspace,
                                       cub::workspace_bytes(bins_of(p), x.device)});
  };
  return v;
}

// ---- inputs

template <class T>
struct Zipf {
  ZipfDraw draw;
  __host__ __device__ T operator()(std::int64_t i) const { return static_cast<T>(draw(i)); }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return of_type(p, [&](auto zero) {
    using T = decltype(zero);
    auto* const samples = static_cast<T*>(d.samples);
    const std::uint64_t of_samples = stream_seed(seed, 0);
    return p.distribution == Distribution::uniform
               ? fill_bits(samples, p.n, of_samples, 32)
               : fill(samples, p.n, Zipf<T>{zipf_draw(8 * sizeof(T), p.exponent, of_samples)});
  });
}

// ---- the plain reference

template <class T>
struct One {
  const T* samples;
  __host__ __device__ ReferenceTerm operator()(std::int64_t i) const {
    return {samples[i], 1.0, 0.0};
  }
};

// Sums of integers below 2^53 are exact in any order.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return of_type(p, [&](auto zero) {
    using T = decltype(zero);
    return evaluate_sums(out[0], bins_of(p), p.n, One<T>{static_cast<const T*>(d.samples)});
  });
}

// ---- declaration

Family declare() {
  Family f("histogram", Topic::memory, "Which memory should hold the counters of a histogram?");
  f.physics =
      "A histogram loads each sample once and increments a counter. L2 performs the additions to "
      "counters in global memory, one 32-byte sector at a time in each slice. The SM performs the "
      "additions to counters in shared memory, for 32 lanes at once if they access different "
      "banks, and one after another if they access the same bank. Copies of the counters, per "
      "block or per lane, avoid such conflicts; they cost shared memory and a sum at the end. The "
      "number of bins limits the copies, and the frequency of equal samples determines their "
      "benefit.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, (std::int64_t{1} << 31) - 1,
           "number of samples")
      .choice("dtype", &Problem::dtype, {{"uint8", DataType::uint8}, {"uint16", DataType::uint16}},
              "type of the samples; every value has a bin: 256 or 65536")
      .choice<Distribution>("distribution", &Problem::distribution,
                            {{"uniform", Distribution::uniform}, {"zipf", Distribution::zipf}},
                            "uniform: all values equally frequent; zipf: Zipf's law, where the "
                            "r-th most frequent value has a frequency proportional to 1/r^exponent")
      .real("exponent", &Problem::exponent, 1, 0.1, 3, "",
            "exponent of Zipf's law; unused if distribution = uniform");
  f.input("samples", &Data::samples, &Problem::dtype, &Problem::n)
      .output("counts", &Data::counts, bins_of);
  f.plot("histogram", "traffic", "Histogram: useful bandwidth");
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance_derivation = "Zero: counts are integers below 2^32, and their sums are exact.";
  f.variants(global_atomics(), vector_loads(), match_aggregated(), shared_atomics(), lane_copies(),
             half_counters(), vendor_cub());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::histogram
