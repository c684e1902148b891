// matmul_tensor: C = A·B on the tensor cores, from one warp and one fragment to a pipeline of
// tiles.
//
// The question: what does it take to keep tensor cores fed? They multiply an order of magnitude
// faster than the fp32 pipes, while shared memory still delivers 128 bytes per clock and SM. On
// Hopper mma.sync reaches some 62 % of the tensor cores' peak, about 1270 multiply-adds per clock
// and SM in bf16; a warp that owns a 64×64 tile reads 4 KiB of shared memory for 65536 of them, 32
// clocks against 52. Smaller tiles per warp starve on shared memory, smaller tiles per block on L2.
//
// fp32 accumulation can store C in fp32 or in the type of the inputs, fp16 accumulation stores
// fp16. The inputs are rounded to the type that is multiplied when they are made, tf32 included, so
// that every variant multiplies the same numbers; the accuracy columns refer to the product of the
// inputs before that rounding.
#include <algorithm>
#include <cmath>

#include <mma.h>

#include "gpu/cublas.hpp"
#include "kernels/common/gemm.cuh"
#include "kernels/common/mma_pipeline.cuh"
#include "kernels/common/rounding.cuh"
#include "kernels/common/tile_order.cuh"

namespace nvcuda::wmma::precision {
struct tf32;  // which mma.h declares for compute capability 8.0 and above only
}

namespace gpuexp::matmul_tensor {

// Row-major: A is M×K, B is K×N, C is M×N, no padding.
struct Problem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  DataType dtype;       // of A and B: bf16, fp16 or tf32
  DataType accumulate;  // fp32 or fp16
  bool fp32_output;     // store C in fp32, not in the type of the inputs
};

struct Data {
  float* a_master;  // the inputs before they are rounded to dtype
  float* b_master;
  void* a;
  void* b;
  void* c;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- what the kernels share

template <class In>
__device__ Matrix<const In> a_matrix(const Problem& p, const void* a) {
  return {static_cast<const In*>(a), p.m, p.k};
}
template <class In>
__device__ Matrix<const In> b_matrix(const Problem& p, const void* b) {
  return {static_cast<const In*>(b), p.k, p.n};
}

// Stores a slab in the problem's output type: In or, asked for fp32 sums, fp32.
template <int kCols, class In, class Acc>
__device__ void store_sums(const Acc* slab, const Problem& p, const Corner& at, void* c) {
  if constexpr (std::is_same<Acc, float>::value && !std::is_same<In, float>::value) {
    if (p.fp32_output) {
      store_slab<kCols>(slab, Matrix<float>{static_cast<float*>(c), p.m, p.n}, at);
      return;
    }
  }
  store_slab<kCols>(slab, Matrix<In>{static_cast<In*>(c), p.m, p.n}, at);
}

// The corner of C where this block starts, neighbouring blocks one below the other.
template <class T>
__device__ Corner block_corner() {
  return {static_cast<std::int64_t>(blockIdx.x) * T::kBlockM,
          static_cast<std::int64_t>(blockIdx.y) * T::kBlockN};
}

// ---- wmma: one warp per 16×16 tile of C, fragments straight from global memory

// wmma's name for an input type, and the depth of its product.
template <class In>
struct WmmaType {
  using Element = In;
  static constexpr int kDepth = 16;
};
template <>
struct WmmaType<float> {
  using Element = nvcuda::wmma::precision::tf32;
  static constexpr int kDepth = 8;
};

template <class Use, class In>
using WmmaInput = nvcuda::wmma::fragment<Use, 16, 16, WmmaType<In>::kDepth,
                                         typename WmmaType<In>::Element, nvcuda::wmma::row_major>;
template <class In, class Acc>
using WmmaSums =
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, WmmaType<In>::kDepth, Acc>;

using WmmaTiling = Tiling<32, 32, 32, 16, 16>;

template <class In, class Acc>
__global__ void __launch_bounds__(WmmaTiling::kThreads)
    wmma_kernel(Problem p, const void* a, const void* b, void* c) {
#if __CUDA_ARCH__ >= 800
  namespace wmma = nvcuda::wmma;
  using T = WmmaTiling;
  using S = Slab<Acc, T::kWarpN>;
  __shared__ alignas(32) char slabs[T::kWarps * S::kBytes];
  Corner at = block_corner<T>();
  at.row += T::warp_row();
  at.col += T::warp_col();
  if (at.row >= p.m || at.col >= p.n) return;

  const In* a_tile = static_cast<const In*>(a) + at.row * p.k;
  const In* b_tile = static_cast<const In*>(b) + at.col;
  const unsigned a_pitch = static_cast<unsigned>(p.k);
  const unsigned b_pitch = static_cast<unsigned>(p.n);
  constexpr int kDepth = WmmaType<In>::kDepth;
  WmmaSums<In, Acc> sums;
  wmma::fill_fragment(sums, Acc(0.0f));
  for (int k = 0; k < static_cast<int>(p.k); k += kDepth) {
    WmmaInput<wmma::matrix_a, In> a_fragment;
    WmmaInput<wmma::matrix_b, In> b_fragment;
    wmma::load_matrix_sync(a_fragment, a_tile, a_pitch);
    wmma::load_matrix_sync(b_fragment, b_tile, b_pitch);
    wmma::mma_sync(sums, a_fragment, b_fragment, sums);
    a_tile += kDepth;
    b_tile += static_cast<std::int64_t>(kDepth) * p.n;
  }
  Acc* const slab = reinterpret_cast<Acc*>(slabs + T::warp() * S::kBytes);
  wmma::store_matrix_sync(slab, sums, S::kPitch, wmma::mem_row_major);
  __syncwarp();
  store_sums<T::kWarpN, In>(slab, p, at, c);
#else
  __trap();  // wmma has bf16 and tf32 from compute capability 8.0
#endif
}

DataType output_type(const Problem& p) {
  return p.fp32_output || p.dtype == DataType::tf32 ? DataType::fp32 : p.dtype;
}

std::optional<std::string> unsupported_types(const Problem& p) {
  if (p.accumulate != DataType::fp16) return std::nullopt;
  if (p.dtype != DataType::fp16) {
    return "accumulate fp16 needs dtype fp16: tensor cores sum " + std::string(name_of(p.dtype)) +
           " products in fp32 only";
  }
  if (p.fp32_output) return "accumulate fp16 stores fp16: an fp32 output would add no digit";
  return std::nullopt;
}

// Calls f with a value of the type that stores the inputs; tf32 is stored as float.
template <class Function>
auto with_input_type(const Problem& p, Function f) {
  if (p.dtype == DataType::bf16) return f(__nv_bfloat16{});
  if (p.dtype == DataType::fp16) return f(__half{});
  return f(float{});
}

// What every variant must do at least; the variants differ in how often they fetch the same bytes
// again.
Work work(const Problem& p) {
  const Pipe pipe = p.dtype == DataType::tf32        ? Pipe::tensor_tf32
                    : p.dtype == DataType::bf16      ? Pipe::tensor_bf16_fp32
                    : p.accumulate == DataType::fp16 ? Pipe::tensor_fp16_fp16
                                                     : Pipe::tensor_fp16_fp32;
  return gemm_work(p.m, p.n, p.k, p.dtype, output_type(p), pipe);
}

// Bytes that one copy can move of a matrix whose rows are row_elements long: all rows must begin at
// a multiple of them.
int copy_bytes(DataType type, std::int64_t row_elements) {
  const std::int64_t row_bytes = row_elements * static_cast<std::int64_t>(size_of(type));
  return row_bytes % 16 == 0 ? 16 : row_bytes % 4 == 0 ? 4 : 2;
}
int load_width_bytes(const Problem& p) {
  return std::min(copy_bytes(p.dtype, p.k), copy_bytes(p.dtype, p.n));
}
MetricValues load_width_metric(const Problem& p, const DeviceSpec&) {
  return {{"load_width_bits", 8.0 * load_width_bytes(p)}};
}

using Kernel = TiledKernel<Problem, const void*, const void*, void*>;

// With what its launch needs to know of the Tiling it was compiled for.
template <class T>
Kernel tiled(decltype(Kernel::kernel) kernel, std::int64_t dynamic_shared_bytes = 0) {
  return {kernel, {T::kBlockM, T::kBlockN, 1}, {T::kThreads, 1, 1}, dynamic_shared_bytes};
}

// The kernel for this problem: `instance` makes the one for a value of the stored input type, one
// of the type that sums, and the bytes that a lane copies at a time.
template <class Instance>
Kernel kernel_for(const Problem& p, Instance instance) {
  const auto with_width = [&](auto in, auto acc) {
    return load_width_bytes(p) == 16 ? instance(in, acc, std::integral_constant<int, 16>{})
                                     : instance(in, acc, std::integral_constant<int, 4>{});
  };
  if (p.accumulate == DataType::fp16) return with_width(__half{}, __half{});
  return with_input_type(p, [&](auto in) { return with_width(in, float{}); });
}

// What the variants that launch one such kernel have in common.
template <class KernelFor>
Variant tiled_variant(KernelFor kernel) {
  Variant v;
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.work = work;
  return with_tiles(std::move(v), kernel);
}

Variant wmma() {
  Variant v = tiled_variant([](const Problem& p) {
    return kernel_for(p, [](auto in, auto acc, auto) {
      return tiled<WmmaTiling>(wmma_kernel<decltype(in), decltype(acc)>);
    });
  });
  v.id = "wmma";
  v.why =
      "The tensor core by its C++ interface, nvcuda::wmma: one warp sums one 16×16 tile of C from "
      "fragments that it loads straight from global memory. Every 4096 multiply-adds take 1 KiB "
      "through L1 (16-bit types), and wait for it: the tensor cores idle. load_matrix_sync takes "
      "whole fragments, so m and n must be multiples of 16, k of 16 (tf32: 8). l1tex__throughput "
      "is high, sm__pipe_tensor_cycles_active low.";
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const std::int64_t depth =
        p.dtype == DataType::tf32 ? WmmaType<float>::kDepth : WmmaType<__half>::kDepth;
    if (p.m % 16 == 0 && p.n % 16 == 0 && p.k % depth == 0) return std::nullopt;
    return "needs m and n divisible by 16 and k by " + std::to_string(depth) +
           ": load_matrix_sync reads whole fragments";
  };
  return v;
}

// ---- wmma_smem: a block's tiles of A and B in shared memory

using WmmaSmemTiling = Tiling<128, 128, 64, 32, 64>;

template <class In, class Acc, int kUnitBytes>
__global__ void __launch_bounds__(WmmaSmemTiling::kThreads)
    wmma_smem_kernel(Problem p, const void* a, const void* b, void* c) {
#if __CUDA_ARCH__ >= 800
  namespace wmma = nvcuda::wmma;
  using T = WmmaSmemTiling;
  using A = ATile<T, TileLayout::padded>;
  using B = BTile<In, T, TileLayout::padded>;
  using S = Slab<Acc, T::kWarpN>;
  constexpr int kRowTiles = T::kWarpM / 16;
  constexpr int kColTiles = T::kWarpN / 16;
  constexpr int kDepth = WmmaType<In>::kDepth;
  // The slabs take the place of the tiles once these are used up.
  __shared__ alignas(128) char shared[std::max(A::kBytes + B::kBytes, T::kWarps * S::kBytes)];
  char* const a_tile = shared;
  char* const b_tile = shared + A::kBytes;
  const Corner corner = block_corner<T>();
  Window a_from = a_matrix<In>(p, a).window(corner.row, 0);
  Window b_from = b_matrix<In>(p, b).window(0, corner.col);

  WmmaSums<In, Acc> sums[kRowTiles][kColTiles];
  for (auto& row : sums) {
    for (auto& tile : row)
      wmma::fill_fragment(tile, Acc(0.0f));
  }
  for (int k = 0; k < static_cast<int>(p.k); k += T::template kDepth<In>) {
    RegisterCopy<A, T::kThreads, kUnitBytes> a_copy;
    RegisterCopy<B, T::kThreads, kUnitBytes> b_copy;
    a_copy.load(a_from);
    b_copy.load(b_from);
    __syncthreads();  // all warps are done with the tiles before
    a_copy.store(a_tile);
    b_copy.store(b_tile);
    __syncthreads();
#pragma unroll
    for (int step = 0; step < T::kSteps; ++step) {
      WmmaInput<wmma::matrix_a, In> a_fragments[kRowTiles];
      WmmaInput<wmma::matrix_b, In> b_fragments[kColTiles];
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i) {
        const char* const from = a_tile + A::offset(T::warp_row() + 16 * i, 32 * step);
        wmma::load_matrix_sync(a_fragments[i], reinterpret_cast<const In*>(from),
                               A::kPitch / sizeof(In));
      }
#pragma unroll
      for (int j = 0; j < kColTiles; ++j) {
        const char* const from =
            b_tile + B::offset(kDepth * step, (T::warp_col() + 16 * j) * sizeof(In));
        wmma::load_matrix_sync(b_fragments[j], reinterpret_cast<const In*>(from),
                               B::kPitch / sizeof(In));
      }
#pragma unroll
      for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
        for (int j = 0; j < kColTiles; ++j)
          wmma::mma_sync(sums[i][j], a_fragments[i], b_fragments[j], sums[i][j]);
      }
    }
    a_from.move_right(T::kDepthBytes);
    b_from.move_down(T::template kDepth<In>);
  }
  __syncthreads();
  Acc* const slab = reinterpret_cast<Acc*>(shared + T::warp() * S::kBytes);
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
    for (int j = 0; j < kColTiles; ++j)
      wmma::store_matrix_sync(slab + 16 * j, sums[i][j], S::kPitch, wmma::mem_row_major);
    __syncwarp();
    const Corner at{corner.row + T::warp_row() + 16 * i, corner.col + T::warp_col()};
    store_sums<T::kWarpN, In>(slab, p, at, c);
    __syncwarp();
  }
#else
  __trap();  // wmma has bf16 and tf32 from compute capability 8.0
#endif
}

// Where tiles are many, and 16-byte copies reach every row: narrower ones cost what they save.
bool is_large(const Problem& p) {
  constexpr std::int64_t kLargeExtent = 1024;
  constexpr std::int64_t kAlignedRows = 8;
  return std::min({p.m, p.n, p.k}) >= kLargeExtent && p.n % kAlignedRows == 0 &&
         p.k % kAlignedRows == 0;
}

Variant wmma_smem() {
  Variant v = tiled_variant([](const Problem& p) {
    return kernel_for(p, [](auto in, auto acc, auto unit) {
      constexpr int kUnitBytes = decltype(unit)::value;
      return tiled<WmmaSmemTiling>(wmma_smem_kernel<decltype(in), decltype(acc), kUnitBytes>);
    });
  });
  v.id = "wmma_smem";
  v.why =
      "256 threads bring 64 bytes of depth of 128 rows of A and 128 columns of B to shared memory "
      "at a time, eight warps sum 32×64 each from there: what comes from L2 serves 128 sums "
      "instead of 32, and zeros in the tiles make any m, n, k work. Costs two barriers per tile, "
      "between which nothing is multiplied. lts__t_sectors_op_read falls, "
      "sm__pipe_tensor_cycles_active rises.";
  v.expected_changes = {{"l2_sectors", Direction::decreases, 4, is_large},
                        {"tensor_active_pct", Direction::increases, 2, is_large}};
  v.compare_to = "wmma";
  v.metrics = load_width_metric;
  return v;
}

// ---- mma_sync: fragments by ldmatrix from swizzled tiles

// Narrow copies need registers for addresses: their warps sum half as much.
template <int kUnitBytes>
using MmaSyncTiling = Tiling<128, 128, 64, 64, kUnitBytes == 16 ? 64 : 32>;

template <class In, class Acc, int kUnitBytes>
__global__ void __launch_bounds__(MmaSyncTiling<kUnitBytes>::kThreads)
    mma_sync_kernel(Problem p, const void* a, const void* b, void* c) {
  using T = MmaSyncTiling<kUnitBytes>;
  using Product = WarpProduct<In, Acc, T>;
  using A = typename Product::A;
  using B = typename Product::B;
  constexpr int kBufferBytes = A::kBytes + B::kBytes;
  static_assert(2 * kBufferBytes >= T::kWarps * Product::S::kBytes, "slabs fit in the tiles");
  __shared__ alignas(128) char shared[2 * kBufferBytes];
  const Corner corner = block_corner<T>();
  Window a_from = a_matrix<In>(p, a).window(corner.row, 0);
  Window b_from = b_matrix<In>(p, b).window(0, corner.col);
  RegisterCopy<A, T::kThreads, kUnitBytes> a_copy;
  RegisterCopy<B, T::kThreads, kUnitBytes> b_copy;
  a_copy.load(a_from);
  b_copy.load(b_from);

  Product product;
  const int tiles = (static_cast<int>(p.k) - 1) / T::template kDepth<In> + 1;
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    // Two buffers in turn: whoever read this one was done before the last barrier.
    char* const a_tile = shared + tile % 2 * kBufferBytes;
    char* const b_tile = a_tile + A::kBytes;
    a_copy.store(a_tile);
    b_copy.store(b_tile);
    __syncthreads();
    a_from.move_right(T::kDepthBytes);
    b_from.move_down(T::template kDepth<In>);
    a_copy.load(a_from);  // after the last tile nothing is left, and nothing is read
    b_copy.load(b_from);
#pragma unroll
    for (int step = 0; step < T::kSteps; ++step) {
      typename Product::Fragments fragments;
      Product::load(fragments, a_tile, b_tile, step);
      product.multiply(fragments);
    }
  }
  __syncthreads();
  product.store(shared, corner, [&](const Acc* slab, const Corner& at) {
    store_sums<T::kWarpN, In>(slab, p, at, c);
  });
}

Variant mma_sync() {
  Variant v = tiled_variant([](const Problem& p) {
    return kernel_for(p, [](auto in, auto acc, auto unit) {
      constexpr int kUnitBytes = decltype(unit)::value;
      return tiled<MmaSyncTiling<kUnitBytes>>(
          mma_sync_kernel<decltype(in), decltype(acc), kUnitBytes>);
    });
  });
  v.id = "mma_sync";
  v.why =
      "The instruction itself, mma.sync, whose fragments have a documented layout: ldmatrix "
      "fetches four 8×16-byte matrices at once from tiles whose 16-byte columns are permuted so "
      "that no two rows meet in a bank. (wmma leaves the loads to the compiler: nvcc 13.0 makes "
      "ldmatrix of them for fp16, but for bf16 and tf32 one generic 4-byte load per register, and "
      "transposes B in registers.) Four warps sum 64×64 each, which reads a third less shared "
      "memory per product than 32×64, and the next tiles travel through registers while the "
      "present ones are multiplied, one barrier per tile. Costs about 240 registers per thread, so "
      "8 warps per SM. l1tex__data_bank_conflicts_pipe_lsu falls, sm__pipe_tensor_cycles_active "
      "rises.";
  v.expected_changes = {{"shared_bank_conflicts", Direction::decreases, 4, is_large},
                        {"tensor_active_pct", Direction::increases, 1.2, is_large}};
  v.compare_to = "wmma_smem";
  v.metrics = load_width_metric;
  return v;
}

// ---- mma_cp_async: a pipeline of tiles

// Narrow copies need registers for addresses: their warps and blocks sum half as much.
template <int kUnitBytes>
using MmaPipeline = std::conditional_t<kUnitBytes == 16, Pipeline<Tiling<128, 256, 64, 64, 64>, 4>,
                                       Pipeline<Tiling<128, 128, 64, 64, 32>, 4>>;

constexpr unsigned kGroupRows = 16;  // of tiles, a patch of C about as wide as high

template <class In, class Acc, int kUnitBytes>
__global__ void __launch_bounds__(MmaPipeline<kUnitBytes>::kThreads, 1)
    mma_cp_async_kernel(Problem p, const void* a, const void* b, void* c) {
  using P = MmaPipeline<kUnitBytes>;
  extern __shared__ __align__(128) char shared[];
  const auto tile = grouped_tile<kGroupRows>();
  const Corner corner{static_cast<std::int64_t>(tile.row) * P::kBlockM,
                      static_cast<std::int64_t>(tile.column) * P::kBlockN};
  mma_pipeline<In, Acc, P, kUnitBytes>(
      shared, a_matrix<In>(p, a).window(corner.row, 0), b_matrix<In>(p, b).window(0, corner.col),
      static_cast<int>(p.k), corner,
      [&](const Acc* slab, const Corner& at) { store_sums<P::kWarpN, In>(slab, p, at, c); });
}

Variant mma_cp_async() {
  const auto kernel = [](const Problem& p) {
    return kernel_for(p, [](auto in, auto acc, auto unit) {
      constexpr int kUnitBytes = decltype(unit)::value;
      using P = MmaPipeline<kUnitBytes>;
      return tiled<P>(mma_cp_async_kernel<decltype(in), decltype(acc), kUnitBytes>,
                      P::kSharedBytes);
    });
  };
  Variant v = tiled_variant(kernel);
  v.id = "mma_cp_async";
  v.why =
      "cp.async copies go to shared memory without passing registers and have three tiles' time to "
      "land, so L2's latency is hidden however few warps there are. The registers this frees "
      "double the block's tile to 128×256, which takes a quarter off what comes from L2, and hold "
      "the next step's fragments while the present ones are multiplied. Blocks walk over C in "
      "groups of 16 rows of tiles, so that those in flight share what they read. Costs the SM's "
      "registers: one block of 8 warps per SM, whose store of C hides behind nothing. "
      "sm__pipe_tensor_cycles_active nears what mma.sync can reach, dram__bytes_read falls.";
  v.expected_changes = {{"stalled_long_scoreboard", Direction::decreases, 2, is_large},
                        {"tensor_active_pct", Direction::increases, 1.2, is_large},
                        {"global_load_sectors", Direction::decreases, 1.2, is_large}};
  v.compare_to = "mma_sync";
  v.min_compute_capability = std::max(kMmaBf16ComputeCapability, kCpAsyncComputeCapability);
  v.unsupported = [kernel](const Problem& p,
                           const DeviceSpec& device) -> std::optional<std::string> {
    const std::int64_t needed = kernel(p).dynamic_shared_bytes;
    if (device.sm.shared_bytes_per_block >= needed) return std::nullopt;
    return "needs " + std::to_string(needed) + " bytes of shared memory per block, has " +
           std::to_string(device.sm.shared_bytes_per_block);
  };
  v.metrics = load_width_metric;
  return v;
}

// ---- cublas

Variant cublas_gemm() {
  Variant v;
  v.id = "cublas";
  v.why =
      "cublasGemmEx with the same types of inputs, sums and output, and whatever kernel its "
      "heuristics choose: on Hopper wgmma fed by the tensor memory accelerator, which reads A and "
      "B from shared memory once per four warps and reaches the rate that mma.sync cannot.";
  v.compare_to = "mma_cp_async";
  v.is_vendor = true;
  v.unavailable = cublas::unavailable;
  v.work = work;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    cublas::Gemm g{};
    g.compute = p.dtype == DataType::tf32        ? cublas::Compute::tf32
                : p.accumulate == DataType::fp16 ? cublas::Compute::fp16
                                                 : cublas::Compute::fp32;
    g.input = p.dtype == DataType::tf32 ? DataType::fp32 : p.dtype;
    g.output = output_type(p);
    g.m = p.m;
    g.n = p.n;
    g.k = p.k;
    g.a = d.a;
    g.b = d.b;
    g.c = d.c;
    return cublas::gemm(g);
  };
  return v;
}

// ---- inputs

// tf32 is fp32 with 10 bits after the leading one; what the multiplier would drop is rounded here.
constexpr FloatFormat kTf32{11, kFp32.min_exponent, kFp32.max_exponent};

template <class T>
struct Rounded {
  SignedUniform<float> master;
  __host__ __device__ T operator()(std::int64_t i) const { return from_float<T>(master(i)); }
};
template <>
struct Rounded<float> {
  SignedUniform<float> master;
  __host__ __device__ float operator()(std::int64_t i) const {
    return static_cast<float>(round_to(kTf32, master(i)));
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  Steps steps;
  steps += fill_uniform(d.a_master, p.m * p.k, stream_seed(seed, 0));
  steps += fill_uniform(d.b_master, p.k * p.n, stream_seed(seed, 1));
  with_input_type(p, [&](auto in) {
    using In = decltype(in);
    steps += fill(static_cast<In*>(d.a), p.m * p.k, Rounded<In>{{stream_seed(seed, 0)}});
    steps += fill(static_cast<In*>(d.b), p.k * p.n, Rounded<In>{{stream_seed(seed, 1)}});
  });
  return steps;
}

// ---- the plain reference and its tolerance

NormBound error_bound(const Problem& p) {
  return tensor_core_bound(p.k, p.accumulate, output_type(p));
}

Tolerance tolerance(const Problem& p) {
  constexpr double kHalfSubnormal = 0x1p-25;  // fp16
  Tolerance t = error_bound(p).tolerance();
  if (output_type(p) == DataType::fp16) t.absolute = kHalfSubnormal;
  if (p.accumulate == DataType::fp16) t.absolute = kHalfSubnormal * tensor_core_steps(p.k);
  return t;
}

template <class In>
GemmOperands<In> operands(const Problem& p, const void* a, const void* b) {
  return contiguous_operands(static_cast<const In*>(a), static_cast<const In*>(b), p.m, p.n, p.k);
}

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  Steps steps;
  with_input_type(p, [&](auto in) {
    steps += evaluate_gemm(operands<decltype(in)>(p, d.a, d.b), error_bound(p), out[0]);
  });
  return steps;
}

Steps accuracy_reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return evaluate_gemm(operands<float>(p, d.a_master, d.b_master), error_bound(p), out[0]);
}

void host_reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  with_input_type(
      p, [&](auto in) { host_gemm(operands<decltype(in)>(p, d.a, d.b), error_bound(p), out[0]); });
}

// ---- declaration

void declare_parameters(Family& f) {
  f.extent("m", &Problem::m, 4096, 1 << 16, "rows of A and C")
      .extent("n", &Problem::n, 4096, 1 << 16, "columns of B and C")
      .extent("k", &Problem::k, 4096, 1 << 16, "columns of A, rows of B")
      .choice("dtype", &Problem::dtype,
              {{"bf16", DataType::bf16}, {"fp16", DataType::fp16}, {"tf32", DataType::tf32}},
              "type of A and B; tf32 is stored as fp32, rounded to tf32")
      .choice("accumulate", &Problem::accumulate,
              {{"fp32", DataType::fp32}, {"fp16", DataType::fp16}},
              "type that products are summed in; fp16 for fp16 inputs only")
      .choice("output", &Problem::fp32_output, {{"same", false}, {"fp32", true}},
              "type of C: that of the inputs (fp32 for tf32), or fp32");
}

void declare_buffers(Family& f) {
  const auto a_count = [](const Problem& p) { return p.m * p.k; };
  const auto b_count = [](const Problem& p) { return p.k * p.n; };
  const auto dtype = [](const Problem& p) { return p.dtype; };
  f.input("a_master", &Data::a_master, a_count)
      .input("b_master", &Data::b_master, b_count)
      .input("a", &Data::a, dtype, a_count)
      .input("b", &Data::b, dtype, b_count)
      .output("c", &Data::c, output_type, [](const Problem& p) { return p.m * p.n; });
}

Family declare() {
  Family f("matmul_tensor", "What does it take to keep tensor cores fed?");
  f.physics =
      "Tensor cores multiply an order of magnitude faster than the fp32 pipes, on the same shared "
      "memory and L2. Each level must therefore pass on fewer bytes per product: the tile that a "
      "warp keeps in registers decides what shared memory has to deliver, the tile of a block what "
      "L2 has to, and copies must be under way long before they are needed.";
  declare_parameters(f);
  declare_buffers(f);
  f.metric("load_width_bits", "bit",
           "width of one copy to shared memory: the widest that rows of A and of B are both "
           "aligned to, of 128, 32 and 16");
  for (const auto& [pipe, dtype] :
       {std::pair{"tensor_tf32", "tf32"}, std::pair{"tensor_fp16_fp32", "fp16"},
        std::pair{"tensor_bf16_fp32", "bf16"}}) {
    f.ceilings.push_back(
        CeilingRows::rate(pipe, {"cublas"}, Mode::warm, "operations").where("dtype", dtype));
  }
  f.figures = {
      {"matmul_tensor", "ladder", "Tensor cores: what each variant adds"},
      {"error_against_speed", "error_against_speed", "Error against speed of a matrix product"}};
  f.outputs = [](const Problem& p) { return Extent{p.m, p.n, 1}; };
  f.unsupported = [](const Problem& p, const DeviceSpec&) { return unsupported_types(p); };
  f.inputs = inputs;
  f.reference = reference;
  f.host_reference = host_reference;
  f.accuracy_reference = accuracy_reference;
  f.tolerance = tolerance;
  f.tolerance_derivation = kTensorCoreBoundDerivation;
  f.variant(wmma())
      .variant(wmma_smem())
      .variant(mma_sync())
      .variant(mma_cp_async())
      .variant(cublas_gemm());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::matmul_tensor
