// Matrices whose element type is a parameter of the problem: storage, random inputs rounded to
// the type, and references of products on tensor cores.
#pragma once

#include "kernels/common/gemm.cuh"
#include "kernels/common/random.cuh"
#include "kernels/common/rounding.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp {

/// tf32: fp32 with an 11-bit significand. Inputs are rounded to tf32, because tensor cores ignore
/// the lower bits.
inline constexpr FloatFormat kTf32{11, kFp32.min_exponent, kFp32.max_exponent};

template <class T>
struct RoundedUniform {
  Uniform<float> master;
  __host__ __device__ T operator()(std::int64_t i) const { return from_float<T>(master(i)); }
};
template <>
struct RoundedUniform<float> {
  Uniform<float> master;
  __host__ __device__ float operator()(std::int64_t i) const {
    return static_cast<float>(round_to(kTf32, master(i)));
  }
};

/// Fills `out` with the values of fill_uniform<float>() for the same seed, rounded to bf16, fp16
/// or tf32.
inline Steps fill_uniform_rounded(DataType type, void* out, std::int64_t count,
                                  std::uint64_t seed) {
  return with_stored_type(type, [&](auto element) {
    using T = decltype(element);
    return fill(static_cast<T*>(out), count, RoundedUniform<T>{{seed}});
  });
}

struct TensorOperands {
  DataType type;
  const void* a;
  const void* b;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;

  template <class T>
  GemmOperands<T> stored_as() const {
    return contiguous_operands(static_cast<const T*>(a), static_cast<const T*>(b), m, n, k);
  }
};

inline Steps evaluate_gemm(const TensorOperands& x, const NormBound& bound,
                           const ReferenceView& out) {
  return with_stored_type(x.type, [&](auto element) {
    return evaluate_gemm(x.stored_as<decltype(element)>(), bound, out);
  });
}

}  // namespace gpuexp
