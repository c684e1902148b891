// launch_shape: one element-wise kernel over 1D, 2D and 3D arrays, launched with blocks of many
// shapes.
//
// The question: which block shape and grid should a launch have? The kernel changes the sign of
// every other element in a checkerboard pattern, which shifts the origin of a Fourier transform to
// the center. Each thread loads and stores one element, so memory bandwidth limits the time unless
// the launch adds to it.
#include <algorithm>
#include <string>

#include "kernels/common/family.cuh"

namespace gpuexp::launch_shape {

// Element (x, y, z) has index (z·ny + y)·nx + x. A 2D array has nz = 1, a 1D array ny = nz = 1.
struct Problem {
  std::int64_t nx, ny, nz;
};

struct Data {
  float *in, *out;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

/// Extents as a kernel argument, 32 bits each.
struct Volume {
  unsigned nx, ny, nz;
  explicit Volume(const Problem& p)
      : nx(static_cast<unsigned>(p.nx)),
        ny(static_cast<unsigned>(p.ny)),
        nz(static_cast<unsigned>(p.nz)) {}
  __host__ __device__ std::int64_t at(unsigned x, unsigned y, unsigned z) const {
    return (static_cast<std::int64_t>(z) * ny + y) * nx + x;
  }
};

__host__ __device__ inline float checkered(float v, unsigned x, unsigned y, unsigned z) {
  return (x ^ y ^ z) & 1 ? -v : v;
}

// ---- block_256x1x1: rows of 256 threads
//
// Each warp processes 32 contiguous elements of a row. A request is 128 bytes, which are 4 sectors
// if rows start at a sector boundary (global_load_sectors_per_request). Threads past the end of a
// row are idle: if rows are much shorter than a block, most threads.
// held: global_load_sectors_per_request = 4

/// Kernel of all variants that are named after a block shape; they differ only in their launch.
__global__ void block_kernel(Volume v, const float* in, float* out) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= v.nx || y >= v.ny || z >= v.nz) return;
  const std::int64_t i = v.at(x, y, z);
  out[i] = checkered(in[i], x, y, z);
}

// ---- how the variants are launched

constexpr int kBlock = 256;
constexpr std::int64_t kMaxBlocksYZ = 65535;

std::int64_t elements(const Problem& p) {
  return p.nx * p.ny * p.nz;
}

Work work(const Problem& p) {
  return streaming_work<float>(elements(p), elements(p));
}

Shape shape(const Problem& p, const Extent& block) {
  return shape_of_tiles({p.nx, p.ny, p.nz}, block, block);
}

MetricValues metrics(const Problem& p, const Shape& s, std::int64_t turns) {
  const std::int64_t warps = s.grid.count() * ceil_div(s.block.count(), kWarp);
  const double idle = 1 - static_cast<double>(elements(p)) / (warps * kWarp * turns);
  return {{"launched_warps", static_cast<double>(warps)}, {"idle_lanes_pct", 100 * idle}};
}

/// `shape_of(p, device)` returns the launch shape. `turns` returns the maximum number of elements
/// per thread; without it, each thread processes one.
template <class Extents, class ShapeOf>
Variant variant(std::string id, std::string compare_to,
                void (*kernel)(Extents, const float*, float*), ShapeOf shape_of,
                ExpectedChangesOf<Problem> expected,
                std::int64_t (*turns)(const Problem&, const Shape&) = nullptr) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.work = work;
  v.metrics = [shape_of, turns](const Problem& p, const DeviceSpec& device) {
    const Shape s = shape_of(p, device);
    return metrics(p, s, turns ? turns(p, s) : 1);
  };
  v.unsupported = [shape_of](const Problem& p,
                             const DeviceSpec& device) -> std::optional<std::string> {
    const std::int64_t blocks = shape_of(p, device).grid.y;
    if (blocks <= kMaxBlocksYZ) return std::nullopt;
    return "needs " + std::to_string(blocks) + " blocks in y; a grid has at most " +
           std::to_string(kMaxBlocksYZ);
  };
  v.launch = [kernel, shape_of](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(kernel, shape_of(p, x.device), Extents(p), d.in, d.out);
  };
  return v;
}

Variant in_blocks(std::string id, std::string compare_to, Extent block,
                  ExpectedChangesOf<Problem> expected,
                  void (*kernel)(Volume, const float*, float*) = block_kernel) {
  return variant(
      std::move(id), std::move(compare_to), kernel,
      [block](const Problem& p, const DeviceSpec&) { return shape(p, block); },
      std::move(expected));
}

Variant block_256x1x1() {
  return in_blocks("block_256x1x1", "", {kBlock, 1, 1}, {});
}

// Arrays so large that, in all block shapes, nearly all warps are completely inside or outside.
bool has_wide_planes(const Problem& p) {
  constexpr std::int64_t kMany = 256;
  return p.nx >= kMany && p.ny >= kMany;
}
// Arrays of has_wide_planes whose rows all start at a sector boundary.
bool has_whole_sectors(const Problem& p) {
  constexpr std::int64_t kFloats = kSectorBytes / sizeof(float);
  return has_wide_planes(p) && p.nx % kFloats == 0;
}
// Arrays of has_wide_planes in which every other row starts at an odd element.
bool has_odd_rows(const Problem& p) {
  return has_wide_planes(p) && p.nx % 2 != 0;
}
bool is_line(const Problem& p) {
  constexpr std::int64_t kMany = 1 << 16;
  return p.nx >= kMany && p.ny == 1 && p.nz == 1;
}

// ---- block_32x8x1: one row of 32 elements per warp
//
// Each warp processes 32 contiguous elements of one of the block's eight rows:
// global_load_sectors_per_request is unchanged. Pieces of rows are shorter than in block_256x1x1,
// so fewer threads are idle at row ends, but threads past the last row may be idle. In a 1D array,
// seven of eight warps are outside the array: warp_instructions increases.

Variant block_32x8x1() {
  return in_blocks(
      "block_32x8x1", "block_256x1x1", {32, 8, 1},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_wide_planes},
       {"warp_instructions", Direction::increases, 2, is_line}});
}

// ---- block_16x16x1: two rows per warp
//
// The lanes of a warp are in two rows and access 64 bytes of each. If rows start at a sector
// boundary, the number of sectors is unchanged. Otherwise each of the two pieces starts within a
// sector and touches one additional sector. In a 1D array, 16 lanes of each warp with work are
// outside: active_lanes_per_instruction decreases.

Variant block_16x16x1() {
  return in_blocks(
      "block_16x16x1", "block_32x8x1", {16, 16, 1},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_whole_sectors},
       {"global_load_sectors_per_request", Direction::increases, 1.1, has_odd_rows},
       {"global_load_requests", Direction::increases, 1.8, is_line}});
}

// ---- block_8x32x1: four rows per warp
//
// The lanes of a warp access 32 bytes in each of four rows, one sector each if rows start at a
// sector boundary. Otherwise most pieces cross a sector boundary, and a request touches more
// sectors than in block_256x1x1: global_load_sectors_per_request increases.

Variant block_8x32x1() {
  return in_blocks(
      "block_8x32x1", "block_16x16x1", {8, 32, 1},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_whole_sectors},
       {"global_load_sectors_per_request", Direction::increases, 1.2, has_odd_rows},
       {"global_load_requests", Direction::increases, 1.8, is_line}});
}

// ---- block_1x256x1: one column per block
//
// x and y are exchanged, a common mistake: each lane of a warp is in a different row. A request
// touches 32 sectors, of which 4/32 = 1/8 is used. Blocks of neighbouring columns use the other
// bytes, if L1 or L2 still holds them.
// held: global_load_sectors_per_request = 32

Variant block_1x256x1() {
  return in_blocks("block_1x256x1", "block_8x32x1", {1, kBlock, 1},
                   {{"global_load_sectors_per_request", Direction::increases, 4, has_wide_planes},
                    {"l1_tag_wavefronts", Direction::increases, 4, has_wide_planes}});
}

// ---- block_32x4x2: a three-dimensional block
//
// The block has rows of 32 threads in two planes. A warp still processes 32 contiguous elements of
// one row, so its requests are unchanged. In an array with one plane, the warps of the second plane
// are outside.

Variant block_32x4x2() {
  return in_blocks(
      "block_32x4x2", "block_32x8x1", {32, 4, 2},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_wide_planes},
       {"global_load_requests", Direction::unchanged, 1.05, has_wide_planes}});
}

// ---- block_8x8x4: a nearly cubic block
//
// More of an element's neighbours are in the same block than in any other shape, and a warp has
// four rows. A request touches four sectors, as in block_32x4x2, if rows start at a sector
// boundary, and up to eight otherwise: global_load_sectors_per_request then increases.
// held: global_load_sectors_per_request = 4

Variant block_8x8x4() {
  return in_blocks(
      "block_8x8x4", "block_32x4x2", {8, 8, 4},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_whole_sectors},
       {"global_load_sectors_per_request", Direction::increases, 1.3, has_odd_rows}});
}

// ---- block_1024: the maximum block size
//
// Blocks have 1024 threads instead of 256, so there are a quarter as many blocks. The GPU starts a
// limited number of blocks per second, and a block of block_256x1x1 loads only 1 KB. The cost is
// that only two blocks fit on an SM, and a block slot stays occupied until the last of 32 warps has
// ended.
// held: blocks = 1/4 × block_256x1x1

constexpr auto has_long_rows = at_least(&Problem::nx, 4096);

Variant block_1024() {
  return in_blocks("block_1024", "block_256x1x1", {1024, 1, 1},
                   {{"global_load_requests", Direction::unchanged, 1.05, has_long_rows},
                    {"warp_instructions", Direction::unchanged, 1.15, has_long_rows}});
}

// ---- block_32: one warp per block
//
// Each warp of block_256x1x1 becomes a block. An SM holds at most 32 blocks (blocks_per_sm), so its
// resident warps are 32 / 64 = 1/2 of the maximum. The GPU must start eight times as many blocks.
// held: blocks_per_sm = 32; blocks = 8 × block_256x1x1

Variant block_32() {
  return in_blocks("block_32", "block_256x1x1", {kWarp, 1, 1},
                   {{"global_load_requests", Direction::unchanged, 1.05, has_long_rows},
                    {"warp_instructions", Direction::unchanged, 1.15, has_long_rows}});
}

ExpectedChangesOf<Problem> a_second_warp() {
  return {{"active_lanes_per_instruction", Direction::decreases, 1.7, has_long_rows},
          {"warp_instructions", Direction::increases, 1.7, has_long_rows},
          {"global_load_requests", Direction::increases, 1.7, has_long_rows}};
}

// ---- block_33: one thread more than a warp
//
// A block of 33 threads has two warps, and the second has one lane: warp_instructions nearly
// doubles, active_lanes_per_instruction decreases to 16.5, and every other request is for one
// element. This costs no time if the rate at which blocks start is the limit.
// held: warp_instructions = 2 × block_32 within 10 %
// held: active_lanes_per_instruction = 16.5 within 2 %

Variant block_33() {
  return in_blocks("block_33", "block_32", {kWarp + 1, 1, 1}, a_second_warp());
}

// ---- busy_32: one warp per block, limited by instructions
//
// The kernel of block_32 also executes a chain of multiplications by 1 for each element, long
// enough that issue slots become the limit: warp_instructions increases.

constexpr int kMultiplications = 1024;

__global__ void busy_kernel(Volume v, const float* in, float* out) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= v.nx) return;
  const std::int64_t i = v.at(x, blockIdx.y, blockIdx.z);
  const auto one = static_cast<float>(blockDim.y);  // as a value unknown to the compiler
  float value = in[i];
#pragma unroll 64
  for (int k = 0; k < kMultiplications; ++k)
    value *= one;
  out[i] = checkered(value, x, blockIdx.y, blockIdx.z);
}

Variant busy(std::string id, std::string compare_to, int threads,
             ExpectedChangesOf<Problem> expected) {
  Variant v = in_blocks(std::move(id), std::move(compare_to), {threads, 1, 1}, std::move(expected),
                        busy_kernel);
  v.work = [](const Problem& p) {
    Work w = work(p);
    w.operations = {{Pipe::fp32, 1.0 * kMultiplications * static_cast<double>(elements(p))}};
    return w;
  };
  return v;
}

Variant busy_32() {
  return busy("busy_32", "block_32", kWarp,
              {{"warp_instructions", Direction::increases, 10},
               {"global_load_requests", Direction::unchanged}});
}

// ---- busy_33: one thread more than a warp, limited by instructions
//
// The second warp of each block uses as many issue slots as the first one, for only one lane:
// warp_instructions doubles, and so does the time.
// held: warp_instructions = 2 × busy_32 within 5 %

Variant busy_33() {
  return busy("busy_33", "busy_32", kWarp + 1, a_second_warp());
}

// ---- twice_the_blocks: a grid with excess blocks
//
// The grid of block_256x1x1 has twice as many blocks in x, like a grid sized for the largest
// possible problem. Threads of the excess blocks exit at their first branch and access no memory.
// The GPU starts these blocks like any other. If starting blocks is the limit, an excess block
// costs as much time as another block.
// held: blocks = 2 × block_256x1x1

Variant twice_the_blocks() {
  return variant("twice_the_blocks", "block_256x1x1", block_kernel,
                 [](const Problem& p, const DeviceSpec&) {
                   Shape s = shape(p, {kBlock, 1, 1});
                   s.grid.x *= 2;
                   return s;
                 },
                 {{"warp_instructions", Direction::increases, 1.2, has_long_rows},
                  {"global_load_requests", Direction::unchanged}});
}

// ---- loop_rows: loop over rows
//
// A grid has at most 65535 blocks in y and in z (2^31 - 1 in x), so a launch with one block per row
// fails if there are more rows. Here each block advances by the number of blocks in y until the
// last row.

__global__ void loop_rows_kernel(Volume v, const float* in, float* out) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= v.nx) return;
#pragma unroll 1
  for (unsigned y = blockIdx.y; y < v.ny; y += gridDim.y) {
    const std::int64_t i = v.at(x, y, blockIdx.z);
    out[i] = checkered(in[i], x, y, blockIdx.z);
  }
}

Shape loop_shape(const Problem& p, const DeviceSpec&) {
  Shape s = shape(p, {kBlock, 1, 1});
  s.grid.y = std::min(s.grid.y, kMaxBlocksYZ);
  s.tile.y = ceil_div(p.ny, s.grid.y);
  return s;
}

Variant loop_rows() {
  return variant("loop_rows", "block_256x1x1", loop_rows_kernel, loop_shape,
                 {{"global_load_requests", Direction::unchanged},
                  {"global_load_sectors_per_request", Direction::unchanged}},
                 [](const Problem&, const Shape& s) { return s.tile.y; });
}

// ---- flat_64: one linear index, decomposed by division
//
// Each thread computes the position of its element from one linear index. Only threads of the last
// block are idle, even if rows are short, and the grid needs blocks only in x. The GPU has no
// integer division instruction: two divisions by values unknown to the compiler take many
// instructions in 32 bits. In 64 bits they take more, because the code first checks whether 32 bits
// suffice. warp_instructions increases.

template <class Index>
__device__ void do_flat(const Volume& v, Index i, const float* in, float* out) {
  const Index row = i / v.nx;
  const auto x = static_cast<unsigned>(i - row * v.nx);
  const auto z = static_cast<unsigned>(row / v.ny);
  const auto y = static_cast<unsigned>(row - static_cast<Index>(z) * v.ny);
  out[i] = checkered(in[i], x, y, z);
}

template <class Index>
__global__ void __launch_bounds__(kBlock) flat_kernel(Volume v, const float* in, float* out) {
  const Index i = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < static_cast<Index>(v.at(0, 0, v.nz))) do_flat<Index>(v, i, in, out);
}

// The elements of a block can be in any rows.
Shape flat_shape(const Problem& p, std::int64_t blocks) {
  return shape_of_blocks({blocks}, {kBlock}, {p.nx, p.ny, p.nz});
}

Shape one_each(const Problem& p, const DeviceSpec&) {
  return flat_shape(p, ceil_div(elements(p), kBlock));
}

// Arrays of at least 1024 rows, each much shorter than a block of 256.
bool has_short_rows(const Problem& p) {
  constexpr std::int64_t kShort = 40;
  constexpr std::int64_t kMany = 1024;
  return p.nx >= kWarp && p.nx <= kShort && p.ny * p.nz >= kMany;
}

Variant flat_64() {
  return variant("flat_64", "block_256x1x1", flat_kernel<std::uint64_t>, one_each,
                 {{"warp_instructions", Direction::increases, 1.7, has_long_rows},
                  {"global_load_requests", Direction::decreases, 1.5, has_short_rows}});
}

constexpr auto has_many_elements = at_least(elements, 1 << 16);

// ---- flat_32: linear index in 32 bits
//
// With up to 2^31 elements, the index and both divisions fit in 32 bits: warp_instructions
// decreases.

Variant flat_32() {
  return variant("flat_32", "flat_64", flat_kernel<unsigned>, one_each,
                 {{"warp_instructions", Direction::decreases, 1.3, has_many_elements},
                  {"global_load_requests", Direction::unchanged}});
}

// ---- flat_multiply: division by multiplication
//
// All threads use the same divisors. The host computes a factor and a shift for each divisor, as
// libraries do for tensor indices (T. Granlund, P. Montgomery, "Division by invariant integers
// using multiplication", PLDI 1994). A division becomes a multiplication, an addition and a shift:
// warp_instructions decreases again.

/// Divides numbers below 2^31 by a constant divisor.
struct Divisor {
  unsigned divisor, factor, shift;

  explicit Divisor(std::int64_t d) : divisor(static_cast<unsigned>(d)), factor(0), shift(0) {
    while ((std::uint64_t{1} << shift) < divisor)
      ++shift;
    factor = static_cast<unsigned>(
        ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - divisor)) / divisor + 1);
  }
  __device__ unsigned quotient(unsigned of) const { return (__umulhi(of, factor) + of) >> shift; }
};

struct Rows {
  Divisor nx, ny;
  unsigned elements;
  explicit Rows(const Problem& p)
      : nx(p.nx), ny(p.ny), elements(static_cast<unsigned>(gpuexp::launch_shape::elements(p))) {}
};

__device__ void do_flat(const Rows& r, unsigned i, const float* in, float* out) {
  const unsigned row = r.nx.quotient(i);
  const unsigned z = r.ny.quotient(row);
  out[i] = checkered(in[i], i - row * r.nx.divisor, row - z * r.ny.divisor, z);
}

__global__ void __launch_bounds__(kBlock)
    flat_multiply_kernel(Rows r, const float* in, float* out) {
  const unsigned i = blockIdx.x * kBlock + threadIdx.x;
  if (i < r.elements) do_flat(r, i, in, out);
}

Variant flat_multiply() {
  return variant("flat_multiply", "flat_32", flat_multiply_kernel, one_each,
                 {{"warp_instructions", Direction::decreases, 1.3, has_many_elements},
                  {"global_load_requests", Direction::unchanged}});
}

// ---- grid_stride: one wave of blocks for any size
//
// The grid has as many blocks as fit on all SMs, and each thread advances by the number of threads
// in the grid. The GPU no longer starts one block per 1 KB of the array, and a thread executes the
// code before its loop once: warp_instructions decreases. Each thread still has one load in flight.

__global__ void __launch_bounds__(kBlock) grid_stride_kernel(Rows r, const float* in, float* out) {
  const unsigned stride = gridDim.x * kBlock;
#pragma unroll 1
  for (unsigned i = blockIdx.x * kBlock + threadIdx.x; i < r.elements; i += stride)
    do_flat(r, i, in, out);
}

Shape one_wave(const Problem& p, const DeviceSpec& device) {
  const std::int64_t wave = device.sm_count * (device.sm.max_threads / kBlock);
  return flat_shape(p, std::min(wave, ceil_div(elements(p), kBlock)));
}

Variant grid_stride() {
  return variant(
      "grid_stride", "flat_multiply", grid_stride_kernel, one_wave,
      {{"warp_instructions", Direction::decreases, 1.2,
        [](const Problem& p) { return elements(p) >= 1 << 26; }},
       {"global_load_requests", Direction::unchanged}},
      [](const Problem& p, const Shape& s) { return ceil_div(elements(p), s.grid.x * kBlock); });
}

// ---- the plain reference

struct Checkered {
  Problem p;
  const float* in;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const std::int64_t place = i % p.nx + i / p.nx % p.ny + i / (p.nx * p.ny);
    return {place % 2 == 0 ? in[i] : -static_cast<double>(in[i]), 0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("launch_shape", Topic::execution, "Which block shape and grid should a launch have?");
  f.physics =
      "The threads of a block are numbered along x first, then y, then z, and 32 consecutive "
      "threads are a warp. Lanes that are neighbours in x access neighbouring words, so the "
      "block's extent in x decides how many pieces of rows, and how many sectors, a request "
      "touches. The GPU starts whole blocks of whole warps. Threads outside the array, and lanes "
      "of a partial last warp, use block slots and issue slots without any result. "
      "A thread computes the position of its element from three indices, whose ranges are limited, "
      "or from one index by division.";
  f.extent("nx", &Problem::nx, 8192, 1 << 26, "elements per row, contiguous in memory")
      .extent("ny", &Problem::ny, 8192, 1 << 21, "rows per plane")
      .integer("nz", &Problem::nz, 1, 1, kMaxBlocksYZ, "", "planes");
  f.input("in", &Data::in, elements).output("out", &Data::out, elements);
  f.metric("launched_warps", "", "warps of all blocks, with or without work")
      .metric("idle_lanes_pct", "%",
              "share of lanes of launched warps without an element: threads outside the array, and "
              "lanes for which the block has no thread");
  f.plot("launch_shape", "traffic", "Launch shape: useful bandwidth by block shape");
  f.outputs = [](const Problem& p) { return Extent{p.nx, p.ny, p.nz}; };
  f.unsupported = needs([](const Problem& p) { return elements(p) <= std::int64_t{1} << 31; },
                        "needs nx × ny × nz <= 2^31, so that indices fit in 32 bits");
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.in, elements(p), stream_seed(seed, 0));
  };
  set_references(f, elements, [](const Problem& p, const Data& d, int) {
    return Checkered{p, d.in};
  });
  f.tolerance_derivation = "Zero: a change of sign preserves all other bits.";
  f.variants(block_256x1x1(), block_32x8x1(), block_16x16x1(), block_8x32x1(), block_1x256x1(),
             block_32x4x2(), block_8x8x4(), block_1024(), block_32(), block_33(), busy_32(),
             busy_33(), twice_the_blocks(), loop_rows(), flat_64(), flat_32(), flat_multiply(),
             grid_stride());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::launch_shape
