// Loads and stores of neighbouring elements as fp32 values, by one access.
#pragma once

#include "kernels/common/pack.cuh"

namespace gpuexp {

/// Loads kCount elements. `from` must be aligned to their total size.
template <int kCount, class T>
__device__ __forceinline__ void load_floats(const T* from, float (&v)[kCount]) {
  if constexpr (kCount == 1) {
    v[0] = static_cast<float>(*from);
  } else {
    const auto pack = load_pack<kCount>(from);
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      const float2 pair = widen(pack.pairs[i / 2]);
      v[i] = pair.x;
      v[i + 1] = pair.y;
    }
  }
}

namespace detail {
/// One store instruction; the compiler would split some stores of a uint4.
__device__ __forceinline__ void store_16_bytes(void* to, const uint4& v) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)),
               "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
               : "memory");
}
}  // namespace detail

/// Rounds kCount values to T and stores them. `to` must be aligned to their total size.
template <int kCount, class T>
__device__ __forceinline__ void store_floats(T* to, const float (&v)[kCount]) {
  if constexpr (kCount == 1) {
    *to = from_float<T>(v[0]);
  } else {
    Pack<T, kCount> pack;
#pragma unroll
    for (int i = 0; i < kCount; i += 2)
      pack.pairs[i / 2] = narrow<T>({v[i], v[i + 1]});
    if constexpr (sizeof(pack) == sizeof(uint4)) {
      uint4 word;
      memcpy(&word, &pack, sizeof(word));
      detail::store_16_bytes(to, word);
    } else {
      store_pack(to, pack);
    }
  }
}

}  // namespace gpuexp
