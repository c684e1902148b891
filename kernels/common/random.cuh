// Counter-based random inputs: element i of a buffer depends on (seed, i) alone, so that any
// element can be made anywhere, in any order, on host and device alike.
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

/// An independent seed for the n-th buffer of a problem.
__host__ __device__ inline std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t n) {
  return random_bits(seed ^ 0xD1B54A32D192ED03ull, n);
}

namespace detail {
template <class T, class Function>
__global__ void fill_kernel(T* out, std::int64_t count, Function f) {
  for_items_of_thread(count, [&](std::int64_t i) { out[i] = f(i); });
}
}  // namespace detail

/// out[i] = f(i) for i < count; f is a __device__ functor, whose bits the host would not find, of i
/// alone.
template <class T, class Function>
Steps fill_on_device(T* out, std::int64_t count, Function f) {
  return with_host_loop(
      launch(detail::fill_kernel<T, Function>, grid_stride(count, 65536), out, count, f),
      {count, {}, out, sizeof(T)});
}

/// The same of a __host__ __device__ functor that computes the same bits on both, so that elements
/// can be made when they are needed. Buffers that it reads are pointers among its members: those
/// that change meanwhile, or a reset's, would have to be read at once.
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

/// Uniform in [centre - scale, centre + scale), rounded to T. Host and device round alike where
/// `centre` is 0 or `scale` is a power of two.
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

/// Random bits, as an unsigned integer of any width.
template <class Word>
struct RandomBits {
  std::uint64_t seed;
  int shift;  ///< lowest of the 64 bits that are taken
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

/// A row-major matrix of leading dimension ld, `count` elements stored: uniform in [-1, 1) in its
/// first rows × columns elements, zero in the padding around them.
template <class T>
Steps fill_uniform_padded(T* out, std::int64_t count, std::int64_t rows, std::int64_t columns,
                          std::int64_t ld, std::uint64_t seed) {
  return fill(out, count, PaddedUniform<T>{seed, rows, columns, ld});
}

}  // namespace gpuexp
