// alignment: products of contiguous square matrices at sizes with different power-of-two divisors.
//
// The question: what does the alignment of a contiguous leading dimension cost? Rows of 2·n bytes
// all start at multiples of 16 bytes only if n is a multiple of 8. An access must start at a
// multiple of its width: each missing factor of two in n doubles the instructions per byte. From n
// = 2041 to 2048 all products have the same number of tiles and of steps over K, so only the
// alignment differs.
#include "kernels/common/cublas_variant.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/mma_pipeline.cuh"
#include "kernels/common/vectors.cuh"

namespace gpuexp::alignment {

using Element = __nv_bfloat16;
// A warp accumulates only 64×32 elements of C. This leaves registers for the addresses of copies
// that are narrower than 16 bytes.
using Tile = Pipeline<Tiling<128, 128, 64, 64, 32>, 4>;
constexpr std::int64_t kTileM = Tile::kBlockM;
constexpr std::int64_t kTileN = Tile::kBlockN;

// C = A·B, all n×n, row-major, leading dimension n.
struct Problem {
  std::int64_t n;
};

struct Data {
  Element* a;
  Element* b;
  Element* c;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t divisor_pow2(std::int64_t n) {
  return n & -n;
}

Work work(const Problem& p) {
  return gemm_work(p.n, p.n, p.n, DataType::bf16, DataType::bf16, Pipe::tensor_bf16_fp32);
}

// ---- widest_access: the widest access that all rows allow
//
// Each block computes one 128×128 tile of C, with one block per SM and the same arithmetic at every
// n. The width of each access is the largest of 16, 8 and 4 bytes that divides the length of a row.
// Narrower copies need more issue slots and load-store cycles: l1tex__lsuin_requests increases as
// the width decreases. At odd n, no asynchronous copy is narrow enough for every other row, which
// passes through registers in pieces of 2 bytes.

// Access width in bytes that all rows allow: 16, 8, 4 or 2.
std::int64_t access_bytes(const Problem& p) {
  return widest_access(p.n * static_cast<std::int64_t>(sizeof(Element)));
}

// Copies kUnitBytes per access. At odd n (kUnitBytes = 4), rows that start at no multiple of 4
// bytes are copied 2 bytes at a time.
template <int kUnitBytes>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    widest_access_kernel(Problem p, const Element* a, const Element* b, Element* c) {
  extern __shared__ __align__(128) char shared[];
  const Corner corner{blockIdx.x * kTileM, blockIdx.y * kTileN};
  const Matrix<const Element> a_matrix{a, p.n, p.n};
  const Matrix<const Element> b_matrix{b, p.n, p.n};
  mma_pipeline<Element, float, Tile, kUnitBytes>(
      shared, a_matrix.window(corner.row, 0), b_matrix.window(0, corner.col), static_cast<int>(p.n),
      corner, [&](const float* slab, const Corner& at) {
        store_slab<Tile::kWarpN, kUnitBytes>(slab, Matrix<Element>{c, p.n, p.n}, at);
      });
}

auto widest_access_kernel_for(const Problem& p) {
  switch (access_bytes(p)) {
    case 16: return widest_access_kernel<16>;
    case 8: return widest_access_kernel<8>;
    default: return widest_access_kernel<4>;
  }
}

Variant widest_access() {
  Variant v("widest_access");
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.work = work;
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    constexpr double kBitsPerByte = 8.0;
    const std::int64_t tiles = ceil_div(p.n, kTileM) * ceil_div(p.n, kTileN);
    return MetricValues{{"divisor_pow2", static_cast<double>(divisor_pow2(p.n))},
                        {"load_width_bits", kBitsPerByte * static_cast<double>(access_bytes(p))},
                        {"tiles", static_cast<double>(tiles)}};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(widest_access_kernel_for(p), one_block_per_sm<Tile>(p.n, p.n, x.device), p, d.a,
                  d.b, d.c);
  };
  return v;
}

// ---- cublas: cuBLAS matrix product
//
// cublasGemmEx in bf16 with fp32 accumulation has kernels for each alignment. If 16-byte accesses
// are allowed, cuBLAS uses kernels for the newest tensor cores and copy engines, otherwise older
// kernels with narrower loads. It also chooses the tile and the split of K by size, so alignment is
// not the only cause of steps in a sweep over n.

Variant cublas_gemm() {
  Variant v = cublas_variant<Variant>("", work, [](const Problem& p, const Data& d) {
    return cublas::Gemm{
        cublas::Compute::fp32, DataType::bf16, DataType::bf16, p.n, p.n, p.n, d.a, d.b, d.c};
  });
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    return MetricValues{{"divisor_pow2", static_cast<double>(divisor_pow2(p.n))}};
  };
  return v;
}

// ---- the plain reference

GemmOperands<Element> operands(const Problem& p, const Data& d) {
  return contiguous_operands<Element>(d.a, d.b, p.n, p.n, p.n);
}

NormBound error_bound(const Problem& p) {
  return tensor_core_bound(p.n, DataType::fp32, DataType::bf16);
}

// ---- declaration

Family declare() {
  Family f("alignment", Topic::matrix_products,
           "What does the alignment of a contiguous leading dimension cost?");
  f.physics =
      "An instruction accesses up to 16 bytes per lane, at an address aligned to its width. A "
      "contiguous leading dimension of n elements of 2 bytes aligns every row to 2·divisor_pow2(n) "
      "bytes. Below 16 bytes, the same data need more instructions; below 4, they cannot be copied "
      "to shared memory asynchronously. DRAM and the tensor cores have the same work. The cost is "
      "issue slots, load-store cycles and less overlap.";
  f.extent("n", &Problem::n, 2048, kTensorCoreBoundMaxK, "rows and columns of A, B and C");
  const auto count = [](const Problem& p) { return p.n * p.n; };
  f.input("a", &Data::a, count).input("b", &Data::b, count).output("c", &Data::c, count);
  f.metric("divisor_pow2", "", "largest power of two that divides n")
      .metric("load_width_bits", "bit",
              "widest access of a lane to global memory that all rows allow")
      .metric("tiles", "", "128×128 tiles of C");
  f.plot("alignment", "divisibility",
         "Matrix-product throughput by the power of two that divides n", {{"param.n", "n"}});
  f.outputs = [](const Problem& p) { return Extent{p.n, p.n, 1}; };
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    Steps steps;
    steps += fill_uniform(d.a, p.n * p.n, stream_seed(seed, 0));
    steps += fill_uniform(d.b, p.n * p.n, stream_seed(seed, 1));
    return steps;
  };
  set_tensor_core_reference(f, operands, error_bound);
  f.variants(cublas_gemm(), widest_access());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::alignment
