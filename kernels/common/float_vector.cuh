// Neighbouring elements as fp32 values, moved by one access.
#pragma once

#include "kernels/common/pack.cuh"

namespace gpuexp {

/// The elements from `from` on, which is aligned to the size of kCount of them.
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

/// The same way back, rounded to T.
template <int kCount, class T>
__device__ __forceinline__ void store_floats(T* to, const float (&v)[kCount]) {
  if constexpr (kCount == 1) {
    *to = from_float<T>(v[0]);
  } else {
    Pack<T, kCount> pack;
#pragma unroll
    for (int i = 0; i < kCount; i += 2)
      pack.pairs[i / 2] = narrow<T>({v[i], v[i + 1]});
    store_pack(to, pack);
  }
}

}  // namespace gpuexp
