// wave_quantization: a matrix product that loses half its throughput when one row is added.
//
// The question: how does the number of tiles affect throughput if nothing else changes? A GPU with
// S SMs computes S tiles at a time, a wave. If every tile takes the same time, time increases in
// steps at sizes with S + 1, 2·S + 1, … tiles. With tiles of 256×128 and M = N this is 2048 → 2049
// on 132 SMs (128 → 153 tiles) and 1792 → 1793 on 108 SMs (98 → 120).
//
// The tile is always 256×128 with one block per SM; a library would choose different kernels for
// different sizes. Operands are stored in whole tiles, with zeros as padding. Rows of B have a
// stride of `pitch` elements for any n, and rows of A a stride of k rounded up to 32. C is stored
// in panels of 128 columns, because in rows of `pitch` elements no tile would write the columns
// between n and the pitch.
#include "kernels/common/gemm.cuh"
#include "kernels/common/launch.cuh"
#include "kernels/common/mma_pipeline.cuh"

namespace gpuexp::wave_quantization {

using Element = __nv_bfloat16;
using Tile = Pipeline<Tiling<256, 128, 64, 64, 64>, 4>;
constexpr std::int64_t kTileM = Tile::kBlockM;
constexpr std::int64_t kTileN = Tile::kBlockN;
constexpr std::int64_t kTileK = Tile::kDepth<Element>;

// C (n×n) = A (n×k) · B (k×n), stored in whole tiles:
//   A  stored_rows() × stored_k(), row-major
//   B  stored_k() × pitch, row-major
//   C  stored_columns() / 128 panels of stored_rows() × 128, each row-major
struct Problem {
  std::int64_t n;
  std::int64_t k;
  std::int64_t pitch;
  __host__ __device__ std::int64_t stored_rows() const {
    return (n + kTileM - 1) / kTileM * kTileM;
  }
  __host__ __device__ std::int64_t stored_columns() const {
    return (n + kTileN - 1) / kTileN * kTileN;
  }
  __host__ __device__ std::int64_t stored_k() const { return (k + kTileK - 1) / kTileK * kTileK; }
};

struct Data {
  Element* a;
  Element* b;
  Element* c;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- fixed_tile: one 256×128 tile per block, one block per SM
//
// Each block computes one 256×128 tile, and its shared memory limits the SM to one block. The cost
// is coarse steps: on a GPU of 132 SMs a wave is 132 tiles, and a tile after the last full wave
// keeps one SM busy while the others idle. The time should increase at full waves and be constant
// between them; sm__cycles_active.avg compared with sm__cycles_active.max shows the idle SMs.

__global__ void __launch_bounds__(Tile::kThreads, 1)
    fixed_tile_kernel(Problem p, const Element* a, const Element* b, Element* c) {
  extern __shared__ __align__(128) char shared[];
  constexpr int kUnitBytes = 16;
  const std::int64_t rows = p.stored_rows();
  const std::int64_t depth = p.stored_k();
  const Corner corner{blockIdx.x * kTileM, blockIdx.y * kTileN};
  const Matrix<const Element> a_matrix{a, rows, depth};
  const Matrix<const Element> b_matrix{b, depth, p.pitch};
  const Matrix<Element> panel{c + corner.col * rows, rows, kTileN};
  mma_pipeline<Element, float, Tile, kUnitBytes>(
      shared, a_matrix.window(corner.row, 0), b_matrix.window(0, corner.col),
      static_cast<int>(depth), {corner.row, 0},
      [&](const float* slab, const Corner& at) { store_slab<Tile::kWarpN>(slab, panel, at); });
}

Shape fixed_tile_shape(const Problem& p, const DeviceSpec& device) {
  return one_block_per_sm<Tile>(p.n, p.n, device);
}

// Useful work is the n×n product; the padding is loaded, computed and stored as well.
Work work(const Problem& p) {
  const auto of = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return gemm_work(m, n, k, DataType::bf16, DataType::bf16, Pipe::tensor_bf16_fp32);
  };
  return padded_work(of(p.n, p.n, p.k), of(p.stored_rows(), p.stored_columns(), p.stored_k()));
}

MetricValues wave_metrics(const Problem& p, const DeviceSpec& device) {
  const std::int64_t tiles = fixed_tile_shape(p, device).grid.count();
  const std::int64_t waves = ceil_div(tiles, device.sm_count);
  const double slots = static_cast<double>(waves * device.sm_count);
  const double tail = static_cast<double>(tiles) / slots;
  const double useful =
      static_cast<double>(p.n * p.n) / static_cast<double>(p.stored_rows() * p.stored_columns());
  return {{"tiles", static_cast<double>(tiles)},
          {"waves", static_cast<double>(waves)},
          {"tail_efficiency_pct", 100.0 * tail},
          {"tile_efficiency_pct", 100.0 * useful},
          {"predicted_relative_pct", 100.0 * tail * useful},
          {"divisor_pow2", static_cast<double>(p.n & -p.n)}};
}

Variant fixed_tile() {
  Variant v("fixed_tile");
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.work = work;
  v.metrics = wave_metrics;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(fixed_tile_kernel, fixed_tile_shape(p, x.device), p, d.a, d.b, d.c);
  };
  return v;
}

// ---- the plain reference

GemmOperands<Element> operands(const Problem& p, const Data& d) {
  return {d.a, p.stored_k(), d.b, p.pitch, p.stored_rows(), p.stored_columns(), p.k};
}

NormBound error_bound(const Problem& p) {
  return tensor_core_bound(p.k, DataType::fp32, DataType::bf16);
}

// ---- declaration

std::optional<std::string> unsupported(const Problem& p, const DeviceSpec&) {
  if (p.pitch % kTileN != 0) return "needs a pitch that is a multiple of 128, the tile's columns";
  if (p.n > p.pitch) return "needs n up to the pitch, the length of a stored row of B";
  return std::nullopt;
}

Family declare() {
  Family f("wave_quantization", Topic::execution,
           "How does the number of tiles affect throughput when all tiles have equal work?");
  f.physics =
      "Blocks of equal work run in waves of as many blocks as the SMs hold at once. The last wave "
      "takes as long as a full one, so time is a staircase in the number of tiles, and throughput "
      "a sawtooth in n. predicted_relative_pct is the predicted share of a fully busy GPU's rate: "
      "the product of tail efficiency (tiles over the slots of all waves) and tile efficiency (n² "
      "over the area of the tiles).";
  f.extent("n", &Problem::n, 2048, 1 << 16, "rows of A and C, columns of B and C")
      .extent("k", &Problem::k, 1024, kTensorCoreBoundMaxK, "columns of A, rows of B")
      .integer("pitch", &Problem::pitch, 4608, kTileN, 1 << 16, "elements",
               "leading dimension of B, the same for a whole sweep of n; a multiple of 128");
  f.input("a", &Data::a, [](const Problem& p) { return p.stored_rows() * p.stored_k(); })
      .input("b", &Data::b, [](const Problem& p) { return p.stored_k() * p.pitch; })
      .output("c", &Data::c, [](const Problem& p) { return p.stored_rows() * p.stored_columns(); });
  f.metric("tiles", "", "256×128 tiles of C, one block each")
      .metric("waves", "", "number of waves: tiles divided by SMs, rounded up")
      .metric("tail_efficiency_pct", "%", "tiles divided by waves × SMs")
      .metric("tile_efficiency_pct", "%", "n×n elements of C divided by the elements of its tiles")
      .metric("predicted_relative_pct", "%",
              "predicted throughput relative to a GPU whose SMs are always busy with whole tiles: "
              "tail efficiency times tile efficiency")
      .metric("divisor_pow2", "", "largest power of two that divides n; it should have no effect");
  f.plot("wave_quantization", "sawtooth", "Wave quantization: throughput by matrix size",
         {{"param.n", "n"}});
  f.outputs = [](const Problem& p) { return Extent{p.n, p.n, 1}; };
  f.unsupported = unsupported;
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    Steps steps;
    steps += fill_uniform_padded(d.a, p.stored_rows() * p.stored_k(), p.n, p.k, p.stored_k(),
                                 stream_seed(seed, 0));
    steps +=
        fill_uniform_padded(d.b, p.stored_k() * p.pitch, p.k, p.n, p.pitch, stream_seed(seed, 1));
    return steps;
  };
  f.reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    return evaluate_gemm(operands(p, d), error_bound(p), out[0], kTileN);
  };
  f.tolerance_derivation = kTensorCoreBoundDerivation;
  f.tolerance = [](const Problem& p) { return error_bound(p).tolerance(); };
  f.variant(fixed_tile());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::wave_quantization
