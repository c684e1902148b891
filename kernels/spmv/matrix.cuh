// The matrices of spmv: row lengths, columns and values of the nonzeros. Each is computed per row
// or per nonzero, so any range can be generated independently.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/matrix_market.hpp"
#include "kernels/common/family.cuh"
#include "kernels/spmv/share.cuh"

namespace gpuexp::spmv {

enum class Matrix { regular, power_law, banded, file };

struct Problem {
  std::int64_t rows;  // rows and columns of a generated matrix
  std::int64_t mean;  // mean number of nonzeros per row of a generated matrix
  Matrix matrix;
  std::string file;
};

struct Data {
  float* values;              // values of the nonzeros, row by row
  std::int32_t* columns;      // columns of the nonzeros
  std::int32_t* offsets;      // first nonzero of each row, and the number of nonzeros
  std::int32_t* row_of;       // row of each nonzero (COO)
  std::int32_t* share_rows;   // first row that begins in each share of the nonzeros
  float* ell_values;          // the first nonzeros of all rows, then the second ones, ...
  std::int32_t* ell_columns;  // in the order of ell_values; kNoColumn past the end of a row
  float* x;
  float* y;              // stored once per row
  float* y_of_products;  // sum of atomic additions in L2, one per product
  float* y_of_segments;  // sum of atomic additions in L2, one per row and warp
  float* y_of_shares;    // sum of atomic additions in L2, one per long row and block
};

constexpr int kNoColumn = -1;
constexpr std::int64_t kMaxRows = std::int64_t{1} << 24;
constexpr std::int64_t kMaxMean = 64;

/// Row lengths of a generated matrix. For a power law, rows are divided into classes: half of all
/// rows are in class 0, a quarter in class 1, and so on. A row of class t has kGrowth^t times as
/// many nonzeros as a row of class 0. The share of rows with at least n nonzeros therefore
/// decreases as n^-1.2, in one step per octave of rows, as the degrees of many graphs do (Clauset,
/// Shalizi, Newman, "Power-law distributions in empirical data", SIAM Review 51, 2009). A row's
/// class is the number of lowest bits in which its index agrees with `mark`. The sum of 2^j lengths
/// that starts at a multiple of 2^j depends on the class of only one of these rows, so the sum of
/// the first n lengths takes one step per bit of n.
struct RowLengths {
  static constexpr int kMaxBits = 24;
  static constexpr double kGrowth = 1.7818;  // 2^(1/1.2)

  std::int64_t rows;
  std::int64_t columns;
  std::int32_t even;  // length of every row; 0 if lengths depend on the class
  int bits;           // bits of a row's index
  std::uint32_t mark;
  std::int32_t of_class[kMaxBits + 1];  // length of a row of each class
  std::int64_t of_block[kMaxBits + 1];  // sum of 2^j lengths without the row of the highest class

  __host__ __device__ std::int32_t length(std::int64_t row) const {
    return even > 0 ? even : of_class[class_of(static_cast<std::uint32_t>(row), 0)];
  }
  /// Returns the number of nonzeros before `row`, which may be equal to `rows`.
  __host__ __device__ std::int64_t begin(std::int64_t row) const {
    if (even > 0) return row * even;
    std::int64_t sum = 0;
    std::uint32_t first = 0;
    for (int j = bits; j >= 0; --j) {
      if ((row >> j & 1) == 0) continue;
      sum += block(first, j);
      first |= 1u << j;
    }
    return sum;
  }
  __host__ __device__ std::int64_t nonzeros() const { return begin(rows); }

  struct Place {
    std::int64_t row;
    std::int64_t in_row;
  };
  /// Returns the row of a nonzero and its index within the row.
  __host__ __device__ Place place(std::int64_t nonzero) const {
    if (even > 0) return {nonzero / even, nonzero % even};
    std::uint32_t row = 0;
    for (int j = bits - 1; j >= 0; --j) {
      const std::int64_t size = block(row, j);
      if (nonzero < size) continue;
      nonzero -= size;
      row |= 1u << j;
    }
    return {row, nonzero};
  }

 private:
  // Returns the number of lowest bits in which `row` and `mark` agree; the bits below j must agree.
  __host__ __device__ int class_of(std::uint32_t row, int j) const {
    const std::uint32_t differ = (row ^ mark) >> j | 1u << (bits - j);
#ifdef __CUDA_ARCH__
    return j + __ffs(static_cast<int>(differ)) - 1;
#else
    return j + __builtin_ctz(differ);
#endif
  }
  __host__ __device__ std::int64_t block(std::uint32_t first, int j) const {
    return of_block[j] + of_class[class_of(first, j)];
  }
};

inline RowLengths row_lengths(const Problem& p) {
  RowLengths l{};
  l.rows = l.columns = p.rows;
  if (p.matrix != Matrix::power_law) {
    l.even = static_cast<std::int32_t>(std::min(p.mean, p.rows));
    return l;
  }
  while ((std::int64_t{1} << l.bits) < p.rows)
    ++l.bits;
  // Independent of the seed, so that the number of nonzeros depends only on the problem.
  l.mark = static_cast<std::uint32_t>(random_bits(0, static_cast<std::uint64_t>(p.rows))) &
           ((1u << l.bits) - 1);
  const double first = static_cast<double>(p.mean) * (2 - RowLengths::kGrowth);
  for (int t = 0; t <= l.bits; ++t) {
    const double wanted = std::round(first * std::pow(RowLengths::kGrowth, t));
    l.of_class[t] =
        static_cast<std::int32_t>(std::min(std::max(wanted, 1.0), static_cast<double>(p.rows)));
  }
  for (int j = 0; j < l.bits; ++j)
    l.of_block[j + 1] = 2 * l.of_block[j] + l.of_class[j];
  return l;
}

/// Calls f(length, number of rows of this length) for each row length.
template <class Function>
void for_lengths(const RowLengths& l, Function f) {
  if (l.even > 0) return f(l.even, l.rows);
  for (int t = 0; t <= l.bits; ++t) {
    const std::int64_t every = std::int64_t{1} << std::min(t + 1, l.bits);
    const std::int64_t first = (l.mark ^ (t < l.bits ? 1u << t : 0u)) & (every - 1);
    if (first < l.rows) f(l.of_class[t], (l.rows - 1 - first) / every + 1);
  }
}

inline std::int64_t longest_row(const RowLengths& l) {
  std::int64_t longest = 0;
  for_lengths(l, [&](std::int64_t n, std::int64_t) { longest = std::max(longest, n); });
  return longest;
}

// ---- sizes, which plans use

struct Sizes {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t nonzeros;
};

/// Returns the sizes of the matrix; for a file, it reads only the header. For a file that cannot be
/// read it returns 1×1; no variant receives such a file.
inline Sizes sizes(const Problem& p) {
  if (p.matrix != Matrix::file) return {p.rows, p.rows, row_lengths(p).nonzeros()};
  const MatrixMarketHeader header = matrix_market_header(p.file);
  if (!header.error.empty()) return {1, 1, 1};
  return {header.rows, header.columns, header.nonzeros()};
}

inline std::int64_t shares(const Problem& p) {
  return ceil_div(sizes(p).nonzeros, kShare);
}

/// Returns the number of rows of the ELL arrays, a multiple of the warp size.
inline std::int64_t ell_rows(const Problem& p) {
  return ceil_div(p.rows, kWarp) * kWarp;
}
/// Returns the number of elements of the ELL arrays. Returns 0 if the arrays would be mostly
/// padding, and for files, whose longest row the header does not state.
inline std::int64_t ell_elements(const Problem& p) {
  constexpr std::int64_t kMaxPadding = 4;  // maximum array size in multiples of the nonzeros
  if (p.matrix == Matrix::file) return 0;
  const RowLengths l = row_lengths(p);
  const std::int64_t longest = longest_row(l);
  return longest * l.rows <= kMaxPadding * l.nonzeros() ? longest * ell_rows(p) : 0;
}

// ---- elements of the inputs

struct Offset {
  RowLengths lengths;
  __host__ __device__ std::int32_t operator()(std::int64_t row) const {
    return static_cast<std::int32_t>(lengths.begin(row));
  }
};

struct RowOf {
  __host__ __device__ std::int32_t operator()(RowLengths::Place at, std::int64_t) const {
    return static_cast<std::int32_t>(at.row);
  }
};

/// The first row that begins at or after nonzero share·kShare.
struct ShareRow {
  RowLengths lengths;
  __host__ __device__ std::int32_t operator()(std::int64_t share) const {
    const std::int64_t before = share * kShare - 1;
    const std::int64_t last = lengths.nonzeros() - 1;
    const RowLengths::Place at = lengths.place(before < 0 ? 0 : before > last ? last : before);
    return static_cast<std::int32_t>(before < 0 ? 0 : before >= last ? lengths.rows : at.row + 1);
  }
};

/// Column of a nonzero. The columns are divided into n equal ranges, and a row of n nonzeros has
/// one random column in each range, so columns are sorted and distinct. In a banded matrix, the
/// columns of a row are contiguous around the diagonal.
struct Columns {
  RowLengths lengths;
  bool is_banded;
  std::uint64_t seed;
  __host__ __device__ std::int32_t operator()(RowLengths::Place at, std::int64_t nonzero) const {
    const std::int64_t n = lengths.length(at.row);
    if (is_banded) {
      const std::int64_t first = at.row - n / 2;
      const std::int64_t last = lengths.columns - n;
      return static_cast<std::int32_t>((first < 0 ? 0 : first > last ? last : first) + at.in_row);
    }
    const std::int64_t begin = at.in_row * lengths.columns / n;
    const std::int64_t end = (at.in_row + 1) * lengths.columns / n;
    const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(nonzero)) >> 32;
    return static_cast<std::int32_t>(begin + bits % static_cast<std::uint64_t>(end - begin));
  }
};

/// Element i of the ELL arrays: nonzero i / ell_rows of row i % ell_rows, or padding.
struct EllPlace {
  RowLengths lengths;
  std::int64_t ell_rows;
  /// Returns the index of the nonzero, or -1 for padding.
  __host__ __device__ std::int64_t nonzero(std::int64_t i) const {
    const std::int64_t row = i % ell_rows;
    if (row >= lengths.rows || i / ell_rows >= lengths.length(row)) return -1;
    return lengths.begin(row) + i / ell_rows;
  }
};
struct EllColumns {
  EllPlace place;
  Columns columns;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const {
    const std::int64_t nonzero = place.nonzero(i);
    if (nonzero < 0) return kNoColumn;
    return columns({i % place.ell_rows, i / place.ell_rows}, nonzero);
  }
};
struct EllValues {
  EllPlace place;
  Uniform<float> values;
  __host__ __device__ float operator()(std::int64_t i) const {
    const std::int64_t nonzero = place.nonzero(i);
    return nonzero < 0 ? 0.0f : values(nonzero);
  }
};

template <class Function>
struct OfPlace {
  RowLengths lengths;
  Function f;
  __host__ __device__ auto operator()(std::int64_t nonzero) const {
    return f(lengths.place(nonzero), nonzero);
  }
};

/// Fills `out` with f(place, nonzero) for each nonzero. On the host, a loop computes them in order
/// and searches for the row of only the first nonzero of each range.
template <class T, class Function>
Steps fill_nonzeros(T* out, const RowLengths& l, Function f) {
  return with_host_loop(fill_on_device(out, l.nonzeros(), OfPlace<Function>{l, f}),
                        {l.nonzeros(),
                         [out, l, f](std::int64_t first, std::int64_t end) {
                           RowLengths::Place at = l.place(first);
                           for (std::int64_t i = first; i < end; ++i) {
                             out[i] = f(at, i);
                             if (++at.in_row == l.length(at.row)) at = {at.row + 1, 0};
                           }
                         },
                         out, sizeof(T)});
}

// Computes share_rows (see ShareRow) of any matrix from its row offsets.
inline __global__ void share_rows_kernel(const std::int32_t* offsets, std::int64_t rows,
                                         std::int64_t shares, std::int32_t* share_rows) {
  const std::int64_t share = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (share > shares) return;
  std::int64_t row = 0, end = rows;
  while (row < end) {
    const std::int64_t middle = (row + end) / 2;
    if (share == shares || offsets[middle] < share * kShare) {
      row = middle + 1;
    } else {
      end = middle;
    }
  }
  share_rows[share] = static_cast<std::int32_t>(row);
}

inline Steps inputs_of_file(const Problem& p, const Data& d) {
  const std::shared_ptr<const MatrixMarket> m = matrix_market(p.file);
  const auto copied = [&m](const auto& from, auto* to) -> Steps {
    CopyStep step{to, from.data(), static_cast<std::int64_t>(from.size() * sizeof(*to))};
    step.owner = m;
    return step;
  };
  return copied(m->offsets, d.offsets) + copied(m->columns, d.columns) +
         copied(m->row_of, d.row_of) + copied(m->values, d.values) +
         launch(share_rows_kernel, grid_stride(shares(p) + 1, std::numeric_limits<int>::max()),
                d.offsets, sizes(p).rows, shares(p), d.share_rows);
}

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const Steps x = fill_uniform(d.x, sizes(p).columns, stream_seed(seed, 0));
  if (p.matrix == Matrix::file) return x + inputs_of_file(p, d);
  const RowLengths l = row_lengths(p);
  const Uniform<float> values{stream_seed(seed, 1)};
  const Columns columns{l, p.matrix == Matrix::banded, stream_seed(seed, 2)};
  const EllPlace place{l, ell_rows(p)};
  Steps steps = x + fill(d.offsets, l.rows + 1, Offset{l}) + fill_nonzeros(d.columns, l, columns) +
                fill(d.values, l.nonzeros(), values) + fill_nonzeros(d.row_of, l, RowOf{}) +
                fill(d.share_rows, shares(p) + 1, ShareRow{l});
  if (ell_elements(p) > 0) {
    steps += fill(d.ell_columns, ell_elements(p), EllColumns{place, columns}) +
             fill(d.ell_values, ell_elements(p), EllValues{place, values});
  }
  return steps;
}

// ---- the plain reference and the error bounds

constexpr double kLambda = 9.9;  // √(2·(32 + ln(2·2^24)))

constexpr double kRelative = 1.01 * 0x1p-24;  // u, plus 1 % for higher-order terms

/// Atomic additions that a kernel performs in L2 for one row.
struct RowAtomics {
  double nonzeros_each;  // maximum number of nonzeros per addition
  double none_up_to;     // longest row without atomic additions, in nonzeros
  /// Maximum number of additions for a row of n nonzeros; the first and the last addition may also
  /// cover nonzeros of other rows.
  __host__ __device__ double most(double n) const {
    return n <= none_up_to ? 0.0 : fmin(n, floor(n / nonzeros_each) + 2);
  }
};
constexpr RowAtomics kNoAtomics{1, std::numeric_limits<double>::infinity()};

/// Maximum error of a row of n nonzeros from products and additions that are subnormal in fp32.
__host__ __device__ inline double underflow(double n, const RowAtomics& atomics) {
  return n * 0x1p-150 + atomics.most(n) * 0x1p-126;
}

/// Exact result of a row, summed in order in fp64. The magnitude contains the factors of the bound
/// that depend on the row's length.
struct ExactRow {
  RowAtomics atomics;
  const std::int32_t* offsets;
  const std::int32_t* columns;
  const float* values;
  const float* x;
  __host__ __device__ ReferenceElement operator()(std::int64_t row) const {
    double sum = 0, absolute = 0;
    for (std::int32_t i = offsets[row]; i < offsets[row + 1]; ++i) {
      const double product = to_double(values[i]) * to_double(x[columns[i]]);
      sum += product;
      absolute += fabs(product);
    }
    const double n = offsets[row + 1] - offsets[row];
    return {sum, fmin(n, kLambda * sqrt(n)) * absolute + underflow(n, atomics) / kRelative};
  }
};

constexpr const char* kToleranceDerivation =
    "A row of n nonzeros is an inner product in fp32, u = 2^-24, whose sums may be computed in any "
    "order: |error| <= n·u/(1 - n·u)·Σ|a·x| (Higham, Accuracy and Stability of Numerical "
    "Algorithms, 2nd ed., section 3.1). For long rows this is far more than the error of "
    "independent roundings with mean zero: |error| <= λ·√n·u·Σ|a·x| to first order, in any order, "
    "with a probability of at least 1 - 2n·e^(-λ²/2) (Higham and Mary, A new approach to "
    "probabilistic rounding error analysis, SIAM J. Sci. Comput. 41(5), 2019, theorem 3.1). λ = "
    "9.9 leaves e^-32 for rows of 2^24 nonzeros. The bound of each row is the smaller of the two. "
    "1 % more covers the higher orders, since n·u is below 10^-5 if n is the smaller factor, and "
    "λ·√n·u is below 0.003. If results are subnormal, a product or fused multiply-add errs by at "
    "most 2^-150, and an addition is exact (Higham, section 2.1): n·2^-150 more per row. An atomic "
    "addition in L2, which flushes subnormal numbers to zero (PTX ISA, atom), errs by at most "
    "2^-126, which is allowed for each. coo_atomics performs n of them per row, coo_segmented at "
    "most n/1024 + 2, csr_adaptive at most n/2048 + 2 if n > 2048. For cusparse_alg1, whose "
    "results flush and vary, n additions are assumed. The other variants perform none. Each of "
    "these four bounds has an output of its own. The RMS error: partial sums of n products are a "
    "random walk, so the squares of roundings of 0.42·u (Knuth) sum to 0.42·u·√(n²/2 + n) times "
    "the RMS product. The RMS product is 1/3 for generated matrices, whose values and x are in "
    "[-1, 1); for a file, the RMS of y gives it. The mean of n²/2 + n over the rows is known from "
    "their lengths. Twice this error is allowed, plus the RMS over the rows of the errors from "
    "subnormal numbers.";

// Computes the bound that kToleranceDerivation derives.
inline Tolerance tolerance(const Problem& p, const RowAtomics& atomics) {
  const double rows = static_cast<double>(sizes(p).rows);
  const double nonzeros = static_cast<double>(sizes(p).nonzeros);
  double squares = 0, lost_squares = 0;
  const auto add = [&](std::int64_t row_nonzeros, std::int64_t of_rows) {
    const double n = static_cast<double>(row_nonzeros);
    const double lost = underflow(n, atomics);
    squares += n * n * static_cast<double>(of_rows);
    lost_squares += lost * lost * static_cast<double>(of_rows);
  };
  if (p.matrix != Matrix::file) {
    for_lengths(row_lengths(p), add);
  } else if (matrix_market_header(p.file).error.empty()) {
    const std::shared_ptr<const MatrixMarket> m = matrix_market(p.file);
    for (std::size_t row = 1; row < m->offsets.size(); ++row)
      add(m->offsets[row] - m->offsets[row - 1], 1);
  }
  const double rms =
      kRmsSafety * rounding_rms(DataType::fp32) * std::sqrt((squares / 2 + nonzeros) / rows);
  Tolerance t;
  t.relative = kRelative;
  t.rms_absolute = std::sqrt(lost_squares / rows);
  if (p.matrix == Matrix::file) {
    t.rms_relative = rms / std::sqrt(nonzeros / rows);
  } else {
    constexpr double kProductRms = 1.0 / 3;  // RMS of a product of two numbers in [-1, 1)
    t.rms_absolute += rms * kProductRms;
  }
  return t;
}

}  // namespace gpuexp::spmv
