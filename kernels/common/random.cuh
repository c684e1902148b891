// Counter-based random inputs: element i of a buffer depends only on (seed, i), so host and
// device can compute the elements in any order.
#pragma once

#include <cstdint>

#include "base/random_bits.hpp"
#include "kernels/common/convert.cuh"
#include "kernels/common/launch.cuh"

namespace gpuexp {

/// Uniform in [0, 1) with 24 random bits, exact in fp32.
__host__ __device__ inline float random_unit(std::uint64_t seed, std::uint64_t i) {
  return static_cast<float>(random_bits(seed, i) >> 40) * 0x1p-24f;
}

/// Uniform in [-1, 1).
__host__ __device__ inline float random_signed(std::uint64_t seed, std::uint64_t i) {
  return 2.0f * random_unit(seed, i) - 1.0f;
}

/// Seed of the n-th buffer of a problem, statistically independent of the other buffers' seeds.
__host__ __device__ inline std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t n) {
  return random_bits(seed ^ 0xD1B54A32D192ED03ull, n);
}

namespace detail {
template <class T, class Function>
__global__ void fill_kernel(T* out, std::int64_t count, Function f) {
  for_items_of_thread(count, [&](std::int64_t i) { out[i] = f(i); });
}
}  // namespace detail

/// Sets out[i] = f(i) for i < count. f is a __device__ functor that depends only on i, for
/// results that the host cannot reproduce bitwise.
template <class T, class Function>
Steps fill_on_device(T* out, std::int64_t count, Function f) {
  return with_host_loop(
      launch(detail::fill_kernel<T, Function>, grid_stride(count, 65536), out, count, f),
      {count, {}, out, sizeof(T)});
}

/// Sets out[i] = f(i) for i < count. f is a __host__ __device__ functor with bitwise-identical
/// results on host and device, so that elements can be computed on demand. Buffers that f reads
/// must not change later, and `reset` must not restore them.
template <class T, class Function>
Steps fill(T* out, std::int64_t count, Function f) {
  return with_host_loop(fill_on_device(out, count, f),
                        {count,
                         [out, f](std::int64_t first, std::int64_t end) {
                           for (std::int64_t i = first; i < end; ++i)
                             out[i] = f(i);
                         },
                         out, sizeof(T)});
}

/// Uniform in [centre - scale, centre + scale), rounded to T. Host and device results are bitwise
/// identical if `centre` is 0 or `scale` is a power of two.
template <class T>
struct Uniform {
  std::uint64_t seed;
  float scale = 1.0f;
  float centre = 0.0f;
  __host__ __device__ T operator()(std::int64_t i) const {
    return from_float<T>(centre + scale * random_signed(seed, static_cast<std::uint64_t>(i)));
  }
};
template <class T>
Steps fill_uniform(T* out, std::int64_t count, std::uint64_t seed, float scale = 1.0f,
                   float centre = 0.0f) {
  return fill(out, count, Uniform<T>{seed, scale, centre});
}

template <class Word>
struct RandomBits {
  std::uint64_t seed;
  int shift;  ///< position of the lowest bit used, 0 to 63
  __host__ __device__ Word operator()(std::int64_t i) const {
    return static_cast<Word>(random_bits(seed, static_cast<std::uint64_t>(i)) >> shift);
  }
};
template <class Word>
Steps fill_bits(Word* out, std::int64_t count, std::uint64_t seed, int shift = 0) {
  return fill(out, count, RandomBits<Word>{seed, shift});
}

template <class T>
struct PaddedUniform {
  std::uint64_t seed;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t ld;
  __host__ __device__ T operator()(std::int64_t i) const {
    const bool inside = i / ld < rows && i % ld < columns;
    return from_float<T>(inside ? random_signed(seed, static_cast<std::uint64_t>(i)) : 0.0f);
  }
};

/// Fills a row-major matrix with leading dimension ld and `count` elements including padding.
/// Elements inside rows × columns are uniform in [-1, 1); the padding is zero.
template <class T>
Steps fill_uniform_padded(T* out, std::int64_t count, std::int64_t rows, std::int64_t columns,
                          std::int64_t ld, std::uint64_t seed) {
  return fill(out, count, PaddedUniform<T>{seed, rows, columns, ld});
}

}  // namespace gpuexp
