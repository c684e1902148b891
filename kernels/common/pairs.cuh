// Loops over pairs of elements of two rows, for references.
#pragma once

#include <cstdint>

namespace gpuexp {

namespace detail {
template <class T, int kCount>
struct alignas(16) Neighbours {
  T x[kCount];
};
}  // namespace detail

/// Calls f(a[i], b[i]) for i < count, in order. If each thread reads its own row, loads of single
/// elements fetch one sector each. Therefore the device loads aligned rows eight elements at a
/// time.
template <class A, class B, class Function>
__host__ __device__ void for_pairs(const A* a, const B* b, std::int64_t count, const Function& f) {
  std::int64_t i = 0;
#ifdef __CUDA_ARCH__
  constexpr int kAtOnce = 8;
  using OfA = detail::Neighbours<A, kAtOnce>;
  using OfB = detail::Neighbours<B, kAtOnce>;
  const auto addresses = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b);
  if (addresses % alignof(OfA) == 0) {
    for (; i + kAtOnce <= count; i += kAtOnce) {
      const OfA of_a = *reinterpret_cast<const OfA*>(a + i);
      const OfB of_b = *reinterpret_cast<const OfB*>(b + i);
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        f(of_a.x[j], of_b.x[j]);
    }
  }
#endif
  for (; i < count; ++i)
    f(a[i], b[i]);
}

}  // namespace gpuexp
