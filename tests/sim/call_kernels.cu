#include "kernels/common/launch.cuh"
#include "sim/tensor_kernels.hpp"

namespace gpuexp::test {

namespace calls {

using Function = unsigned (*)(unsigned, unsigned);

__device__ __noinline__ unsigned sum(unsigned a, unsigned b) {
  return a + b;
}
__device__ __noinline__ unsigned product(unsigned a, unsigned b) {
  return a * b;
}
__device__ __noinline__ unsigned mixed(unsigned a, unsigned b) {
  return b % 3 == 0 ? sum(a, b) : product(a, 3) ^ b;
}

__device__ Function function_of(unsigned i) {
  switch (i % 3) {
    case 0: return sum;
    case 1: return product;
    default: return mixed;
  }
}

__global__ void pointer_kernel(const unsigned* in, unsigned* out, unsigned same) {
  const unsigned t = threadIdx.x;
  const unsigned value = in[t];
  out[3 * t] = function_of(t)(value, t);
  out[3 * t + 1] = function_of(same)(value, t);
  unsigned result = value;
  for (unsigned i = 0; i < t % 5; ++i)
    result = function_of(t + i)(result, i);
  out[3 * t + 2] = result;
}

__device__ __noinline__ unsigned fibonacci(unsigned n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ unsigned applied(Function function, unsigned times, unsigned value) {
  return times == 0 ? value : function(applied(function, times - 1, value), times);
}

__global__ void recursion_kernel(const unsigned* in, unsigned* out) {
  const unsigned t = threadIdx.x;
  out[2 * t] = fibonacci(in[t] % 11);
  out[2 * t + 1] = applied(function_of(t), t % 7, in[t]);
}

// The null pointer is an argument: compilers remove calls of a pointer that they know to be null.
__global__ void call_of_nothing_kernel(unsigned* out, unsigned which, Function nothing) {
  const unsigned t = threadIdx.x;
  const Function function = t == which ? nothing : function_of(t);
  out[t] = function(t, 5);  // fault: call_of_nothing
}

Shape threads(int count) {
  Shape shape;
  shape.block.x = count;
  return shape;
}

}  // namespace calls

Steps call_by_pointer(const unsigned* in, unsigned* out) {
  return launch(calls::pointer_kernel, calls::threads(96), in, out, 1u);
}

Steps call_recursively(const unsigned* in, unsigned* out) {
  return launch(calls::recursion_kernel, calls::threads(96), in, out);
}

Steps call_of_nothing(bool is_faulty, unsigned* out) {
  return launch(calls::call_of_nothing_kernel, calls::threads(64), out, is_faulty ? 37u : 99u,
                nullptr);
}

}  // namespace gpuexp::test
