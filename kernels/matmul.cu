// matmul: C = A·B in fp32, in steps from one thread per element to register tiles.
//
// The question: how far is a straightforward matrix product from the GPU's limit, and what does
// each level of data reuse gain? Each variant moves reuse one level closer to the arithmetic: cache
// lines, shared memory, registers.
#include "kernels/common/cublas_variant.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/register_tile.cuh"
#include "kernels/matmul/guarded_tile.cuh"

namespace gpuexp::matmul {

// Row-major: A is M×K, B is K×N, C is M×N, no padding.
struct Problem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

struct Data {
  float* a;
  float* b;
  float* c;
};

using namespace register_tile;
using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- naive: one thread per element of C, neighbouring lanes in neighbouring rows
//
// Each thread computes one element of C, and threadIdx.x selects the row. The 32 lanes of a warp
// load 32 rows of A, each in its own sector, and one element of B. The mean
// global_load_sectors_per_request is (32 + 1)/2 = 16.5. If 32 divides k (not k + 1), all lanes
// access one bank of L1's data: 32 + 1 = 33 wavefronts per multiply-add.
// held: global_load_sectors_per_request = 16.5 at k=64

constexpr int kPlainTile = 32;
constexpr Extent kPlainBlock{kPlainTile, kPlainTile, 1};

// One element of C. Pointers are incremented, and the trip count has 32 bits: with 64-bit products
// in the loop, the compiler issues half of an iteration's loads only after the other half has
// arrived, and each iteration waits for latency twice.
__device__ inline float dot(const float* a_row, const float* b_col, int depth, int pitch_b) {
  float sum = 0.0f;
  for (int k = 0; k < depth; ++k, b_col += pitch_b)
    sum += a_row[k] * *b_col;
  return sum;
}

__global__ void naive_kernel(Problem p, const float* a, const float* b, float* c) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kPlainTile + threadIdx.x;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.y) * kPlainTile + threadIdx.y;
  if (row >= p.m || col >= p.n) return;
  c[row * p.n + col] = dot(a + row * p.k, b + col, p.k, p.n);
}

// ---- how the variants are launched

// Extents of at most 65536 give at most 65536 / 32 tiles along each side of C.
using Kernel = TiledKernel<Problem, const float*, const float*, float*>;

// The minimum work; variants differ in how often they load the same bytes.
Work work(const Problem& p) {
  return gemm_work(p.m, p.n, p.k, DataType::fp32, DataType::fp32, Pipe::fp32);
}

// `kernel` is a Kernel for all problems, or a function that returns the Kernel for a problem.
template <class KernelOrChoice>
Variant ladder_variant(std::string id, std::string compare_to, KernelOrChoice kernel,
                       ExpectedChangesOf<Problem> expected) {
  return tiled_variant<Variant>(std::move(id), std::move(compare_to), work, kernel,
                                std::move(expected));
}

// Problems in which each SM has enough work to show the mechanism.
bool is_large(const Problem& p) {
  return std::min({p.m, p.n, p.k}) >= 1024;
}

// Problems in which several blocks share an SM. A single block on an SM stalls at barriers mostly
// until the first slice arrives. At 1024, cold, five counts on H200s gave 1.16 to 1.37 times fewer
// such stalls with one of two barriers removed, and at 2048 and above 1.5 to 2.5 times fewer.
bool shares_sms(const Problem& p) {
  return std::min({p.m, p.n, p.k}) >= 2048;
}

Variant naive() {
  return ladder_variant("naive", "", Kernel{naive_kernel, kPlainBlock, kPlainBlock}, {});
}

// ---- coalesced: neighbouring lanes in neighbouring columns
//
// threadIdx.x runs along columns instead of rows: a warp reads 128 contiguous bytes of B (4
// sectors) and one element of A (1 sector), so global_load_sectors_per_request falls to 2.5, and
// the warp uses every byte it loads. Each thread still loads two operands for every fused
// multiply-add, so the L1 cache is the limit.
// held: global_load_sectors_per_request = 2.5 at k=64

__global__ void coalesced_kernel(Problem p, const float* a, const float* b, float* c) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kPlainTile + threadIdx.y;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.y) * kPlainTile + threadIdx.x;
  if (row >= p.m || col >= p.n) return;
  c[row * p.n + col] = dot(a + row * p.k, b + col, p.k, p.n);
}

Variant coalesced() {
  return ladder_variant("coalesced", "naive", Kernel{coalesced_kernel, kPlainBlock, kPlainBlock},
                        {{"global_load_sectors_per_request", Direction::decreases, 4, is_large},
                         {"l1_tag_wavefronts", Direction::decreases, 4, is_large},
                         {"l1_data_wavefronts", Direction::decreases, 8,
                          [](const Problem& p) { return is_large(p) && p.k % kPlainTile == 0; }}});
}

// ---- smem_tile: 32×32 tiles of A and B in shared memory
//
// A block copies 32×32 tiles of A and B to shared memory and reads each element 32 times from
// there: global_load_requests falls 32-fold, and shared memory traffic replaces L1 traffic. It
// costs a barrier before and after each tile (2k/32), at which all 32 warps of the block wait.
// Shared memory returns no more bytes per cycle than L1 (128 per SM), so with more than one load
// per multiply-add, shared memory is the next limit.
// held: global_load_requests = 1/32 × coalesced at k=64; barriers_per_block = 4 at k=64

// Each thread copies one element of each tile and computes one element of C. Elements outside the
// matrices are zeros in the tiles, so the inner loop needs no guard.
__global__ void __launch_bounds__(kPlainTile* kPlainTile)
    smem_tile_kernel(Problem p, const float* a, const float* b, float* c) {
  __shared__ float tile_a[kPlainTile][kPlainTile];
  __shared__ float tile_b[kPlainTile][kPlainTile];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kPlainTile + ty;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.y) * kPlainTile + tx;
  const bool row_inside = row < p.m;
  const bool col_inside = col < p.n;
  const int depth = p.k;
  const float* a_next = a + row * p.k + tx;
  const float* b_next = b + ty * p.n + col;
  float sum = 0.0f;
  for (int k0 = 0; k0 < depth; k0 += kPlainTile) {
    tile_a[ty][tx] = row_inside && k0 + tx < depth ? *a_next : 0.0f;
    tile_b[ty][tx] = col_inside && k0 + ty < depth ? *b_next : 0.0f;
    a_next += kPlainTile;
    b_next += kPlainTile * p.n;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kPlainTile; ++k)
      sum += tile_a[ty][k] * tile_b[k][tx];
    __syncthreads();
  }
  if (row_inside && col_inside) c[row * p.n + col] = sum;
}

Variant smem_tile() {
  return ladder_variant("smem_tile", "coalesced",
                        Kernel{smem_tile_kernel, kPlainBlock, kPlainBlock},
                        {{"global_load_requests", Direction::decreases, 16, is_large},
                         {"shared_load_wavefronts", Direction::increases, 2, is_large}});
}

// ---- coarsen_1d: a column of eight results per thread
//
// Each thread computes eight elements of a column of C and keeps the element of B that they share
// in a register. It needs nine operands from shared memory for eight multiply-adds, and smem_tile
// 16, so shared_load_wavefronts and warp_instructions decrease. The cost is registers: seven more
// accumulators per thread.

constexpr int kColumnTile = 64;
constexpr int kColumnK = 8;
constexpr int kColumnResults = 8;
constexpr int kColumnThreads = kColumnTile * kColumnTile / kColumnResults;

__global__ void __launch_bounds__(kColumnThreads)
    coarsen_1d_kernel(Problem p, const float* a, const float* b, float* c) {
  __shared__ float tile_a[kColumnTile][kColumnK];
  __shared__ float tile_b[kColumnK][kColumnTile];
  const std::int64_t row0 = static_cast<std::int64_t>(blockIdx.x) * kColumnTile;
  const std::int64_t col0 = static_cast<std::int64_t>(blockIdx.y) * kColumnTile;
  const int thread = threadIdx.x;
  const int col = thread % kColumnTile;
  const int row = thread / kColumnTile * kColumnResults;
  float sum[kColumnResults] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += kColumnK) {
    load_guarded<kColumnThreads>(tile_a, a + row0 * p.k + k0, p.k, p.m - row0, p.k - k0, thread);
    load_guarded<kColumnThreads>(tile_b, b + k0 * p.n + col0, p.n, p.k - k0, p.n - col0, thread);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kColumnK; ++k) {
      const float element_b = tile_b[k][col];
#pragma unroll
      for (int i = 0; i < kColumnResults; ++i)
        sum[i] += tile_a[row + i][k] * element_b;
    }
    __syncthreads();
  }
  if (col0 + col >= p.n) return;
#pragma unroll
  for (int i = 0; i < kColumnResults; ++i)
    if (row0 + row + i < p.m) c[(row0 + row + i) * p.n + col0 + col] = sum[i];
}

Variant coarsen_1d() {
  return ladder_variant(
      "coarsen_1d", "smem_tile",
      Kernel{coarsen_1d_kernel, {kColumnTile, kColumnTile, 1}, {kColumnThreads, 1, 1}},
      {{"shared_load_wavefronts", Direction::decreases, 2, is_large},
       {"warp_instructions", Direction::decreases, 1.2, is_large}});
}

// ---- coarsen_2d: an 8×8 tile of results per thread
//
// Each thread computes 8×8 elements of C. Per k it loads eight elements of A and eight of B from
// shared memory for 64 multiply-adds: shared_load_wavefronts and warp_instructions decrease. The
// cost is 64 accumulator registers per thread, which leave 16 warps per SM; the independent
// accumulators hide latency instead of warps.

constexpr int kSquareTile = 128;
constexpr int kSquareK = 8;
constexpr int kSquareResults = 8;
constexpr int kSquareSide = kSquareTile / kSquareResults;
constexpr int kSquareThreads = kSquareSide * kSquareSide;

// A thread's rows and columns have a stride of kSquareSide, so the lanes of a warp read
// neighbouring words of B (no bank conflict) and write neighbouring words of C.
__global__ void __launch_bounds__(kSquareThreads, 2)
    coarsen_2d_kernel(Problem p, const float* a, const float* b, float* c) {
  __shared__ float tile_a[kSquareTile][kSquareK];
  __shared__ float tile_b[kSquareK][kSquareTile];
  const std::int64_t row0 = static_cast<std::int64_t>(blockIdx.x) * kSquareTile;
  const std::int64_t col0 = static_cast<std::int64_t>(blockIdx.y) * kSquareTile;
  const int thread = threadIdx.x;
  const int col = thread % kSquareSide;
  const int row = thread / kSquareSide;
  float sum[kSquareResults][kSquareResults] = {};
  for (std::int64_t k0 = 0; k0 < p.k; k0 += kSquareK) {
    load_guarded<kSquareThreads>(tile_a, a + row0 * p.k + k0, p.k, p.m - row0, p.k - k0, thread);
    load_guarded<kSquareThreads>(tile_b, b + k0 * p.n + col0, p.n, p.k - k0, p.n - col0, thread);
    __syncthreads();
// If this loop were unrolled, the loads of A for neighbouring k would merge and hold four k of
// eight rows, in more registers than two blocks per SM leave.
#pragma unroll 1
    for (int k = 0; k < kSquareK; ++k) {
      float fragment_a[kSquareResults];
      float fragment_b[kSquareResults];
#pragma unroll
      for (int i = 0; i < kSquareResults; ++i) {
        fragment_a[i] = tile_a[row + i * kSquareSide][k];
        fragment_b[i] = tile_b[k][col + i * kSquareSide];
      }
#pragma unroll
      for (int i = 0; i < kSquareResults; ++i)
#pragma unroll
        for (int j = 0; j < kSquareResults; ++j)
          sum[i][j] += fragment_a[i] * fragment_b[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kSquareResults; ++i) {
    const std::int64_t r = row0 + row + i * kSquareSide;
#pragma unroll
    for (int j = 0; j < kSquareResults; ++j) {
      const std::int64_t q = col0 + col + j * kSquareSide;
      if (r < p.m && q < p.n) c[r * p.n + q] = sum[i][j];
    }
  }
}

Variant coarsen_2d() {
  return ladder_variant(
      "coarsen_2d", "coarsen_1d",
      Kernel{coarsen_2d_kernel, {kSquareTile, kSquareTile, 1}, {kSquareThreads, 1, 1}},
      {{"shared_load_wavefronts", Direction::decreases, 2, is_large},
       {"warp_instructions", Direction::decreases, 1.2, is_large}});
}

// ---- vectorized: 128-bit accesses to global and shared memory
//
// Each lane copies 16 bytes at a time. The block stores A transposed in shared memory, so a
// thread's rows are contiguous, and four 128-bit shared loads replace sixteen of 32 bits; global
// loads decrease by the same factor. warp_instructions decreases. It costs alignment: if 4 does not
// divide k and n, narrower global loads remain (load_width_bits).

// The tile of coarsen_2d, with the lanes of a warp as two rows of 16.
struct VectorizedChoice {
  static constexpr int kBlockM = 128;
  static constexpr int kBlockN = 128;
  static constexpr int kBlockK = 8;
  static constexpr int kWarpM = 16;
  static constexpr int kWarpN = 128;
  static constexpr int kLanesM = 2;
  static constexpr bool kPairedLanes = false;
  static constexpr int kSlots = 1;
  static constexpr int kBlocksPerSm = 2;  // 64 sums, fragments and addresses fit 128 registers
  static constexpr int kGroupRows = 8;
};

template <class Tile, int kWidth>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocksPerSm)
    vectorized_kernel(Problem p, const float* a, const float* b, float* c) {
  extern __shared__ Floats<4> shared[];
  const Slot slot = slot_in<Tile>(shared, 0);
  const Place place = place_of<Tile>(p.m, p.n);
  StagedSlices<Tile, kWidth> slices(place, a, b, p.n, p.k);
  Accumulators<Tile> sums;
  slices.template fetch<true>();
  for (int slice = 0;;) {
    slices.put(slot);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < Tile::kBlockK; ++k) {
      Fragments<Tile> fragments;
      fragments.load(slot, place, k);
      sums.add(fragments);
    }
    if (++slice == slices.count) break;
    __syncthreads();
    slices.fetch();
  }
  sums.template store<kWidth>(place, c, p.n);
}

// The following variants have one kernel per access width, which kernel_of(width) returns, and
// consist of the parts in common/register_tile.cuh.
template <class Tile, class KernelOf>
Variant variant_by_width(std::string id, std::string compare_to, KernelOf kernel_of,
                         int (*width)(const Problem&), ExpectedChangesOf<Problem> expected) {
  const auto kernel_for = [=](const Problem& p) {
    const auto kernel = width(p) == 4   ? kernel_of(std::integral_constant<int, 4>{})
                        : width(p) == 2 ? kernel_of(std::integral_constant<int, 2>{})
                                        : kernel_of(std::integral_constant<int, 1>{});
    return Kernel{
        kernel, {Tile::kBlockM, Tile::kBlockN, 1}, {Tile::kThreads, 1, 1}, Tile::kSharedBytes};
  };
  Variant v = ladder_variant(std::move(id), std::move(compare_to), kernel_for, std::move(expected));
  v.metrics = [width](const Problem& p, const DeviceSpec&) {
    return MetricValues{{"load_width_bits", 32.0 * width(p)}};
  };
  return v;
}

constexpr auto staged_width = [](const Problem& p) { return width_dividing(p.k | p.n); };

Variant vectorized() {
  using T = Tile<VectorizedChoice>;
  return variant_by_width<T>("vectorized", "coarsen_2d",
                             [](auto width) { return vectorized_kernel<T, width>; }, staged_width,
                             {{"warp_instructions", Direction::decreases, 1.3, is_large},
                              {"lsu_instructions", Direction::decreases, 2, [](const Problem& p) {
                                 return is_large(p) && staged_width(p) == 4;
                               }}});
}

// ---- double_buffered: load the next slice during multiplication
//
// Each thread loads the next slice into registers while the block multiplies the current one, and
// reads the fragments of k + 1 while it uses those of k. This hides the latency of global and
// shared memory, and barriers fall to half. It costs a second slot in shared memory, and registers
// for the slice in flight and the second fragments, all of the 128 that two blocks per SM leave. On
// an H200 it is faster than vectorized at 1024, where too few blocks are resident to hide latency,
// and no faster at 2048 and above.
// held: barriers_per_block = 1/2 × vectorized within 4 % at k=1024; blocks_per_sm = 2

struct DoubleBufferedChoice : VectorizedChoice {
  static constexpr int kSlots = 2;
};

template <class Tile, int kWidth>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocksPerSm)
    double_buffered_kernel(Problem p, const float* a, const float* b, float* c) {
  extern __shared__ Floats<4> shared[];
  const Place place = place_of<Tile>(p.m, p.n);
  StagedSlices<Tile, kWidth> slices(place, a, b, p.n, p.k);
  Accumulators<Tile> sums;
  Fragments<Tile> fragments[2];
  slices.template fetch<true>();
  slices.put(slot_in<Tile>(shared, 0));
  __syncthreads();
  fragments[0].load(slot_in<Tile>(shared, 0), place, 0);
  int index = 0;
  for (int slice = 1; slice <= slices.count; ++slice) {
    const Slot slot = slot_in<Tile>(shared, index);
    const bool more = slice < slices.count;
    if (more) slices.fetch();
#pragma unroll
    for (int k = 0; k < Tile::kBlockK; ++k) {
      if (k + 1 < Tile::kBlockK) {
        fragments[(k + 1) % 2].load(slot, place, k + 1);
      } else if (more) {
        // The other slot was last read before the previous barrier, so one barrier is enough.
        index ^= 1;
        slices.put(slot_in<Tile>(shared, index));
        __syncthreads();
        fragments[0].load(slot_in<Tile>(shared, index), place, 0);
      }
      sums.add(fragments[k % 2]);
    }
  }
  sums.template store<kWidth>(place, c, p.n);
}

Variant double_buffered() {
  using T = Tile<DoubleBufferedChoice>;
  return variant_by_width<T>("double_buffered", "vectorized",
                             [](auto width) { return double_buffered_kernel<T, width>; },
                             staged_width,
                             {{"stalled_long_scoreboard", Direction::decreases, 4, is_large},
                              {"stalled_barrier", Direction::decreases, 1.4, shares_sms}});
}

// ---- warp_tile: a compact patch of C per warp, 16×8 results per thread
//
// A warp computes 64×64 elements with 4×8 lanes of 16×8, instead of 16×128 with 2×16 lanes of 8×8.
// For 128 multiply-adds it needs six 128-bit shared loads instead of eight, and lanes that read one
// address are paired: shared_load_wavefronts falls to half. It costs occupancy: 128 sums leave
// registers for 8 warps per SM, too few to hide latency without the double buffers.
// held: shared_load_wavefronts = 1/2 × double_buffered at k=64

struct WarpTileChoice : DoubleBufferedChoice {
  static constexpr int kWarpM = 64;
  static constexpr int kWarpN = 64;
  static constexpr int kLanesM = 4;
  static constexpr bool kPairedLanes = true;
  // The same block tile with half the threads: two blocks per SM, 255 registers per thread.
};

Variant warp_tile() {
  using T = Tile<WarpTileChoice>;
  return variant_by_width<T>("warp_tile", "double_buffered",
                             [](auto width) { return double_buffered_kernel<T, width>; },
                             staged_width,
                             {{"shared_load_wavefronts", Direction::decreases, 1.8, is_large},
                              {"lsu_instructions", Direction::decreases, 1.1, is_large}});
}

// ---- async_stages: cp.async keeps several slices in flight
//
// cp.async copies from global to shared memory without using registers: two more slices are in
// flight while one is multiplied, and no instruction waits for them in between. The block's tile
// grows to 128×256, which loads (1/128 + 1/256) / (1/128 + 1/128) = 3/4 as many elements per
// result. It costs shared memory for the slots, one block per SM, and single-element copies of A,
// which cp.async can transpose only 4 bytes at a time (load_width_bits is the width for B).

struct AsyncStagesChoice : WarpTileChoice {
  static constexpr int kBlockN = 256;
  static constexpr int kBlockK = 16;
  static constexpr int kSlots = 3;
  static constexpr int kBlocksPerSm = 1;
  // Pairing halves the cycles of a shared load of B, but is slower with 16×8 results per thread and
  // three slots: 49.7 against 52.0 TFLOP/s at 4096 on an H200.
  static constexpr bool kPairedLanes = false;
};

template <class Tile, int kWidth>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocksPerSm)
    async_stages_kernel(Problem p, const float* a, const float* b, float* c) {
  static_assert(Tile::kSlots >= 2, "one slot is read while the others are filled");
  extern __shared__ Floats<4> shared[];
  const Place place = place_of<Tile>(p.m, p.n);
  AsyncSlices<Tile, kWidth> slices(place, a, b, p.n, p.k);
  slices.template copy<true>(slot_in<Tile>(shared, 0));
  cp_async_commit();
#pragma unroll
  for (int i = 1; i < Tile::kSlots; ++i) {
    if (i < slices.count) slices.copy(slot_in<Tile>(shared, i));
    cp_async_commit();
  }
  cp_async_wait<Tile::kSlots - 1>();
  __syncthreads();
  Accumulators<Tile> sums;
  Fragments<Tile> fragments[2];
  fragments[0].load(slot_in<Tile>(shared, 0), place, 0);
  int index = 0;
  for (int slice = 0; slice < slices.count; ++slice) {
    const Slot slot = slot_in<Tile>(shared, index);
    index = index + 1 == Tile::kSlots ? 0 : index + 1;
#pragma unroll
    for (int k = 0; k < Tile::kBlockK; ++k) {
      if (k + 1 < Tile::kBlockK) {
        fragments[(k + 1) % 2].load(slot, place, k + 1);
      } else {
        // After this barrier the next slice has arrived, and no warp reads this slice's slot again:
        // its last fragments are in registers. The fragments read after the last slice are unused.
        cp_async_wait<Tile::kSlots - 2>();
        __syncthreads();
        fragments[0].load(slot_in<Tile>(shared, index), place, 0);
        if (slice + Tile::kSlots < slices.count) slices.copy(slot);
        cp_async_commit();
      }
      sums.add(fragments[k % 2]);
    }
  }
  sums.template store<kWidth>(place, c, p.n);
}

Variant async_stages() {
  using T = Tile<AsyncStagesChoice>;
  Variant v = variant_by_width<T>(
      "async_stages", "warp_tile", [](auto width) { return async_stages_kernel<T, width>; },
      [](const Problem& p) { return width_dividing(p.n); },
      {{"shared_store_wavefronts", Direction::decreases, 10, is_large},
       {"stalled_barrier", Direction::decreases, 1.2, is_large},
       {"global_load_sectors", Direction::decreases, 1.2, is_large}});
  v.min_compute_capability = kCpAsyncComputeCapability;
  return v;
}

// ---- cublas: the cuBLAS baseline
//
// cuBLAS selects a kernel by shape, in fp32 with TF32 off: the same arithmetic and the same limit.

Variant cublas_sgemm() {
  return cublas_variant<Variant>("async_stages", work, [](const Problem& p, const Data& d) {
    return cublas::Gemm{
        cublas::Compute::fp32, DataType::fp32, DataType::fp32, p.m, p.n, p.k, d.a, d.b, d.c};
  });
}

// ---- declaration

Family declare() {
  Family f("matmul", Topic::matrix_products,
           "What does each level of data reuse gain in an fp32 matrix product?");
  f.physics =
      "A product of square matrices of size n does 2n³ operations on 12n² bytes, so every byte "
      "could be used n/6 times. A kernel is as fast as the level from which it reuses data: DRAM "
      "sectors, L1 lines, shared memory or registers.";
  declare_extents(f, 1024);
  f.input("a", &Data::a, elements_of_a<Problem>)
      .input("b", &Data::b, elements_of_b<Problem>)
      .output("c", &Data::c, elements_of_c<Problem>);
  f.ceilings = {CeilingRows::rate("fp32", {"cublas"}, Mode::warm, "operations")};
  f.plot("matmul", "ladder", "fp32 matrix product: throughput by variant")
      .plot("row_pitch", "row_pitch", "Row pitch of the naive product: time and L1 wavefronts")
      .plot("error_against_speed", "error_against_speed", "Matrix product: error by throughput");
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.a, p.m * p.k, stream_seed(seed, 0)) +
           fill_uniform(d.b, p.k * p.n, stream_seed(seed, 1));
  };
  const auto operands = [](const Problem& p, const Data& d) {
    return contiguous_operands<float>(d.a, d.b, p.m, p.n, p.k);
  };
  set_gemm_reference(f, operands, [](const Problem&) { return AbsoluteBound{}; });
  f.tolerance_derivation = kFp32SumDerivation;
  f.tolerance = [](const Problem& p) { return fp32_sum_tolerance(p.k); };
  f.metric("load_width_bits", "bit",
           "widest global load of a lane that the divisibility of the leading dimensions allows");
  f.variants(naive(), coalesced(), smem_tile(), coarsen_1d(), coarsen_2d(), vectorized(),
             double_buffered(), warp_tile(), async_stages(), cublas_sgemm());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::matmul
