// tensor_rate: the maximum number of operations per second of the tensor cores.
//
// The question: what is the ceiling of a matrix product on this device for each type? Only the
// right instruction reaches the datasheet's rate, at a clock that the power limit may not allow.
// Here only this instruction runs: operands are loaded once, and every warp (or warpgroup) adds the
// product of the same operands to the same sums, again and again.
//
// A tile is a sum of 64×256 over `steps` products; a product is 32 bytes deep in K for every type.
// A and B hold four such slices, which are used in rotation, and all tiles multiply the same A and
// B. The tiles keep every SM busy for milliseconds, until clocks have decreased to what the power
// limit allows. Operands are random, because zeros would use less power.
#include <algorithm>

#include "kernels/common/compiled_for.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/mma_sync.cuh"
#include "kernels/common/wgmma.cuh"
#include "kernels/tensor_rate/operands.cuh"

namespace gpuexp::tensor_rate {

constexpr int kRows = 64;
constexpr int kColumns = 256;
constexpr int kTile = kRows * kColumns;
constexpr int kSlices = 4;
constexpr int kSliceWords = 8;
constexpr int kRowWords = kSlices * kSliceWords;
constexpr int kMaxSteps = 2048;

struct Problem {
  std::int64_t tiles;
  int steps;
  Pipe pipe;
};

// With d = depth(p) elements in the four slices of a row:
//   a  64 × d, row-major; b  256 × d, a row for each column of B; c  tiles of 64 × 256, row-major
// `a` and `b` are the operands in the type that the pipe multiplies, 32 words per row, converted
// from the integers a_numbers and b_numbers.
struct Data {
  std::int32_t* a_numbers;
  std::int32_t* b_numbers;
  std::uint32_t* a;
  std::uint32_t* b;
  void* c;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- mma_sync: one warp, operands in registers
//
// Each warp issues mma.sync with A and B in registers: m16n8 by 32 bytes (fp64: m8n8k4). It has
// eight independent accumulator tiles, and 16 warps are resident per SM. This saturates the tensor
// cores up to Ampere and Ada. Hopper's tensor cores reach their full rate only with operands in
// shared memory, and less with operands in registers (configs/ceilings/h200.json). If the pipe
// itself is the limit, it is active in nearly every cycle (sm__pipe_tensor_cycles_active).

// A block of eight warps computes 64×128 sums, and a warp 32×32, as 2×4 independent accumulator
// tiles of 16×8. Two blocks are resident per SM, so that one multiplies while the other starts or
// stores.
constexpr int kMmaBlock = 256;
constexpr int kMmaColumns = 128;

// The type Sum in which the products of a type are accumulated; defined below.
template <class In>
struct Arithmetic;

// Calls slice(j) for the steps % kSlices steps of an incomplete round, then round() for each whole
// round.
template <class Round, class Slice>
__device__ void for_steps(int steps, Round round, Slice slice);

template <class In>
__global__ void __launch_bounds__(kMmaBlock, 2)
    mma_sync_kernel(const std::uint32_t* a, const std::uint32_t* b, void* c, int steps) {
  using Sum = typename Arithmetic<In>::Sum;
  constexpr int kRowFragments = 2;
  constexpr int kColumnFragments = 4;
  const int warp = threadIdx.x / kWarp;
  const int g = threadIdx.x % kWarp / 4;
  const int t = threadIdx.x % 4;
  const int row = warp % 2 * 32 + g;
  const int column = static_cast<int>(blockIdx.x % 2) * kMmaColumns + warp / 2 * 32;

  unsigned a_fragments[kSlices][kRowFragments][4];
  unsigned b_fragments[kSlices][kColumnFragments][2];
#pragma unroll
  for (int j = 0; j < kSlices; ++j) {
#pragma unroll
    for (int i = 0; i < 4 * kRowFragments; ++i)
      a_fragments[j][i / 4][i % 4] =
          a[(row + i / 4 * 16 + i % 2 * 8) * kRowWords + j * kSliceWords + t + i % 4 / 2 * 4];
#pragma unroll
    for (int i = 0; i < 2 * kColumnFragments; ++i)
      b_fragments[j][i / 2][i % 2] =
          b[(column + i / 2 * 8 + g) * kRowWords + j * kSliceWords + t + i % 2 * 4];
  }
  MmaSums<Sum> sums[kRowFragments][kColumnFragments];
  const auto slice = [&](int j) {
#pragma unroll
    for (int i = 0; i < kRowFragments * kColumnFragments; ++i)
      mma<In>(sums[i % 2][i / 2], a_fragments[j][i % 2], b_fragments[j][i / 2]);
  };
  for_steps(
      steps,
      [&] {
#pragma unroll
        for (int j = 0; j < kSlices; ++j)
          slice(j);
      },
      slice);

  Sum* const tile = static_cast<Sum*>(c) + static_cast<std::int64_t>(blockIdx.x / 2) * kTile;
#pragma unroll
  for (int i = 0; i < kRowFragments * kColumnFragments * 4; ++i) {
    const int at_row = row + i / 16 * 16 + i % 4 / 2 * 8;
    const int at_column = column + i / 4 % 4 * 8 + 2 * t + i % 2;
    tile[at_row * kColumns + at_column] = sums[i / 16][i / 4 % 4].x[i % 4];
  }
}

template <class Round, class Slice>
__device__ void for_steps(int steps, Round round, Slice slice) {
#pragma unroll
  for (int j = 0; j < kSlices - 1; ++j) {
    if (j < steps % kSlices) slice(j);
  }
#pragma unroll 1
  for (int left = steps / kSlices; left > 0; --left)
    round();
}

// ---- what the variants share

/// The accumulator type of the products of a type, and the largest operand.
template <class Sum_, std::int64_t kLargest_>
struct SumsOf {
  using Sum = Sum_;
  static constexpr std::int64_t kLargest = kLargest_;
};
template <class In>
struct Arithmetic : SumsOf<float, 511> {};  // tf32 and fp16 have 11 bits
template <>
struct Arithmetic<__nv_bfloat16> : SumsOf<float, 255> {};  // 8 bits
template <>
struct Arithmetic<__nv_fp8_e4m3> : SumsOf<float, 11> {};  // 4 bits
template <>
struct Arithmetic<std::int8_t> : SumsOf<std::int32_t, 127> {};
template <>
struct Arithmetic<double> : SumsOf<double, (1 << 24) - 1> {};

template <class In>
constexpr int kSliceDepth = kSliceWords * 4 / static_cast<int>(sizeof(In));
// Bound on every sum: two slices of products of one sign within a round, two before the rounds, and
// a drift of one per round.
template <class In>
constexpr std::int64_t kLargestSum =
    4 * kSliceDepth<In>* Arithmetic<In>::kLargest* Arithmetic<In>::kLargest + kMaxSteps / kSlices;
static_assert(kLargestSum<__half> < 1 << 24 && kLargestSum<__nv_bfloat16> < 1 << 24 &&
                  kLargestSum<float> < 1 << 24 && kLargestSum<__nv_fp8_e4m3> < 1 << 14 &&
                  kLargestSum<double> < std::int64_t{1} << 53 &&
                  kLargestSum<std::int8_t> < std::int64_t{1} << 31,
              "all sums are exact: tolerance_derivation");

// Calls f with a value of the type that the pipe multiplies; tf32 is stored as float.
template <class Function>
auto with_input_type(const Problem& p, Function f) {
  switch (p.pipe) {
    case Pipe::tensor_fp64: return f(double{});
    case Pipe::tensor_tf32: return f(float{});
    case Pipe::tensor_fp16_fp32: return f(__half{});
    case Pipe::tensor_bf16_fp32: return f(__nv_bfloat16{});
    case Pipe::tensor_fp8_fp32: return f(__nv_fp8_e4m3{});
    case Pipe::tensor_int8_int32: return f(std::int8_t{});
    default: throw std::logic_error("tensor_rate has no such pipe");
  }
}

DataType sum_type(const Problem& p) {
  if (p.pipe == Pipe::tensor_fp64) return DataType::fp64;
  return p.pipe == Pipe::tensor_int8_int32 ? DataType::int32 : DataType::fp32;
}

int slice_depth(const Problem& p) {
  return with_input_type(p, [](auto in) { return kSliceDepth<decltype(in)>; });
}
int depth(const Problem& p) {
  return kSlices * slice_depth(p);
}

Work work(const Problem& p) {
  const double tiles = static_cast<double>(p.tiles);
  return moves_bytes((kRows + kColumns) * kRowWords * static_cast<double>(sizeof(std::uint32_t)),
                     tiles * kTile * static_cast<double>(size_of(sum_type(p)))) +
         computes(p.pipe, 2.0 * kTile * slice_depth(p) * p.steps * tiles);
}

using Kernel = void (*)(const std::uint32_t*, const std::uint32_t*, void*, int);

// A kernel whose blocks of `threads` threads compute 1 / blocks_per_tile of a tile each.
struct Launchable {
  Kernel kernel;
  int threads;
  int blocks_per_tile;
};

template <class KernelFor>
Variant product_variant(KernelFor kernel_for) {
  Variant v;
  v.work = work;
  v.launch = [kernel_for](const Problem& p, const Data& d, const LaunchContext&) {
    const Launchable k = kernel_for(p);
    const Shape s =
        shape_of_blocks({p.tiles * k.blocks_per_tile}, {k.threads}, {kTile / k.blocks_per_tile});
    return launch(k.kernel, s, d.a, d.b, d.c, p.steps);
  };
  return v;
}

// Other instead of double, for which the kernel has no instance; otherwise In.
template <class Other, class In>
using NarrowOr = std::conditional_t<std::is_same<In, double>::value, Other, In>;

// ---- fp64 with 8 bytes per element: a slice is 4 deep

// A block of eight warps computes 64×64 sums, and a warp 16×32. Products have 8 rows and depth 4
// or, with compute capability 9.0, 16 rows and depth 16, which is a whole round of slices. A lane
// holds rows g and g+8 of A and columns g of B, at depths t, t+4, t+8 and t+12: one element per
// slice.
template <int kDepth>
__global__ void __launch_bounds__(kMmaBlock, 2)
    mma_sync_fp64_kernel(const std::uint32_t* a, const std::uint32_t* b, void* c, int steps) {
  constexpr int kColumnFragments = 4;
  constexpr int kBlockColumns = 64;
  constexpr int kRowElements = kRowWords / 2;
  const int warp = threadIdx.x / kWarp;
  const int g = threadIdx.x % kWarp / 4;
  const int t = threadIdx.x % 4;
  const int row = warp % 4 * 16 + g;
  const int column = static_cast<int>(blockIdx.x % 4) * kBlockColumns + warp / 4 * 32;
  const double* const a_row = reinterpret_cast<const double*>(a) + row * kRowElements + t;
  const double* const b_row = reinterpret_cast<const double*>(b) + (column + g) * kRowElements + t;

  double a_fragment[2][kSlices];
  double b_fragments[kColumnFragments][kSlices];
#pragma unroll
  for (int j = 0; j < kSlices; ++j) {
    for (int h = 0; h < 2; ++h)
      a_fragment[h][j] = a_row[h * 8 * kRowElements + j * 4];
    for (int i = 0; i < kColumnFragments; ++i)
      b_fragments[i][j] = b_row[i * 8 * kRowElements + j * 4];
  }
  double sums[kColumnFragments][2][2] = {};
  const auto slice = [&](int j) {
#pragma unroll
    for (int i = 0; i < kColumnFragments; ++i) {
      if constexpr (kDepth == 16) {
        mma_m16n8k4(sums[i], a_fragment[0][j], a_fragment[1][j], b_fragments[i][j]);
      } else {
        mma_m8n8k4(sums[i][0], a_fragment[0][j], b_fragments[i][j]);
        mma_m8n8k4(sums[i][1], a_fragment[1][j], b_fragments[i][j]);
      }
    }
  };
  const auto round = [&] {
    if constexpr (kDepth == 16) {
#pragma unroll
      for (int i = 0; i < kColumnFragments; ++i)
        mma_m16n8k16(sums[i], a_fragment, b_fragments[i]);
    } else {
#pragma unroll
      for (int j = 0; j < kSlices; ++j)
        slice(j);
    }
  };
  for_steps(steps, round, slice);

  double* const tile = static_cast<double*>(c) + static_cast<std::int64_t>(blockIdx.x / 4) * kTile;
#pragma unroll
  for (int i = 0; i < kColumnFragments * 4; ++i)
    tile[(row + i % 4 / 2 * 8) * kColumns + column + i / 4 * 8 + 2 * t + i % 2] =
        sums[i / 4][i % 4 / 2][i % 2];
}

Variant mma_sync() {
  Variant v = product_variant([](const Problem& p) {
    if (p.pipe == Pipe::tensor_fp64) return Launchable{mma_sync_fp64_kernel<4>, kMmaBlock, 4};
    return with_input_type(p, [](auto in) {
      return Launchable{mma_sync_kernel<NarrowOr<float, decltype(in)>>, kMmaBlock, 2};
    });
  });
  v.id = "mma_sync";
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (p.pipe != Pipe::tensor_fp8_fp32) return std::nullopt;
    const int capability = device.compute_capability();
    if (!mma_has_fp8(capability))
      return "mma.sync with fp8 needs compute capability 8.9, or 12.0 or later";
    return lacks_code(device, std::min(capability, 120));
  };
  return v;
}

// ---- mma_sync_k16: fp64 products of m16n8k16
// Each warp issues m16n8k16, which Hopper introduced, instead of m8n8k4. One instruction has 16 × 8
// × 16 = 2048 instead of 8 × 8 × 4 = 256 multiply-adds: tensor_instructions decreases. A lane holds
// 8 + 4 + 4 = 16 numbers of A, B and C for 64 multiply-adds, 16 / 64 = 1/4, and 1 + 1 + 2 = 4 for 8
// with m8n8k4, 4 / 8 = 1/2. m16n8k16 reaches a larger share of the fp64 rate than m8n8k4. It needs
// compute capability 9.0.

Variant mma_sync_k16() {
  Variant v = product_variant([](const Problem&) {
    return Launchable{mma_sync_fp64_kernel<16>, kMmaBlock, 4};
  });
  v.id = "mma_sync_k16";
  v.compare_to = "mma_sync";
  v.expected_changes = {{"tensor_instructions", Direction::decreases, 4}};
  v.min_compute_capability = kMmaFp64RowsComputeCapability;
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (p.pipe != Pipe::tensor_fp64)
      return "needs pipe = tensor_fp64: other types have one depth of mma.sync";
    if (device.compute_capability() != kMmaFp64RowsComputeCapability)
      return "needs compute capability 9.0: other GPUs execute m16n8k16 as several m8n8k4";
    return lacks_code(device, kMmaFp64RowsComputeCapability);
  };
  return v;
}

// ---- wgmma: four warps, operands in shared memory
//
// Four warps start a product of m64n256 by 32 bytes and continue while the tensor cores load A and
// B from shared memory: (64 + 256) · 32 bytes in 128 cycles, 80 of the 128 bytes that shared memory
// delivers per cycle. Three warpgroups per SM have two groups of four products in flight each. This
// saturates Hopper's tensor cores (sm__pipe_tensor_cycles_active), unless the power limit lowers
// the clock.

template <class In>
__global__ void __launch_bounds__(kWarpgroup, 3)
    wgmma_kernel(const std::uint32_t* a, const std::uint32_t* b, void* c, int steps) {
  using Sum = typename Arithmetic<In>::Sum;
  constexpr int kUnits = kWgmmaRowBytes / 16;
  __shared__ alignas(kWgmmaAlignment) char a_tile[kRows * kWgmmaRowBytes];
  __shared__ alignas(kWgmmaAlignment) char b_tile[kColumns * kWgmmaRowBytes];
  const int thread = threadIdx.x;
  for (int i = thread; i < (kRows + kColumns) * kUnits; i += kWarpgroup) {
    const bool is_a = i < kRows * kUnits;
    const int unit = is_a ? i : i - kRows * kUnits;
    char* const to = (is_a ? a_tile : b_tile) + wgmma_offset(unit / kUnits, unit % kUnits);
    *reinterpret_cast<uint4*>(to) = reinterpret_cast<const uint4*>(is_a ? a : b)[unit];
  }
  fence_proxy_async_shared();
  __syncthreads();

  const std::uint64_t a_operand = wgmma_descriptor(a_tile);
  const std::uint64_t b_operand = wgmma_descriptor(b_tile);
  Sum sums[kWgmmaRegisters];
#pragma unroll
  for (Sum& sum : sums)
    sum = 0;
  const auto slice = [&](int j) {
    wgmma_m64n256<In>(sums, advance_descriptor(a_operand, j), advance_descriptor(b_operand, j));
  };
  // Each iteration waits only for the previous round, so the tensor cores always have work.
  for_steps(
      steps,
      [&] {
        wgmma_fence();
#pragma unroll
        for (int j = 0; j < kSlices; ++j)
          slice(j);
        wgmma_commit();
        wgmma_wait<1>();
      },
      [&](int j) {
        wgmma_fence();
        slice(j);
        wgmma_commit();
      });
  wgmma_wait<0>();

  const int row = thread / kWarp * 16 + thread % kWarp / 4;
  Sum* const tile = static_cast<Sum*>(c) + static_cast<std::int64_t>(blockIdx.x) * kTile;
#pragma unroll
  for (int i = 0; i < kWgmmaRegisters; ++i)
    tile[(row + i % 4 / 2 * 8) * kColumns + i / 4 * 8 + thread % 4 * 2 + i % 2] = sums[i];
}

Variant wgmma() {
  Variant v = product_variant([](const Problem& p) {
    return with_input_type(p, [](auto in) {
      return Launchable{wgmma_kernel<NarrowOr<float, decltype(in)>>, kWarpgroup, 1};
    });
  });
  v.id = "wgmma";
  v.compare_to = "mma_sync";
  v.expected_changes = {{"tensor_instructions", Direction::decreases, 4}};
  v.min_compute_capability = kWgmmaComputeCapability;
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (p.pipe == Pipe::tensor_fp64) return "wgmma has no fp64";
    if (device.compute_capability() != kWgmmaComputeCapability)
      return "needs compute capability 9.0: no other GPU has wgmma";
    return lacks_specific_code(device);
  };
  return v;
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  Steps steps;
  with_input_type(p, [&](auto in) {
    using In = decltype(in);
    const int columns = depth(p);
    const Numbers a{stream_seed(seed, 0), Arithmetic<In>::kLargest, columns, true};
    const Numbers b{stream_seed(seed, 1), Arithmetic<In>::kLargest, columns, false};
    steps += fill(d.a_numbers, kRows * columns, a);
    steps += fill(d.b_numbers, kColumns * columns, b);
    steps += fill(reinterpret_cast<In*>(d.a), kRows * columns, Converted<In>{a});
    steps += fill(reinterpret_cast<In*>(d.b), kColumns * columns, Converted<In>{b});
  });
  return steps;
}

// ---- the plain reference

// A sum after `steps` products: whole rounds over all slices, plus the first slices of an
// incomplete round.
struct TileElement {
  const std::int32_t* a;
  const std::int32_t* b;
  int slice_depth;
  int steps;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const int element = static_cast<int>(i % kTile);
    const int depth = kSlices * slice_depth;
    const std::int32_t* const row = a + element / kColumns * depth;
    const std::int32_t* const column = b + element % kColumns * depth;
    double round = 0;
    double rest = 0;
    for (int k = 0; k < depth; ++k) {
      const double product = static_cast<double>(row[k]) * column[k];
      round += product;
      if (k < steps % kSlices * slice_depth) rest += product;
    }
    return {steps / kSlices * round + rest, 0.0};
  }
};

// The reference computes each product once and adds it to two sums, regardless of the steps.
double reference_operations(const Problem& p) {
  constexpr double kPerProduct = 3;
  return kPerProduct * depth(p) * kTile * static_cast<double>(p.tiles);
}

// ---- declaration

Family declare() {
  Family f("tensor_rate", Topic::limits,
           "What is the maximum rate of the tensor cores in operations per second, by type?");
  f.physics =
      "A tensor core multiplies a fixed number of pairs per cycle, so its rate is that number "
      "times the clock. This requires operands in the memory from which it reads at full rate, and "
      "no waiting instructions. Narrower types give more pairs per cycle. With all tensor cores "
      "busy, the board reaches its power limit and lowers the clock, by more if more bits of the "
      "operands change. sm_clock_mhz therefore shows whether the pipe or the power limits the "
      "rate.";
  f.extent("tiles", &Problem::tiles, 7920, 1 << 17,
           "number of tiles of 64×256 sums; the default gives each of up to 170 SMs at least 46")
      .extent("steps", &Problem::steps, 1023, kMaxSteps,
              "number of products, each 32 bytes deep, that are added to each tile; with a "
              "multiple of four, products cancel and sums hold only the drift");
  const std::vector<Pipe> pipes{Pipe::tensor_bf16_fp32, Pipe::tensor_fp16_fp32,  Pipe::tensor_tf32,
                                Pipe::tensor_fp8_fp32,  Pipe::tensor_int8_int32, Pipe::tensor_fp64};
  std::vector<std::pair<std::string, Pipe>> options;
  for (const Pipe pipe : pipes)
    options.emplace_back(std::string(name_of(pipe)), pipe);
  f.choice("pipe", &Problem::pipe, options, "tensor pipe: type of A and B, and type of the sums");
  const auto elements = [](const Problem& p) { return p.tiles * kTile; };
  f.input("a_numbers", &Data::a_numbers, [](const Problem& p) { return kRows * depth(p); })
      .input("b_numbers", &Data::b_numbers, [](const Problem& p) { return kColumns * depth(p); })
      .input("a", &Data::a, [](const Problem&) { return kRows * kRowWords; })
      .input("b", &Data::b, [](const Problem&) { return kColumns * kRowWords; })
      .output("c", &Data::c, sum_type, elements);
  for (const auto& option : options) {
    const auto rate = [&](const std::string& prefix, std::vector<std::string> variants) {
      f.ceilings.push_back(
          CeilingRows::rate(prefix + option.first, std::move(variants), Mode::warm, "operations")
              .where("pipe", option.first));
    };
    rate("", {"mma_sync", "mma_sync_k16", "wgmma"});
    rate("mma_sync.", {"mma_sync", "mma_sync_k16"});
  }
  f.inputs = inputs;
  set_references(f, elements, [](const Problem& p, const Data& d, int) {
    return TileElement{d.a_numbers, d.b_numbers, slice_depth(p), p.steps};
  });
  f.reference_operations = reference_operations;
  f.tolerance_derivation =
      "Zero. Operands are integers, and all sums, also partial sums within a product, are below "
      "2^24 (fp32 sums of bf16, fp16 and tf32), 2^14 (of fp8), 2^31 (int32) and 2^53 (fp64). "
      "Tensor cores multiply exactly; with fp32 accumulation they keep at least 24 bits of sums of "
      "16-bit and tf32 products (Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA "
      "tensor cores, PeerJ Computer Science 7:e330, 2021), and Hopper's keep 14 of fp8 products "
      "(DeepSeek-V3 Technical Report, arXiv:2412.19437, section 3.3.2). Nothing is rounded.";
  f.variants(mma_sync(), mma_sync_k16(), wgmma());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::tensor_rate
