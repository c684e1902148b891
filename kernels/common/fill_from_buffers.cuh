// Inputs that are computed from other inputs: exact results of a layer before, and what may be
// wrong of them.
#pragma once

#include "kernels/common/random.cuh"

namespace gpuexp {

/// out[i] = f(i) for i < count, as `fill`, of a __host__ __device__ functor that reads buffers: all
/// elements are made in their turn among the steps, and so not for a reset, whose elements may be
/// made when they are needed.
template <class T, class Function>
Steps fill_from_buffers(T* out, std::int64_t count, Function f) {
  return with_host_loop(fill_on_device(out, count, f),
                        {count,
                         [out, f](std::int64_t first, std::int64_t end) {
                           for (std::int64_t i = first; i < end; ++i)
                             out[i] = f(i);
                         },
                         out, sizeof(T)});
}

}  // namespace gpuexp
