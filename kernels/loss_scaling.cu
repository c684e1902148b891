// loss_scaling: gradients stored in 16 bits, with and without a scale that prevents underflow.
//
// The question: how many gradients does fp16 lose, and how many does a scale preserve? In the
// network whose histogram Micikevicius and others show ("Mixed Precision Training", ICLR 2018,
// section 3.2), many gradients became zero in fp16 while much of the range above stayed unused.
// Multiplying the loss by S multiplies each gradient by S before it is rounded, because the chain
// rule is linear. The optimizer widens the gradients to fp32 and divides by S. A power of two
// changes only the exponent, so it costs no accuracy.
//
// This family is about accuracy, not time: its metrics report the lost gradients.
#include <cmath>

#include "kernels/common/family.cuh"
#include "kernels/common/pack.cuh"
#include "kernels/common/rounding.cuh"
#include "kernels/common/tally.cuh"

namespace gpuexp::loss_scaling {

// Gradients have random signs, and the log2 of their magnitudes has a normal distribution.
struct Problem {
  std::int64_t n;
  double centre_log2;
  double spread_log2;
  int static_scale_log2;
};

struct Data {
  float* gradients;
  __half* unscaled;
  __half* static_scaled;
  __half* dynamic_scaled;
  std::int32_t* search;
  __nv_bfloat16* bf16;
};
// Indices of the outputs, in the order of declare().
enum Output { kUnscaled, kStaticScaled, kDynamicScaled, kSearch, kBfloat };

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- storing with a scale

constexpr int kBlock = 256;
constexpr int kElements = 4;  // 16 bytes of fp32 in, 8 bytes out
constexpr int kPacksPerThread = 2;
constexpr int kTile = kBlock * kPacksPerThread * kElements;

// Stores this block's tile times `scale`, rounded to T. Returns true if this thread stored an
// infinity.
template <class T>
__device__ bool store_scaled(std::int64_t n, float scale, const float* gradients, T* out);

template <class T>
__global__ void __launch_bounds__(kBlock)
    store_kernel(std::int64_t n, float scale, const float* gradients, T* out) {
  store_scaled(n, scale, gradients, out);
}

template <class T>
__device__ bool is_infinite(T x) {
  return __hisinf(x) != 0;
}

template <class T>
__device__ bool store_scaled(std::int64_t n, float scale, const float* gradients, T* out) {
  bool overflow = false;
  const std::int64_t tile_begin = static_cast<std::int64_t>(blockIdx.x) * kTile;
  if (tile_begin + kTile > n) {
#pragma unroll 1
    for (std::int64_t i = tile_begin + threadIdx.x; i < n; i += kBlock) {
      const T stored = from_float<T>(gradients[i] * scale);
      overflow |= is_infinite(stored);
      out[i] = stored;
    }
    return overflow;
  }
  const std::int64_t first = tile_begin + threadIdx.x * kElements;
  Pack<float, kElements> packs[kPacksPerThread];
#pragma unroll
  for (int k = 0; k < kPacksPerThread; ++k)
    packs[k] = load_pack<kElements>(gradients + first + k * kBlock * kElements);
#pragma unroll
  for (int k = 0; k < kPacksPerThread; ++k) {
    Pack<T, kElements> stored;
#pragma unroll
    for (int j = 0; j < stored.kPairs; ++j) {
      const float2 pair = packs[k].pairs[j];
      stored.pairs[j] = narrow<T>({pair.x * scale, pair.y * scale});
      overflow |= is_infinite(stored.pairs[j].x) || is_infinite(stored.pairs[j].y);
    }
    store_pack(out + first + k * kBlock * kElements, stored);
  }
  return overflow;
}

// The minimum work: one pass over the gradients, regardless of the search's number of tries.
Work work(const Problem& p) {
  return reads<float>(p.n) + writes<__half>(p.n) + computes(Pipe::fp32, static_cast<double>(p.n));
}

// ---- measured losses

// State of the search for a scale; the output buffer `search` holds one, field by field.
struct Search {
  std::int32_t scale_log2;
  std::int32_t tries;
  std::int32_t phase;
  std::int32_t overflow;  // the current try has stored an infinity
};
constexpr int kSearchFields = 4;
static_assert(sizeof(Search) == kSearchFields * sizeof(std::int32_t), "no padding");

enum Count { kNonzero, kLost, kSubnormal, kOverflowed, kRelativeErrors, kCounts };

template <class T>
struct Census {
  const float* gradients;
  const T* stored;
  int scale_log2;
  const Search* found;  ///< has the scale if it is not null; then scale_log2 is not used
  double smallest_normal;
  __device__ void operator()(std::int64_t i, double (&counts)[kCounts]) const {
    const int scale = found ? found->scale_log2 : scale_log2;
    const double gradient = gradients[i];
    if (gradient == 0.0) return;
    const double magnitude = fabs(to_double(stored[i]));
    counts[kNonzero] += 1.0;
    if (isinf(magnitude)) {
      counts[kOverflowed] += 1.0;
      return;
    }
    if (magnitude == 0.0) counts[kLost] += 1.0;
    if (magnitude > 0.0 && magnitude < smallest_normal) counts[kSubnormal] += 1.0;
    const double recovered = ldexp(to_double(stored[i]), -scale);
    counts[kRelativeErrors] += fabs((recovered - gradient) / gradient);
  }
};

MetricValues census_metrics(int scale_log2, const Totals<kCounts>& counts) {
  MetricValues values{{"scale_log2", scale_log2}, {"overflow_count", counts[kOverflowed]}};
  const double nonzero = counts[kNonzero];
  if (nonzero == 0.0) return values;
  values.emplace_back("lost_share_pct", 100.0 * counts[kLost] / nonzero);
  values.emplace_back("subnormal_share_pct", 100.0 * counts[kSubnormal] / nonzero);
  const double finite = nonzero - counts[kOverflowed];
  if (finite > 0.0)
    values.emplace_back("mean_relative_error_pct", 100.0 * counts[kRelativeErrors] / finite);
  return values;
}

// ---- one scale, known beforehand

// A variant that stores all gradients once, to buffer `out`, with the scale from `scale_log2`.
template <class T>
Variant store_once(std::string id, std::string output, T* Data::*out, FloatFormat format,
                   int (*scale_log2)(const Problem&)) {
  Variant v(std::move(id));
  v.writes = {std::move(output)};
  v.work = work;
  v.workspace_bytes = [](const Problem&, const DeviceSpec&) { return tally_bytes(kCounts); };
  v.launch = [out, scale_log2](const Problem& p, const Data& d, const LaunchContext&) {
    const float scale = std::ldexp(1.0f, scale_log2(p));
    return launch(store_kernel<T>, shape_of_tiles(p.n, kTile, kBlock), p.n, scale, d.gradients,
                  d.*out);
  };
  v.measured_metrics = [out, format, scale_log2](const Problem& p, const Data& d,
                                                 const LaunchContext& x) {
    const Census<T> census{d.gradients, d.*out, scale_log2(p), nullptr,
                           std::ldexp(1.0, format.min_exponent)};
    return tally<kCounts>(p.n, census, x.workspace,
                          [scale = scale_log2(p)](const Totals<kCounts>& counts) {
                            return census_metrics(scale, counts);
                          });
  };
  return v;
}

// ---- fp16_unscaled
//
// Each gradient is rounded to fp16 without a scale. Below 2^-14 it loses one bit per power of two.
// Below 2^-25 it becomes zero, so its weight is no longer updated.

Variant fp16_unscaled() {
  return store_once<__half>("fp16_unscaled", "unscaled", &Data::unscaled, kFp16,
                            [](const Problem&) { return 0; });
}

// ---- fp16_static_scale
//
// The kernel multiplies all gradients by a fixed power of two before it rounds them: lost_share_pct
// decreases at no cost in time. The user must choose the scale. A small scale preserves few
// gradients; a large one turns the largest gradients into infinities, which overflow_count shows.

Variant fp16_static_scale() {
  return store_once<__half>("fp16_static_scale", "static_scaled", &Data::static_scaled, kFp16,
                            [](const Problem& p) { return p.static_scale_log2; })
      .against("fp16_unscaled",
               {{"l2_sectors", Direction::unchanged}, {"warp_instructions", Direction::unchanged}});
}

// ---- a scale determined by a search

enum Phase { kGrowing, kShrinking, kSettled };

// The search starts where training frameworks start (PyTorch's GradScaler: 65536) and changes the
// scale by factors of two between these ends.
constexpr int kStartScaleLog2 = 16;
constexpr int kMinScaleLog2 = 0;
constexpr int kMaxScaleLog2 = 32;
// Longest search: from 16 up to 32, which overflows, and 31 again.
constexpr int kMaxTries = kMaxScaleLog2 - kStartScaleLog2 + 2;

__global__ void begin_search_kernel(Search* search) {
  *search = {kStartScaleLog2, 0, kGrowing, 0};
}

__global__ void __launch_bounds__(kBlock)
    try_scale_kernel(std::int64_t n, const float* gradients, __half* out, Search* search) {
  if (search->phase == kSettled) return;
  const float scale = ldexpf(1.0f, search->scale_log2);
  const bool overflow = store_scaled(n, scale, gradients, out);
  if (__syncthreads_or(overflow) != 0 && threadIdx.x == 0) atomicOr(&search->overflow, 1);
}

// Halves the scale after an overflow, doubles it after a success, and ends the search at the first
// success after an overflow: the update of a training framework with a growth interval of one step.
__global__ void update_scale_kernel(Search* search) {
  Search s = *search;
  if (s.phase == kSettled) return;
  ++s.tries;
  if (s.overflow != 0) {
    s.phase = s.scale_log2 == kMinScaleLog2 ? kSettled : kShrinking;
    if (s.phase != kSettled) --s.scale_log2;
  } else if (s.phase == kShrinking || s.scale_log2 == kMaxScaleLog2) {
    s.phase = kSettled;
  } else {
    ++s.scale_log2;
  }
  s.overflow = 0;
  *search = s;
}

// ---- fp16_dynamic_scale
//
// The launch searches the scale. It grows from 2^16 by powers of two until an infinity is stored,
// and shrinks until none is stored, so the largest gradient ends just below fp16's maximum and the
// fewest gradients are lost. The check and the update run on the device. Each try costs a pass over
// the gradients; in training, it costs a step. The host does not know when the search has ended, so
// a launch contains the kernels of the longest search. Kernels after the end return at once, but
// their launches are most of the measured time.

Variant fp16_dynamic_scale() {
  Variant v(
      "fp16_dynamic_scale", "fp16_static_scale",
      {{"l2_sectors", Direction::increases, 1.9, [](const Problem& p) { return p.n >= kTile; }}});
  v.writes = {"dynamic_scaled", "search"};
  v.without_time = "the work of its kernels depends on the results of earlier kernels";
  v.work = work;
  v.workspace_bytes = [](const Problem&, const DeviceSpec&) {
    return tally_bytes(kCounts) + static_cast<std::int64_t>(sizeof(Search));
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const Shape single = shape_of_shares({1}, {p.n}, 1);  // one thread updates the search
    Search* search = reinterpret_cast<Search*>(d.search);
    Steps steps = launch(begin_search_kernel, single, search);
    for (int t = 0; t < kMaxTries; ++t) {
      steps += launch(try_scale_kernel, shape_of_tiles(p.n, kTile, kBlock), p.n, d.gradients,
                      d.dynamic_scaled, search);
      steps += launch(update_scale_kernel, single, search);
    }
    return steps;
  };
  v.measured_metrics = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const Search* search = reinterpret_cast<const Search*>(d.search);
    const Census<__half> census{d.gradients, d.dynamic_scaled, 0, search,
                                std::ldexp(1.0, kFp16.min_exponent)};
    // The search state is copied after the partial sums, and the host reads both together.
    constexpr std::int64_t kSearchAt = tally_bytes(kCounts);
    Measurement m = tally<kCounts>(p.n, census, x.workspace,
                                   [](const Totals<kCounts>&) { return MetricValues(); });
    m.steps += CopyStep{static_cast<char*>(x.workspace) + kSearchAt, search, sizeof(Search)};
    m.bytes += sizeof(Search);
    m.values = [](const void* copied) {
      Search found;
      std::memcpy(&found, static_cast<const char*>(copied) + kSearchAt, sizeof found);
      MetricValues values = census_metrics(found.scale_log2, totals<kCounts>(copied));
      values.emplace_back("tries", found.tries);
      return values;
    };
    return m;
  };
  return v;
}

// ---- bf16_unscaled
//
// With 8 exponent bits, bf16 has the range of fp32, so no gradient is lost without a scale. It has
// 8 significant bits instead of fp16's 11. mean_relative_error_pct is about 8 times that of
// well-scaled fp16, and far below the error of unscaled fp16.

Variant bf16_unscaled() {
  return store_once<__nv_bfloat16>("bf16_unscaled", "bf16", &Data::bf16, kBf16,
                                   [](const Problem&) { return 0; })
      .against("fp16_unscaled",
               {{"l2_sectors", Direction::unchanged}, {"warp_instructions", Direction::unchanged}});
}

// ---- inputs

// Box-Muller: two uniform numbers from one random word give a normal one; the word's lowest bit is
// the sign.
struct LogNormalGradients {
  Problem p;
  std::uint64_t seed;
  __device__ float operator()(std::int64_t i) const {
    const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
    const float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;  // in (0, 1)
    const float half_turns = static_cast<float>((bits >> 8) & 0xffffffu) * 0x1p-23f;
    const float normal = sqrtf(-2.0f * logf(u)) * cospif(half_turns);
    const float log2 = static_cast<float>(p.centre_log2 + p.spread_log2 * normal);
    return copysignf(exp2f(log2), (bits & 1) != 0 ? -1.0f : 1.0f);
  }
};

// ---- the plain reference

// A gradient times its scale, rounded to the format.
struct StoredGradient {
  const float* gradients;
  FloatFormat format;
  int scale_log2;
  const double* d_found_scale_log2;  // if not null, the scale of the search, in device memory
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const double found = d_found_scale_log2 != nullptr ? *d_found_scale_log2 : scale_log2;
    const double stored =
        round_to(format, ldexp(static_cast<double>(gradients[i]), static_cast<int>(found)));
    return {stored, fabs(stored)};
  }
};

// The end of the search, computed from the largest gradient only. Growth stops below the first
// scale that overflows; a start that overflows shrinks to the first scale that does not.
__host__ __device__ inline Search expected_search(double largest_gradient) {
  int fits = kMinScaleLog2 - 1;  // the largest scale that does not overflow
  while (fits < kMaxScaleLog2 && round_to(kFp16, ldexp(largest_gradient, fits + 1)) < HUGE_VAL)
    ++fits;
  Search end{fits, 0, kSettled, 0};
  if (fits < kMinScaleLog2) {
    end = {kMinScaleLog2, kStartScaleLog2 - kMinScaleLog2 + 1, kSettled, 0};
  } else if (fits < kStartScaleLog2) {
    end.tries = kStartScaleLog2 - fits + 1;
  } else {
    const int grown = fits - kStartScaleLog2 + 1;
    end.tries = fits == kMaxScaleLog2 ? grown : grown + 2;  // one try too large, and one step back
  }
  return end;
}

__host__ __device__ inline void put(const Search& s, const ReferenceView& out) {
  const std::int32_t fields[kSearchFields] = {s.scale_log2, s.tries, s.phase, s.overflow};
  for (int i = 0; i < kSearchFields; ++i) {
    out.value[i] = fields[i];
    out.magnitude[i] = fields[i];
  }
}

constexpr int kSearchReferenceBlock = 1024;

__global__ void search_reference_kernel(std::int64_t n, const float* gradients, ReferenceView out) {
  __shared__ float largest[kSearchReferenceBlock];
  float mine = 0.0f;
  for (std::int64_t i = threadIdx.x; i < n; i += kSearchReferenceBlock)
    mine = fmaxf(mine, fabsf(gradients[i]));
  largest[threadIdx.x] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const float other : largest)
    mine = fmaxf(mine, other);
  put(expected_search(mine), out);
}

// fp16 and bf16 are parameters because the accuracy reference does not round.
Steps references(const Problem& p, const Data& d, const std::vector<ReferenceView>& out,
                 FloatFormat fp16, FloatFormat bf16) {
  Steps steps;
  const auto stored = [&](Output output, FloatFormat format, int scale_log2, const double* found) {
    if (!out[output]) return;
    steps += evaluate_reference(out[output], p.n,
                                StoredGradient{d.gradients, format, scale_log2, found});
  };
  stored(kUnscaled, fp16, 0, nullptr);
  stored(kStaticScaled, fp16, p.static_scale_log2, nullptr);
  stored(kBfloat, bf16, 0, nullptr);
  if (!out[kSearch]) return steps;
  const auto on_host = [n = p.n, gradients = d.gradients, view = out[kSearch]](auto, auto) {
    float largest = 0.0f;
    for (std::int64_t i = 0; i < n; ++i)
      largest = std::fmax(largest, std::abs(gradients[i]));
    put(expected_search(largest), view);
  };
  steps += with_host_loop(launch(search_reference_kernel, shape_of_blocks(1, kSearchReferenceBlock),
                                 p.n, d.gradients, out[kSearch]),
                          {1, on_host});
  stored(kDynamicScaled, fp16, 0, out[kSearch].value);
  return steps;
}

// ---- declaration

Family declare() {
  Family f("loss_scaling", Topic::precision,
           "How many gradients does fp16 lose, and how many does a scale preserve?");
  f.physics =
      "fp16 spans 2^-24 to 65504, 40 powers of two; gradients spread over about as many, at its "
      "lower end. Gradients below half the smallest number become zero. If the loss is multiplied "
      "by a power of two, all gradients shift up before rounding, and fp32 arithmetic divides the "
      "factor out again. The scale moves fp16's window without changing the digits, until the "
      "largest gradient overflows.";
  f.extent("n", &Problem::n, 1 << 24, 1 << 30, "number of gradients")
      .real("centre_log2", &Problem::centre_log2, -20.0, -40.0, 0.0, "",
            "mean of log2 |gradient|; with -20, a tenth of the gradients is below fp16's range")
      .real("spread_log2", &Problem::spread_log2, 4.0, 0.0, 8.0, "",
            "standard deviation of log2 |gradient|")
      .integer("static_scale_log2", &Problem::static_scale_log2, 10, 0, 32, "",
               "log2 of the scale of fp16_static_scale");
  f.input("gradients", &Data::gradients, &Problem::n)
      .output("unscaled", &Data::unscaled, &Problem::n)
      .output("static_scaled", &Data::static_scaled, &Problem::n)
      .output("dynamic_scaled", &Data::dynamic_scaled, &Problem::n)
      .output("search", &Data::search, [](const Problem&) { return kSearchFields; })
      .output("bf16", &Data::bf16, &Problem::n);
  f.metric("scale_log2", "", "log2 of the scale of the stored gradients")
      .metric("lost_share_pct", "%", "share of nonzero gradients that are stored as zero")
      .metric("subnormal_share_pct", "%", "share of gradients stored as subnormal numbers")
      .metric("overflow_count", "", "number of gradients stored as infinity")
      .metric("mean_relative_error_pct", "%",
              "mean of |stored / scale - gradient| / |gradient| over finite values; lost ones "
              "count 100")
      .metric("tries", "", "number of passes over the gradients until the search ended");
  f.plot("loss_scaling", "loss_scaling", "Loss scaling: fp16 gradients lost by underflow");
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_on_device(d.gradients, p.n, LogNormalGradients{p, stream_seed(seed, 0)});
  };
  f.reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    return references(p, d, out, kFp16, kBf16);
  };
  f.accuracy_reference = [](const Problem& p, const Data& d,
                            const std::vector<ReferenceView>& out) {
    return references(p, d, out, kFp64, kFp64);
  };
  f.tolerance_derivation =
      "None is needed. Multiplying by a power of two is exact in fp32 over the range of the "
      "parameters, so each stored value has one rounding, to nearest even. The reference performs "
      "this rounding by the definition of the format; the search compares integers. Each output "
      "must be equal to its reference, infinities included.";
  f.variants(fp16_unscaled(), fp16_static_scale(), fp16_dynamic_scale(), bf16_unscaled());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::loss_scaling
