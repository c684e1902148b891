// launch_shape: one element-wise kernel over lines, planes and volumes, launched in blocks of many
// shapes.
//
// The question: which threads should a launch have? The kernel changes the sign of every other
// element, as on a checkerboard, which moves the origin of a Fourier transform to the middle. A
// thread needs to know where its element is, and does nothing else but load and store it. So the
// time is that of the bytes, unless the launch gets in the way: a warp's 32 lanes are neighbours
// along x first, then y, then z, and whether they lie side by side in memory is up to the block's
// shape; threads outside of the volume are started, and end; a warp of one thread takes what one of
// 32 takes; and a grid has limits, in y and z much lower ones than in x.
#include <algorithm>
#include <string>

#include "kernels/common/family.cuh"

namespace gpuexp::launch_shape {

// Element (x, y, z) is at (z·ny + y)·nx + x. A plane has nz = 1, a line ny = nz = 1.
struct Problem {
  std::int64_t nx, ny, nz;
};

struct Data {
  float *in, *out;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

/// The extents as kernels have them: indices along one axis fit in 32 bits.
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

// ---- block_256x1x1: a warp per 32 elements of a row
//
// The lanes of a warp have neighbours in a row: a request is 128 bytes, which are 4 sectors where
// rows begin at one (global_load_sectors_per_request). Rows are cut into pieces of 256, and the
// last one's other threads have nothing to do: few of a long row, nearly all where rows are shorter
// than a block.
// held: global_load_sectors_per_request = 4

/// The block's shape is the launch's alone: this is the kernel of all variants with a block's
/// extents for a name.
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
constexpr std::int64_t kMostBlocksYZ = 65535;

std::int64_t elements(const Problem& p) {
  return p.nx * p.ny * p.nz;
}

Work work(const Problem& p) {
  return streaming_work<float>(elements(p), elements(p));
}

Shape shape(const Problem& p, const Extent& block) {
  return shape_of_tiles({p.nx, p.ny, p.nz}, block, block);
}

/// Each thread of the launch takes up to `turns` elements, one after the other.
MetricValues metrics(const Problem& p, const Shape& s, std::int64_t turns) {
  const std::int64_t warps = s.grid.count() * ceil_div(s.block.count(), kWarp);
  const double idle = 1 - static_cast<double>(elements(p)) / (warps * kWarp * turns);
  return {{"launched_warps", static_cast<double>(warps)}, {"idle_lanes_pct", 100 * idle}};
}

/// `shape_of(p, device)` is the launch's, and `turns` how many elements a thread of it takes: one,
/// unless it says more.
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
    if (blocks <= kMostBlocksYZ) return std::nullopt;
    return "needs " + std::to_string(blocks) + " blocks in y; a grid has at most " +
           std::to_string(kMostBlocksYZ);
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

// Of planes and volumes in which most warps of all shapes are whole, or have nothing.
bool has_wide_planes(const Problem& p) {
  constexpr std::int64_t kMany = 256;
  return p.nx >= kMany && p.ny >= kMany;
}
// Likewise, and each row begins where a sector does.
bool has_whole_sectors(const Problem& p) {
  constexpr std::int64_t kFloats = kSectorBytes / sizeof(float);
  return has_wide_planes(p) && p.nx % kFloats == 0;
}
// Likewise, and every other row begins at an odd element.
bool has_odd_rows(const Problem& p) {
  return has_wide_planes(p) && p.nx % 2 != 0;
}
bool is_line(const Problem& p) {
  constexpr std::int64_t kMany = 1 << 16;
  return p.nx >= kMany && p.ny == 1 && p.nz == 1;
}

// ---- block_32x8x1: eight rows per block
//
// A warp is a row of the block, and has the elements of one of block_256x1x1's:
// global_load_sectors_per_request stays. Pieces of rows are shorter, so that fewer threads have
// nothing to do at their ends, and some may at the last rows. Of a line, seven warps of eight are
// outside: warp_instructions rises.

Variant block_32x8x1() {
  return in_blocks(
      "block_32x8x1", "block_256x1x1", {32, 8, 1},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_wide_planes},
       {"warp_instructions", Direction::increases, 2, is_line}});
}

// ---- block_16x16x1: two rows per warp
//
// A warp's lanes are in two rows, 64 bytes of each. Where rows begin at a sector that is as many
// sectors as before. Elsewhere a piece of a row begins within one, and has one more than it would
// fill: two pieces, two more. If there is one row, 16 lanes of each warp that has work are outside:
// active_lanes_per_instruction falls.

Variant block_16x16x1() {
  return in_blocks(
      "block_16x16x1", "block_32x8x1", {16, 16, 1},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_whole_sectors},
       {"global_load_sectors_per_request", Direction::increases, 1.1, has_odd_rows},
       {"global_load_requests", Direction::increases, 1.8, is_line}});
}

// ---- block_8x32x1: four rows per warp
//
// Pieces of 32 bytes, a sector each where rows begin at one. Elsewhere most pieces lie in two
// sectors: seven or eight per request instead of five.

Variant block_8x32x1() {
  return in_blocks(
      "block_8x32x1", "block_16x16x1", {8, 32, 1},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_whole_sectors},
       {"global_load_sectors_per_request", Direction::increases, 1.2, has_odd_rows},
       {"global_load_requests", Direction::increases, 1.8, is_line}});
}

// ---- block_1x256x1: a column per block
//
// x and y exchanged, as when rows are taken for what blocks should follow. Each lane is in a row of
// its own: 32 sectors per request, of which 4/32 = 1/8 is used. The blocks beside it use the rest,
// if L1 or L2 still has it.
// held: global_load_sectors_per_request = 32

Variant block_1x256x1() {
  return in_blocks("block_1x256x1", "block_8x32x1", {1, kBlock, 1},
                   {{"global_load_sectors_per_request", Direction::increases, 4, has_wide_planes},
                    {"l1_tag_wavefronts", Direction::increases, 4, has_wide_planes}});
}

// ---- block_32x4x2: a block in three dimensions
//
// Rows of 32 in two planes. A warp is still a piece of one row, so that nothing changes for it; a
// block's neighbourhood is what such shapes are made for, in kernels that use one. Where there is
// one plane alone, the warps of the other plane are outside.

Variant block_32x4x2() {
  return in_blocks(
      "block_32x4x2", "block_32x8x1", {32, 4, 2},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_wide_planes},
       {"global_load_requests", Direction::unchanged, 1.05, has_wide_planes}});
}

// ---- block_8x8x4: nearly a cube
//
// The most neighbours within a block, and four rows per warp: where rows begin at a sector that is
// four sectors per request, as before, elsewhere up to eight.
// held: global_load_sectors_per_request = 4

Variant block_8x8x4() {
  return in_blocks(
      "block_8x8x4", "block_32x4x2", {8, 8, 4},
      {{"global_load_sectors_per_request", Direction::unchanged, 1.05, has_whole_sectors},
       {"global_load_sectors_per_request", Direction::increases, 1.3, has_odd_rows}});
}

// ---- block_1024: as large as a block may be
//
// 1024 threads in place of 256: blocks are a quarter. The GPU starts only so many of them per
// second, and those of block_256x1x1, with 1 KB to load each, are done as fast as they are started.
// Two fill an SM: a place stays empty until the last of 32 warps has ended.
// held: blocks = 1/4 × block_256x1x1

constexpr auto has_long_rows = at_least(&Problem::nx, 4096);

Variant block_1024() {
  return in_blocks("block_1024", "block_256x1x1", {1024, 1, 1},
                   {{"global_load_requests", Direction::unchanged, 1.05, has_long_rows},
                    {"warp_instructions", Direction::unchanged, 1.15, has_long_rows}});
}

// ---- block_32: a warp per block
//
// The warps of block_256x1x1, each a block of its own. An SM holds 32 blocks, whose warps are 32 /
// 64 = 1/2 of those that it has room for (blocks_per_sm), and eight times as many blocks have to be
// started.
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

// ---- block_33: one thread more
//
// A block of 33 threads is two warps, and the second has one lane: warp_instructions nearly
// doubles, active_lanes_per_instruction falls to 16.5, and every other request is for one element.
// That is no time as long as starting blocks is what takes it.
// held: warp_instructions = 2 × block_32 within 10 %
// held: active_lanes_per_instruction = 16.5 within 2 %

Variant block_33() {
  return in_blocks("block_33", "block_32", {kWarp + 1, 1, 1}, a_second_warp());
}

// ---- busy_32: the same where instructions are the limit
//
// block_32 with a chain of multiplications by 1 for each element, enough of them that the
// schedulers' issue slots are what the kernel waits for: warp_instructions rises by their number.

constexpr int kMultiplications = 1024;

__global__ void busy_kernel(Volume v, const float* in, float* out) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= v.nx) return;
  const std::int64_t i = v.at(x, blockIdx.y, blockIdx.z);
  const auto one = static_cast<float>(blockDim.y);  // which the compiler does not know
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

// ---- busy_33: and one thread more
//
// The second warp of each block takes as many issue slots as the first, for one lane:
// warp_instructions doubles, and the time with it.
// held: warp_instructions = 2 × busy_32 within 5 %

Variant busy_33() {
  return busy("busy_33", "busy_32", kWarp + 1, a_second_warp());
}

// ---- twice_the_blocks: a grid with blocks that have nothing to do
//
// The grid of block_256x1x1 with twice as many blocks in x, as when it was made for the largest
// problem there may be. A thread outside of the volume ends at its first branch: it costs the
// instructions up to there and no bytes. Its block is started as any other, and takes as much time
// where that is what a launch waits for.
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

// ---- loop_rows: as many rows as there are
//
// A grid has at most 65535 blocks in y and in z (2^31 - 1 in x). With more rows than that, a launch
// of one block per row fails as a whole. Here a block goes on with the row that is as many blocks
// further, whatever there is of them.

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
  s.grid.y = std::min(s.grid.y, kMostBlocksYZ);
  s.tile.y = ceil_div(p.ny, s.grid.y);
  return s;
}

Variant loop_rows() {
  return variant("loop_rows", "block_256x1x1", loop_rows_kernel, loop_shape,
                 {{"global_load_requests", Direction::unchanged},
                  {"global_load_sectors_per_request", Direction::unchanged}},
                 [](const Problem&, const Shape& s) { return s.tile.y; });
}

// ---- flat_64: one index for all, taken apart by division
//
// Threads are numbered through, and where an element is follows from its number. No thread is idle
// but in the last block, however short rows are, and the grid's limit is that of x. The GPU has no
// instruction that divides: two divisions by what the compiler does not know are many instructions
// in 32 bits, and more in 64, where code first looks whether 32 would do. warp_instructions rises.

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

// A block's elements may be in any rows.
Shape flat_shape(const Problem& p, std::int64_t blocks) {
  return shape_of_blocks({blocks}, {kBlock}, {p.nx, p.ny, p.nz});
}

Shape one_each(const Problem& p, const DeviceSpec&) {
  return flat_shape(p, ceil_div(elements(p), kBlock));
}

// Rows of which a block of 256 threads leaves most of its threads without work.
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

// ---- flat_32: the same in 32 bits
//
// Up to 2^31 elements the index and both divisions fit in 32 bits: warp_instructions falls.

Variant flat_32() {
  return variant("flat_32", "flat_64", flat_kernel<unsigned>, one_each,
                 {{"warp_instructions", Direction::decreases, 1.3, has_many_elements},
                  {"global_load_requests", Direction::unchanged}});
}

// ---- flat_multiply: division by multiplication
//
// The divisors are the same for all threads: the host finds for each a factor and a shift whose
// product, sum and shift are the quotient (T. Granlund, P. Montgomery, "Division by invariant
// integers using multiplication", PLDI 1994), as libraries do for indices of tensors. A division
// becomes a product, a sum and a shift: warp_instructions falls once more, and all parameters that
// a thread needs come with the launch.

/// Quotients of what is below 2^31.
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
// As many blocks as fit on all SMs; a thread goes on with the element that is as many threads
// further. Blocks are started once instead of for each 1 KB, what a thread computes before its loop
// it computes once (warp_instructions falls), and the grid follows the GPU instead of the problem.
// A thread has one load in flight, as before.

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
  Family f("launch_shape", Topic::execution, "Which threads should a launch have?");
  f.physics =
      "A block's threads are numbered along x first, then y, then z, and 32 in a row are a warp. "
      "Lanes that are neighbours in x are neighbours in memory: the block's extent in x decides "
      "how many pieces of rows a request is made of, and so its sectors. The GPU starts whole "
      "blocks of whole warps: what of them lies outside of the problem, or beyond the last "
      "multiple of 32, "
      "takes its place and its instructions and does nothing. Where a thread's element is, it has "
      "to compute: from three indices of a grid that has limits, or from one, by division.";
  f.extent("nx", &Problem::nx, 8192, 1 << 26, "elements of a row, which lie side by side")
      .extent("ny", &Problem::ny, 8192, 1 << 21, "rows of a plane")
      .integer("nz", &Problem::nz, 1, 1, kMostBlocksYZ, "", "planes");
  f.input("in", &Data::in, elements).output("out", &Data::out, elements);
  f.metric("launched_warps", "", "warps of all blocks, whether they have work or not")
      .metric("idle_lanes_pct", "%",
              "lanes of these that have no element, because their thread is outside or because the "
              "block has no thread for them");
  f.figure("launch_shape", "traffic", "Launch shape: the same bytes in blocks of many shapes");
  f.outputs = [](const Problem& p) { return Extent{p.nx, p.ny, p.nz}; };
  f.unsupported = needs([](const Problem& p) { return elements(p) <= std::int64_t{1} << 31; },
                        "needs up to 2^31 elements, whose number fits in 32 bits");
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.in, elements(p), stream_seed(seed, 0));
  };
  set_references(f, elements, [](const Problem& p, const Data& d, int) {
    return Checkered{p, d.in};
  });
  f.tolerance_derivation = "Zero: a change of sign keeps every other bit.";
  f.variants(block_256x1x1(), block_32x8x1(), block_16x16x1(), block_8x32x1(), block_1x256x1(),
             block_32x4x2(), block_8x8x4(), block_1024(), block_32(), block_33(), busy_32(),
             busy_33(), twice_the_blocks(), loop_rows(), flat_64(), flat_32(), flat_multiply(),
             grid_stride());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::launch_shape
