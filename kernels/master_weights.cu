// master_weights: steps of gradient descent, w -= lr·g, on weights stored in 16 or in 32 bits.
//
// The question: what happens to updates that are small compared with the weight? An update below
// half the spacing of numbers around a weight leaves the weight unchanged, in each step. A master
// copy in fp32 accumulates such updates, and the network's 16-bit weights are rounded from it
// (Micikevicius and others, "Mixed Precision Training", ICLR 2018, section 3.1). It costs bytes,
// and DRAM limits the step: 12 bytes per weight and step instead of 6.
//
// Each step is a separate launch and loads and stores all weights in DRAM, as an optimizer does.
// All variants compute in fp32; they differ in the precision of the stored weights.
#include <cmath>

#include "kernels/common/family.cuh"
#include "kernels/common/pack.cuh"
#include "kernels/common/rounding.cuh"
#include "kernels/common/tally.cuh"

namespace gpuexp::master_weights {

// The gradient of a weight is the same in all steps, so updates accumulate.
struct Problem {
  std::int64_t n;
  int steps;
  double learning_rate;
};

// Initial weights and gradients are multiples of 2^-8 in [-1, 1), which all types represent
// exactly: all variants start from the same numbers.
struct Data {
  float* first_fp32;
  __half* first_fp16;
  __nv_bfloat16* first_bf16;
  __half* gradient_fp16;
  __nv_bfloat16* gradient_bf16;
  __half* fp16;
  __nv_bfloat16* bf16;
  __nv_bfloat16* stochastic;
  float* master;
  __half* copy;  // rounded from the master weights, for the network
};
// Indices of the outputs, in the order of declare().
enum Output { kFp16Weights, kBf16Weights, kStochasticWeights, kMasterWeights, kMasterCopy };

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// The kernels multiply by the fp32 value; the reference and the metrics use the same value.
__host__ __device__ inline float learning_rate(const Problem& p) {
  return static_cast<float>(p.learning_rate);
}

// ---- kernels

constexpr int kBlock = 256;

// Steps on 16-bit weights: a lane loads 16 bytes of weights and 16 bytes of gradients.
constexpr int kElements = 8;
constexpr int kTile = kBlock * kElements;

// `from` and `to` are the same buffer in all steps except the first. Rounding is ToNearest or
// Stochastic, below.
template <class Rounding, class T = typename Rounding::Type>
__global__ void __launch_bounds__(kBlock)
    step_kernel(std::int64_t n, float rate, int step, const T* from, T* to, const T* gradient) {
  const std::int64_t tile_begin = static_cast<std::int64_t>(blockIdx.x) * kTile;
  if (tile_begin + kTile > n) {
#pragma unroll 1
    for (std::int64_t i = tile_begin + threadIdx.x; i < n; i += kBlock) {
      const float w = fmaf(-rate, static_cast<float>(gradient[i]), static_cast<float>(from[i]));
      const std::uint64_t draws = Rounding::word(n, step, i / 4) >> (16 * (i % 4));
      to[i] = Rounding::round({w, w}, static_cast<std::uint32_t>(draws & 0xffffu)).x;
    }
    return;
  }
  const std::int64_t first = tile_begin + threadIdx.x * kElements;
  Pack<T, kElements> w = load_pack<kElements>(from + first);
  const Pack<T, kElements> g = load_pack<kElements>(gradient + first);
#pragma unroll
  for (int quad = 0; quad < kElements / 4; ++quad) {
    const std::uint64_t word = Rounding::word(n, step, first / 4 + quad);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 a = widen(w.pairs[2 * quad + half]);
      const float2 b = widen(g.pairs[2 * quad + half]);
      w.pairs[2 * quad + half] = Rounding::round({fmaf(-rate, b.x, a.x), fmaf(-rate, b.y, a.y)},
                                                 static_cast<std::uint32_t>(word >> (32 * half)));
    }
  }
  store_pack(to + first, w);
}

template <class T>
struct ToNearest {
  using Type = T;
  static __device__ std::uint64_t word(std::int64_t, int, std::int64_t) { return 0; }
  static __device__ typename PairOf<T>::Type round(float2 pair, std::uint32_t) {
    return narrow<T>(pair);
  }
};

// Returns 64 random bits for four adjacent weights: weight i of a step uses the (i mod 4)-th 16
// bits of word i / 4. The bits do not depend on the seed of the inputs.
__host__ __device__ inline std::uint64_t rounding_word(std::int64_t n, int step,
                                                       std::int64_t quad) {
  constexpr std::uint64_t kSeed = 0x5EEDC0DE5EEDC0DEull;
  const std::int64_t quads = ceil_div(n, 4);
  return random_bits(kSeed, static_cast<std::uint64_t>(step * quads + quad));
}

// bf16 is the upper half of fp32, so rounding up is a carry out of the lower half.
struct Stochastic {
  using Type = __nv_bfloat16;
  static __device__ std::uint64_t word(std::int64_t n, int step, std::int64_t quad) {
    return rounding_word(n, step, quad);
  }
  static __device__ __nv_bfloat162 round(float2 pair, std::uint32_t draws) {
    const std::uint32_t low = __float_as_uint(pair.x) + (draws & 0xffffu);
    const std::uint32_t high = __float_as_uint(pair.y) + (draws >> 16);
    return {__ushort_as_bfloat16(static_cast<unsigned short>(low >> 16)),
            __ushort_as_bfloat16(static_cast<unsigned short>(high >> 16))};
  }
};

// Steps on fp32 weights: 16 bytes of weights need 8 bytes of gradients; a lane processes two packs.
constexpr int kMasterElements = 4;
constexpr int kMasterPacks = 2;
constexpr int kMasterTile = kBlock * kMasterPacks * kMasterElements;

__global__ void __launch_bounds__(kBlock)
    master_step_kernel(std::int64_t n, float rate, const float* from, float* to, __half* copy,
                       const __half* gradient) {
  const std::int64_t tile_begin = static_cast<std::int64_t>(blockIdx.x) * kMasterTile;
  if (tile_begin + kMasterTile > n) {
#pragma unroll 1
    for (std::int64_t i = tile_begin + threadIdx.x; i < n; i += kBlock) {
      const float w = fmaf(-rate, static_cast<float>(gradient[i]), from[i]);
      to[i] = w;
      copy[i] = from_float<__half>(w);
    }
    return;
  }
  const std::int64_t first = tile_begin + threadIdx.x * kMasterElements;
  Pack<float, kMasterElements> w[kMasterPacks];
  Pack<__half, kMasterElements> g[kMasterPacks];
#pragma unroll
  for (int k = 0; k < kMasterPacks; ++k) {
    w[k] = load_pack<kMasterElements>(from + first + k * kBlock * kMasterElements);
    g[k] = load_pack<kMasterElements>(gradient + first + k * kBlock * kMasterElements);
  }
#pragma unroll
  for (int k = 0; k < kMasterPacks; ++k) {
    Pack<__half, kMasterElements> rounded;
#pragma unroll
    for (int j = 0; j < rounded.kPairs; ++j) {
      const float2 b = widen(g[k].pairs[j]);
      float2& a = w[k].pairs[j];
      a = {fmaf(-rate, b.x, a.x), fmaf(-rate, b.y, a.y)};
      rounded.pairs[j] = narrow<__half>(a);
    }
    store_pack(to + first + k * kBlock * kMasterElements, w[k]);
    store_pack(copy + first + k * kBlock * kMasterElements, rounded);
  }
}

// ---- effect of the updates

// The format in which a variant stores a weight after each step.
enum class Keep { fp16, bf16, bf16_stochastic, fp32 };

struct Trajectory {
  double weight;
  int lost_updates;
};

__host__ __device__ Trajectory follow(const Problem& p, Keep keep, std::int64_t i, double first,
                                      double gradient);

enum Sum { kUpdates, kLost, kMovedAlong, kExactSquared, kErrorSquared, kSums };

template <class W, class G>
struct Progress {
  Problem p;
  Keep keep;
  const W* first;
  const G* gradient;
  const W* last;
  __device__ void operator()(std::int64_t i, double (&sums)[kSums]) const {
    const double w = to_double(first[i]);
    const double g = to_double(gradient[i]);
    if (g == 0.0) return;
    const double exact = -p.steps * (static_cast<double>(learning_rate(p)) * g);
    const double moved = to_double(last[i]) - w;
    sums[kUpdates] += p.steps;
    sums[kLost] += follow(p, keep, i, w, g).lost_updates;
    sums[kMovedAlong] += moved * exact;
    sums[kExactSquared] += exact * exact;
    sums[kErrorSquared] += (moved - exact) * (moved - exact);
  }
};

template <class W, class G>
Measurement measure(const Progress<W, G>& progress, const LaunchContext& x) {
  return tally<kSums>(progress.p.n, progress, x.workspace, [](const Totals<kSums>& sums) {
    if (sums[kUpdates] == 0.0) return MetricValues();
    return MetricValues{
        {"lost_update_share_pct", 100.0 * sums[kLost] / sums[kUpdates]},
        {"progress_pct", 100.0 * sums[kMovedAlong] / sums[kExactSquared]},
        {"rms_error_pct", 100.0 * std::sqrt(sums[kErrorSquared] / sums[kExactSquared])}};
  });
}

// ---- how the variants are launched

template <class Weight, class Gradient>
Work step_work(const Problem& p) {
  return reads<Weight>(p.n) + reads<Gradient>(p.n) + writes<Weight>(p.n) +
         computes(Pipe::fp32, 2.0 * static_cast<double>(p.n));
}

template <class Rounding, class T = typename Rounding::Type>
Variant kept_in_16_bits(std::string id, std::string output, Keep keep, T* Data::*first,
                        T* Data::*gradient, T* Data::*weights) {
  Variant v(std::move(id));
  v.writes = {std::move(output)};
  v.work = [](const Problem& p) { return p.steps * step_work<T, T>(p); };
  v.workspace_bytes = [](const Problem&, const DeviceSpec&) { return tally_bytes(kSums); };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    Steps steps;
    for (int step = 0; step < p.steps; ++step) {
      steps +=
          launch(step_kernel<Rounding>, shape_of_tiles(p.n, kTile, kBlock), p.n, learning_rate(p),
                 step, step == 0 ? d.*first : d.*weights, d.*weights, d.*gradient);
    }
    return steps;
  };
  v.measured_metrics = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    return measure(Progress<T, T>{p, keep, d.*first, d.*gradient, d.*weights}, x);
  };
  return v;
}

// ---- fp16_only
//
// The weight is read in fp16, updated in fp32 and rounded back. 6 bytes per weight and step are the
// minimum. An update under 2^-12 of the weight is rounded away in each step: progress_pct decreases
// with the learning rate.

Variant fp16_only() {
  return kept_in_16_bits<ToNearest<__half>>("fp16_only", "fp16", Keep::fp16, &Data::first_fp16,
                                            &Data::gradient_fp16, &Data::fp16);
}

// L2 holds no data of the previous step.
constexpr auto beyond_caches = at_least(&Problem::n, 1 << 26);

// ---- bf16_only
//
// bf16 costs the same bytes and time as fp16, with 8 significant bits instead of 11: updates must
// be 8 times larger to have an effect, and all updates under 2^-9 of the weight are lost.

Variant bf16_only() {
  return kept_in_16_bits<ToNearest<__nv_bfloat16>>(
             "bf16_only", "bf16", Keep::bf16, &Data::first_bf16, &Data::gradient_bf16, &Data::bf16)
      .against("fp16_only", {{"l2_sectors", Direction::unchanged},
                             {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
}

// ---- bf16_stochastic
//
// The kernel rounds up or down at random, with probabilities in proportion to nearness. Most
// updates still change nothing, some change a whole spacing, and on average each update counts in
// full: progress_pct returns to 100. The cost is a random error, rms_error_pct, which decreases
// with the root of the number of steps. Generating the random bits uses issue slots that DRAM
// leaves free.

Variant bf16_stochastic() {
  Variant v =
      kept_in_16_bits<Stochastic>("bf16_stochastic", "stochastic", Keep::bf16_stochastic,
                                  &Data::first_bf16, &Data::gradient_bf16, &Data::stochastic);
  v.compare_to = "bf16_only";
  v.expected_changes = {{"l2_sectors", Direction::unchanged},
                        {"warp_instructions", Direction::increases, 1.5,
                         [](const Problem& p) { return p.n >= kTile; }}};
  return v;
}

// ---- fp32_master
//
// Weights are stored in fp32, and each step rounds a copy to fp16 for the network: updates down to
// 2^-25 of the weight count. It reads 4 + 2 and writes 4 + 2 bytes per weight, and fp16_only reads
// 2 + 2 and writes 2: 12 / 6 = 2 times the bytes.
// held: dram_read_bytes = 3/2 × fp16_only; dram_write_bytes = 3 × fp16_only within 5 %

Variant fp32_master() {
  Variant v("fp32_master", "fp16_only",
            {{"dram_read_bytes", Direction::increases, 1.4, beyond_caches},
             {"dram_write_bytes", Direction::increases, 2.5, beyond_caches},
             {"l2_sectors", Direction::increases, 1.8, beyond_caches}});
  v.writes = {"master", "copy"};
  v.work = [](const Problem& p) {
    return p.steps * (step_work<float, __half>(p) + writes<__half>(p.n));
  };
  v.workspace_bytes = [](const Problem&, const DeviceSpec&) { return tally_bytes(kSums); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    Steps steps;
    for (int step = 0; step < p.steps; ++step) {
      steps += launch(master_step_kernel, shape_of_tiles(p.n, kMasterTile, kBlock), p.n,
                      learning_rate(p), step == 0 ? d.first_fp32 : d.master, d.master, d.copy,
                      d.gradient_fp16);
    }
    return steps;
  };
  v.measured_metrics = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return measure(Progress<float, __half>{p, Keep::fp32, d.first_fp32, d.gradient_fp16, d.master},
                   x);
  };
  return v;
}

// ---- inputs

template <class T>
struct MultiplesOf256th {
  std::uint64_t seed;
  __host__ __device__ T operator()(std::int64_t i) const {
    return from_float<T>(floorf(random_signed(seed, static_cast<std::uint64_t>(i)) * 256.0f) /
                         256.0f);
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const auto filled = [&](auto* to, std::uint64_t stream) {
    using T = std::remove_pointer_t<decltype(to)>;
    return fill(to, p.n, MultiplesOf256th<T>{stream_seed(seed, stream)});
  };
  constexpr std::uint64_t kWeights = 0, kGradients = 1;
  return filled(d.first_fp32, kWeights) + filled(d.first_fp16, kWeights) +
         filled(d.first_bf16, kWeights) + filled(d.gradient_fp16, kGradients) +
         filled(d.gradient_bf16, kGradients);
}

// ---- the plain reference

// Rounds to bf16 up or down by the 16 bits of fp32 that bf16 drops: a draw of 16 bits is added to
// them, and a carry rounds away from zero. The expected value is the number itself.
__host__ __device__ inline double round_stochastically(double value, unsigned draw) {
  int exponent = 0;
  frexp(value, &exponent);
  const int leading = exponent - 1 > kBf16.min_exponent ? exponent - 1 : kBf16.min_exponent;
  const int last = leading - (kBf16.significand_bits - 1);
  const double scaled = ldexp(fabs(value), -last);
  const double whole = floor(scaled);
  const bool up = (scaled - whole) * 65536.0 + draw >= 65536.0;
  return copysign(ldexp(up ? whole + 1.0 : whole, last), value);
}

// Steps of weight i, each rounded to fp32 and then to the stored format. Weights, gradients and the
// learning rate have so few bits that w - lr·g is exact in double over the range of the parameters.
__host__ __device__ inline Trajectory follow(const Problem& p, Keep keep, std::int64_t i,
                                             double first, double gradient) {
  const double rate = learning_rate(p);
  Trajectory t{first, 0};
  for (int step = 0; step < p.steps; ++step) {
    double kept = static_cast<float>(t.weight - rate * gradient);
    if (keep == Keep::fp16) kept = round_to(kFp16, kept);
    if (keep == Keep::bf16) kept = round_to(kBf16, kept);
    if (keep == Keep::bf16_stochastic) {
      const std::uint64_t word = rounding_word(p.n, step, i / 4);
      kept = round_stochastically(kept, static_cast<unsigned>(word >> (16 * (i % 4))) & 0xffffu);
    }
    if (kept == t.weight && gradient != 0.0) ++t.lost_updates;
    t.weight = kept;
  }
  return t;
}

struct ReferenceSteps {
  Problem p;
  Keep keep;
  FloatFormat emitted;  // format of the last weight in the output
  DataType of_first, of_gradient;
  const void* first;
  const void* gradient;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const Trajectory t =
        follow(p, keep, i, element_of(first, of_first, i), element_of(gradient, of_gradient, i));
    const double weight = round_to(emitted, t.weight);
    return {weight, fabs(weight)};
  }
};

// All updates summed without any rounding.
struct ExactSteps {
  Problem p;
  const float* first;
  const __half* gradient;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const double weight =
        first[i] - p.steps * (static_cast<double>(learning_rate(p)) * to_double(gradient[i]));
    return {weight, fabs(weight)};
  }
};

ReferenceSteps reference(const Problem& p, const Data& d, int output) {
  const auto of_bf16 = [&](Keep keep) -> ReferenceSteps {
    return {p, keep, kFp64, DataType::bf16, DataType::bf16, d.first_bf16, d.gradient_bf16};
  };
  const auto of_master = [&](FloatFormat emitted) -> ReferenceSteps {
    return {p, Keep::fp32, emitted, DataType::fp32, DataType::fp16, d.first_fp32, d.gradient_fp16};
  };
  switch (output) {
    case kFp16Weights:
      return {p, Keep::fp16, kFp64, DataType::fp16, DataType::fp16, d.first_fp16, d.gradient_fp16};
    case kBf16Weights: return of_bf16(Keep::bf16);
    case kStochasticWeights: return of_bf16(Keep::bf16_stochastic);
    case kMasterWeights: return of_master(kFp64);
    default: return of_master(kFp16);
  }
}

Steps accuracy_reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return evaluate_references(out, p.n, [&](int) {
    return ExactSteps{p, d.first_fp32, d.gradient_fp16};
  });
}

// ---- declaration

Family declare() {
  Family f("master_weights", Topic::precision,
           "What happens to updates that are small compared with the weight?");
  f.physics =
      "A floating-point sum is rounded to the spacing of numbers around it: 2^-10 of the leading "
      "power of two in fp16, 2^-7 in bf16, 2^-23 in fp32. An update below half the spacing is "
      "lost, and the next update meets the same weight. With fp32 weights, or with stochastic "
      "rounding, small updates accumulate. fp32 weights cost twice the bytes of a step that DRAM "
      "limits.";
  f.extent("n", &Problem::n, std::int64_t{1} << 26, std::int64_t{1} << 32, "number of weights")
      .integer("steps", &Problem::steps, 100, 1, 1000, "", "steps of gradient descent per launch")
      .real("learning_rate", &Problem::learning_rate, 1e-4, 1e-6, 1.0, "",
            "learning rate; an update is this times a gradient uniform in [-1, 1)");
  f.input("first_fp32", &Data::first_fp32, &Problem::n)
      .input("first_fp16", &Data::first_fp16, &Problem::n)
      .input("first_bf16", &Data::first_bf16, &Problem::n)
      .input("gradient_fp16", &Data::gradient_fp16, &Problem::n)
      .input("gradient_bf16", &Data::gradient_bf16, &Problem::n)
      .output("fp16", &Data::fp16, &Problem::n)
      .output("bf16", &Data::bf16, &Problem::n)
      .output("stochastic", &Data::stochastic, &Problem::n)
      .output("master", &Data::master, &Problem::n)
      .output("copy", &Data::copy, &Problem::n);
  // The most important metric is first, because explanations name the first metric that differs.
  f.metric(
       "progress_pct", "%",
       "weight change in the direction of the exact change, divided by the exact change; 100 if "
       "updates count in full on average")
      .metric("lost_update_share_pct", "%",
              "updates that are not zero and leave the weight unchanged")
      .metric("rms_error_pct", "%",
               "RMS error of the final weights, divided by the RMS change of the exact weights");
  f.plot("master_weights", "metrics_by_type", "Small weight updates: progress and time by type",
         {{"metric.lost_update_share_pct", "updates without effect (%)"},
          {"metric.progress_pct", "share of the exact movement (%)"},
          {"param.learning_rate", "learning rate"}});
  f.inputs = inputs;
  set_references(f, &Problem::n, reference);
  f.accuracy_reference = accuracy_reference;
  f.tolerance_derivation =
      "None is needed. The reference follows each variant's own roundings, step by step. For "
      "learning rates of 1e-6 to 1, w - lr·g has at most 52 significant bits, so double represents "
      "it exactly. It is rounded to fp32, as a fused multiply-add rounds it, and then to the "
      "stored format by the format's definition. Each output must be equal to its reference. The "
      "distance from exact steps is in the metrics and the error columns.";
  f.variants(fp16_only(), bf16_only(), bf16_stochastic(), fp32_master());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::master_weights
