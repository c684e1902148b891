// stencil_3d: the Laplacian of a 3D array by the 7-point stencil: each output is the sum of the six
// neighbours of a point minus six times the point.
//
// The question: which memory serves the neighbours in adjacent planes? In 2D (stencil_2d)
// neighbours are at most a few rows away, and L1 still has them. Here two of six neighbours are
// nx·ny points away, unless threads iterate along z (2.5D blocking: A. Nguyen et al., "3.5-D
// blocking optimization for stencil computations on modern CPUs and GPUs", SC 2010; P.
// Micikevicius, "3D finite difference computation on GPUs using CUDA", GPGPU 2009).
//
// Points outside the array count as zero. Points are small integers, so sums are exact.
#include <array>

#include "kernels/common/stencil.cuh"

namespace gpuexp::stencil_3d {

struct Problem {
  std::int64_t nx, ny, nz;
};

struct Data {
  float *in, *out;
  float* copied;  // the output of `copy`
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

struct Volume {
  const float* in;
  float* out;
  int nx, ny, nz;

  __device__ std::int64_t place(int x, int y, int z) const { return y * row() + x + z * plane(); }
  /// The strides from one row to the next and from one plane to the next, in points.
  __device__ std::int64_t row() const { return nx; }
  __device__ std::int64_t plane() const { return row() * ny; }
};

/// Loads kWidth points starting at `from`, or returns zeros if they are outside.
template <int kWidth>
__device__ Floats<kWidth> load_or_zeros(const float* from, bool are_inside) {
  return are_inside ? *reinterpret_cast<const Floats<kWidth>*>(from) : Floats<kWidth>{};
}

__device__ inline float load_or_zero(const float* from, bool is_inside) {
  return is_inside ? *from : 0.0f;
}

// ---- naive: seven loads per point
//
// Each thread computes one point, in blocks of 32×8 points of one plane, and loads the point and
// all six neighbours: global_load_requests increases. Other lanes and warps of the block load the
// same neighbours along x and y, so L1 serves them. The neighbours along z belong to other blocks
// and come from L2. Blocks of three planes request each point, and l2_sectors is more than twice
// that of a copy. dram_read_bytes is unchanged.
// held: l2_sectors >= 2 × copy

constexpr int kLanes = 32;
constexpr int kWarps = 8;
constexpr int kThreads = kLanes * kWarps;
constexpr float kCenter = -6;

/// Returns the sum of the four neighbours of (x, y) in its plane, where neighbours outside the
/// plane are zero. `at` is the address of the point.
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

Shape shape(const Problem& p, Extent block, Extent tile) {
  return shape_of_tiles({p.nx, p.ny, p.nz}, tile, block);
}

/// A variant that launches `kernel_for(p)` in the shape `shape_of(p)`.
template <class KernelFor, class ShapeOf>
Variant variant(std::string id, std::string compare_to, KernelFor kernel_for, ShapeOf shape_of,
                ExpectedChangesOf<Problem> expected) {
  constexpr double kOperations = 7;  // a product and six additions
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

// ---- copy: the same bytes in order, the lower bound on time
//
// Each thread loads 16 bytes and stores them. A stencil loads and stores the same bytes, so it
// takes at least this time.

Variant copy() {
  return copy_of_points<Variant>(extent);
}

// True if blocks and warps at the faces of the array are a small part of all.
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

// ---- block_3d: blocks of several planes
//
// The kernel of naive runs in blocks of 32×4×4 threads. Except for its first and last plane, the
// block itself loads a point's neighbours along z, so L1 serves them: l2_sectors decreases, and
// global_load_requests is unchanged. The cost is larger blocks of 512 threads instead of 256: a
// block slot becomes free when the last of 16 warps has ended.
// held: threads_per_block = 512

Variant block_3d() {
  constexpr Extent kBox{kLanes, 4, 4};
  return scalar("block_3d", "naive", naive_kernel, kBox, kBox,
                {{"l2_sectors", Direction::decreases, 1.15, is_large},
                 {"global_load_requests", Direction::unchanged, 1.05, is_large}});
}

// ---- stream_z: iteration along z with planes in registers
//
// A thread computes 32 points along z, one per step. The point above becomes the next step's center
// and then the point below, without leaving registers. Each step loads one new point and four
// neighbours, which L1 has: global_load_requests decreases to nearly five sevenths. l2_sectors
// decreases, because only the first and the last plane of a block are shared with other blocks
// along z. warp_instructions decreases. The cost is parallelism: there are 32 times fewer blocks,
// and each thread waits for the loads of a step before the next one.
// held: global_load_requests = 5/7 × naive within 3 %; blocks = 1/32 × naive

constexpr int kDepth = 32;
constexpr Extent kWalk{kLanes, kWarps, kDepth};

/// Position of a thread in its iteration along z: addresses, the current point and the point below.
struct Walk {
  const float* at;
  float* to;
  float below, center;
};

/// Computes the next kPlanes points along z. All loads precede the stores.
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

// ---- stream_z_tile: the current plane in shared memory
//
// Each thread also stores its center to a tile in shared memory and loads the four neighbours in
// the plane from there. global_load_requests decreases to one per point plus the edges. The cost is
// one store and four loads in shared memory per point (shared_load_wavefronts increases), and a
// barrier per plane. All warps wait there for the slowest load of the block (stalled_barrier
// increases).

__global__ void __launch_bounds__(kThreads) stream_z_tile_kernel(Volume v) {
  __shared__ float tiles[2][kWarps + 2][kLanes + 2];
  const int x = blockIdx.x * kLanes + threadIdx.x;
  const int y = blockIdx.y * kWarps + threadIdx.y;
  const int first = blockIdx.z * kDepth;
  const bool is_inside = x < v.nx && y < v.ny;
  // Threads at an edge of the tile also load the neighbour outside it.
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

// ---- stream_z_unrolled: four planes per step
//
// Each step of stream_z computes four points along z and issues all its loads before its stores:
// the loads of four points are in flight. branch_instructions decreases; global_load_requests and
// l2_sectors are unchanged. The cost is registers.

Variant stream_z_unrolled() {
  constexpr int kPlanes = 4;
  return scalar("stream_z_unrolled", "stream_z", stream_z_kernel<kPlanes>, kBlock, kWalk,
                {{"branch_instructions", Direction::decreases, 1.5, is_large},
                 {"global_load_requests", Direction::unchanged, 1.05, is_large},
                 {"l2_sectors", Direction::unchanged, 1.1, is_large}});
}

// ---- vectors: 16-byte accesses, four points per thread
//
// A thread iterates along z with four neighbouring points of a row and loads and stores them with
// 16-byte accesses. A thread gets the neighbours left and right of its vector from the adjacent
// lanes with two shuffles; only the first and the last lane of a warp load one.
// global_load_requests and warp_instructions decrease. If nx is not a multiple of 4, accesses are
// narrower (access_width_bits).

template <int kWidth>
struct VectorWalk {
  const float* at;
  float* to;
  Floats<kWidth> below, center;
};

/// Which neighbours of a thread's vector exist. Lanes past the end of a row have exited.
struct Around {
  unsigned lanes;          // active lanes of the warp
  bool is_first, is_last;  // among the active lanes
  bool has_left, has_right, has_previous_row, has_next_row;
};

/// Returns the points left and right of a vector in its row: from the adjacent lanes, or from
/// memory for the first and the last lane.
template <int kWidth>
__device__ float2 beside(const float* at, const Around& a, const Floats<kWidth>& center) {
  const float left = load_or_zero(at - 1, a.is_first && a.has_left);
  const float right = load_or_zero(at + kWidth, a.is_last && a.has_right);
  const float from_previous_lane = __shfl_up_sync(a.lanes, center.at[kWidth - 1], 1);
  const float from_next_lane = __shfl_down_sync(a.lanes, center.at[0], 1);
  return {a.is_first ? left : from_previous_lane, a.is_last ? right : from_next_lane};
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
    const Vector before = load_or_zeros<kWidth>(at - v.row(), a.has_previous_row);
    const Vector behind = load_or_zeros<kWidth>(at + v.row(), a.has_next_row);
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
  constexpr int kPlanes = 2;  // per step; with more, registers limit the SM to fewer warps
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
  Family f("stencil_3d", Topic::execution,
           "Which memory serves the neighbours of a 3D stencil in adjacent planes fastest?");
  f.physics =
      "A stencil loads each point once and stores it once, as a copy does, so the time of a copy "
      "is its lower bound. Two of the six neighbours of a point in 3D are a plane away. A block of "
      "one plane loads them from L2; a block of several planes has them in L1, and a thread that "
      "iterates over planes has them in registers. Such iteration is less parallel: each step "
      "needs enough loads in flight.";
  constexpr std::int64_t kMaxRows = 65535 * 4;  // blocks along y and z of a grid
  f.extent("nx", &Problem::nx, 512, 1 << 24, "points per row, the contiguous dimension")
      .extent("ny", &Problem::ny, 512, kMaxRows, "rows per plane")
      .extent("nz", &Problem::nz, 512, 65535, "number of planes");
  declare_stencil<Laplacian>(f, points);
  f.outputs = extent;
  f.tolerance_derivation =
      "Zero: points are integers of up to 255, the magnitudes of the weights sum to 12, and fp32 "
      "represents all integers up to 2^24: every partial sum is exact, in any order.";
  f.variants(copy(), naive(), block_3d(), stream_z(), stream_z_tile(), stream_z_unrolled(),
             vectors());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::stencil_3d
