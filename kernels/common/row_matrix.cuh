// Matrices whose rows are worked on one by one, in fp32 or bf16: what kernels of several families
// are given, how it is filled, and how it is launched.
#pragma once

#include "kernels/common/random.cuh"
#include "kernels/common/reference.cuh"
#include "kernels/common/row_registers.cuh"

namespace gpuexp {

/// x is read, y is written; row-major, without padding.
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

/// What `make` makes of the matrix, by its type. `p` has rows, columns and dtype.
template <class Problem, class Make>
auto with_row_matrix(const Problem& p, const void* x, void* y, Make make) {
  const auto matrix = [&](auto zero) {
    using T = decltype(zero);
    return make(RowMatrix<T>{static_cast<const T*>(x), static_cast<T*>(y), p.rows,
                             static_cast<int>(p.columns)});
  };
  return p.dtype == DataType::bf16 ? matrix(__nv_bfloat16{}) : matrix(float{});
}

template <class T>
Edges edges_of(const RowMatrix<T>& m) {
  return edges_of(m.columns, DataTypeOf<T>::value);
}
template <class T>
std::int64_t covered(const RowMatrix<T>& m) {
  return covered_columns(m.columns, DataTypeOf<T>::value);
}

template <class M, class... Parameters, class... Arguments>
Steps block_per_row(void (*kernel)(M, Parameters...), int threads, const M& m,
                    const Arguments&... arguments) {
  return launch(kernel, BlockRow::shape(m.rows, m.columns, threads), m, arguments...);
}

template <class T>
struct Scores {
  std::uint64_t seed;
  float scale;
  __host__ __device__ T operator()(std::int64_t i) const {
    return from_float<T>(scale * random_signed(seed, static_cast<std::uint64_t>(i)));
  }
};
/// Uniform in [-scale, scale), rounded to the type.
template <class Problem>
Steps fill_scores(const Problem& p, void* to, double scale, std::uint64_t seed) {
  return with_row_matrix(p, nullptr, to, [&](auto m) {
    using T = typename decltype(m)::Element;
    return fill(m.y, p.rows * p.columns, Scores<T>{seed, static_cast<float>(scale)});
  });
}

/// The reference of a copy, whose tolerance is zero.
template <class T>
struct SameElement {
  const T* x;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {to_double(x[i]), 0.0};
  }
};

template <class Problem>
Steps reference_of_copy(const Problem& p, const void* x, const ReferenceView& out) {
  if (!out) return Steps();
  return with_row_matrix(p, x, nullptr, [&](auto m) {
    using T = typename decltype(m)::Element;
    return evaluate_reference(out, p.rows * p.columns, SameElement<T>{m.x});
  });
}
template <class Problem>
void copy_on_host(const Problem& p, const void* x, const ReferenceView& out) {
  with_row_matrix(p, x, nullptr, [&](auto m) {
    evaluate_references_on_host({out}, p.rows * p.columns, [&](int) {
      return SameElement<typename decltype(m)::Element>{m.x};
    });
  });
}

}  // namespace gpuexp
