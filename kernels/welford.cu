// welford: mean of n numbers, and the sum of their squared deviations from it (M2).
//
// The question: what does an accurate M2 cost if the mean is known only at the end? Welford's
// update (1962) keeps a running mean and the deviations from it. The results (count, mean, M2) of
// any two parts of the array can be merged (Chan, Golub and LeVeque 1983), so this is a reduction
// whose operation takes a dozen instructions.
#include <cmath>
#include <vector>

#include "kernels/common/family.cuh"
#include "kernels/common/last_block.cuh"
#include "kernels/common/load_past_l1.cuh"
#include "kernels/common/moments.cuh"
#include "kernels/common/ordered_sum.cuh"
#include "kernels/common/row_reference.cuh"

namespace gpuexp::welford {

struct Problem {
  std::int64_t n;
  double offset;
};

struct Data {
  float* x;
  float* mean;
  float* m2;
  float* m2_cancelled;  // M2 of sum_of_squares, with the bound for cancelled digits
};

constexpr int kBlock = 256;
constexpr int kPerSm = 4;  // resident blocks
constexpr int kLoads = 8;
constexpr int kVector = 4;  // elements per load

struct Numbers {
  const float* at;
  std::int64_t n;
};

// Calls visit(values) for this thread's part of the array in a grid-stride loop: with 32 numbers at
// a time, then 4, then one.
template <class Visit>
__device__ __forceinline__ void visit_part(const Numbers& x, const Visit& visit);

// ---- two_passes: the mean first, then the deviations
//
// The first pass sums the numbers, the second one the squares of their deviations from the mean.
// The result is as accurate as a sum. Each pass is one kernel for the numbers and one for the
// per-block partial sums, and both passes load the numbers from DRAM.

__global__ void __launch_bounds__(kBlock, kPerSm) sum_kernel(Numbers x, float* sums) {
  float sum = 0.0f;
  visit_part(x, [&](const auto& values) {
#pragma unroll
    for (const float value : values)
      sum += value;
  });
  sum = ordered_block_sum<kBlock>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kBlock, kPerSm)
    deviations_kernel(Numbers x, const float* mean, float* sums) {
  const float center = *mean;
  float sum = 0.0f;
  visit_part(x, [&](const auto& values) {
#pragma unroll
    for (const float value : values)
      sum += (value - center) * (value - center);
  });
  sum = ordered_block_sum<kBlock>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Stores the sum of `count` partial sums, divided by `by`; launched with one block.
__global__ void __launch_bounds__(kBlock)
    total_kernel(const float* sums, std::int64_t count, float by, float* total) {
  float sum = 0.0f;
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock)
    sum += sums[i];
  sum = ordered_block_sum<kBlock>(sum);
  if (threadIdx.x == 0) *total = sum / by;
}

template <int kCount, class Visit>
__device__ __forceinline__ void visit_vectors(const float* from, std::int64_t step,
                                              const Visit& visit) {
  float4 vectors[kCount];
#pragma unroll
  for (int j = 0; j < kCount; ++j)
    vectors[j] = *reinterpret_cast<const float4*>(from + j * step);
  float values[kCount * kVector];
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    values[kVector * j] = vectors[j].x;
    values[kVector * j + 1] = vectors[j].y;
    values[kVector * j + 2] = vectors[j].z;
    values[kVector * j + 3] = vectors[j].w;
  }
  visit(values);
}

template <class Visit>
__device__ __forceinline__ void visit_part(const Numbers& x, const Visit& visit) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock * kVector;
  const std::int64_t whole = x.n / kVector * kVector;
  std::int64_t i = thread * kVector;
#pragma unroll 1
  for (; i + (kLoads - 1) * stride < whole; i += kLoads * stride)
    visit_vectors<kLoads>(x.at + i, stride, visit);
#pragma unroll 1
  for (; i < whole; i += stride)
    visit_vectors<1>(x.at + i, stride, visit);
  if (whole + thread < x.n) {
    const float last[] = {x.at[whole + thread]};
    visit(last);
  }
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Resident blocks, or fewer if some threads would have no vector.
Shape shape(const Problem& p, const DeviceSpec& device) {
  return shape_of_blocks(
      std::min(std::int64_t{device.sm_count} * kPerSm, ceil_div(p.n, kBlock * kVector)), kBlock);
}

Numbers numbers(const Problem& p, const Data& d) {
  return {d.x, p.n};
}

Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.deterministic = true;
  v.writes = {"mean", "m2"};
  v.work = [](const Problem& p) {
    return reads<float>(p.n) + 2 * writes<float>(1) +
           computes(Pipe::fp32, 3 * static_cast<double>(p.n));  // subtract, square, add
  };
  return v;
}

constexpr auto is_large = at_least(&Problem::n, 1 << 27);  // exceeds L2

Variant two_passes() {
  Variant v = variant("two_passes", "", {});
  v.workspace_bytes = [](const Problem& p, const DeviceSpec& device) {
    return shape(p, device).grid.x * std::int64_t{sizeof(float)};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const sums = static_cast<float*>(x.workspace);
    const Shape s = shape(p, x.device);
    return launch(sum_kernel, s, numbers(p, d), sums) +
           launch(total_kernel, shape_of_blocks(1, kBlock), sums, s.grid.x, static_cast<float>(p.n),
                  d.mean) +
           launch(deviations_kernel, s, numbers(p, d), d.mean, sums) +
           launch(total_kernel, shape_of_blocks(1, kBlock), sums, s.grid.x, 1.0f, d.m2);
  };
  return v;
}

// ---- sum_of_squares: one pass with sums of x and x²
//
// One pass sums x and x², and M2 = sum of x² - (sum of x)²/n: dram_read_bytes and
// global_load_requests decrease to half. The cost is accuracy: if numbers have a mean of 100 times
// their spread, 2·log2(100) = 13 of the 24 bits cancel in the difference. rms_error shows the
// remaining accuracy.

struct Sums {
  float* of_blocks;          // per-block sums of x
  float* squares_of_blocks;  // per-block sums of x²
  unsigned* finished;
};

// Combines the sums of all blocks in the last block to finish; its thread 0 calls `finish(sum,
// squares)`.
template <class Finish>
__device__ __forceinline__ void apply_epilogue(float sum, float squares, const Sums& s,
                                               const Finish& finish) {
  sum = ordered_block_sum<kBlock>(sum);
  __syncthreads();
  squares = ordered_block_sum<kBlock>(squares);
  if (threadIdx.x == 0) {
    s.of_blocks[blockIdx.x] = sum;
    s.squares_of_blocks[blockIdx.x] = squares;
  }
  if (!is_last_block(s.finished)) return;
  sum = squares = 0.0f;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock) {
    sum += load_cg(s.of_blocks + i);
    squares += load_cg(s.squares_of_blocks + i);
  }
  sum = ordered_block_sum<kBlock>(sum);
  __syncthreads();
  squares = ordered_block_sum<kBlock>(squares);
  if (threadIdx.x == 0) finish(sum, squares);
}

template <bool kIsShifted>
__global__ void __launch_bounds__(kBlock, kPerSm)
    squares_kernel(Numbers x, Sums s, float* mean, float* m2) {
  const float shift = kIsShifted ? x.at[0] : 0.0f;
  float sum = 0.0f, squares = 0.0f;
  visit_part(x, [&](const auto& values) {
#pragma unroll
    for (const float value : values) {
      const float shifted = kIsShifted ? value - shift : value;
      sum += shifted;
      squares += shifted * shifted;
    }
  });
  apply_epilogue(sum, squares, s, [&](float of_all, float squares_of_all) {
    const float shifted_mean = of_all / static_cast<float>(x.n);
    *mean = shift + shifted_mean;
    *m2 = squares_of_all - of_all * shifted_mean;
  });
}

// The workspace: a counter in the first 16 bytes, then `arrays` arrays with one number per block.
constexpr std::int64_t kCounterBytes = 16;

Variant counted(Variant v, int arrays) {
  v.workspace_bytes = [arrays](const Problem& p, const DeviceSpec& device) {
    return kCounterBytes + arrays * shape(p, device).grid.x * std::int64_t{sizeof(float)};
  };
  return v;
}

Variant squares_variant(std::string id, std::string compare_to,
                        void (*kernel)(Numbers, Sums, float*, float*), float* Data::*m2,
                        ExpectedChangesOf<Problem> expected) {
  Variant v = counted(variant(std::move(id), std::move(compare_to), std::move(expected)), 2);
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const counter = static_cast<unsigned*>(x.workspace);
    auto* const sums = reinterpret_cast<float*>(static_cast<char*>(x.workspace) + kCounterBytes);
    const Shape s = shape(p, x.device);
    return Steps(MemsetStep{counter, 0, sizeof *counter}) +
           launch(kernel, s, numbers(p, d), Sums{sums, sums + s.grid.x, counter}, d.mean, d.*m2);
  };
  return v;
}

// Returns the tolerance for an error of `sums` times the error of a sum, where `size` is the RMS of
// the result (see tolerance_derivation).
Tolerance tolerance(const Problem& p, double sums, double size) {
  constexpr double kOfEachThread = 1 << 14;  // threads of 16 SMs
  constexpr double kOfTrees = 64;
  const double depth = std::ceil(static_cast<double>(p.n) / kOfEachThread) + kOfTrees;
  const double lambda = std::sqrt(2 * (32 + std::log(2.0)));
  return {sums * lambda * unit_roundoff(DataType::fp32) * std::sqrt(depth), 0.0, 0.0,
          kRmsSafety * sums * rounding_rms(DataType::fp32) * std::sqrt(depth) * size};
}

// Returns κ², the sum of squares over M2. The numbers are within 1 of the offset, so their variance
// is 1/3.
double cancellation(const Problem& p) {
  return 1 + 3 * p.offset * p.offset;
}

// The tolerance relative to κ·M2, or to κ²·M2 if digits cancel.
Tolerance m2_tolerance(const Problem& p, bool cancelled) {
  constexpr double kSums = 4;
  const double m2 = static_cast<double>(p.n) / 3;
  return tolerance(p, kSums, m2 * (cancelled ? cancellation(p) : std::sqrt(cancellation(p))));
}
Tolerance mean_tolerance(const Problem& p) {
  constexpr double kSums = 2;
  return tolerance(p, kSums, std::max(p.offset, 1.0));
}

Variant sum_of_squares() {
  Variant v =
      squares_variant("sum_of_squares", "two_passes", squares_kernel<false>, &Data::m2_cancelled,
                      {{"dram_read_bytes", Direction::decreases, 1.9, is_large},
                       {"global_load_requests", Direction::decreases, 1.9, is_large}});
  v.writes = {"mean", "m2_cancelled"};
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    constexpr double kMaxError = 0.1;
    if (m2_tolerance(p, true).relative * cancellation(p) <= kMaxError) return std::nullopt;
    return "needs a smaller offset: the error bound of the difference of the two sums exceeds 10 %";
  };
  return v;
}

// ---- shifted: sums of deviations from the first number
//
// Each thread sums x - x[0] and its square instead of x and x². Most numbers are within a few times
// the spread of the mean, so few digits cancel. The cost is one subtraction per number:
// warp_instructions increases. dram_read_bytes is unchanged. If the first number is an outlier,
// digits cancel as in sum_of_squares.

Variant shifted() {
  return squares_variant("shifted", "sum_of_squares", squares_kernel<true>, &Data::m2,
                         {{"dram_read_bytes", Direction::unchanged, 1.05, is_large},
                          {"warp_instructions", Direction::increases, 1.1, is_large}});
}

// ---- per_number: Welford's update for each number
//
// Each number changes the thread's running mean by its deviation divided by the count, and adds the
// product of its deviations from the old and the new mean to M2. No digits cancel, for any input.
// The cost is a chain of dependent instructions with a division per number: warp_instructions is a
// multiple of that of shifted. dram_read_bytes is unchanged. If loading takes longer than these
// instructions, as for 4-byte numbers on an H200, the time is unchanged.

__device__ __forceinline__ Moments block_moments(Moments own) {
  __shared__ Moments of_warps[kBlock / kWarp];
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    own = merged(own,
                 {__shfl_down_sync(~0u, own.count, offset), __shfl_down_sync(~0u, own.mean, offset),
                  __shfl_down_sync(~0u, own.m2, offset)});
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = own;
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int warp = 1; warp < kBlock / kWarp; ++warp)
      own = merged(own, of_warps[warp]);
  }
  return own;
}

struct PerNumber {
  template <int kCount>
  __device__ void operator()(Moments& of_thread, const float (&values)[kCount]) const {
#pragma unroll
    for (const float value : values)
      add_value(of_thread, value);
  }
};

template <class Take>
__global__ void __launch_bounds__(kBlock, kPerSm)
    moments_kernel(Numbers x, Moments* of_blocks, unsigned* finished, float* mean, float* m2) {
  Moments own;
  visit_part(x, [&](const auto& values) { Take{}(own, values); });
  own = block_moments(own);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = own;
  if (!is_last_block(finished)) return;
  own = {};
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock) {
    const float* const from = &of_blocks[i].count;
    own = merged(own, {load_cg(from), load_cg(from + 1), load_cg(from + 2)});
  }
  own = block_moments(own);
  if (threadIdx.x == 0) {
    *mean = own.mean;
    *m2 = own.m2;
  }
}

template <class Take>
Variant moments_variant(std::string id, std::string compare_to,
                        ExpectedChangesOf<Problem> expected) {
  constexpr int kArrays = sizeof(Moments) / sizeof(float);
  Variant v = counted(variant(std::move(id), std::move(compare_to), std::move(expected)), kArrays);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const counter = static_cast<unsigned*>(x.workspace);
    auto* const of_blocks =
        reinterpret_cast<Moments*>(static_cast<char*>(x.workspace) + kCounterBytes);
    return Steps(MemsetStep{counter, 0, sizeof *counter}) +
           launch(moments_kernel<Take>, shape(p, x.device), numbers(p, d), of_blocks, counter,
                  d.mean, d.m2);
  };
  return v;
}

Variant per_number() {
  return moments_variant<PerNumber>("per_number", "shifted",
                                    {{"warp_instructions", Direction::increases, 2, is_large},
                                     {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- per_batch: two passes over 32 numbers in registers
//
// A thread loads 32 numbers, computes their mean and then their M2 from registers, and merges the
// result with its previous one. This takes one division per 32 numbers: warp_instructions decreases
// to a few per number. dram_read_bytes is unchanged, because both passes use the same registers.

struct PerBatch {
  template <int kCount>
  __device__ void operator()(Moments& of_thread, const float (&values)[kCount]) const {
    float sum = 0.0f;
#pragma unroll
    for (const float value : values)
      sum += value;
    Moments batch{static_cast<float>(kCount), sum / static_cast<float>(kCount), 0.0f};
#pragma unroll
    for (const float value : values)
      batch.m2 += (value - batch.mean) * (value - batch.mean);
    of_thread = merged(of_thread, batch);
  }
};

Variant per_batch() {
  return moments_variant<PerBatch>("per_batch", "per_number",
                                   {{"warp_instructions", Direction::decreases, 2, is_large},
                                    {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- inputs

struct Elements {
  std::uint64_t seed;
  float offset;
  __host__ __device__ float operator()(std::int64_t i) const {
    return offset + random_signed(seed, static_cast<std::uint64_t>(i));
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill(d.x, p.n, Elements{stream_seed(seed, 0), static_cast<float>(p.offset)});
}

// ---- the plain reference: deviations of batches from their means, and merges, in fp64

enum Output { kMean, kM2, kCancelled };

struct ExactMoments {
  struct Common {
    double count, mean, m2;
    double absolute, squares;  // sums of |x| and of x²
    __host__ __device__ static Common combined(const Common& a, const Common& b) {
      if (b.count == 0) return a;
      const double count = a.count + b.count, apart = b.mean - a.mean;
      return {count, a.mean + apart * b.count / count,
              a.m2 + b.m2 + apart * apart * a.count * b.count / count, a.absolute + b.absolute,
              a.squares + b.squares};
    }
  };
  Numbers x;
  Output output;
  std::int64_t columns = 1;  // outputs
  __host__ __device__ Common common(std::int64_t, std::int64_t first, std::int64_t step) const {
    constexpr int kBatch = 16;  // loads in flight, and numbers per division
    Common found{};
    for (std::int64_t i = first; i < x.n; i += kBatch * step) {
      double values[kBatch];
      Common batch{};
      for (int j = 0; j < kBatch; ++j) {
        const bool in_bounds = i + j * step < x.n;
        values[j] = in_bounds ? to_double(x.at[i + j * step]) : 0;
        batch.count += in_bounds ? 1 : 0;
      }
      for (const double value : values) {
        batch.mean += value;
        batch.absolute += fabs(value);
        batch.squares += value * value;
      }
      batch.mean /= batch.count;
      for (int j = 0; j < kBatch; ++j) {
        const double apart = values[j] - batch.mean;
        if (i + j * step < x.n) batch.m2 += apart * apart;
      }
      found = Common::combined(found, batch);
    }
    return found;
  }
  __host__ __device__ ReferenceElement element(std::int64_t, std::int64_t,
                                               const Common& found) const {
    if (output == kMean) return {found.mean, found.absolute / found.count};
    return {found.m2, output == kM2 ? sqrt(found.m2 * found.squares) : found.squares};
  }
};

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  Steps steps;
  for (const Output output : {kMean, kM2, kCancelled})
    steps += evaluate_rows(out[output], 1, ExactMoments{numbers(p, d), output});
  return steps;
}

// ---- declaration

Family declare() {
  Family f("welford", Topic::patterns,
           "What does an accurate variance cost in one pass, when the mean is not known before?");
  f.physics =
      "Mean and variance only require that memory delivers the numbers, once if one pass is "
      "enough. Sums of x and of x² take one pass, but their difference loses twice as many digits "
      "as the ratio of mean to spread has. Welford's update loses none, but divides once per "
      "number, a dozen instructions, which the time of the loads must hide. Partial results of any "
      "parts can be merged with one division per merge: one per 32 numbers if a thread computes a "
      "batch first. Sums of deviations from a number near the mean need no division.";
  const auto one = [](const Problem&) { return std::int64_t{1}; };
  f.extent("n", &Problem::n, std::int64_t{1} << 28, std::int64_t{1} << 31, "number of elements")
      .real("offset", &Problem::offset, 1, 0, 1000, "",
            "mean of the numbers; all numbers are within 1 of it");
  f.input("x", &Data::x, &Problem::n)
      .output("mean", &Data::mean, one, mean_tolerance)
      .output("m2", &Data::m2, one, [](const Problem& p) { return m2_tolerance(p, false); })
      .output("m2_cancelled", &Data::m2_cancelled, one,
              [](const Problem& p) { return m2_tolerance(p, true); });
  f.plot("argmax", "traffic", "Argmax, mean and variance: useful bandwidth");
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = mean_tolerance;
  f.tolerance_derivation =
      "u = 2^-24. A sum in which each term takes part in d additions, whose roundings are "
      "independent with a mean of 0, differs from the exact sum by at most λ·√d·u times the sum of "
      "magnitudes with a probability of 1 - e^-32, λ = √(2·(32 + ln 2)) = 8.1 (Higham and Mary, A "
      "new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41(5), 2019). "
      "d: a thread has at most n/2^14 numbers, on 16 SMs of 1024 threads, and trees have fewer "
      "than 64 levels. mean: twice the bound of mean |x|, for the sum and for the updates of a "
      "running mean. M2: with κ² = sum of x² over M2, the relative error of two passes, of "
      "Welford's update and of merges is a small multiple of κ times the error of a sum, and the "
      "error of the difference of sums κ² times it (Chan, Golub and LeVeque, Algorithms for "
      "computing the sample variance, The American Statistician 37(3), 1983). Four times the error "
      "of a sum is allowed, relative to κ·M2 = √(M2·sum of x²) and to κ²·M2 = sum of x². The RMS "
      "error: roundings of 0.42·u (Knuth) instead of λ·u, for numbers whose mean is the offset and "
      "whose variance is 1/3. Twice this error is allowed.";
  f.variants(two_passes(), sum_of_squares(), shifted(), per_number(), per_batch());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::welford
