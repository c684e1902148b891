// epilogue: y = residual + dropout(gelu(h + bias)), after the product h = A·B or in its epilogue.
//
// The question: what does it cost to store a matrix product's result before the next operation
// loads it? Bias, GELU, dropout and residual as four kernels need 9 passes over m×n elements, as
// one kernel 3. In the product's epilogue, where h is never stored, they need 2.
#include <algorithm>
#include <cmath>

#include "gpu/cublas_lt.hpp"
#include "kernels/common/cublas_variant.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/layer_tail.cuh"
#include "kernels/common/mma_pipeline.cuh"
#include "kernels/common/tile_order.cuh"

namespace gpuexp::epilogue {

using namespace layer_tail;

// All arrays are row-major, contiguous and bf16: A is m×k, B is k×n; h, residual, y and g are m×n.
struct Problem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  double dropout;
};

struct Data {
  T* a;
  T* b;
  T* h;  // input of the variants without a product
  T* bias;
  T* residual;
  T* y;          // computed from A·B
  T* y_given_h;  // computed from h
  T* g;          // gelu(A·B + bias)
};

constexpr int kBlock = 256, kLanes = 32;

// ---- ops: one kernel per operation
//
// Bias, GELU, dropout and the residual addition are one kernel each, with 16 bytes per access: 9
// passes, of which 6 store and load intermediate results. The dropout mask is not stored: each
// kernel that needs it generates four Philox words for four elements from their index.

template <Part... parts>
__global__ void __launch_bounds__(kBlock) tail_kernel(Tail x, const T* in, T* out) {
  const unsigned first = (blockIdx.x * kBlock + threadIdx.x) * kWidth;
  if (first + kWidth <= x.count) {
    const auto pack = load_pack<kWidth>(in + first);
    Eight residuals{};
    if constexpr (kContains<Part::residual, parts...>)
      residuals = load_pack<kWidth>(x.residual + first);
    float v[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      v[i] = i % 2 ? widen(pack.pairs[i / 2]).y : widen(pack.pairs[i / 2]).x;
    store_pack(out + first, eight<parts...>(x, v, first, first % x.n, residuals));
  } else {
#pragma unroll 1
    for (unsigned i = first; i < x.count; ++i)
      out[i] = one<parts...>(x, static_cast<float>(in[i]), i);
  }
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t elements(const Problem& p) {
  return p.m * p.n;
}
std::int64_t result_bytes(const Problem& p) {
  constexpr std::int64_t kAlignment = 256;
  return ceil_div(elements(p) * static_cast<std::int64_t>(sizeof(T)), kAlignment) * kAlignment;
}

std::uint32_t threshold(const Problem& p) {
  return static_cast<std::uint32_t>(p.dropout * 0x1p32);
}
float scale(const Problem& p) {
  return static_cast<float>(1.0 / (1.0 - p.dropout));
}
Tail tail(const Problem& p, const Data& d) {
  const auto count = static_cast<unsigned>(elements(p));
  return {d.bias, d.residual, count, static_cast<unsigned>(p.n), threshold(p), scale(p)};
}

template <Part... parts>
Steps launch_parts(const Problem& p, const Data& d, const T* in, T* out) {
  constexpr int kTile = kBlock * kWidth;
  const Shape s = shape_of_blocks({ceil_div(elements(p), kTile)}, {kBlock}, {kTile, p.n});
  return launch(tail_kernel<parts...>, s, tail(p, d), in, out);
}

// Intermediate results alternate between the workspace's first array and this one.
T* second_array(const Problem& p, T* workspace) {
  return workspace + result_bytes(p) / static_cast<std::int64_t>(sizeof(T));
}
Steps one_by_one(const Problem& p, const Data& d, const T* in, T* out, T* workspace) {
  T* const second = second_array(p, workspace);
  return launch_parts<Part::bias>(p, d, in, workspace) +
         launch_parts<Part::gelu>(p, d, workspace, second) +
         launch_parts<Part::dropout>(p, d, second, workspace) +
         launch_parts<Part::residual>(p, d, workspace, out);
}

Steps at_once(const Problem& p, const Data& d, const T* in, T* out) {
  return launch_parts<Part::bias, Part::gelu, Part::dropout, Part::residual>(p, d, in, out);
}

enum class Result { y, y_given_h, g };

// Useful work: the inputs are h or A·B, the bias and, except for g, the residual.
Work work(const Problem& p, Result result) {
  const bool with_product = result != Result::y_given_h;
  const bool is_whole = result != Result::g;
  Work w = gemm_work(p.m, p.n, with_product ? p.k : 0, DataType::bf16, DataType::bf16,
                     Pipe::tensor_bf16_fp32);
  if (!with_product) w.operations.clear();
  for (const std::int64_t count : {p.n, is_whole ? elements(p) : 0, with_product ? 0 : elements(p)})
    w = w + reads<T>(count);
  // Bias: 1, GELU: 7; comparison, scale and residual: 3.
  const double operations = is_whole ? 11 : 8;
  w.operations.push_back({Pipe::fp32, operations * static_cast<double>(elements(p))});
  return w;
}

using Launch = Steps (*)(const Problem& p, const Data& d, T* workspace);

Variant variant(std::string id, std::string compare_to, double passes, Result result,
                ExpectedChangesOf<Problem> expected, Launch launch) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {result == Result::y ? "y" : result == Result::g ? "g" : "y_given_h"};
  v.work = [result](const Problem& p) { return work(p, result); };
  v.metrics = [passes](const Problem&, const DeviceSpec&) {
    return MetricValues{{"passes", passes}};
  };
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) { return 2 * result_bytes(p); };
  v.launch = [launch](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(p, d, static_cast<T*>(x.workspace));
  };
  return v;
}

Variant ops() {
  return variant("ops", "", 9, Result::y_given_h, {},
                 [](const Problem& p, const Data& d, T* workspace) {
                   return one_by_one(p, d, d.h, d.y_given_h, workspace);
                 });
}

// ---- fused: one kernel for all four operations
//
// One kernel loads h and the residual and stores y: 3 passes over m×n elements instead of 9, so
// l2_sectors decreases. dram_write_bytes decreases from four passes to one, dram_read_bytes from
// five to two. warp_instructions decreases by the loads, stores and addresses of three kernels.
// Philox and GELU take the same instructions but a larger share of the time: issue_active_pct
// increases. Intermediate results are not rounded to bf16.
// held: dram_write_bytes = 1/4 × ops within 3 % at k=64; dram_read_bytes = 2/5 × ops at k=64

constexpr auto is_large = at_least(elements, 1 << 16);  // most blocks are whole

bool is_deep(const Problem& p) {
  return is_large(p) && p.k >= 256;
}
// True if every kernel loads from DRAM, because L2 keeps too little of the previous kernel's data.
constexpr auto beyond_caches = at_least(result_bytes, 1 << 28);

Variant fused() {
  return variant(
      "fused", "ops", 3, Result::y_given_h,
      {{"dram_write_bytes", Direction::decreases, 3, beyond_caches},
       {"dram_read_bytes", Direction::decreases, 2.2, beyond_caches},
       {"l2_sectors", Direction::decreases, 2.5, is_large},
       {"warp_instructions", Direction::decreases, 1.2, is_large},
       {"issue_active_pct", Direction::increases, 1.3, beyond_caches}},
      [](const Problem& p, const Data& d, T*) { return at_once(p, d, d.h, d.y_given_h); });
}

// ---- product_ops: a product, then one kernel per operation
//
// A product with mma.sync and cp.async stores its sums as bf16, and four kernels follow it: 10
// passes over m×n elements in addition to A and B. Two blocks share an SM, so one multiplies while
// the other stores. The product executes 2·k operations per element of h, and the passes move the
// same bytes at any k.

// Copies of 4 bytes need registers for addresses: each warp has half as many sums, and one block
// fits on an SM.
template <int kUnitBytes>
using Product = Pipeline<Tiling<128, 128, 64, 64, kUnitBytes == 16 ? 64 : 32>, 4>;

// Applies `parts` to 16 rows of a warp's sums and stores them; `at` is their first element in y.
template <int kCols, Part... parts>
__device__ void store_sums(const float* slab, const Tail& x, std::int64_t m, const Corner& at,
                           T* y) {
  using S = Slab<float, kCols>;
  const int rows = static_cast<int>(min(m - at.row, std::int64_t{S::kRows}));
  const int columns = static_cast<int>(min(x.n - at.col, std::int64_t{kCols}));
  const auto corner = static_cast<unsigned>(at.row * x.n + at.col);
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  if (x.n % kWidth == 0) {
    constexpr int kStep = kLanes * kWidth / kCols;  // rows per iteration
    const int row = lane * kWidth / kCols;
    const int column = lane * kWidth % kCols;
    if (column >= columns) return;
    Eight residuals[S::kRows / kStep];  // all loads before the first use
#pragma unroll
    for (int i = 0; i < S::kRows / kStep; ++i)
      if (kContains<Part::residual, parts...> && row + i * kStep < rows)
        residuals[i] = load_pack<kWidth>(x.residual + corner + (row + i * kStep) * x.n + column);
#pragma unroll
    for (int i = 0; i < S::kRows / kStep; ++i) {
      if (row + i * kStep >= rows) return;
      float v[kWidth];
#pragma unroll
      for (int j = 0; j < kWidth; j += 4)
        *reinterpret_cast<float4*>(v + j) =
            *reinterpret_cast<const float4*>(slab + (row + i * kStep) * S::kPitch + column + j);
      const unsigned first = corner + (row + i * kStep) * x.n + column;
      store_pack(y + first, eight<parts...>(x, v, first, at.col + column, residuals[i]));
    }
  } else {
#pragma unroll 1
    for (int i = lane; i < S::kRows * kCols; i += kLanes) {
      const unsigned place = corner + i / kCols * x.n + i % kCols;
      if (i / kCols < rows && i % kCols < columns)
        y[place] = one<parts...>(x, slab[i / kCols * S::kPitch + i % kCols], place);
    }
  }
}

template <int kUnitBytes, Part... parts>
__global__ void __launch_bounds__(Product<kUnitBytes>::kThreads, kUnitBytes == 16 ? 2 : 1)
    product_kernel(Problem p, const T* a, const T* b, Tail x, T* out) {
  using P = Product<kUnitBytes>;
  constexpr unsigned kGroupRows = 16;  // rows of tiles per group, for a nearly square patch
  extern __shared__ __align__(128) char shared[];
  const auto tile = grouped_tile<kGroupRows>();
  const Corner corner{static_cast<std::int64_t>(tile.row) * P::kBlockM,
                      static_cast<std::int64_t>(tile.column) * P::kBlockN};
  mma_pipeline<T, float, P, kUnitBytes>(shared, Matrix<const T>{a, p.m, p.k}.window(corner.row, 0),
                                        Matrix<const T>{b, p.k, p.n}.window(0, corner.col),
                                        static_cast<int>(p.k), corner,
                                        [&](const float* slab, const Corner& at) {
                                          store_sums<P::kWarpN, parts...>(slab, x, p.m, at, out);
                                        });
}

template <Part... parts>
Steps launch_product(const Problem& p, const Data& d, T* out) {
  const auto in_units_of = [&](auto bytes) {
    using P = Product<bytes()>;
    return launch(
        product_kernel<bytes(), parts...>,
        shape_of_tiles({p.m, p.n}, {P::kBlockM, P::kBlockN}, P::kThreads, P::kSharedBytes), p, d.a,
        d.b, tail(p, d), out);
  };
  if ((p.n | p.k) % kWidth == 0) return in_units_of(std::integral_constant<int, 16>{});
  return in_units_of(std::integral_constant<int, 4>{});
}

Variant product(Variant v) {
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.unsupported = [](const Problem&, const DeviceSpec& device) {
    return lacks_shared_memory(device,
                               std::max(Product<16>::kSharedBytes, Product<4>::kSharedBytes));
  };
  return v;
}

Variant product_ops() {
  return product(variant("product_ops", "ops", 10, Result::y,
                         {{"tensor_instructions", Direction::increases, 4, is_deep}},
                         [](const Problem& p, const Data& d, T* workspace) {
                           T* const h = second_array(p, workspace);
                           return launch_product<>(p, d, h) + one_by_one(p, d, h, d.y, workspace);
                         }));
}

// ---- product_fused: a product, then one kernel
//
// A compiler that fuses elementwise operations and calls a library for the product generates this:
// h is stored and loaded again, and 4 passes are left. dram_write_bytes falls from five passes to
// two.

Variant product_fused() {
  return product(variant("product_fused", "product_ops", 4, Result::y,
                         {{"dram_write_bytes", Direction::decreases, 2, beyond_caches},
                          {"global_store_sectors", Direction::decreases, 2, is_large}},
                         [](const Problem& p, const Data& d, T* h) {
                           return launch_product<>(p, d, h) + at_once(p, d, h, d.y);
                         }));
}

// ---- product_epilogue: all operations in the product's epilogue
//
// The product applies bias, GELU, dropout and residual to its accumulators and stores y, in one
// launch. h is neither stored nor loaded: 2 passes instead of 4, and dram_write_bytes and
// global_store_sectors decrease. The cost is occupancy: a product's registers leave 8 warps per SM
// to execute GELU and Philox, and product_fused's second kernel has several times as many warps.
// While a block executes its epilogue, only the other block of its SM multiplies. If 8 does not
// divide n and k, only one block fits on an SM, and product_epilogue is slower than product_fused
// on an H200.

// At odd n a request of the product stores 64 bytes to at most 3 sectors instead of 2.
// product_fused stores h in such requests and y in whole sectors; product_epilogue stores only y:
// (3 + 2)/3 at least.
constexpr double kFewerStores = 1.65;

Variant product_epilogue() {
  return product(variant(
      "product_epilogue", "product_fused", 2, Result::y,
      {{"dram_write_bytes", Direction::decreases, 1.7, beyond_caches},
       {"global_store_sectors", Direction::decreases, kFewerStores, is_large}},
      [](const Problem& p, const Data& d, T*) {
        return launch_product<Part::bias, Part::gelu, Part::dropout, Part::residual>(p, d, d.y);
      }));
}

// ---- cublas_fused: cuBLAS, then one kernel
//
// This is product_fused with the product by cuBLAS, which issues wgmma. Fusing operations into a
// product that is slower than cuBLAS by more time than the saved passes take is no gain.

Steps cublas_product(const Problem& p, const Data& d, T* h) {
  return cublas::step_of(cublas::Gemm{cublas::Compute::fp32, DataType::bf16, DataType::bf16, p.m,
                                      p.n, p.k, d.a, d.b, h});
}

Variant library(Variant v, std::optional<std::string> (*unavailable)()) {
  v.is_vendor = true;
  v.unavailable = unavailable;
  return v;
}

Variant cublas_fused() {
  return library(variant("cublas_fused", "product_fused", 4, Result::y, {},
                         [](const Problem& p, const Data& d, T* h) {
                           return cublas_product(p, d, h) + at_once(p, d, h, d.y);
                         }),
                 cublas::unavailable);
}

// ---- cublaslt_fused: cuBLASLt with bias and GELU in its epilogue, then one kernel
//
// cuBLASLt has epilogues with bias and GELU, but none with dropout. Its product stores gelu(h +
// bias) instead of h, and one kernel applies dropout and adds the residual. These are 4 passes, as
// in cublas_fused: only GELU's instructions move to the product. At odd n and k cuBLASLt runs a
// kernel that moves more bytes than cublas_fused and takes several times as long on an H200.

Steps cublaslt_product(const Problem& p, const Data& d, T* g, T* workspace) {
  return cublas_lt::step_of({DataType::bf16, p.m, p.n, p.k, d.a, d.b, d.bias, g,
                             second_array(p, workspace), cublas_lt::kWorkspaceBytes});
}

Variant cublaslt(Variant v) {
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return result_bytes(p) + cublas_lt::kWorkspaceBytes;
  };
  return library(std::move(v), cublas_lt::unavailable);
}

Variant cublaslt_fused() {
  return cublaslt(variant("cublaslt_fused", "cublas_fused", 4, Result::y, {},
                          [](const Problem& p, const Data& d, T* workspace) {
                            return cublaslt_product(p, d, workspace, workspace) +
                                   launch_parts<Part::dropout, Part::residual>(p, d, workspace,
                                                                               d.y);
                          }));
}

// ---- cublas_gelu: cuBLAS, then a kernel with bias and GELU
//
// g = gelu(A·B + bias), without dropout and residual, as in a transformer's feed-forward block: h
// is stored and loaded again, 3 passes.

Variant cublas_gelu() {
  return library(variant("cublas_gelu", "", 3, Result::g, {},
                         [](const Problem& p, const Data& d, T* h) {
                           return cublas_product(p, d, h) +
                                  launch_parts<Part::bias, Part::gelu>(p, d, h, d.g);
                         }),
                 cublas::unavailable);
}

// ---- cublaslt_gelu: all operations in cuBLASLt's epilogue
//
// cuBLASLt's epilogue applies bias and GELU and stores g. h is never stored: 1 pass instead of 3,
// and for large results dram_write_bytes decreases from two passes to one. The cost is GELU's
// instructions between accumulation and store, during which another warpgroup can multiply its
// tile. At odd n and k cuBLASLt runs a kernel that takes several times as long as cublas_gelu on an
// H200.

Variant cublaslt_gelu() {
  return cublaslt(variant("cublaslt_gelu", "cublas_gelu", 1, Result::g,
                          {{"dram_write_bytes", Direction::decreases, 1.7, beyond_caches}},
                          [](const Problem& p, const Data& d, T* workspace) {
                            return cublaslt_product(p, d, d.g, workspace);
                          }));
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  // A product of two inputs has a variance of 1/9; this scale gives a sum of k products a variance
  // of about 1.
  const int exponent = static_cast<int>(std::lround(std::log2(3.0 / std::sqrt(p.k))));
  return fill_uniform(d.a, p.m * p.k, stream_seed(seed, 0)) +
         fill_uniform(d.b, p.k * p.n, stream_seed(seed, 1), std::ldexp(1.0f, exponent)) +
         fill_uniform(d.h, elements(p), stream_seed(seed, 2), 4.0f) +
         fill_uniform(d.bias, p.n, stream_seed(seed, 3)) +
         fill_uniform(d.residual, elements(p), stream_seed(seed, 4));
}

// ---- the plain reference

// Returns element i of y from element i of h and the magnitude of its error. g has no dropout and
// no residual.
struct ReferenceTail {
  const T* bias;
  const T* residual;
  std::int64_t n;
  std::uint32_t threshold;
  double scale;
  __host__ __device__ ReferenceElement operator()(ReferenceElement h, std::int64_t i) const {
    const double b = to_double(bias[i % n]);
    const double r = residual ? to_double(residual[i]) : 0.0;
    if (philox_word(kDropoutSeed, static_cast<std::uint64_t>(i)) < threshold) return {r, 0.0};
    const double gelu = exact_gelu_tanh(h.value + b);
    return {scale * gelu + r, scale * (h.magnitude + fabs(b)) + fabs(r)};
  }
};

ReferenceTail reference_tail(const Problem& p, const Data& d, Result result) {
  if (result == Result::g) return {d.bias, nullptr, p.n, 0, 1.0};
  return {d.bias, d.residual, p.n, threshold(p), scale(p)};
}

struct ReferenceGivenH {
  ReferenceTail tail;
  const T* h;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return tail({to_double(h[i]), fabs(to_double(h[i]))}, i);
  }
};

struct ReferenceProduct {
  ReferenceTail tail;
  GemmOperands<T> operands;
  NormBound bound;

  __device__ ReferenceElement operator()(std::int64_t i) const {
    return tail(gemm_element(operands, i / operands.n, i % operands.n, bound), i);
  }
  void on_host(const ReferenceView& out, std::int64_t first, std::int64_t end) const {
    GemmPanels<T, NormBound>{operands, bound, operands.n}.on_host(out, first, end);
    for (std::int64_t i = first; i < end; ++i) {  // out has elements of h
      const ReferenceElement y = tail({out.value[i], out.magnitude[i]}, i);
      out.value[i] = y.value;
      out.magnitude[i] = y.magnitude;
    }
  }
};

NormBound bound(const Problem& p) {
  return tensor_core_bound(p.k, DataType::fp32, DataType::bf16);
}

GemmOperands<T> operands(const Problem& p, const Data& d) {
  return contiguous_operands<T>(d.a, d.b, p.m, p.n, p.k);
}

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  Steps steps;
  for (const Result result : {Result::y, Result::y_given_h, Result::g}) {
    const ReferenceView& to = out[static_cast<int>(result)];
    const ReferenceTail tail = reference_tail(p, d, result);
    if (!to) continue;
    if (result == Result::y_given_h) {
      steps += evaluate_reference(to, elements(p), ReferenceGivenH{tail, d.h});
      continue;
    }
    const ReferenceProduct product{tail, operands(p, d), bound(p)};
    steps += evaluate_reference(to, elements(p), product, [product, to](auto first, auto end) {
      product.on_host(to, first, end);
    });
  }
  return steps;
}

Tolerance tolerance(const Problem& p) {
  constexpr double kRoundings = 6;
  const double stored = unit_roundoff(DataType::bf16);
  const double rms = stored + 2 * tensor_core_sum_rms(p.k, DataType::fp32);
  return {kRoundings * stored, 0.0, kRmsSafety * rms, 0.0};
}

// ---- declaration

Family declare() {
  Family f("epilogue", Topic::fusion,
           "What does it cost to store a product's result before the next operation loads it?");
  f.physics =
      "Elementwise operations after a matrix product are limited by bytes: each kernel costs a "
      "pass in and a pass out. When the product is done, its sums are in registers, and operations "
      "applied before the store cost no pass. They delay the tensor cores instead. The gain is the "
      "passes' share of the total time, which decreases as k grows.";
  f.extent("m", &Problem::m, 16384, 1 << 16, "rows of A, h and y")
      .extent("n", &Problem::n, 16384, 1 << 16, "columns of B, h and y")
      .extent("k", &Problem::k, 1024, 1 << 16,
              "columns of A, rows of B; ignored by variants without a product")
      .real("dropout", &Problem::dropout, 0.1, 0.0, 0.9, "", "probability of dropping an element");
  f.input("a", &Data::a, elements_of_a<Problem>)
      .input("b", &Data::b, elements_of_b<Problem>)
      .input("h", &Data::h, elements)
      .input("bias", &Data::bias, [](const Problem& p) { return p.n; })
      .input("residual", &Data::residual, elements)
      .output("y", &Data::y, elements)
      .output("y_given_h", &Data::y_given_h, elements)
      .output("g", &Data::g, elements);
  f.metric("passes", "", "reads and writes of an m×n array by the kernels of a launch");
  f.plot("epilogue", "traffic", "Epilogue of a matrix product: throughput");
  f.outputs = [](const Problem& p) { return Extent{p.m, p.n, 1}; };
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (elements(p) < std::int64_t{1} << 31) return std::nullopt;
    return "m·n must be below 2^31: element indices are 32 bits wide";
  };
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "U = 2^-8 (bf16), u = 2^-24 (fp32), s = 1/(1 - dropout). If each operation stores its "
      "result, h has an error of U·|h| (plus the product's bound, below) and t = h + bias an error "
      "of U·|t|; GELU multiplies both by at most 1.13. GELU(t), at most |t|, is rounded to U, and "
      "so is s times GELU(t); the sum with the residual is rounded once more. With |t| <= |h| + "
      "|bias|, the error is below (1.13 + 1.13 + 3)·U·s·(|h| + |bias|) + U·|residual|. This is "
      "within 6·U of the magnitude s·(|h| + |bias|) + |residual|, including tanh.approx's 2^-11 "
      "(PTX ISA), 0.07·U of |t|. A dropped element is exactly the residual. gelu(h + bias) without "
      "dropout has the roundings of h, if h is stored, and its own. For the RMS error, each "
      "rounding has 0.42·U. The roundings of h and t reach y scaled by the mean square of GELU's "
      "slope, one half. Four roundings thus add 2 to 2.2 times 0.42·U of y's RMS, below U, and the "
      "two of gelu(h + bias) add 1.4 times 0.42·U. The bounds are twice the RMS errors, plus the "
      "bound of the sum. The product: ";
  f.tolerance_derivation += kTensorCoreBoundDerivation;
  f.variants(ops(), fused(), product_ops(), product_fused(), product_epilogue(), cublas_fused(),
             cublaslt_fused(), cublas_gelu(), cublaslt_gelu());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::epilogue
