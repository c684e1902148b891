// fp64 references whose elements depend on a value of their whole row, such as its maximum. This
// common value is computed once per row.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "kernels/common/reference.cuh"

namespace gpuexp {

struct ExactMaxSum {
  double max;
  double sum;
  __host__ __device__ static ExactMaxSum combined(ExactMaxSum a, ExactMaxSum b) {
    const double max = fmax(a.max, b.max);
    if (max == -HUGE_VAL) return a;
    return {max, a.sum * exp(a.max - max) + b.sum * exp(b.max - max)};
  }
};
/// Maximum and Σ e^(x - max) over every step-th x[i] with first <= i < columns.
template <class T>
__host__ __device__ ExactMaxSum exact_max_sum(const T* x, std::int64_t columns, std::int64_t first,
                                              std::int64_t step) {
  ExactMaxSum found{-HUGE_VAL, 0.0};
  for (std::int64_t i = first; i < columns; i += step)
    found.max = fmax(found.max, to_double(x[i]));
  for (std::int64_t i = first; i < columns; i += step)
    found.sum += exp(to_double(x[i]) - found.max);
  return found;
}

/// e^x, or 0 for x below -700, where exp() on the device and on the host return different
/// results.
__host__ __device__ inline double exact_power(double x) {
  constexpr double kMinExponent = -700;
  return x < kMinExponent ? 0.0 : exp(x);
}

template <class T>
struct ExactSoftmax {
  using Common = ExactMaxSum;
  const T* x;
  std::int64_t columns;
  __host__ __device__ Common common(std::int64_t row, std::int64_t first, std::int64_t step) const {
    return exact_max_sum(x + row * columns, columns, first, step);
  }
  __host__ __device__ ReferenceElement element(std::int64_t row, std::int64_t column,
                                               const Common& of_row) const {
    const double y = exact_power(to_double(x[row * columns + column]) - of_row.max) / of_row.sum;
    return {y, y};
  }
};

/// Operations of one fp64 exp(): about twenty multiply-adds.
constexpr double kExactExpOperations = 40;

constexpr int kRowReferenceBlock = 512;

namespace detail {
template <class Rows>
__global__ void __launch_bounds__(kRowReferenceBlock)
    row_reference_kernel(ReferenceView out, Rows rows) {
  using Common = typename Rows::Common;
  __shared__ Common found[kRowReferenceBlock];
  const int thread = threadIdx.x;
  found[thread] = rows.common(blockIdx.x, thread, kRowReferenceBlock);
  for (int half = kRowReferenceBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) found[thread] = Common::combined(found[thread], found[thread + half]);
  }
  __syncthreads();
  for (std::int64_t column = thread; column < rows.columns; column += kRowReferenceBlock) {
    const std::int64_t i = blockIdx.x * rows.columns + column;
    if (!out.draw.has(i)) continue;
    const ReferenceElement element = rows.element(blockIdx.x, column, found[0]);
    out.value[i] = element.value;
    out.magnitude[i] = element.magnitude;
  }
}

/// Computes elements on the host, and caches the common value of every row, because several
/// threads may request elements of the same row.
template <class Rows>
class RowLoop {
 public:
  RowLoop(const ReferenceView& out, const Rows& rows) : out_(out), rows_(rows) {}
  void run(std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end;) {
      const std::int64_t row = i / rows_.columns;
      const typename Rows::Common common = common_of(row);
      for (; i < end && i / rows_.columns == row; ++i) {
        const ReferenceElement element = rows_.element(row, i - row * rows_.columns, common);
        out_.value[i] = element.value;
        out_.magnitude[i] = element.magnitude;
      }
    }
  }

 private:
  typename Rows::Common common_of(std::int64_t row) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = kept_.find(row);
      if (found != kept_.end()) return found->second;
    }
    const typename Rows::Common common = rows_.common(row, 0, 1);
    const std::lock_guard<std::mutex> lock(mutex_);
    return kept_.emplace(row, common).first->second;
  }

  ReferenceView out_;
  Rows rows_;
  std::mutex mutex_;
  std::map<std::int64_t, typename Rows::Common> kept_;
};
}  // namespace detail

/// Evaluates the reference of `count` rows with rows.columns elements each. rows.common(row,
/// first, step) returns the common value of every step-th element of the row, starting at `first`,
/// Rows::Common::combined merges two such values, and rows.element(row, column, common) returns
/// an element. For the sum of an array, use one row with one element.
template <class Rows>
Steps evaluate_rows(const ReferenceView& out, std::int64_t count, const Rows& rows) {
  if (!out) return Steps();
  const Shape s = shape_of_blocks(count, kRowReferenceBlock);
  const auto loop = std::make_shared<detail::RowLoop<Rows>>(out, rows);
  return with_host_loop(launch(detail::row_reference_kernel<Rows>, s, out, rows),
                        {count * rows.columns,
                         [loop](std::int64_t first, std::int64_t end) { loop->run(first, end); },
                         out.value, sizeof(double)});
}

}  // namespace gpuexp
