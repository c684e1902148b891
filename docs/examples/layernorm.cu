// Layer normalization of each row: an example of a check with sums in a sum.
//
//   gpuexp verify layernorm.cu --simulate h200
//
// gpuexp: rows = 64
// gpuexp: columns = 128
// gpuexp: epsilon = 1e-5, 0.5  // the second value shows whether the kernel adds epsilon
// gpuexp: x[rows][columns] = normal
// gpuexp: gain[columns] bias[columns]
// gpuexp: y[rows][columns]
// gpuexp: layernorm<<<ceil_div(rows, 8), 256>>>
// gpuexp: check y[r][c] = gain[c]*(x[r][c] - sum(k < columns: x[r][k])/columns)*rsqrt(sum(k < columns: (x[r][k] - sum(l < columns: x[r][l])/columns)^2)/columns + epsilon) + bias[c]

constexpr int kWarp = 32;

__device__ float warp_sum(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffff, value, distance);
  return value;
}

// ---- layernorm: one warp per row
__global__ void layernorm(const float* x, const float* gain, const float* bias, float* y, int rows,
                          int columns, float epsilon) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kWarp;
  const int lane = threadIdx.x % kWarp;
  if (row >= rows) return;
  x += row * columns;
  y += row * columns;
  float sum = 0;
  for (int c = lane; c < columns; c += kWarp) sum += x[c];
  const float mean = warp_sum(sum) / columns;
  float squares = 0;
  for (int c = lane; c < columns; c += kWarp) squares += (x[c] - mean) * (x[c] - mean);
  const float scale = rsqrtf(warp_sum(squares) / columns + epsilon);
  for (int c = lane; c < columns; c += kWarp) y[c] = gain[c] * ((x[c] - mean) * scale) + bias[c];
}
