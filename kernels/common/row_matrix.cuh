// fp32 or bf16 matrices that kernels process row by row: kernel argument, inputs, launches, and
// the reference of a copy.
#pragma once

#include "kernels/common/family.cuh"
#include "kernels/common/row_registers.cuh"

namespace gpuexp {

template <class T>
struct RowMatrix {
  using Element = T;
  const T* x;
  T* y;
  std::int64_t rows;
  int columns;
  __host__ __device__ const T* in(std::int64_t row) const { return x + row * columns; }
  __host__ __device__ T* out(std::int64_t row) const { return y + row * columns; }
};

template <class Problem, class Make>
auto with_row_matrix(const Problem& p, const void* x, void* y, Make make) {
  return of_float_type(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    return make(RowMatrix<T>{static_cast<const T*>(x), static_cast<T*>(y), p.rows,
                             static_cast<int>(p.columns)});
  });
}

template <class T>
Edges edges_of(const RowMatrix<T>& m) {
  return edges_of(m.columns, DataTypeOf<T>::value);
}
template <class T>
std::int64_t covered(const RowMatrix<T>& m) {
  return covered_columns(m.columns, DataTypeOf<T>::value);
}

/// Launches `kernel` with one block per row. The arguments must have exactly the types of the
/// kernel's parameters, so that the compiler can deduce the arguments of a kernel template.
template <class M, class... Arguments>
Steps block_per_row(void (*kernel)(M, Arguments...), int threads, const M& m,
                    const Arguments&... arguments) {
  return launch(kernel, BlockRow::shape(m.rows, m.columns, threads), m, arguments...);
}

/// Fills `to` with uniform values in [-scale, scale), rounded to the problem's type.
template <class Problem>
Steps fill_scores(const Problem& p, void* to, double scale, std::uint64_t seed) {
  return with_row_matrix(p, nullptr, to, [&](auto m) {
    return fill_uniform(m.y, p.rows * p.columns, seed, static_cast<float>(scale));
  });
}

template <class Problem>
Steps reference_of_copy(const Problem& p, const void* x, const ReferenceView& out) {
  return with_row_matrix(p, x, nullptr, [&](auto m) {
    using T = typename decltype(m)::Element;
    return evaluate_reference(out, p.rows * p.columns, SameElement<T>{m.x});
  });
}

}  // namespace gpuexp
