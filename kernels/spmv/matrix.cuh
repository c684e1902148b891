// The matrices of spmv: how many nonzeros their rows have, where these lie, and what they are. All
// of it is computed per row or per nonzero, so that any part of a matrix can be made alone.
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
  std::int64_t rows;  // and columns; of generated matrices
  std::int64_t mean;  // nonzeros per row, likewise
  Matrix matrix;
  std::string file;
};

struct Data {
  float* values;              // of nonzeros, row by row
  std::int32_t* columns;      // of nonzeros
  std::int32_t* offsets;      // where rows begin; one more: where the last ends
  std::int32_t* row_of;       // of nonzeros: COO
  std::int32_t* share_rows;   // first row that begins in each share of the nonzeros
  float* ell_values;          // a column of first nonzeros, one of second ones, ...
  std::int32_t* ell_columns;  // likewise; kNoColumn where a row has no more
  float* x;
  float* y;              // of kernels that store each row once
  float* y_of_products;  // of kernels that add to it in L2: each product by itself,
  float* y_of_segments;  // what a warp has of a row,
  float* y_of_shares;    // or what a block has of a long row
};

constexpr int kNoColumn = -1;
constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
constexpr std::int64_t kMostMean = 64;

/// Of a generated matrix. A power law: rows fall into classes, half of all rows into class 0, a
/// quarter into class 1, and so on, and a row of class t has kGrowth^t times what one of class 0
/// has. So the share of rows with at least n nonzeros falls as n^-1.2, with a step per octave of
/// rows (the degrees of many graphs fall so: Clauset, Shalizi, Newman, "Power-law distributions in
/// empirical data", SIAM Review 51, 2009). A row's class is the number of its index's lowest bits
/// that agree with a mark's. What 2^j rows have that begin at a multiple of 2^j then depends on the
/// class of one of them alone, so that the sum of any rows takes a step per bit of their number.
struct RowLengths {
  static constexpr int kMostBits = 24;
  static constexpr double kGrowth = 1.7818;  // 2^(1/1.2)

  std::int64_t rows;
  std::int64_t columns;
  std::int32_t even;  // of all rows; 0: by class
  int bits;           // of a row's index
  std::uint32_t mark;
  std::int32_t of_class[kMostBits + 1];
  std::int64_t of_block[kMostBits + 1];  // 2^j rows but for the one of the highest class

  __host__ __device__ std::int32_t length(std::int64_t row) const {
    return even > 0 ? even : of_class[class_of(static_cast<std::uint32_t>(row), 0)];
  }
  /// The nonzeros of all rows before this one, which may be `rows`.
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
  /// Of a nonzero.
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
  // Lowest bits that agree, where those below j do.
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
  // Not of the seed: how many nonzeros a matrix has is known without one.
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

/// Calls f(nonzeros, rows that have so many) for the lengths of rows.
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

// ---- sizes, which a plan asks for

struct Sizes {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t nonzeros;
};

/// Of a file by its header alone; of one that cannot be read, which no variant gets, those of a
/// matrix of one element.
inline Sizes sizes(const Problem& p) {
  if (p.matrix != Matrix::file) return {p.rows, p.rows, row_lengths(p).nonzeros()};
  const MatrixMarketHeader header = matrix_market_header(p.file);
  if (!header.error.empty()) return {1, 1, 1};
  return {header.rows, header.columns, header.nonzeros()};
}

inline std::int64_t shares(const Problem& p) {
  return ceil_div(sizes(p).nonzeros, kShare);
}

/// Rows of ELL's arrays: whole warps.
inline std::int64_t ell_rows(const Problem& p) {
  return ceil_div(p.rows, kWarp) * kWarp;
}
/// 0 where rows differ so much that ELL's arrays would mostly be padding, or where nobody has
/// counted them yet.
inline std::int64_t ell_elements(const Problem& p) {
  constexpr std::int64_t kMostPadding = 4;  // times the nonzeros
  if (p.matrix == Matrix::file) return 0;
  const RowLengths l = row_lengths(p);
  const std::int64_t longest = longest_row(l);
  return longest * l.rows <= kMostPadding * l.nonzeros() ? longest * ell_rows(p) : 0;
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

/// The first row that begins at share·kShare or behind it.
struct ShareRow {
  RowLengths lengths;
  __host__ __device__ std::int32_t operator()(std::int64_t share) const {
    const std::int64_t before = share * kShare - 1;
    const std::int64_t last = lengths.nonzeros() - 1;
    const RowLengths::Place at = lengths.place(before < 0 ? 0 : before > last ? last : before);
    return static_cast<std::int32_t>(before < 0 ? 0 : before >= last ? lengths.rows : at.row + 1);
  }
};

/// A row of n nonzeros has one in each n-th of the columns, so that they are sorted and differ; or,
/// in a band, all of them side by side around the diagonal.
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

/// Element i of ELL's arrays: nonzero i / rows of row i % rows, or none.
struct EllPlace {
  RowLengths lengths;
  std::int64_t ell_rows;
  /// Of the nonzero; below 0: none.
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

// What f makes of the place of each nonzero.
template <class Function>
struct OfPlace {
  RowLengths lengths;
  Function f;
  __host__ __device__ auto operator()(std::int64_t nonzero) const {
    return f(lengths.place(nonzero), nonzero);
  }
};

/// The same elements, which the host makes in order: only the first of a part has to be found.
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

// ShareRow of any matrix, from where its rows begin.
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

// ---- the plain reference, and how far sums may be from it

constexpr double kLambda = 9.9;  // √(2·(32 + ln(2·2^24)))

constexpr double kRelative = 1.01 * 0x1p-24;  // u, and a hundredth for higher orders

/// The atomic additions that a kernel makes in L2 for one row.
struct RowAtomics {
  double nonzeros_each;  // at most
  double none_up_to;     // nonzeros of a row
  /// Maximum for n nonzeros, which may begin and end within those of two additions.
  __host__ __device__ double most(double n) const {
    return n <= none_up_to ? 0.0 : fmin(n, floor(n / nonzeros_each) + 2);
  }
};
constexpr RowAtomics kNoAtomics{1, std::numeric_limits<double>::infinity()};

/// Maximum loss of a row's products and additions where numbers are subnormal in fp32.
__host__ __device__ inline double underflow(double n, const RowAtomics& atomics) {
  return n * 0x1p-150 + atomics.most(n) * 0x1p-126;
}

/// Of rows one after another. The magnitude has the parts of the bound that depend on a row's
/// length.
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
    "A row of n nonzeros is an inner product in fp32, u = 2^-24, whose sums may be taken in any "
    "order: |error| <= n·u/(1 - n·u)·Σ|a·x| (Higham, Accuracy and Stability of Numerical "
    "Algorithms, 2nd ed., section 3.1). Of long rows that is far more than roundings do that are "
    "independent of each other and zero in the mean: |error| <= λ·√n·u·Σ|a·x| to first order, in "
    "any order, with a probability of at least 1 - 2n·e^(-λ²/2) (Higham and Mary, A new approach "
    "to probabilistic rounding error analysis, SIAM J. Sci. Comput. 41(5), 2019, theorem 3.1). λ "
    "= 9.9 leaves e^-32 for rows of 2^24 nonzeros. Each row is allowed the smaller of both; a "
    "hundredth more covers the higher orders, since n·u stays below 10^-5 where n is the smaller "
    "and λ·√n·u below 0.003. Where results are subnormal, a product or fused multiply-add errs by "
    "2^-150 at most, and an addition is exact (Higham, section 2.1): n·2^-150 more per row. An "
    "atomic addition in L2, which flushes subnormal numbers to zero (PTX ISA, atom), errs by "
    "2^-126 at most, which is allowed for each. coo_atomics makes n of them per row, "
    "coo_segmented at most n/1024 + 2, csr_adaptive at most n/2048 + 2 if n > 2048. "
    "cusparse_alg1, whose results flush and vary, is taken to make n. The other variants make "
    "none. Each of these four bounds has an output of its own. The RMS error: partial sums of n "
    "products are a random walk, so that roundings of 0.42·u (Knuth) add up by their squares to "
    "0.42·u·√(n²/2 + n) times the RMS product, 1/3 of generated matrices, whose values and x are "
    "in [-1, 1); of a file's, what the RMS of y says. The mean of n²/2 + n over the rows is known "
    "from their lengths. Twice that is allowed, and the RMS over the rows of what underflow may "
    "lose.";

// The derivation of kToleranceDerivation.
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
    constexpr double kProductRms = 1.0 / 3;  // of two numbers in [-1, 1)
    t.rms_absolute += rms * kProductRms;
  }
  return t;
}

}  // namespace gpuexp::spmv
