// Matrix transpose: strided stores, a tile in shared memory, and a padded tile.
//
//   gpuexp run transpose.cu --simulate h200 --counters --out transpose
//   gpuexp explain transpose
//
// gpuexp: rows = 1024
// gpuexp: columns = 1024, 4096
// gpuexp: input[rows][columns]
// gpuexp: output[columns][rows]
// gpuexp: naive  = transpose_naive<<<(columns/32, rows/32), (32, 32)>>>
// gpuexp: tile   = transpose_tile<<<(columns/32, rows/32), (32, 32)>>> vs naive
// gpuexp: padded = transpose_padded<<<(columns/32, rows/32), (32, 32)>>> vs tile
// gpuexp: check output[c][r] = input[r][c]

constexpr int kTile = 32;  // rows and columns of a block's tile

// ---- naive: stores with a stride of one row
//
// Lanes are neighbours along the rows of `input`: a load accesses 4 sectors of 32 bytes. The 32
// lanes of a store access 32 rows of `output`, so global_store_sectors_per_request is 32. L1 does
// not combine the stores of different requests: each sector goes to L2 with one element in it.

__global__ void transpose_naive(const float* input, float* output, int rows, int columns) {
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  output[column * rows + row] = input[row * columns + column];
}

// ---- tile: 32×32 elements through shared memory
//
// A block loads its tile by rows, stores it in shared memory, and reads it by columns, so that
// global loads and stores are contiguous: global_store_sectors_per_request decreases to 4. The cost
// is a barrier and bank conflicts: a column of the tile is in one bank, and a load of it takes 32
// wavefronts (shared_load_wavefronts).

__global__ void transpose_tile(const float* input, float* output, int rows, int columns) {
  __shared__ float tile[kTile][kTile];
  tile[threadIdx.y][threadIdx.x] =
      input[(blockIdx.y * kTile + threadIdx.y) * columns + blockIdx.x * kTile + threadIdx.x];
  __syncthreads();
  output[(blockIdx.x * kTile + threadIdx.y) * rows + blockIdx.y * kTile + threadIdx.x] =
      tile[threadIdx.x][threadIdx.y];
}

// ---- padded: one unused word at the end of each row of the tile
//
// Rows of the tile are 33 words long, so the elements of a column are in 32 different banks, and a
// load of a column takes one wavefront. The cost is 128 bytes of shared memory per block.

__global__ void transpose_padded(const float* input, float* output, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  tile[threadIdx.y][threadIdx.x] =
      input[(blockIdx.y * kTile + threadIdx.y) * columns + blockIdx.x * kTile + threadIdx.x];
  __syncthreads();
  output[(blockIdx.x * kTile + threadIdx.y) * rows + blockIdx.y * kTile + threadIdx.x] =
      tile[threadIdx.x][threadIdx.y];
}
