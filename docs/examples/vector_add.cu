// Sum of two vectors: docs/own_kernel.md starts with this file.
//
//   gpuexp verify vector_add.cu --simulate h200
//
// gpuexp: n = 2^24
// gpuexp: x[n] y[n] z[n]
// gpuexp: add<<<ceil_div(n, 256), 256>>>
// gpuexp: check z[i] = x[i] + y[i]

__global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
