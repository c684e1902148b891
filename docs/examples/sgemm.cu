// fp32 matrix product C = alpha·A·B + beta·C, with tile sizes as template arguments. Matrices are in
// row-major order.
//
//   gpuexp verify sgemm.cu --simulate h200
//   gpuexp tune sgemm.cu --gpu h200 --set m=4096 --set n=4096 --set k=4096
//
// gpuexp: m = 250
// gpuexp: n = 190
// gpuexp: k = 70
// gpuexp: alpha = 0.5
// gpuexp: beta = 3.0
// gpuexp: a[m][k] b[k][n]
// gpuexp: in_out c[m][n]
//
// gpuexp: BM = 64, 32  // rows of a block's tile
// gpuexp: BN = 64, 32  // columns of a block's tile
// gpuexp: BK = 8       // products that a block adds between barriers, for each element of its tile
// gpuexp: TM = 4, 8    // rows of a thread
// gpuexp: TN = 4       // columns of a thread
// gpuexp: require BM % TM == 0 && BN % TN == 0
// gpuexp: require (BM/TM)*(BN/TN) >= 128 && (BM/TM)*(BN/TN) <= 1024
// gpuexp: sgemm<BM, BN, BK, TM, TN><<<(ceil_div(n, BN), ceil_div(m, BM)), (BM/TM)*(BN/TN)>>>
//
// gpuexp: check c[i][j] = alpha*sum(l < k: a[i][l]*b[l][j]) + beta*before(c[i][j])

// ---- sgemm: a block computes BM×BN elements of C, a thread TM×TN of them
//
// The block copies BM×BK elements of `a` and BK×BN elements of `b` to shared memory. For each step
// along k, a thread loads TM + TN elements from there and adds TM·TN products: a larger TM·TN needs
// fewer loads per product, and more registers. A larger BM·BN needs fewer loads from L2 per
// product, and leaves fewer blocks for the SMs. A larger BK needs fewer barriers and more shared
// memory.

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
    sgemm(int m, int n, int k, float alpha, const float* a, const float* b, float beta, float* c) {
  constexpr int kRowThreads = BM / TM;
  constexpr int kColumnThreads = BN / TN;
  constexpr int kThreads = kRowThreads * kColumnThreads;
  // Transposed. With one more word per row, stores along a column access different banks.
  __shared__ float a_tile[BK][BM + 1];
  __shared__ float b_tile[BK][BN];
  const int first_row = blockIdx.y * BM;
  const int first_column = blockIdx.x * BN;
  // The thread's elements are kRowThreads rows and kColumnThreads columns apart, so lanes load
  // neighbouring words of `b_tile`.
  const int row = threadIdx.x / kColumnThreads;
  const int column = threadIdx.x % kColumnThreads;
  float sum[TM][TN] = {};
  for (int first = 0; first < k; first += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += kThreads) {
      const int r = first_row + i / BK;
      const int l = first + i % BK;
      a_tile[i % BK][i / BK] = r < m && l < k ? a[r * k + l] : 0;
    }
    for (int i = threadIdx.x; i < BK * BN; i += kThreads) {
      const int l = first + i / BN;
      const int s = first_column + i % BN;
      b_tile[i / BN][i % BN] = l < k && s < n ? b[l * n + s] : 0;
    }
    __syncthreads();
    for (int l = 0; l < BK; ++l) {
      float a_part[TM];
      float b_part[TN];
      for (int i = 0; i < TM; ++i)
        a_part[i] = a_tile[l][row + i * kRowThreads];
      for (int j = 0; j < TN; ++j)
        b_part[j] = b_tile[l][column + j * kColumnThreads];
      for (int i = 0; i < TM; ++i)
        for (int j = 0; j < TN; ++j)
          sum[i][j] += a_part[i] * b_part[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      const int r = first_row + row + i * kRowThreads;
      const int s = first_column + column + j * kColumnThreads;
      if (r < m && s < n) c[r * n + s] = alpha * sum[i][j] + beta * c[r * n + s];
    }
  }
}
