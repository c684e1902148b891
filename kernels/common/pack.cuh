// Neighbouring elements moved by one access and converted two at a time.
//
// A lane moves at most 16 bytes per load or store; the conversion instructions of compute
// capability 8.0 and above round two fp32 values into one register of fp16x2 or bf16x2.
#pragma once

#include <cstring>

#include "kernels/common/types.cuh"

namespace gpuexp {

template <class T>
struct PairOf;
template <>
struct PairOf<float> {
  using Type = float2;
};
template <>
struct PairOf<__half> {
  using Type = __half2;
};
template <>
struct PairOf<__nv_bfloat16> {
  using Type = __nv_bfloat162;
};

__device__ inline float2 widen(float2 pair) {
  return pair;
}
__device__ inline float2 widen(__half2 pair) {
  return __half22float2(pair);
}
__device__ inline float2 widen(__nv_bfloat162 pair) {
  return __bfloat1622float2(pair);
}

/// Rounds both elements to nearest even.
template <class T>
__device__ inline typename PairOf<T>::Type narrow(float2 pair);
template <>
__device__ inline float2 narrow<float>(float2 pair) {
  return pair;
}
template <>
__device__ inline __half2 narrow<__half>(float2 pair) {
  return __float22half2_rn(pair);
}
template <>
__device__ inline __nv_bfloat162 narrow<__nv_bfloat16>(float2 pair) {
  return __float22bfloat162_rn(pair);
}

namespace detail {
template <int kBytes>
struct Word;
template <>
struct Word<4> {
  using Type = unsigned;
};
template <>
struct Word<8> {
  using Type = uint2;
};
template <>
struct Word<16> {
  using Type = uint4;
};
}  // namespace detail

template <class T, int kElements>
struct Pack {
  static constexpr int kPairs = kElements / 2;
  /// Loads and stores use this plain vector type, because copy constructors of the 16-bit types
  /// would split the access.
  using Word = typename detail::Word<sizeof(T) * kElements>::Type;
  typename PairOf<T>::Type pairs[kPairs];
};

/// Loads the pack at `from`, which must be aligned to the pack's size.
template <int kElements, class T>
__device__ inline Pack<T, kElements> load_pack(const T* from) {
  using Word = typename Pack<T, kElements>::Word;
  const Word word = *reinterpret_cast<const Word*>(from);
  Pack<T, kElements> pack;
  memcpy(&pack, &word, sizeof(word));
  return pack;
}
template <int kElements, class T>
__device__ inline void store_pack(T* to, const Pack<T, kElements>& pack) {
  using Word = typename Pack<T, kElements>::Word;
  Word word;
  memcpy(&word, &pack, sizeof(word));
  *reinterpret_cast<Word*>(to) = word;
}

}  // namespace gpuexp
