// matmul_tensor: C = A·B on the tensor cores, from one warp and one fragment to a pipeline of
// tiles.
//
// The question: what does it take to keep tensor cores fed? They multiply an order of magnitude
// faster than the fp32 pipes, but shared memory still delivers 128 bytes per cycle and SM. On
// Hopper, mma.sync reaches about 62 % of the tensor cores' peak, about 1270 multiply-adds per cycle
// and SM in bf16. A warp that owns a 64×64 tile reads 4 KiB of shared memory for 65536
// multiply-adds: 32 cycles compared with 52. With smaller tiles per warp, shared memory is the
// limit; with smaller tiles per block, L2.
//
// The inputs are rounded to the type of the products when they are generated, so all variants
// multiply the same numbers. The accuracy columns refer to the product of the inputs before
// rounding.
#include <algorithm>

#include "kernels/common/cublas_variant.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/mma_pipeline.cuh"
#include "kernels/common/tensor_operands.cuh"
#include "kernels/common/tile_order.cuh"
#include "kernels/common/wmma.cuh"

namespace gpuexp::matmul_tensor {

// Row-major: A is M×K, B is K×N, C is M×N, no padding.
struct Problem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  DataType dtype;       // type of A and B: bf16, fp16 or tf32
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

// ---- wmma: one warp per 16×16 tile of C, fragments from global memory
//
// One warp sums one 16×16 tile of C with nvcuda::wmma, the C++ interface of the tensor cores, from
// fragments that it loads directly from global memory. Every 4096 multiply-adds load 1 KiB through
// L1 (16-bit types) and wait for it, so the tensor cores idle. load_matrix_sync loads whole
// fragments, so m and n must be multiples of 16, and k of 16 (tf32: 8). l1tex__throughput is high,
// sm__pipe_tensor_cycles_active low.

using WmmaTiling = Tiling<32, 32, 32, 16, 16>;

// Stores a slab in the problem's output type: In, or fp32 if the problem requests fp32 output.
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

// ---- how the variants are launched

DataType output_type(const Problem& p) {
  return p.fp32_output || p.dtype == DataType::tf32 ? DataType::fp32 : p.dtype;
}

// The minimum work; variants differ in how often they load the same bytes.
Work work(const Problem& p) {
  const Pipe pipe = p.dtype == DataType::tf32        ? Pipe::tensor_tf32
                    : p.dtype == DataType::bf16      ? Pipe::tensor_bf16_fp32
                    : p.accumulate == DataType::fp16 ? Pipe::tensor_fp16_fp16
                                                     : Pipe::tensor_fp16_fp32;
  return gemm_work(p.m, p.n, p.k, p.dtype, output_type(p), pipe);
}

// Widest copy, in bytes, for which all rows of A and B are aligned.
int load_width_bytes(const Problem& p) {
  const std::int64_t row_bytes = (p.k | p.n) * static_cast<std::int64_t>(size_of(p.dtype));
  return row_bytes % 16 == 0 ? 16 : row_bytes % 4 == 0 ? 4 : 2;
}

using Kernel = TiledKernel<Problem, const void*, const void*, void*>;

template <class T>
Kernel tiled(decltype(Kernel::kernel) kernel, std::int64_t dynamic_shared_bytes = 0) {
  return {kernel, {T::kBlockM, T::kBlockN, 1}, {T::kThreads, 1, 1}, dynamic_shared_bytes};
}

// The kernel for this problem. `instance` makes it from a value of the input type, a value of the
// accumulator type, and the number of bytes that a lane copies at a time.
template <class Instance>
Kernel kernel_for(const Problem& p, Instance instance) {
  const auto with_width = [&](auto in, auto acc) {
    return load_width_bytes(p) == 16 ? instance(in, acc, std::integral_constant<int, 16>{})
                                     : instance(in, acc, std::integral_constant<int, 4>{});
  };
  if (p.accumulate == DataType::fp16) return with_width(__half{}, __half{});
  return with_stored_type(p.dtype, [&](auto in) { return with_width(in, float{}); });
}

template <class Instance>
Variant ladder_variant(std::string id, std::string compare_to, Instance instance,
                       ExpectedChangesOf<Problem> expected) {
  const auto kernel = [instance](const Problem& p) { return kernel_for(p, instance); };
  Variant v = tiled_variant<Variant>(std::move(id), std::move(compare_to), work, kernel,
                                     std::move(expected));
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    return MetricValues{{"load_width_bits", 8.0 * load_width_bytes(p)}};
  };
  return v;
}

// Problems with many tiles whose rows allow 16-byte copies; narrower copies cancel the gain.
bool is_large(const Problem& p) {
  constexpr std::int64_t kLargeExtent = 1024;
  constexpr std::int64_t kAlignedRows = 8;
  return std::min({p.m, p.n, p.k}) >= kLargeExtent && (p.n | p.k) % kAlignedRows == 0;
}

Variant wmma() {
  const auto kernel = [](auto in, auto acc, auto) {
    return tiled<WmmaTiling>(wmma_kernel<decltype(in), decltype(acc)>);
  };
  Variant v = ladder_variant("wmma", "", kernel, {});
  v.metrics = {};  // load_matrix_sync chooses the width
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const int depth =
        p.dtype == DataType::tf32 ? WmmaType<float>::kDepth : WmmaType<__half>::kDepth;
    if (p.m % 16 == 0 && p.n % 16 == 0 && p.k % depth == 0) return std::nullopt;
    return "needs m and n divisible by 16 and k by " + std::to_string(depth) +
           ": load_matrix_sync reads whole fragments";
  };
  return v;
}

// ---- wmma_smem: a block's tiles of A and B in shared memory
//
// 256 threads copy 128 rows of A and 128 columns of B to shared memory, 64 bytes deep, and eight
// warps compute 32×64 elements of C each from there. Each load from L2 serves 128 sums instead of
// 32, and zeros in the tiles allow any m, n, k. It costs a barrier before and after each tile,
// between which the warps do not multiply. lts__t_sectors_op_read decreases,
// sm__pipe_tensor_cycles_active increases.

using WmmaSmemTiling = Tiling<128, 128, 64, 32, 64>;

template <class In>
__device__ Matrix<const In> a_matrix(const Problem& p, const void* a) {
  return {static_cast<const In*>(a), p.m, p.k};
}
template <class In>
__device__ Matrix<const In> b_matrix(const Problem& p, const void* b) {
  return {static_cast<const In*>(b), p.k, p.n};
}

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
  // The slabs overwrite the tiles after their last use.
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
    __syncthreads();  // all warps have finished with the previous tiles
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

Variant wmma_smem() {
  const auto kernel = [](auto in, auto acc, auto unit) {
    return tiled<WmmaSmemTiling>(wmma_smem_kernel<decltype(in), decltype(acc), unit()>);
  };
  return ladder_variant("wmma_smem", "wmma", kernel,
                        {{"l2_sectors", Direction::decreases, 4, is_large},
                         {"tensor_active_pct", Direction::increases, 2, is_large}});
}

// ---- mma_sync: fragments by ldmatrix from swizzled tiles
//
// The kernel issues mma.sync itself, whose fragments have a documented layout. ldmatrix loads four
// 8×16-byte matrices at once from tiles whose 16-byte columns are permuted, so no two rows conflict
// on a bank. (For wmma, nvcc 13.0 generates ldmatrix only for fp16; for bf16 and tf32 it generates
// one generic 4-byte load per register.) Four warps compute 64×64 elements each, which reads (1/64
// + 1/64) / (1/32 + 1/64) = 2/3 of the shared memory per product that 32×64 read. Loads of the next
// tiles are in flight while the current ones are multiplied, with a barrier per tile. It costs
// about 240 registers per thread, so 8 warps per SM. l1tex__data_bank_conflicts_pipe_lsu decreases,
// sm__pipe_tensor_cycles_active increases.
// held: registers_per_thread = 240 within 3 %; blocks_per_sm = 2

// 4-byte copies need registers for addresses, so each warp computes half as many elements of C.
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
    // Two alternating buffers: all reads of this buffer ended before the last barrier.
    char* const a_tile = shared + tile % 2 * kBufferBytes;
    char* const b_tile = a_tile + A::kBytes;
    a_copy.store(a_tile);
    b_copy.store(b_tile);
    __syncthreads();
    a_from.move_right(T::kDepthBytes);
    b_from.move_down(T::template kDepth<In>);
    a_copy.load(a_from);  // after the last tile, the window is empty and nothing is loaded
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
  const auto kernel = [](auto in, auto acc, auto unit) {
    return tiled<MmaSyncTiling<unit()>>(mma_sync_kernel<decltype(in), decltype(acc), unit()>);
  };
  return ladder_variant("mma_sync", "wmma_smem", kernel,
                        {{"shared_bank_conflicts", Direction::decreases, 4, is_large},
                         {"tensor_active_pct", Direction::increases, 1.2, is_large}});
}

// ---- mma_cp_async: a pipeline of tiles
//
// cp.async copies to shared memory without using registers, and each copy has the time of three
// tiles to complete. The freed registers hold the next step's fragments and the sums of a 128×256
// tile per block, which loads (1/128 + 1/256) / (1/128 + 1/128) = 3/4 of the bytes from L2. Blocks
// are assigned to C in groups of 16 rows of tiles, so that concurrent blocks share loads. It costs
// the SM's registers: one block of 8 warps per SM, whose store of C does not overlap with products.
// sm__pipe_tensor_cycles_active approaches the rate that mma.sync can reach, and dram__bytes_read
// decreases.

// 4-byte copies need registers for addresses: warps and blocks compute half as many elements of C.
template <int kUnitBytes>
using MmaPipeline = std::conditional_t<kUnitBytes == 16, Pipeline<Tiling<128, 256, 64, 64, 64>, 4>,
                                       Pipeline<Tiling<128, 128, 64, 64, 32>, 4>>;

constexpr unsigned kGroupRows = 16;  // rows of tiles per group, for a nearly square patch of C

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
  static_assert(kCpAsyncComputeCapability <= kMmaBf16ComputeCapability, "cp.async needs no more");
  const auto kernel = [](auto in, auto acc, auto unit) {
    using P = MmaPipeline<unit()>;
    return tiled<P>(mma_cp_async_kernel<decltype(in), decltype(acc), unit()>, P::kSharedBytes);
  };
  return ladder_variant("mma_cp_async", "mma_sync", kernel,
                        {{"stalled_long_scoreboard", Direction::decreases, 2, is_large},
                         {"tensor_active_pct", Direction::increases, 1.2, is_large},
                         {"global_load_sectors", Direction::decreases, 1.2, is_large}});
}

// ---- cublas
//
// cublasGemmEx computes with the same types, and with the kernel that its heuristics choose. On
// Hopper this kernel issues wgmma on tiles that the tensor memory accelerator copies. wgmma reads A
// and B from shared memory once per four warps and reaches a rate that mma.sync cannot reach.

Variant cublas_gemm() {
  return cublas_variant<Variant>("mma_cp_async", work, [](const Problem& p, const Data& d) {
    const bool is_tf32 = p.dtype == DataType::tf32;
    const auto compute = is_tf32                          ? cublas::Compute::tf32
                         : p.accumulate == DataType::fp16 ? cublas::Compute::fp16
                                                          : cublas::Compute::fp32;
    const DataType input = is_tf32 ? DataType::fp32 : p.dtype;
    return cublas::Gemm{compute, input, output_type(p), p.m, p.n, p.k, d.a, d.b, d.c};
  });
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_uniform(d.a_master, elements_of_a(p), stream_seed(seed, 0)) +
         fill_uniform(d.b_master, elements_of_b(p), stream_seed(seed, 1)) +
         fill_uniform_rounded(p.dtype, d.a, elements_of_a(p), stream_seed(seed, 0)) +
         fill_uniform_rounded(p.dtype, d.b, elements_of_b(p), stream_seed(seed, 1));
}

std::optional<std::string> unsupported(const Problem& p, const DeviceSpec&) {
  if (p.accumulate != DataType::fp16) return std::nullopt;
  if (p.dtype != DataType::fp16)
    return "accumulate fp16 needs dtype fp16: tensor cores sum " + std::string(name_of(p.dtype)) +
           " products in fp32 only";
  if (p.fp32_output) return "accumulate fp16 stores fp16: an fp32 output would add no precision";
  return std::nullopt;
}

// ---- the plain reference and its tolerance

TensorOperands operands(const Problem& p, const Data& d) {
  return {p.dtype, d.a, d.b, p.m, p.n, p.k};
}

NormBound error_bound(const Problem& p) {
  return tensor_core_bound(p.k, p.accumulate, output_type(p));
}

Steps accuracy_reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  const TensorOperands masters{DataType::fp32, d.a_master, d.b_master, p.m, p.n, p.k};
  return evaluate_gemm(masters, error_bound(p), out[0]);
}

// ---- declaration

void declare_parameters(Family& f) {
  declare_extents(f, 4096);
  f.choice("dtype", &Problem::dtype,
           {{"bf16", DataType::bf16}, {"fp16", DataType::fp16}, {"tf32", DataType::tf32}},
           "type of A and B; tf32 is stored as fp32, rounded to tf32")
      .choice("accumulate", &Problem::accumulate,
              {{"fp32", DataType::fp32}, {"fp16", DataType::fp16}},
              "accumulator type of the products; fp16 only for fp16 inputs")
      .choice("output", &Problem::fp32_output, {{"same", false}, {"fp32", true}},
              "type of C: same as the inputs (fp32 for tf32), or fp32");
}

void declare_buffers(Family& f) {
  const auto dtype = [](const Problem& p) { return p.dtype; };
  f.input("a_master", &Data::a_master, elements_of_a<Problem>)
      .input("b_master", &Data::b_master, elements_of_b<Problem>)
      .input("a", &Data::a, dtype, elements_of_a<Problem>)
      .input("b", &Data::b, dtype, elements_of_b<Problem>)
      .output("c", &Data::c, output_type, elements_of_c<Problem>);
}

Family declare() {
  Family f("matmul_tensor", Topic::matrix_products, "What does it take to keep tensor cores fed?");
  f.physics =
      "Tensor cores multiply an order of magnitude faster than the fp32 pipes, with the same "
      "shared memory and L2. Each level must therefore deliver fewer bytes per product. The tile "
      "that a warp keeps in registers determines the traffic of shared memory, and the tile of a "
      "block the traffic of L2. Copies must be in flight long before they are needed.";
  declare_parameters(f);
  declare_buffers(f);
  f.metric("load_width_bits", "bit",
           "width of one copy to shared memory: 128, 32 or 16, the widest for which rows of both A "
           "and B are aligned");
  using Rate = std::pair<const char*, const char*>;
  for (const auto& [pipe, dtype] : {Rate{"tensor_tf32", "tf32"}, Rate{"tensor_fp16_fp32", "fp16"},
                                    Rate{"tensor_bf16_fp32", "bf16"}})
    f.ceilings.push_back(
        CeilingRows::rate(pipe, {"cublas"}, Mode::warm, "operations").where("dtype", dtype));
  f.plot("matmul_tensor", "ladder", "Matrix product on tensor cores: throughput by variant")
      .plot("error_against_speed", "error_against_speed", "Matrix product: error by throughput");
  f.unsupported = unsupported;
  f.inputs = inputs;
  set_tensor_core_reference(f, operands, error_bound);
  f.accuracy_reference = accuracy_reference;
  f.variants(wmma(), wmma_smem(), mma_sync(), mma_cp_async(), cublas_gemm());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::matmul_tensor
