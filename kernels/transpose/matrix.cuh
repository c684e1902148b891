// Inputs and plain reference of transpose.
#pragma once

#include "kernels/common/reference.cuh"

namespace gpuexp::transpose {

struct Problem {
  std::int64_t rows;     // rows of `in`
  std::int64_t columns;  // columns of `in`
  DataType dtype;        // fp32 or bf16
};

struct Data {
  void* in;      // rows × columns
  void* out;     // columns × rows
  void* copied;  // rows × columns, the output of `copy`
};

// Kernel argument. T is an unsigned integer as wide as the elements: copies of integers keep the
// payload of a NaN.
template <class T>
struct Matrix {
  const T* in;
  T* out;
  std::int64_t rows;
  std::int64_t columns;
};

inline std::int64_t elements(const Problem& p) {
  return p.rows * p.columns;
}
inline std::int64_t element_bytes(const Problem& p) {
  return static_cast<std::int64_t>(size_of(p.dtype));
}

// Returns make(matrix), with the Matrix type of the problem's element size.
template <class Make>
auto of_matrix(const Problem& p, const void* in, void* out, Make make) {
  const auto matrix = [&](auto word) {
    using T = decltype(word);
    return make(Matrix<T>{static_cast<const T*>(in), static_cast<T*>(out), p.rows, p.columns});
  };
  return p.dtype == DataType::bf16 ? matrix(std::uint16_t{}) : matrix(std::uint32_t{});
}

template <class Matrix>
using WordOf = std::remove_pointer_t<decltype(Matrix::out)>;

// Random bits, except all ones, which fill memory that no kernel has written. 16-bit elements may
// be infinities and NaNs. 32-bit elements are normal numbers, which cuBLAS keeps unchanged.
template <class T>
struct Bits {
  std::uint64_t seed;
  __host__ __device__ T operator()(std::int64_t i) const {
    const auto bits = static_cast<T>(random_bits(seed, static_cast<std::uint64_t>(i)) >> 32);
    if constexpr (sizeof(T) == 2) return bits == 0xFFFF ? 0 : bits;
    const std::uint32_t exponent = bits >> 23 & 0xFF;
    return exponent == 0 || exponent == 0xFF ? bits ^ 0x40000000 : bits;
  }
};

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return of_matrix(p, nullptr, d.in, [&](auto m) {
    return fill(m.out, elements(p), Bits<WordOf<decltype(m)>>{stream_seed(seed, 0)});
  });
}

template <class T>
struct Transposed {
  Matrix<T> m;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {static_cast<double>(m.in[i % m.rows * m.columns + i / m.rows]), 0.0};
  }
};

inline Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return of_matrix(p, d.in, nullptr, [&](auto m) {
    using T = WordOf<decltype(m)>;
    return evaluate_reference(out[0], elements(p), Transposed<T>{m}) +
           evaluate_reference(out[1], elements(p), SameElement<T>{m.in});
  });
}

}  // namespace gpuexp::transpose
