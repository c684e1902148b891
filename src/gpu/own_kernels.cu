#include "gpu/own_kernels.hpp"
#include "own/check_evaluation.hpp"
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

/// The threads of a block, which evaluate an element together.
struct ThreadsOfBlock {
  static constexpr int kSize = own::kSumParts;
  own::check_detail::PartOfSum* parts;  // in shared memory

  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  // The barrier makes the value uniform for the compiler, too, so that it places no barrier where
  // only some threads of a warp are.
  __device__ bool all_wait(bool waits) const { return __syncthreads_or(waits ? 1 : 0) != 0; }
  __device__ void join(const own::CheckProgram& program, own::check_detail::State& state) const {
    parts[threadIdx.x] = own::check_detail::computed_part(state);
    __syncthreads();
    own::check_detail::combine(program, state, parts);
    __syncthreads();
  }
};

// One block per element. Launched with kSumParts threads.
__global__ void check_by_block_kernel(double* value, double* magnitude, std::int64_t count,
                                      ElementDraw draw,
                                      const __grid_constant__ own::CheckProgram program) {
  // Without initializers, which shared memory cannot have.
  __shared__ alignas(own::check_detail::PartOfSum) unsigned char
      parts[own::kSumParts * sizeof(own::check_detail::PartOfSum)];
  const ThreadsOfBlock threads{reinterpret_cast<own::check_detail::PartOfSum*>(parts)};
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    if (!draw.has(i)) continue;
    const own::Checked checked = own::evaluate(program, i, threads);
    if (threadIdx.x > 0) continue;
    value[i] = checked.value;
    magnitude[i] = checked.magnitude;
  }
}

// The bits of numbers of at least 0 have the order of the numbers.
__global__ void largest_kernel(const void* data, DataType type, std::int64_t count,
                               double* largest) {
  double mine = 0;
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    const double magnitude = fabs(stored_element(data, type, i));
    if (isfinite(magnitude)) mine = fmax(mine, magnitude);
  }
  atomicMax(reinterpret_cast<unsigned long long*>(largest),
            static_cast<unsigned long long>(__double_as_longlong(mine)));
}

__global__ void values_kernel(const void* data, DataType type, std::int64_t count, double* value,
                              double* magnitude) {
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    value[i] = stored_element(data, type, i);
    if (i > 0) magnitude[i] = magnitude[0];
  }
}

}  // namespace

void provide_own_kernels() {
  own::device_kernels() = {reinterpret_cast<const void*>(&fill_kernel),
                           reinterpret_cast<const void*>(&check_kernel),
                           reinterpret_cast<const void*>(&check_by_block_kernel),
                           reinterpret_cast<const void*>(&largest_kernel),
                           reinterpret_cast<const void*>(&values_kernel)};
}

}  // namespace gpuexp
