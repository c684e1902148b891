#include "gpu/own_kernels.hpp"
#include "own/device_kernels.hpp"

namespace gpuexp {

namespace {

__device__ std::int64_t first_item() {
  return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}
__device__ std::int64_t item_stride() {
  return gridDim.x * static_cast<std::int64_t>(blockDim.x);
}

__global__ void fill_kernel(void* to, std::int64_t count, own::FillProgram fill) {
  for (std::int64_t i = first_item(); i < count; i += item_stride())
    own::store_element(to, fill.type, i, own::fill_value(fill, i));
}

__global__ void check_kernel(double* value, double* magnitude, std::int64_t count, ElementDraw draw,
                             const __grid_constant__ own::CheckProgram program) {
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    if (!draw.has(i)) continue;
    const own::Checked checked = own::evaluate(program, i);
    value[i] = checked.value;
    magnitude[i] = checked.magnitude;
  }
}

}  // namespace

void provide_own_kernels() {
  own::device_kernels() = {reinterpret_cast<const void*>(&fill_kernel),
                           reinterpret_cast<const void*>(&check_kernel)};
}

}  // namespace gpuexp
