// The plain fp64 reference: one thread per output element evaluates a functor.
#pragma once

#include "kernels/common/random.cuh"

namespace gpuexp {

/// The exact value of one output element, and the magnitude that its tolerance scales with.
struct ReferenceElement {
  double value;
  double magnitude;
};

namespace detail {
template <class Function>
__global__ void reference_kernel(ReferenceView out, std::int64_t count, Function f) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const ReferenceElement element = f(i);
    out.value[i] = element.value;
    out.magnitude[i] = element.magnitude;
  }
}
}  // namespace detail

/// out[i] = f(i) for i < count, where f is a device functor returning ReferenceElement.
template <class Function>
Steps evaluate_reference(const ReferenceView& out, std::int64_t count, Function f) {
  return launch(detail::reference_kernel<Function>, grid_stride(count, 1 << 20), out, count, f);
}

}  // namespace gpuexp
