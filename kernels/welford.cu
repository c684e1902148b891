// welford: mean of n numbers, and the sum of their squared deviations from it (M2).
//
// The question: what does it cost to add up deviations from a mean that is known at the end? Two
// passes read the numbers twice. One pass over sums of x and of x² reads them once, but its M2 is
// the difference of two sums that may be nearly equal: with numbers far from zero all digits
// cancel. Welford's update (1962) keeps a mean so far and deviations from that, exactly what is
// wanted, and takes a division per number. Partial results (count, mean, M2) of any two parts
// merge into that of both (Chan, Golub and LeVeque 1983), which makes it a reduction like others,
// with an operation of a dozen instructions; so a batch may be done in any other way before. Sums
// of deviations from a number that is near the mean, as any of the numbers is, need no division.
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
  float* m2_cancelled;  // of sum_of_squares, whose digits cancel
};

constexpr int kBlock = 256;
constexpr int kPerSm = 4;  // blocks that stay
constexpr int kLoads = 8;
constexpr int kVector = 4;  // elements of a load

struct Numbers {
  const float* at;
  std::int64_t n;
};

// Gives visit(values) this thread's part, in strides of the grid: 32 numbers at a time, then 4,
// then one.
template <class Visit>
__device__ __forceinline__ void visit_part(const Numbers& x, const Visit& visit);

// ---- two_passes: the mean, and then the deviations
//
// A pass adds up the numbers, a second one the squares of their deviations from the mean: what the
// definition says, and as exact as sums are. Each pass is a kernel and another for the blocks'
// sums, and DRAM delivers the numbers to both.

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

// One block: the sum of `count` sums, over `by`.
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

// Blocks that stay, or fewer where a thread would not have a vector.
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
           computes(Pipe::fp32, 3 * static_cast<double>(p.n));  // from the mean, squared, added
  };
  return v;
}

constexpr auto is_large = at_least(&Problem::n, 1 << 27);  // beyond L2

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

// ---- sum_of_squares: one pass, and a difference
//
// Sums of x and of x² in one pass, from which M2 = sum of x² - (sum of x)²/n. dram_read_bytes falls
// to half. It costs digits: of numbers around a mean of 100 times their spread, 2·log2(100) = 13 of
// the 24 bits are gone before the first rounding counts. rms_error has how many are left.

struct Sums {
  float* of_blocks;
  float* squares_of_blocks;
  unsigned* finished;
};

// Of all blocks, by the last of them; `finish(sum, squares)` is its thread 0's.
template <class Finish>
__device__ __forceinline__ void finish_sums(float sum, float squares, const Sums& s,
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
    sum += load_past_l1(s.of_blocks + i);
    squares += load_past_l1(s.squares_of_blocks + i);
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
  finish_sums(sum, squares, s, [&](float of_all, float squares_of_all) {
    const float of_each = of_all / static_cast<float>(x.n);
    *mean = shift + of_each;
    *m2 = squares_of_all - of_all * of_each;
  });
}

// A counter in the first 16 bytes of the workspace, and `arrays` of a number per block behind it.
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

// The relative error of so many sums of magnitudes, whose own RMS value is `size`: what
// tolerance_derivation derives.
Tolerance tolerance(const Problem& p, double sums, double size) {
  constexpr double kOfEachThread = 1 << 14;  // threads, of 16 SMs
  constexpr double kOfTrees = 64;
  const double depth = std::ceil(static_cast<double>(p.n) / kOfEachThread) + kOfTrees;
  const double lambda = std::sqrt(2 * (32 + std::log(2.0)));
  return {sums * lambda * unit_roundoff(DataType::fp32) * std::sqrt(depth), 0.0, 0.0,
          kRmsSafety * sums * rounding_rms(DataType::fp32) * std::sqrt(depth) * size};
}

// κ², the sum of squares over M2, of numbers within 1 of the offset: their variance is 1/3.
double cancellation(const Problem& p) {
  return 1 + 3 * p.offset * p.offset;
}

// Of κ·M2, or of κ²·M2 where digits cancel.
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
    constexpr double kMostError = 0.1;
    if (m2_tolerance(p, true).relative * cancellation(p) <= kMostError) return std::nullopt;
    return "needs a smaller offset: no digit of the difference of two such sums would be certain";
  };
  return v;
}

// ---- shifted: the same of deviations from the first number
//
// Any number of the array is nearer to the mean than zero is, most often within a few times the
// spread: x - x[0] is what is added up and squared. One subtraction more per number, and as few
// digits cancel as if the mean were zero. dram_read_bytes stays. It trusts the first number: where
// that is an outlier, digits are lost as by sum_of_squares.

Variant shifted() {
  return squares_variant("shifted", "sum_of_squares", squares_kernel<true>, &Data::m2,
                         {{"dram_read_bytes", Direction::unchanged, 1.05, is_large},
                          {"warp_instructions", Direction::increases, 1.1, is_large}});
}

// ---- per_number: Welford's update
//
// Each number moves the thread's mean by its deviation over the count so far, and adds the product
// of its deviations from the old and the new mean. Nothing cancels, whatever the numbers. But it is
// a chain of dependent instructions with a division in it, so that warp_instructions is a multiple
// of that of shifted. Where memory takes longer than these, as an H200's does of 4-byte numbers,
// time does not show it.

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
      add_number(of_thread, value);
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
    own = merged(own, {load_past_l1(from), load_past_l1(from + 1), load_past_l1(from + 2)});
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

// ---- per_batch: two passes over what is in registers, then one merge
//
// Of the 32 numbers that a thread has loaded, the mean and then the deviations, as two_passes has
// it of all, but from registers; then one merge with what the thread had. One division per 32
// numbers: warp_instructions falls to a few per number, and DRAM delivers them once. This is what a
// layer norm does with its rows.

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
    constexpr int kBatch = 16;  // loads in flight, and numbers for one of Welford's divisions
    Common found{};
    for (std::int64_t i = first; i < x.n; i += kBatch * step) {
      double values[kBatch];
      Common batch{};
      for (int j = 0; j < kBatch; ++j) {
        const bool is_there = i + j * step < x.n;
        values[j] = is_there ? to_double(x.at[i + j * step]) : 0;
        batch.count += is_there ? 1 : 0;
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
           "What does a sum of deviations cost whose mean is known at the end?");
  f.physics =
      "Reading the numbers is all that mean and variance need of memory, once if one pass is "
      "enough. Sums of x and of x² are one pass, and their difference loses twice as many digits "
      "as the mean is larger than the spread. Welford's update loses none and divides once per "
      "number, a dozen instructions that memory's time has to hide. Partial results of any parts "
      "merge, which takes a division per merge: one for 32 numbers, where a batch is done before. "
      "Deviations from a number near the mean need none at all.";
  const auto one = [](const Problem&) { return std::int64_t{1}; };
  f.extent("n", &Problem::n, std::int64_t{1} << 28, std::int64_t{1} << 31, "numbers")
      .real("offset", &Problem::offset, 1, 0, 1000, "",
            "mean of the numbers, which are within 1 of it");
  f.input("x", &Data::x, &Problem::n)
      .output("mean", &Data::mean, one, mean_tolerance)
      .output("m2", &Data::m2, one, [](const Problem& p) { return m2_tolerance(p, false); })
      .output("m2_cancelled", &Data::m2_cancelled, one,
              [](const Problem& p) { return m2_tolerance(p, true); });
  f.figure("argmax", "traffic", "Largest numbers, means, deviations: useful bytes per second");
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = mean_tolerance;
  f.tolerance_derivation =
      "u = 2^-24. A sum in which each term goes through d additions whose roundings are "
      "independent, with a mean of 0, is off by at most λ·√d·u times the sum of magnitudes with a "
      "probability of 1 - e^-32, λ = √(2·(32 + ln 2)) = 8.1 (Higham and Mary, A new approach to "
      "probabilistic rounding error analysis, SIAM J. Sci. Comput. 41(5), 2019). d: a thread has "
      "n/2^14 numbers at most, on 16 SMs of 1024 threads, and trees have fewer than 64 levels. "
      "mean: twice that of mean |x|, for the sum and for what moves a running mean. M2: with κ² = "
      "sum of x² over M2, the relative error of two passes, of Welford's update and of merges is a "
      "small multiple of κ times that of a sum, and of the difference of sums κ² times that (Chan, "
      "Golub and LeVeque, Algorithms for computing the sample variance, The American Statistician "
      "37(3), 1983): four times it, of κ·M2 = √(M2·sum of x²), and of κ²·M2 = sum of x². The RMS "
      "error: roundings of 0.42·u (Knuth) in place of λ·u, of numbers whose mean is the offset and "
      "whose variance is 1/3. Twice that is allowed.";
  f.variants(two_passes(), sum_of_squares(), shifted(), per_number(), per_batch());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::welford
