// stencil_3d: each point of a volume becomes the difference of the sum of its six neighbours and
// six times itself: the Laplacian, by the stencil of seven points.
//
// The question: who serves the neighbours of a plane away? In a plane (stencil_2d) they are a row
// or a few away, and L1 still has them. Here two of six lie nx·ny points away: a block of one plane
// shares them with blocks of the planes above and below, and they come from L2: three planes and
// the rims of blocks for each plane that a copy loads. A block of several planes keeps them in L1.
// A thread that walks along z keeps them in registers, and then a plane is all that a block has to
// share (2.5D blocking: A. Nguyen et al., "3.5-D blocking optimization for stencil computations on
// modern CPUs and GPUs", SC 2010; P. Micikevicius, "3D finite difference computation on GPUs using
// CUDA", GPGPU 2009).
//
// Points outside of the volume count as zero; points are small whole numbers, and sums exact.
#include <array>

#include "kernels/common/stencil.cuh"

namespace gpuexp::stencil_3d {

struct Problem {
  std::int64_t nx, ny, nz;
};

struct Data {
  float *in, *out;
  float* copied;  // as `in`, of `copy` alone
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

struct Volume {
  const float* in;
  float* out;
  int nx, ny, nz;

  __device__ std::int64_t place(int x, int y, int z) const { return y * row() + x + z * plane(); }
  /// Points from one row to the next, and from one plane to the next.
  __device__ std::int64_t row() const { return nx; }
  __device__ std::int64_t plane() const { return row() * ny; }
};

/// kWidth points from `from` on, which are inside together, or outside together and zero.
template <int kWidth>
__device__ Floats<kWidth> load_or_zeros(const float* from, bool are_inside) {
  return are_inside ? *reinterpret_cast<const Floats<kWidth>*>(from) : Floats<kWidth>{};
}

__device__ inline float load_or_zero(const float* from, bool is_inside) {
  return is_inside ? *from : 0.0f;
}

// ---- naive: every neighbour from where it is
//
// A point per thread, in blocks of 32×8 points of one plane. Neighbours along x and y are other
// lanes' and warps' of the block, and L1 serves them. Those along z are other blocks': L2 has them,
// but blocks of three planes ask it for each point, and l2_sectors is more than twice a copy's.
// held: l2_sectors >= 2 × copy

constexpr int kLanes = 32;
constexpr int kWarps = 8;
constexpr int kThreads = kLanes * kWarps;
constexpr float kCenter = -6;

/// Of the four neighbours of (x, y) in its plane, where the point is at `at`; zero where that is
/// outside.
__device__ inline float sum_in_plane(const Volume& v, const float* at, int x, int y,
                                     bool is_inside = true) {
  return load_or_zero(at - 1, is_inside && x > 0) +
         load_or_zero(at + 1, is_inside && x + 1 < v.nx) +
         load_or_zero(at - v.row(), is_inside && y > 0) +
         load_or_zero(at + v.row(), is_inside && y + 1 < v.ny);
}

__global__ void naive_kernel(Volume v) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= v.nx || y >= v.ny || z >= v.nz) return;
  const std::int64_t place = v.place(x, y, z);
  const float* const at = v.in + place;
  v.out[place] = kCenter * *at + sum_in_plane(v, at, x, y) + load_or_zero(at - v.plane(), z > 0) +
                 load_or_zero(at + v.plane(), z + 1 < v.nz);
}

// ---- how the variants are launched

Extent extent(const Problem& p) {
  return {p.nx, p.ny, p.nz};
}
std::int64_t points(const Problem& p) {
  return extent(p).count();
}

/// Blocks of `block` threads that have a box of `tile` points each.
Shape shape(const Problem& p, Extent block, Extent tile) {
  return shape_of_tiles({p.nx, p.ny, p.nz}, tile, block);
}

/// `kernel_for(p)` is launched in the shape that `shape_of(p)` gives.
template <class KernelFor, class ShapeOf>
Variant variant(std::string id, std::string compare_to, KernelFor kernel_for, ShapeOf shape_of,
                ExpectedChangesOf<Problem> expected) {
  constexpr double kOperations = 8;  // a product and six additions, of which one is fused
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"out"};
  v.work = [](const Problem& p) { return stencil_work(points(p), kOperations); };
  v.metrics = [shape_of](const Problem& p, const DeviceSpec&) {
    const Shape s = shape_of(p);
    return MetricValues{
        {"points_per_thread", static_cast<double>(s.tile.count() / s.block.count())}};
  };
  v.launch = [kernel_for, shape_of](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(kernel_for(p), shape_of(p),
                  Volume{d.in, d.out, static_cast<int>(p.nx), static_cast<int>(p.ny),
                         static_cast<int>(p.nz)});
  };
  return v;
}

Variant scalar(std::string id, std::string compare_to, void (*kernel)(Volume), Extent block,
               Extent tile, ExpectedChangesOf<Problem> expected) {
  return variant(
      std::move(id), std::move(compare_to), [kernel](const Problem&) { return kernel; },
      [block, tile](const Problem& p) { return shape(p, block, tile); }, std::move(expected));
}

// ---- copy: the limit
//
// The same bytes in and out, with 16 bytes for each thread: its time is what a stencil can reach at
// best.

Variant copy() {
  return copy_of_points<Variant>(extent);
}

// Volumes of which blocks and warps at the faces are a small part.
bool is_large(const Problem& p) {
  constexpr std::int64_t kMany = 256;
  return p.nx >= kMany && p.ny >= kMany && p.nz >= kMany;
}

constexpr Extent kBlock{kLanes, kWarps, 1};

Variant naive() {
  return scalar("naive", "copy", naive_kernel, kBlock, kBlock,
                {{"l2_sectors", Direction::increases, 1.8, is_large},
                 {"global_load_requests", Direction::increases, 15, is_large},
                 {"dram_read_bytes", Direction::unchanged, 1.15, is_large}});
}

// ---- block_3d: a block of several planes
//
// The same kernel in blocks of 32×4×4 threads: a point's neighbours along z are the block's as
// well, but for its first and last plane, and L1 serves them. l2_sectors falls,
// global_load_requests stays. Blocks have 512 threads in place of 256: a place is free when the
// last of 16 warps has ended.
// held: threads_per_block = 512

Variant block_3d() {
  constexpr Extent kBox{kLanes, 4, 4};
  return scalar("block_3d", "naive", naive_kernel, kBox, kBox,
                {{"l2_sectors", Direction::decreases, 1.15, is_large},
                 {"global_load_requests", Direction::unchanged, 1.05, is_large}});
}

// ---- stream_z: planes in registers, one after the other
//
// A thread has 32 points along z and walks along them: what it loads as the point above is the next
// step's center, and the one below after that, and never leaves its registers. Each step loads one
// new point and four neighbours, which L1 has: global_load_requests falls to nearly five sevenths,
// and l2_sectors as well, since a block is as deep as its threads walk. Places are computed once
// and added to: warp_instructions falls. It costs parallelism: there are 32 times fewer blocks, and
// each waits for its step's loads before the next.
// held: global_load_requests = 5/7 × naive within 3 %; blocks = 1/32 × naive

constexpr int kDepth = 32;
constexpr Extent kWalk{kLanes, kWarps, kDepth};

/// Where a thread is on its walk, and the points below and at that place.
struct Walk {
  const float* at;
  float* to;
  float below, center;
};

/// The next kPlanes points of a walk. Loads come before stores.
template <int kPlanes>
__device__ void step(const Volume& v, int x, int y, bool has_above, Walk& w) {
  float column[kPlanes + 2] = {w.below, w.center};
#pragma unroll
  for (int i = 0; i < kPlanes; ++i)
    column[i + 2] = load_or_zero(w.at + (i + 1) * v.plane(), i + 1 < kPlanes || has_above);
  float sum[kPlanes];
#pragma unroll
  for (int i = 0; i < kPlanes; ++i)
    sum[i] = kCenter * column[i + 1] + column[i] + column[i + 2] +
             sum_in_plane(v, w.at + i * v.plane(), x, y);
#pragma unroll
  for (int i = 0; i < kPlanes; ++i)
    w.to[i * v.plane()] = sum[i];
  w = {w.at + kPlanes * v.plane(), w.to + kPlanes * v.plane(), column[kPlanes],
       column[kPlanes + 1]};
}

template <int kPlanes>
__global__ void __launch_bounds__(kThreads) stream_z_kernel(Volume v) {
  const int x = blockIdx.x * kLanes + threadIdx.x;
  const int y = blockIdx.y * kWarps + threadIdx.y;
  int z = blockIdx.z * kDepth;
  const int end = min(z + kDepth, v.nz);
  if (x >= v.nx || y >= v.ny) return;
  const std::int64_t place = v.place(x, y, z);
  const float* const at = v.in + place;
  Walk w{at, v.out + place, load_or_zero(at - v.plane(), z > 0), *at};
#pragma unroll 1
  for (; z + kPlanes <= end; z += kPlanes)
    step<kPlanes>(v, x, y, z + kPlanes < v.nz, w);
#pragma unroll 1
  for (; kPlanes > 1 && z < end; ++z)
    step<1>(v, x, y, z + 1 < v.nz, w);
}

Variant stream_z() {
  return scalar("stream_z", "naive", stream_z_kernel<1>, kBlock, kWalk,
                {{"l2_sectors", Direction::decreases, 1.3, is_large},
                 {"global_load_requests", Direction::decreases, 1.3, is_large},
                 {"warp_instructions", Direction::decreases, 1.3, is_large}});
}

// ---- stream_z_tile: and the plane in shared memory
//
// What a thread has as its center it also puts into a tile in shared memory, where its four
// neighbours in the plane find it; threads at the tile's edges load what lies beyond.
// global_load_requests falls again, to one per point and the edges. In its place come a store and
// four loads of shared memory, and a barrier for each plane, at which all warps wait for the
// slowest load of all of them. Two tiles by turns make a second one unnecessary.

__global__ void __launch_bounds__(kThreads) stream_z_tile_kernel(Volume v) {
  __shared__ float tiles[2][kWarps + 2][kLanes + 2];
  const int x = blockIdx.x * kLanes + threadIdx.x;
  const int y = blockIdx.y * kWarps + threadIdx.y;
  const int first = blockIdx.z * kDepth;
  const bool is_inside = x < v.nx && y < v.ny;
  // Beside the tile, left or right, and beyond it, in the row before or behind.
  const bool is_at_side = threadIdx.x == 0 || threadIdx.x == kLanes - 1;
  const bool is_at_end = threadIdx.y == 0 || threadIdx.y == kWarps - 1;
  const int side = threadIdx.x == 0 ? -1 : 1;
  const int end = threadIdx.y == 0 ? -1 : 1;
  const bool has_side = is_at_side && is_inside && x + side >= 0 && x + side < v.nx;
  const bool has_end = is_at_end && is_inside && y + end >= 0 && y + end < v.ny;
  const int tx = threadIdx.x + 1;
  const int ty = threadIdx.y + 1;
  const std::int64_t place = v.place(x, y, first);
  const float* at = v.in + place;
  float* to = v.out + place;
  float below = load_or_zero(at - v.plane(), is_inside && first > 0);
  float center = load_or_zero(at, is_inside);
#pragma unroll 1
  for (int z = first; z < min(first + kDepth, v.nz); ++z) {
    auto& tile = tiles[z % 2];
    const float above = load_or_zero(at + v.plane(), is_inside && z + 1 < v.nz);
    const float beside = load_or_zero(at + side, has_side);
    const float beyond = load_or_zero(at + end * v.row(), has_end);
    tile[ty][tx] = center;
    if (is_at_side) tile[ty][tx + side] = beside;
    if (is_at_end) tile[ty + end][tx] = beyond;
    __syncthreads();
    if (is_inside)
      *to = kCenter * center + below + above + tile[ty][tx - 1] + tile[ty][tx + 1] +
            tile[ty - 1][tx] + tile[ty + 1][tx];
    below = center;
    center = above;
    at += v.plane();
    to += v.plane();
  }
}

Variant stream_z_tile() {
  return scalar("stream_z_tile", "stream_z", stream_z_tile_kernel, kBlock, kWalk,
                {{"global_load_requests", Direction::decreases, 1.4, is_large},
                 {"shared_load_wavefronts", Direction::increases, 10, is_large},
                 {"stalled_barrier", Direction::increases, 2, is_large}});
}

// ---- stream_z_unrolled: four planes at once
//
// The walk of stream_z in steps of four planes: the four points above are loaded before any of them
// is needed, and all loads of a step come before its stores. The loads of four points are in
// flight, and the loop's branch_instructions fall. It costs registers, and planes that are left
// behind the last whole step go one by one.

Variant stream_z_unrolled() {
  constexpr int kPlanes = 4;
  return scalar("stream_z_unrolled", "stream_z", stream_z_kernel<kPlanes>, kBlock, kWalk,
                {{"branch_instructions", Direction::decreases, 1.5, is_large},
                 {"global_load_requests", Direction::unchanged, 1.05, is_large},
                 {"l2_sectors", Direction::unchanged, 1.1, is_large}});
}

// ---- vectors: four walks per thread
//
// 16 bytes per access: a thread walks along z with four points of a row, and a vector before or
// behind serves four points. Along x it has all neighbours itself but one on either side, which are
// in the registers of the lanes beside it: two shuffles bring them, and only the warp's first and
// last lane load. global_load_requests and warp_instructions fall. Where nx is no multiple of 4,
// accesses are narrower (access_width_bits).

template <int kWidth>
struct VectorWalk {
  const float* at;
  float* to;
  Floats<kWidth> below, center;
};

/// What lies around a thread's vector. Lanes behind the end of a row have left.
struct Around {
  unsigned lanes;
  bool is_first, is_last;  // of these lanes
  bool has_left, has_right, has_before, has_behind;
};

/// What is left and right of a row's vector: the lanes beside have it, and beyond them memory.
template <int kWidth>
__device__ float2 beside(const float* at, const Around& a, const Floats<kWidth>& center) {
  const float left = load_or_zero(at - 1, a.is_first && a.has_left);
  const float right = load_or_zero(at + kWidth, a.is_last && a.has_right);
  const float of_lane_before = __shfl_up_sync(a.lanes, center.at[kWidth - 1], 1);
  const float of_lane_behind = __shfl_down_sync(a.lanes, center.at[0], 1);
  return {a.is_first ? left : of_lane_before, a.is_last ? right : of_lane_behind};
}

template <int kPlanes, int kWidth>
__device__ void step(const Volume& v, const Around& a, bool has_above, VectorWalk<kWidth>& w) {
  using Vector = Floats<kWidth>;
  Vector column[kPlanes + 2] = {w.below, w.center};
#pragma unroll
  for (int i = 0; i < kPlanes; ++i)
    column[i + 2] = load_or_zeros<kWidth>(w.at + (i + 1) * v.plane(), i + 1 < kPlanes || has_above);
  Vector sum[kPlanes];
#pragma unroll
  for (int i = 0; i < kPlanes; ++i) {
    const float* const at = w.at + i * v.plane();
    const Vector before = load_or_zeros<kWidth>(at - v.row(), a.has_before);
    const Vector behind = load_or_zeros<kWidth>(at + v.row(), a.has_behind);
    const Vector& center = column[i + 1];
    const float2 side = beside<kWidth>(at, a, center);
#pragma unroll
    for (int k = 0; k < kWidth; ++k)
      sum[i].at[k] = kCenter * center.at[k] + column[i].at[k] + column[i + 2].at[k] + before.at[k] +
                     behind.at[k] + (k > 0 ? center.at[k - 1] : side.x) +
                     (k + 1 < kWidth ? center.at[k + 1] : side.y);
  }
#pragma unroll
  for (int i = 0; i < kPlanes; ++i)
    store(w.to + i * v.plane(), sum[i]);
  w = {w.at + kPlanes * v.plane(), w.to + kPlanes * v.plane(), column[kPlanes],
       column[kPlanes + 1]};
}

template <int kWidth>
__global__ void __launch_bounds__(kThreads) vectors_kernel(Volume v) {
  constexpr int kPlanes = 2;  // of a step: with more, registers leave room for fewer warps
  const int x = (blockIdx.x * kLanes + threadIdx.x) * kWidth;
  const int y = blockIdx.y * kWarps + threadIdx.y;
  int z = blockIdx.z * kDepth;
  const int end = min(z + kDepth, v.nz);
  const unsigned lanes = __ballot_sync(0xFFFFFFFF, x < v.nx);
  if (x >= v.nx || y >= v.ny) return;
  const bool has_right = x + kWidth < v.nx;
  const Around a{lanes, threadIdx.x == 0, threadIdx.x == kLanes - 1 || !has_right, x > 0, has_right,
                 y > 0, y + 1 < v.ny};
  const std::int64_t place = v.place(x, y, z);
  const float* const at = v.in + place;
  VectorWalk<kWidth> w{at, v.out + place, load_or_zeros<kWidth>(at - v.plane(), z > 0),
                       load_or_zeros<kWidth>(at, true)};
#pragma unroll 1
  for (; z + kPlanes <= end; z += kPlanes)
    step<kPlanes>(v, a, z + kPlanes < v.nz, w);
#pragma unroll 1
  for (; z < end; ++z)
    step<1>(v, a, z + 1 < v.nz, w);
}

bool has_wide_rows(const Problem& p) {
  return is_large(p) && has_widest_access(p.nx);
}

Variant vectors() {
  Variant v = variant(
      "vectors", "stream_z_unrolled",
      [](const Problem& p) {
        constexpr std::array kByWidth{vectors_kernel<1>, vectors_kernel<2>, vectors_kernel<4>};
        return kByWidth[logarithm(access_points(p.nx))];
      },
      [](const Problem& p) {
        return shape(p, kBlock, {kLanes * access_points(p.nx), kWarps, kDepth});
      },
      {{"global_load_requests", Direction::decreases, 3, has_wide_rows},
       {"warp_instructions", Direction::decreases, 1.7, has_wide_rows}});
  const auto of_points = v.metrics;
  v.metrics = [of_points](const Problem& p, const DeviceSpec& device) {
    MetricValues values = of_points(p, device);
    values.push_back({"access_width_bits", 8.0 * sizeof(float) * access_points(p.nx)});
    return values;
  };
  return v;
}

// ---- inputs and the plain reference

struct Laplacian {
  Problem p;
  const float* in;
  __host__ __device__ double point(std::int64_t x, std::int64_t y, std::int64_t z) const {
    const bool is_inside = x >= 0 && x < p.nx && y >= 0 && y < p.ny && z >= 0 && z < p.nz;
    return is_inside ? in[(z * p.ny + y) * p.nx + x] : 0.0;
  }
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const std::int64_t x = i % p.nx;
    const std::int64_t y = i / p.nx % p.ny;
    const std::int64_t z = i / (p.nx * p.ny);
    return {point(x - 1, y, z) + point(x + 1, y, z) + point(x, y - 1, z) + point(x, y + 1, z) +
                point(x, y, z - 1) + point(x, y, z + 1) - 6.0 * point(x, y, z),
            0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("stencil_3d", Topic::execution, "Who serves the neighbours of a point in a volume?");
  f.physics =
      "A stencil reads each point once and writes it once, as a copy does, whose time is its "
      "limit. Of a point's six neighbours in a volume two are a plane away. Threads of one plane "
      "ask L2 for them; a block of several planes has them in L1, and a thread that walks from "
      "plane to plane in its registers. That is less parallel: a walk needs enough loads in flight "
      "at each step.";
  constexpr std::int64_t kMostRows = 65535 * 4;  // blocks along y and z of a grid
  f.extent("nx", &Problem::nx, 512, 1 << 24, "points of a row, which lie side by side")
      .extent("ny", &Problem::ny, 512, kMostRows, "rows of a plane")
      .extent("nz", &Problem::nz, 512, 65535, "planes");
  declare_stencil<Laplacian>(f, points);
  f.outputs = extent;
  f.tolerance_derivation =
      "Zero: points are whole numbers of up to 255, the weights' magnitudes add up to 12, and fp32 "
      "has all whole numbers up to 2^24: every partial sum is exact, in any order.";
  f.variants(copy(), naive(), block_3d(), stream_z(), stream_z_tile(), stream_z_unrolled(),
             vectors());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::stencil_3d
