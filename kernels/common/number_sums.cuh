// Sums of n numbers: problem, inputs, reference and error bound of the families about sums, and
// the share of a thread in a persistent grid.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gpu/cub_reduce.hpp"
#include "kernels/common/family.cuh"
#include "kernels/common/pack.cuh"
#include "kernels/common/row_reference.cuh"

namespace gpuexp::number_sums {

enum class Numbers {
  random,  // in [-1, 1)
  whole,   // whole numbers, whose sums are exact in any order
};

struct Problem {
  std::int64_t n;
  DataType dtype;
  Numbers numbers;
};

struct Data {
  void* x;
  float* sum;
};

template <class T>
struct Terms {
  const T* at;
  std::int64_t n;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kBlock = 256;
constexpr int kVectorBytes = 16;
template <class T>
constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
__device__ __forceinline__ float sum_of(const Pack<T, kWidth<T>>& vector) {
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < vector.kPairs; ++i) {
    const float2 pair = widen(vector.pairs[i]);
    sum += pair.x + pair.y;
  }
  return sum;
}

struct PlainLoad {
  template <class T>
  __device__ Pack<T, kWidth<T>> operator()(const T* from) const {
    return load_pack<kWidth<T>>(from);
  }
};

/// Sums kLoads vectors with a stride of `step` elements. The thread issues all loads before the
/// first addition.
template <int kLoads, class T, class Load = PlainLoad>
__device__ __forceinline__ float sum_vectors(const T* from, std::int64_t step, Load load = {}) {
  Pack<T, kWidth<T>> vectors[kLoads];
#pragma unroll
  for (int j = 0; j < kLoads; ++j)
    vectors[j] = load(from + j * step);
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < kLoads; ++j)
    sum += sum_of<T>(vectors[j]);
  return sum;
}

/// Sum of the elements that this thread loads: kLoads vectors at a time with the grid's stride,
/// then single vectors, then at most one element.
template <int kLoads, class T>
__device__ __forceinline__ float sum_thread_part(const Terms<T>& x) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x * kWidth<T>;
  const std::int64_t whole = x.n / kWidth<T> * kWidth<T>;
  float sum = 0.0f;
  std::int64_t i = thread * kWidth<T>;
#pragma unroll 1
  for (; i + (kLoads - 1) * stride < whole; i += kLoads * stride)
    sum += sum_vectors<kLoads>(x.at + i, stride);
  if constexpr (kLoads > 1) {
#pragma unroll 1
    for (; i < whole; i += stride)
      sum += sum_vectors<1>(x.at + i, 0);
  }
  if (whole + thread < x.n) sum += static_cast<float>(x.at[whole + thread]);
  return sum;
}

template <class T>
Terms<T> terms(const Problem& p, const Data& d) {
  return {static_cast<const T*>(d.x), p.n};
}

inline std::int64_t bytes_of(const Problem& p) {
  return p.n * static_cast<std::int64_t>(size_of(p.dtype));
}

/// Number of persistent blocks: `per_sm` per SM, or fewer if some threads would have no vector.
inline std::int64_t resident_blocks(const Problem& p, const DeviceSpec& device, int per_sm) {
  return std::min(std::int64_t{device.sm_count} * per_sm,
                  ceil_div(bytes_of(p), kBlock * kVectorBytes));
}

struct Loads {
  int count;
  bool are_vectors;
};

inline Variant variant(std::string id, std::string compare_to, Loads loads,
                       Family::OnProblem<double()> kernels, ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.deterministic = true;
  v.work = [](const Problem& p) {
    return streaming_work<char, float>(bytes_of(p), 1, {{Pipe::fp32, static_cast<double>(p.n)}});
  };
  v.metrics = [=](const Problem& p, const DeviceSpec&) {
    const double bytes = loads.are_vectors ? kVectorBytes : static_cast<double>(size_of(p.dtype));
    return MetricValues{{kBytesInFlightMetric, loads.count * bytes}, {"kernels", kernels(p)}};
  };
  return v;
}

template <int kCount>
double always(const Problem&) {
  return kCount;
}

template <class T>
using Kernel = void (*)(Terms<T>, float*);

/// Kernels that sum elements of one type. of_floats also sums partial sums.
struct Kernels {
  Kernel<float> of_floats;
  Kernel<__nv_bfloat16> of_bfloats;
};

inline Steps launch_sum(const Kernels& kernels, const Shape& s, const Problem& p, const Data& d,
                        float* to) {
  return p.dtype == DataType::bf16 ? launch(kernels.of_bfloats, s, terms<__nv_bfloat16>(p, d), to)
                                   : launch(kernels.of_floats, s, terms<float>(p, d), to);
}

/// Persistent blocks store partial sums to the workspace, and a second kernel of one block sums
/// them.
inline Variant two_kernel_variant(Variant v, Kernels kernels, int per_sm) {
  v.workspace_bytes = [per_sm](const Problem& p, const DeviceSpec& device) {
    return resident_blocks(p, device, per_sm) * std::int64_t{sizeof(float)};
  };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const sums = static_cast<float*>(x.workspace);
    const std::int64_t blocks = resident_blocks(p, x.device, per_sm);
    return launch_sum(kernels, shape_of_blocks(blocks, kBlock), p, d, sums) +
           launch(kernels.of_floats, shape_of_blocks(1, kBlock), Terms<float>{sums, blocks}, d.sum);
  };
  return v;
}

inline Variant cub_sum(std::string compare_to) {
  Variant v("cub", std::move(compare_to));
  v.is_vendor = true;
  v.work = variant("", "", {0, false}, always<0>, {}).work;
  v.workspace_bytes = [](const Problem&, const DeviceSpec& device) {
    return cub::reduce_workspace_bytes(device);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return cub::step_of(
        cub::Reduce{cub::Reduction::sum, p.dtype, p.n, d.x, d.sum, nullptr, x.workspace}, x.device);
  };
  return v;
}

// ---- inputs

template <class T>
struct Elements {
  std::uint64_t seed;
  Numbers numbers;
  __host__ __device__ T operator()(std::int64_t i) const {
    const float x = random_signed(seed, static_cast<std::uint64_t>(i));
    constexpr float kMaxWhole = 64.0f;  // exact in bf16, whose significand has 8 bits
    return from_float<T>(numbers == Numbers::whole ? rintf(kMaxWhole * x) : x);
  }
};

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return of_float_type(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    return fill(static_cast<T*>(d.x), p.n, Elements<T>{stream_seed(seed, 0), p.numbers});
  });
}

// ---- the plain reference

/// fp64 sum of x, with the root of the sum of squares as magnitude.
template <class T>
struct ExactSum {
  struct Common {
    double sum;
    double squares;
    __host__ __device__ static Common combined(const Common& a, const Common& b) {
      return {a.sum + b.sum, a.squares + b.squares};
    }
  };
  Terms<T> x;
  std::int64_t columns = 1;
  __host__ __device__ Common common(std::int64_t, std::int64_t first, std::int64_t step) const {
    Common found{0.0, 0.0};
    for (std::int64_t i = first; i < x.n; i += step) {
      const double term = to_double(x.at[i]);
      found = Common::combined(found, {term, term * term});
    }
    return found;
  }
  __host__ __device__ ReferenceElement element(std::int64_t, std::int64_t,
                                               const Common& found) const {
    return {found.sum, sqrt(found.squares)};
  }
};

inline Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return of_float_type(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    return evaluate_rows(out[0], 1, ExactSum<T>{terms<T>(p, d)});
  });
}

// ---- declarations of families

/// Bound on the average number of additions that a term passes through: d in the derivation
/// below.
inline double depth(const Problem& p) {
  constexpr double kBlockElements = 1 << 14;
  constexpr double kTreeLevels = 64;
  return std::ceil(static_cast<double>(p.n) / kBlockElements) + kTreeLevels;
}

inline Tolerance tolerance(const Problem& p) {
  if (p.numbers == Numbers::whole) return {0.0, 0.0};
  const double lambda = std::sqrt(2 * (32 + std::log(2.0)));
  const double norm = std::sqrt(static_cast<double>(p.n) / 3);  // the mean of x² is 1/3
  return {lambda * unit_roundoff(DataType::fp32) * std::sqrt(depth(p)), 0.0, 0.0,
          kRmsSafety * rounding_rms(DataType::fp32) * std::sqrt(depth(p)) * norm};
}

inline void declare_sums(Family& f) {
  f.extent("n", &Problem::n, std::int64_t{1} << 28, (std::int64_t{1} << 31) - 1,
           "number of values to sum")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of the numbers; sums are in fp32")
      .choice<Numbers>("numbers", &Problem::numbers,
                       {{"random", Numbers::random}, {"whole", Numbers::whole}},
                       "random values in [-1, 1), or whole numbers in [-64, 64], whose sums are "
                       "exact in any order");
  f.input("x", &Data::x, &Problem::dtype, &Problem::n)
      .output("sum", &Data::sum, [](const Problem&) { return std::int64_t{1}; });
  f.metric(kBytesInFlightMetric, "B", "bytes that a thread requests by loads before it waits");
  f.metric("kernels", "", "number of kernels per launch");
  f.unsupported = [](const Problem&, const DeviceSpec& device) -> std::optional<std::string> {
    constexpr int kMinSms = 16;
    if (device.sm_count >= kMinSms) return std::nullopt;
    return "needs at least " + std::to_string(kMinSms) +
           " SMs, whose threads the error bound assumes";
  };
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "numbers = whole: the tolerance is zero. Partial sums are whole numbers below 2^24, which "
      "fp32 represents exactly, in any order. The numbers are random, of RMS 37.2, so a partial "
      "sum of m <= 2^31 numbers is a random walk, and 2^24 is ten times its RMS value, 37.2·√m "
      "(Hoeffding: a probability below e^-31). A block of 256 numbers that is missing or counted "
      "twice is detected unless its numbers sum to 0, which happens once in 1500 times: their sum "
      "has an RMS value of 595. numbers = random: each addition rounds its result s with an error "
      "of at most u·|s|, u = 2^-24. The errors are independent of each other, with a mean of 0. "
      "For sums in any order, |error| <= u·√(2·ln(2/δ))·√(sum of all s²) with probability 1 - δ "
      "(Hallman and Ipsen, Precision-aware deterministic and probabilistic error bounds for "
      "floating point summation, Numerische Mathematik 155, 2023); δ = e^-32. Numbers have random "
      "signs, so the mean of s² is the sum of the squares of its terms. The mean of the sum of all "
      "s² is at most d times the sum of all squares if a term passes through d additions on "
      "average. A thread's chain has at most n/2^15 elements, on 16 SMs of 2048 threads. There are "
      "n/2^14 blocks of 16384 elements that add to one sum, and a term passes through half of "
      "these additions. Trees have fewer than 64 levels. d = n/2^14 + 64 covers all of this. At "
      "2^30 numbers the bound is 2.3 and the RMS sum of 256 missing numbers 9.2, so one such block "
      "in five would not be detected; whole numbers detect it. The RMS error: roundings of 0.42·u "
      "of each s (Knuth) sum by their squares to 0.42·u·√d·√(n/3), because numbers in [-1, 1) have "
      "an RMS value of 1/√3. The tolerance allows twice this error.";
}

}  // namespace gpuexp::number_sums
