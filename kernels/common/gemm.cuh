// Common parts of the matrix product families: useful work, fp64 references on the device and by
// host loops, and error bounds of products on tensor cores.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/common/family.cuh"

namespace gpuexp {

/// Useful work of C (m×n) = A (m×k) · B (k×n): each matrix is transferred once, without padding.
inline Work gemm_work(std::int64_t m, std::int64_t n, std::int64_t k, DataType input,
                      DataType output, Pipe pipe) {
  const auto bytes = [](std::int64_t rows, std::int64_t columns, DataType type) {
    return rows * columns * static_cast<std::int64_t>(size_of(type));
  };
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return reads<char>(bytes(m, k, input)) + reads<char>(bytes(k, n, input)) +
         writes<char>(bytes(m, n, output)) + computes(pipe, 2.0 * products);
}

/// Useful work of a product, with the DRAM traffic of the padded matrices that are stored.
inline Work padded_work(Work useful, const Work& stored) {
  useful.moved_read = stored.moved_read;
  useful.moved_written = stored.moved_written;
  return useful;
}

template <class Problem>
std::int64_t elements_of_a(const Problem& p) {
  return p.m * p.k;
}
template <class Problem>
std::int64_t elements_of_b(const Problem& p) {
  return p.k * p.n;
}
template <class Problem>
std::int64_t elements_of_c(const Problem& p) {
  return p.m * p.n;
}

/// Declares the extents m, n and k, and sets C as the output that launch shapes must cover.
template <class Problem, class Data>
void declare_extents(FamilyOf<Problem, Data>& f, std::int64_t size) {
  f.extent("m", &Problem::m, size, 1 << 16, "number of rows of A and C")
      .extent("n", &Problem::n, size, 1 << 16, "number of columns of B and C")
      .extent("k", &Problem::k, size, 1 << 16, "number of columns of A and rows of B");
  f.outputs = [](const Problem& p) { return Extent{p.m, p.n, 1}; };
}

/// A kernel whose blocks compute one tile of C each, and its launch configuration.
template <class... Parameters>
struct TiledKernel {
  void (*kernel)(Parameters...);
  Extent tile;
  Extent block;
  std::int64_t dynamic_shared_bytes = 0;

  /// Returns this kernel for every problem. Callers also accept a callable that chooses the kernel
  /// by problem.
  template <class Problem>
  const TiledKernel& operator()(const Problem&) const {
    return *this;
  }

  /// Launch shape for C of m×n. The grid's x dimension covers the rows of C, y the columns.
  Shape shape(std::int64_t m, std::int64_t n) const {
    return shape_of_tiles({m, n}, tile, block, dynamic_shared_bytes);
  }
};

/// Returns a reason if the device has less than `needed` bytes of shared memory per block.
inline std::optional<std::string> lacks_shared_memory(const DeviceSpec& device,
                                                      std::int64_t needed) {
  if (device.sm.shared_bytes_per_block >= needed) return std::nullopt;
  return "needs " + std::to_string(needed) + " bytes of shared memory per block; the device has " +
         std::to_string(device.sm.shared_bytes_per_block);
}

/// A variant that launches the TiledKernel kernel_for(problem) on a problem with extents m and n
/// and data a, b and c.
template <class Variant, class WorkOf, class KernelFor>
Variant tiled_variant(std::string id, std::string compare_to, WorkOf work, KernelFor kernel_for,
                      decltype(Variant::expected_changes) expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.work = work;
  v.unsupported = [kernel_for](const auto& p, const DeviceSpec& device) {
    return lacks_shared_memory(device, kernel_for(p).dynamic_shared_bytes);
  };
  v.launch = [kernel_for](const auto& p, const auto& d, const LaunchContext&) {
    const auto tiled = kernel_for(p);
    return launch(tiled.kernel, tiled.shape(p.m, p.n), p, d.a, d.b, d.c);
  };
  return v;
}

/// A (m×k) and B (k×n), both row-major; leading dimensions in elements.
template <class T>
struct GemmOperands {
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

template <class T>
GemmOperands<T> contiguous_operands(const T* a, const T* b, std::int64_t m, std::int64_t n,
                                    std::int64_t k) {
  return {a, k, b, n, m, n, k};
}

struct ProductSums {
  double value = 0.0;
  double absolute = 0.0;
  double squares = 0.0;

  __host__ __device__ void add(double product) {
    value += product;
    absolute += fabs(product);
    squares += product * product;
  }
};

/// Error bound proportional to Σ|a·b|, for fp32 sums in which every addition rounds.
struct AbsoluteBound {
  __host__ __device__ double magnitude(const ProductSums& sums) const { return sums.absolute; }
};

/// Tolerance of fp32 sums of k products in any order, derived in kFp32SumDerivation.
inline Tolerance fp32_sum_tolerance(std::int64_t k) {
  constexpr double kLambda = 8.0;
  const double u = unit_roundoff(DataType::fp32);
  return {(kLambda * std::sqrt(static_cast<double>(k)) + 1.0) * u, 0.0,
          kRmsSafety * sum_rms(k, DataType::fp32), 0.0};
}

inline constexpr const char* kFp32SumDerivation =
    "Summing K products in fp32 in any order has an error of at most K·u·Σ|a·b| (u = 2^-24). With "
    "roundings of random sign, it is at most λ·√K·u·Σ|a·b| with probability 1 - 2·exp(-λ²/2) per "
    "element (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019). λ = 8 leaves 2.5e-14 per "
    "element. One more u covers the rounding of the result. The RMS error over all elements is "
    "relative to the RMS result. With products of random sign, the partial sums are a random walk "
    "of RMS √i. Each is rounded with an RMS error of 0.42·u (u/√3 over a significand whose "
    "logarithm is uniformly distributed), 0.42·u·√(K/2 + 1) in total (Higham and Mary; Higham, "
    "Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.5): 1.1e-6 at K = 4096. "
    "The tolerance allows twice this error, and for chance the bound per element times "
    "√(32/elements) (Bernstein's inequality, probability 1e-14). Inputs rounded to tf32 have an "
    "error of 2.6e-4 for every K.";

/// Error bound proportional to norm(p) = √Σp² of the products p, and to |result| for its rounding
/// to the type of C.
struct NormBound {
  double output_roundoff;  ///< unit roundoff of the element type of C
  double sum_error;        ///< bound on the error of the sum, relative to norm(p)
  double rms_error;  ///< RMS error of the result by the rounding model, relative to the RMS result
  double near_zero = 0.0;  ///< absolute rounding error of fp16 sums or fp16 results near zero

  Tolerance tolerance() const { return {output_roundoff, near_zero, kRmsSafety * rms_error, 0.0}; }
  /// Magnitude that is multiplied by the tolerance `output_roundoff` = u. Rounding the result has
  /// an error of at most u·|value|, and increases the error of the sum by the factor 1 + u.
  __host__ __device__ double magnitude(const ProductSums& sums) const {
    return fabs(sums.value) +
           (1.0 + output_roundoff) / output_roundoff * sum_error * sqrt(sums.squares);
  }
};

inline constexpr const char* kTensorCoreBoundDerivation =
    "Tensor cores multiply exactly and add a few products at a time to the running sum P: 4 in the "
    "first generation, 16 on Hopper (8 of tf32). K products therefore need at most S = ceil(K/4) "
    "steps. With fp32 accumulation, bits below the last bit of the largest addend are truncated, "
    "and so is the sum (Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor "
    "cores, PeerJ Computer Science 7:e330, 2021). Truncation always shrinks |P|, by less than "
    "2u·|P|, u = 2^-24, and by half of this on average: a bias, which grows like S. With products "
    "p of random sign, P is a random walk that ends at a typical distance of norm(p) = √Σp². The "
    "mean of |P| over the steps is about norm(p)/2 and exceeds x·norm(p) with probability about "
    "exp(-3x²/2). The truncated bits of the products have random sign, and their sum grows like "
    "√K. The bound is λ·u·(S + √K)·norm(p), λ = 8. To exceed it, x must be above 4 even if every "
    "step lost all of 2u·|P| (4e-11 per element), and above 8 at the average loss (1e-41). fp16 "
    "sums are rounded to nearest after each step. Their errors have random sign and are below "
    "λ·u·√S·norm(p), u = 2^-11, except with probability 5e-14 by the same walk, plus 2^-25, half "
    "of the smallest subnormal number, per step. Rounding the result to the type of C adds "
    "u·|value|. At K = 8192 the bound is 0.1 % of a typical element, |value| = norm(p), with fp32 "
    "results, 0.5 % with bf16 results, and 18 % with fp16 accumulation: fp16 sums of this length "
    "do lose several percent. The RMS error over all elements, relative to the RMS result, follows "
    "from the same walk. Truncation loses 0.72·u of |P| per step on average (u times the mean of "
    "1/m over a significand m whose logarithm is uniformly distributed), in total 0.72·u·S/√3, and "
    "the products lose 0.85·u·√(K/2). fp16 sums have an error of 0.42·u·√(S/2 + 1), and the result "
    "an error of 0.42·u of its type (Higham, Accuracy and Stability of Numerical Algorithms, 2nd "
    "ed., section 4.5). The squares of these errors are summed. The tolerance allows twice the "
    "root of the sum, and for chance the bound per element times √(32/elements) (Bernstein's "
    "inequality, probability 1e-14). With fp16 accumulation this is 1.9 % at K = 16384; a result "
    "without 32 of its products has an error of 4.4 %.";

/// Maximum number of steps in which a tensor core adds k products to a sum.
inline double tensor_core_steps(std::int64_t k) {
  constexpr std::int64_t kMinProductsPerStep = 4;
  return static_cast<double>(ceil_div(k, kMinProductsPerStep));
}

/// RMS error of a tensor core's sum of k products, relative to the RMS sum (see
/// kTensorCoreBoundDerivation).
inline double tensor_core_sum_rms(std::int64_t k, DataType accumulate) {
  const double steps = tensor_core_steps(k);
  if (accumulate == DataType::fp16) return sum_rms(static_cast<std::int64_t>(steps), accumulate);
  const double u = unit_roundoff(accumulate);
  const double mean_loss = u / (2.0 * std::log(2.0));  // 0.72·u: mean of a truncation below 2u
  const double product_loss = u / std::sqrt(2.0 * std::log(2.0));  // 0.85·u: RMS, with random sign
  return std::hypot(mean_loss * steps / std::sqrt(3.0),
                    product_loss * std::sqrt(0.5 * static_cast<double>(k)));
}

/// Error bound for inputs of random sign and fp32 or fp16 accumulation, derived in
/// kTensorCoreBoundDerivation.
inline NormBound tensor_core_bound(std::int64_t k, DataType accumulate, DataType output) {
  constexpr double kLambda = 8.0;
  const double steps = tensor_core_steps(k);
  const double roundings =
      accumulate == DataType::fp16 ? std::sqrt(steps) : steps + std::sqrt(static_cast<double>(k));
  constexpr double kHalfSubnormal = 0x1p-25;  // half of fp16's smallest subnormal number
  const double subnormal_roundings = accumulate == DataType::fp16 ? steps
                                     : output == DataType::fp16   ? 1.0
                                                                  : 0.0;
  return {unit_roundoff(output), kLambda * unit_roundoff(accumulate) * roundings,
          std::hypot(tensor_core_sum_rms(k, accumulate), rounding_rms(output)),
          kHalfSubnormal * subnormal_roundings};
}

/// Maximum k of families with bf16 results of fp32 sums. At this k, the bound is 0.6 % of a typical
/// element, |value| = norm(p), so an error of 1 % is rejected.
inline constexpr std::int64_t kTensorCoreBoundMaxK = 16384;

/// One element of the product, exact except for fp64 rounding.
template <class T, class Bound>
__device__ ReferenceElement gemm_element(const GemmOperands<T>& x, std::int64_t row,
                                         std::int64_t column, const Bound& bound) {
  ProductSums sums;
  for (std::int64_t k = 0; k < x.k; ++k)
    sums.add(to_double(x.a[row * x.lda + k]) * to_double(x.b[k * x.ldb + column]));
  return {sums.value, bound.magnitude(sums)};
}

/// gemm_element() for `count` neighbouring elements of a row. Each row of B is read once for up
/// to kMaxCount elements.
template <class T, class Bound>
void gemm_elements(const GemmOperands<T>& x, std::int64_t row, std::int64_t column, int count,
                   const Bound& bound, double* value, double* magnitude) {
  constexpr int kMaxCount = 64;
  ProductSums sums[kMaxCount];
  for (int begin = 0; begin < count; begin += kMaxCount) {
    const int part = std::min(kMaxCount, count - begin);
    std::fill_n(sums, part, ProductSums{});
    for (std::int64_t k = 0; k < x.k; ++k) {
      const double a = to_double(x.a[row * x.lda + k]);
      const T* const b = x.b + k * x.ldb + column + begin;
      for (int i = 0; i < part; ++i)
        sums[i].add(a * to_double(b[i]));
    }
    for (int i = 0; i < part; ++i) {
      value[begin + i] = sums[i].value;
      magnitude[begin + i] = bound.magnitude(sums[i]);
    }
  }
}

/// Reference of a C that is stored in panels of panel_columns columns. Each panel is row-major,
/// and panels are contiguous.
template <class T, class Bound>
struct GemmPanels {
  GemmOperands<T> operands;
  Bound bound;
  std::int64_t panel_columns;

  __device__ ReferenceElement operator()(std::int64_t i) const {
    const std::int64_t panel = i / (operands.m * panel_columns);
    return gemm_element(operands, i / panel_columns % operands.m,
                        panel * panel_columns + i % panel_columns, bound);
  }
  __device__ std::int64_t place(std::int64_t row, std::int64_t column) const {
    return (column / panel_columns * operands.m + row) * panel_columns + column % panel_columns;
  }
  void on_host(const ReferenceView& out, std::int64_t first, std::int64_t end) const {
    while (first < end) {
      const std::int64_t column = first % panel_columns;
      const std::int64_t count = std::min(end - first, panel_columns - column);
      const std::int64_t panel = first / (operands.m * panel_columns);
      gemm_elements(operands, first / panel_columns % operands.m, panel * panel_columns + column,
                    static_cast<int>(count), bound, out.value + first, out.magnitude + first);
      first += count;
    }
  }
};

namespace detail {
inline constexpr int kReferenceRows = 4;
inline constexpr int kReferenceColumns = 4;
inline constexpr int kReferenceWarps = 8;
inline constexpr std::int64_t kReferenceBlockRows = kReferenceRows * kReferenceWarps;
inline constexpr std::int64_t kReferenceBlockColumns = kReferenceColumns * 32;

/// Each thread computes 4 × 4 elements of C, so it converts 4 + 4 elements to fp64 for 16
/// products. A thread with one element of C would convert two elements for each product, and an
/// SM has a lower throughput of these conversions than of multiply-adds (CUDA C++ Programming
/// Guide, "Arithmetic Instructions").
template <class T, class Bound>
__global__ void __launch_bounds__(32 * kReferenceWarps)
    gemm_reference_kernel(ReferenceView out, GemmPanels<T, Bound> panels) {
  const GemmOperands<T>& x = panels.operands;
  const std::int64_t blocks_of_row = (x.n + kReferenceBlockColumns - 1) / kReferenceBlockColumns;
  const std::int64_t first_row =
      blockIdx.x / blocks_of_row * kReferenceBlockRows + threadIdx.x / 32 * kReferenceRows;
  const std::int64_t first_column =
      blockIdx.x % blocks_of_row * kReferenceBlockColumns + threadIdx.x % 32;
  const T* a[kReferenceRows];
  const T* b[kReferenceColumns];
#pragma unroll
  for (int i = 0; i < kReferenceRows; ++i)
    a[i] = x.a + min(first_row + i, x.m - 1) * x.lda;
#pragma unroll
  for (int j = 0; j < kReferenceColumns; ++j)
    b[j] = x.b + min(first_column + 32 * j, x.n - 1);
  ProductSums sums[kReferenceRows][kReferenceColumns];
  for (std::int64_t k = 0; k < x.k; ++k) {
    double of_a[kReferenceRows];
#pragma unroll
    for (int i = 0; i < kReferenceRows; ++i)
      of_a[i] = to_double(a[i][k]);
#pragma unroll
    for (int j = 0; j < kReferenceColumns; ++j) {
      const double of_b = to_double(b[j][k * x.ldb]);
#pragma unroll
      for (int i = 0; i < kReferenceRows; ++i)
        sums[i][j].add(of_a[i] * of_b);
    }
  }
#pragma unroll
  for (int i = 0; i < kReferenceRows; ++i) {
#pragma unroll
    for (int j = 0; j < kReferenceColumns; ++j) {
      const std::int64_t row = first_row + i, column = first_column + 32 * j;
      if (row >= x.m || column >= x.n) continue;
      const std::int64_t place = panels.place(row, column);
      out.value[place] = sums[i][j].value;
      out.magnitude[place] = panels.bound.magnitude(sums[i][j]);
    }
  }
}
}  // namespace detail

/// Evaluates the reference of C (x.m × x.n), stored in contiguous panels of panel_columns
/// columns.
template <class T, class Bound>
Steps evaluate_gemm(const GemmOperands<T>& x, const Bound& bound, const ReferenceView& out,
                    std::int64_t panel_columns) {
  const GemmPanels<T, Bound> panels{x, bound, panel_columns};
  const auto on_host = [out, panels](auto first, auto end) { panels.on_host(out, first, end); };
  if (!out.draw.is_all()) return evaluate_reference(out, x.m * x.n, panels, on_host);
  if (!out) return Steps();
  const std::int64_t blocks =
      ceil_div(x.m, detail::kReferenceBlockRows) * ceil_div(x.n, detail::kReferenceBlockColumns);
  return with_host_loop(launch(detail::gemm_reference_kernel<T, Bound>,
                               shape_of_blocks(blocks, 32 * detail::kReferenceWarps), out, panels),
                        {x.m * x.n, on_host, out.value, sizeof(double)});
}
template <class T, class Bound>
Steps evaluate_gemm(const GemmOperands<T>& x, const Bound& bound, const ReferenceView& out) {
  return evaluate_gemm(x, bound, out, x.n);
}

template <class T, class Bound>
void host_gemm(const GemmOperands<T>& x, const Bound& bound, const ReferenceView& out) {
  const GemmPanels<T, Bound> panels{x, bound, x.n};
  panels.on_host(out, 0, x.m * x.n);
}

/// Sets the reference of a family to a row-major C = A·B. operands(problem, data) returns the
/// matrices, bound(problem) the error bound.
template <class Family, class Operands, class BoundOf>
void set_gemm_reference(Family& f, Operands operands, BoundOf bound) {
  f.reference = [=](const auto& p, const auto& d, const std::vector<ReferenceView>& out) {
    return evaluate_gemm(operands(p, d), bound(p), out[0]);
  };
}

/// set_gemm_reference() for products on tensor cores; also sets their tolerance. bound(problem)
/// returns a NormBound.
template <class Family, class Operands, class BoundOf>
void set_tensor_core_reference(Family& f, Operands operands, BoundOf bound) {
  set_gemm_reference(f, operands, bound);
  f.tolerance_derivation = kTensorCoreBoundDerivation;
  f.tolerance = [bound](const auto& p) { return bound(p).tolerance(); };
}

}  // namespace gpuexp
