// Kernels that use __device__ and __constant__ variables (instruction_kernels_test.cpp).
//
// gpuexp: n = 96
// gpuexp: in_out coefficients_used[n] = zeros
// gpuexp: x[n] = integers(-8, 8)
// gpuexp: y[n]
// gpuexp: in coefficients[5] = integers(-4, 5)
// gpuexp: in weights[2][3] = integers(1, 9)
// gpuexp: in vectors[2][4] = iota
// gpuexp: in_out histogram[16] = integers(0, 3)
// gpuexp: out largest[1]
// gpuexp: variables<<<1, n>>>
// gpuexp: out sums[n]
// gpuexp: check y[i] = x[i]*coefficients[i % 5] + weights[i % 2][i % 3] + vectors[i % 2][i % 4]
// gpuexp: check sums[i] = (i % 4 + 1) + 7 + 40 + i + 2.5
// gpuexp: check coefficients_used[i] = coefficients[i % 5]
// gpuexp: check histogram[b] = before(histogram[b]) + n/16
// gpuexp: check largest[i] = n - 1

namespace filter {
__constant__ float coefficients[5];
}
__constant__ int weights[2][3];
__constant__ float4 vectors[2];
__constant__ double shift = 2.5;
__device__ int histogram[16];
__device__ unsigned int largest;
__device__ float table[4] = {1, 2, 3, 4};
__device__ int started = 40;       // no declaration: the initializer in each launch
__device__ int counts[96];         // zeros in each launch
__device__ int* where = &started;  // an address that the loader of the module stores
static __device__ unsigned char small[3] = {0, 7, 0};

__global__ void variables(const float* x, float* y, float* coefficients_used, double* sums, int n) {
  const int i = threadIdx.x;
  const float4 v = vectors[i % 2];
  const float of_vector = i % 4 == 0 ? v.x : i % 4 == 1 ? v.y : i % 4 == 2 ? v.z : v.w;
  counts[i] += i;
  y[i] = x[i] * filter::coefficients[i % 5] + weights[i % 2][i % 3] + of_vector;
  sums[i] = table[i % 4] + small[1] + *where + counts[i] + shift;
  coefficients_used[i] = filter::coefficients[i % 5];
  atomicAdd(&histogram[i % 16], 1);
  if (i == 0) largest = 0;
  __syncthreads();
  atomicMax(&largest, static_cast<unsigned int>(i));
  __syncthreads();
  if (i == 0) ++started;
}
