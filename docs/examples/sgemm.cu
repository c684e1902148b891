// fp32 matrix product C = alpha·A·B + beta·C: one element per thread, without and with tiles in
// shared memory. Matrices are in row-major order.
//
//   gpuexp verify sgemm.cu --simulate h200
//
// gpuexp: m = 256
// gpuexp: n = 256
// gpuexp: k = 128, 512
// gpuexp: alpha = 0.5
// gpuexp: beta = 3.0
// gpuexp: a[m][k] b[k][n]
// gpuexp: in_out c[m][n]
// gpuexp: require k % 32 == 0
// gpuexp: naive = sgemm_naive<<<(n/32, m/32), (32, 32)>>>
// gpuexp: tiled = sgemm_tiled<<<(n/32, m/32), (32, 32)>>> vs naive
// gpuexp: check c[i][j] = alpha*sum(l < k: a[i][l]*b[l][j]) + beta*before(c[i][j])

constexpr int kTile = 32;  // rows and columns of a block's tile

// ---- naive: two loads from global memory per multiply-add
//
// Lanes are neighbours along the rows of `b` and `c`, so loads of `b` are contiguous. All lanes of
// a warp load the same element of `a`. L1 and L2 serve most loads, but each multiply-add needs two
// load instructions.

__global__ void sgemm_naive(int m, int n, int k, float alpha, const float* a, const float* b,
                            float beta, float* c) {
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int l = 0; l < k; ++l)
    sum += a[row * k + l] * b[l * n + column];
  c[row * n + column] = alpha * sum + beta * c[row * n + column];
}

// ---- tiled: 32×32 tiles of A and B in shared memory
//
// The block copies a tile of `a` and a tile of `b` to shared memory, and each thread uses 32
// elements of both: global loads decrease to 1/32. Loads from shared memory replace them, and the
// compiler combines four loads of a row of `a` into one. The cost is two barriers per tile and 8
// KiB of shared memory per block.

__global__ void sgemm_tiled(int m, int n, int k, float alpha, const float* a, const float* b,
                            float beta, float* c) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < k; first += kTile) {
    a_tile[threadIdx.y][threadIdx.x] = a[row * k + first + threadIdx.x];
    b_tile[threadIdx.y][threadIdx.x] = b[(first + threadIdx.y) * n + column];
    __syncthreads();
    for (int l = 0; l < kTile; ++l)
      sum += a_tile[threadIdx.y][l] * b_tile[l][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = alpha * sum + beta * c[row * n + column];
}
