// stencil_2d: each point of a plane becomes a weighted sum of itself and of its neighbours along
// both axes, up to `radius` points away: the Laplacian, by finite differences.
//
// The question: who serves the neighbours? Each point is read once and written once at best, as in
// a copy, whose time is the limit. But 4·radius + 1 sums need it. Whoever loads all of them from
// where they are asks L1 as often; a tile in shared memory has each neighbour loaded once for a
// block; and a thread with several points of a column has those along y in registers, for nothing.
// What is left then is what a copy needs as well: few instructions per point, and enough bytes in
// flight.
//
// Points outside of the plane count as zero. Weights are those of the difference of order 2·radius,
// times their common denominator, and points are small whole numbers: sums are exact.
#include <array>
#include <string>

#include "kernels/common/stencil.cuh"

namespace gpuexp::stencil_2d {

struct Problem {
  std::int64_t nx, ny;
  int radius;
};

struct Data {
  float *in, *out;
  float* copied;  // as `in`, of `copy` alone
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kMostRadius = 4;

/// Of points that are `distance` apart along an axis, in its second derivative (B. Fornberg,
/// "Generation of finite difference formulas on arbitrarily spaced grids", Math. Comp. 51, 1988).
template <int kRadius>
__host__ __device__ constexpr float weight(int distance) {
  constexpr float kWeights[kMostRadius][kMostRadius + 1] = {
      {-2, 1}, {-30, 16, -1}, {-490, 270, -27, 2}, {-14350, 8064, -1008, 128, -9}};
  return kWeights[kRadius - 1][distance];
}

struct Plane {
  const float* in;
  float* out;
  int nx, ny;

  __device__ std::int64_t place(int x, int y) const {
    return static_cast<std::int64_t>(y) * nx + x;
  }
  /// kWidth points from (x, y) on, which are inside together, or outside together and zero.
  template <int kWidth, bool kIsChecked = true>
  __device__ Floats<kWidth> load(int x, int y) const {
    const bool is_inside = !kIsChecked || (static_cast<unsigned>(x) < static_cast<unsigned>(nx) &&
                                           static_cast<unsigned>(y) < static_cast<unsigned>(ny));
    return is_inside ? *reinterpret_cast<const Floats<kWidth>*>(in + place(x, y))
                     : Floats<kWidth>{};
  }
  __device__ float load(int x, int y) const { return load<1>(x, y).at[0]; }
};

// ---- naive: every neighbour from where it is
//
// A point per thread. Lanes are neighbours along x, so that each of the 4·radius + 1 loads is a
// request of a line or two, and a warp's neighbours are mostly other warps' points: L1 serves all
// but the first to ask (l1_hit_pct). Sums are few instructions; most are for places and for whether
// they are inside. A thread's loads are in flight together, but one of them goes to DRAM.

constexpr int kLanes = 32;
constexpr int kWarps = 8;
constexpr int kThreads = kLanes * kWarps;

template <int kRadius>
__global__ void __launch_bounds__(kThreads) naive_kernel(Plane p) {
  const int x = blockIdx.x * kLanes + threadIdx.x;
  const int y = blockIdx.y * kWarps + threadIdx.y;
  if (x >= p.nx || y >= p.ny) return;
  float sum = 2 * weight<kRadius>(0) * p.load(x, y);
#pragma unroll
  for (int r = 1; r <= kRadius; ++r)
    sum += weight<kRadius>(r) *
           (p.load(x - r, y) + p.load(x + r, y) + p.load(x, y - r) + p.load(x, y + r));
  p.out[p.place(x, y)] = sum;
}

// ---- how the variants are launched

std::int64_t points(const Problem& p) {
  return p.nx * p.ny;
}

Work work(const Problem& p) {
  const double terms = 4.0 * p.radius + 1;
  return stencil_work(points(p), 2 * terms);
}

using Kernel = void (*)(Plane);
/// By radius, from 1 on.
using ByRadius = std::array<Kernel, kMostRadius>;

/// The block's threads have so many points each, as a rectangle.
struct PointsPerThread {
  int x, y;
};

/// `kernel_for(p)` takes the points of a thread that `each_of(p)` says.
template <class KernelFor, class EachOf>
Variant variant(std::string id, std::string compare_to, KernelFor kernel_for, EachOf each_of,
                ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"out"};
  v.work = work;
  v.metrics = [each_of](const Problem& p, const DeviceSpec&) {
    const PointsPerThread each = each_of(p);
    return MetricValues{{"points_per_thread", static_cast<double>(each.x * each.y)}};
  };
  v.launch = [kernel_for, each_of](const Problem& p, const Data& d, const LaunchContext&) {
    const PointsPerThread each = each_of(p);
    const Extent tile{kLanes * each.x, kWarps * each.y};
    return launch(kernel_for(p), shape_of_tiles({p.nx, p.ny}, tile, {kLanes, kWarps}),
                  Plane{d.in, d.out, static_cast<int>(p.nx), static_cast<int>(p.ny)});
  };
  return v;
}

Variant scalar(std::string id, std::string compare_to, const ByRadius& kernels,
               PointsPerThread each, ExpectedChangesOf<Problem> expected) {
  return variant(
      std::move(id), std::move(compare_to),
      [kernels](const Problem& p) { return kernels[p.radius - 1]; },
      [each](const Problem&) { return each; }, std::move(expected));
}

// ---- copy: the limit
//
// The same bytes in and out, with 16 bytes for each thread: its time is what a stencil can reach at
// best.

Extent extent(const Problem& p) {
  return {p.nx, p.ny, 1};
}

Variant copy() {
  return copy_of_points<Variant>(extent);
}

// Planes of which blocks and warps at the edges are a small part.
bool is_large(const Problem& p) {
  constexpr std::int64_t kMany = 2048;
  return p.nx >= kMany && p.ny >= kMany;
}

Variant naive() {
  return scalar("naive", "copy",
                {naive_kernel<1>, naive_kernel<2>, naive_kernel<3>, naive_kernel<4>}, {1, 1},
                {{"global_load_requests", Direction::increases, 10, is_large},
                 {"warp_instructions", Direction::increases, 4, is_large},
                 {"dram_read_bytes", Direction::unchanged, 1.1, is_large}});
}

// ---- smem_tile: a block's points and their halo in shared memory
//
// A block loads the points of its tile and of a halo of `radius` around it once, waits at a
// barrier, and sums from shared memory: global_load_requests falls. Shared memory is the same
// memory as L1 and answers as many words per clock, so that a neighbour costs as much as before
// (shared_load_wavefronts); what is saved is to ask for its tag, and to look whether it is inside.
// It costs the halo, of which a small tile has a lot, and warps wait for each other before any of
// them can sum.

template <int kRadius>
__global__ void __launch_bounds__(kThreads) smem_tile_kernel(Plane p) {
  constexpr int kColumns = kLanes + 2 * kRadius;
  constexpr int kCount = kColumns * (kWarps + 2 * kRadius);
  constexpr int kLoads = (kCount + kThreads - 1) / kThreads;  // of a thread
  __shared__ float tile[kLoads * kThreads];
  const int x0 = blockIdx.x * kLanes;
  const int y0 = blockIdx.y * kWarps;
  const int thread = threadIdx.y * kLanes + threadIdx.x;
  float loaded[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int at = thread + i * kThreads;
    loaded[i] = p.load(x0 - kRadius + at % kColumns, y0 - kRadius + at / kColumns);
  }
#pragma unroll
  for (int i = 0; i < kLoads; ++i)
    tile[thread + i * kThreads] = loaded[i];
  __syncthreads();
  const int x = x0 + threadIdx.x;
  const int y = y0 + threadIdx.y;
  if (x >= p.nx || y >= p.ny) return;
  const float* const at = tile + (threadIdx.y + kRadius) * kColumns + threadIdx.x + kRadius;
  float sum = 2 * weight<kRadius>(0) * *at;
#pragma unroll
  for (int r = 1; r <= kRadius; ++r)
    sum += weight<kRadius>(r) * (at[-r] + at[r] + at[-r * kColumns] + at[r * kColumns]);
  p.out[p.place(x, y)] = sum;
}

Variant smem_tile() {
  return scalar(
      "smem_tile", "naive",
      {smem_tile_kernel<1>, smem_tile_kernel<2>, smem_tile_kernel<3>, smem_tile_kernel<4>}, {1, 1},
      {{"global_load_requests", Direction::decreases, 1.6, is_large},
       {"shared_load_wavefronts", Direction::increases, 10, is_large},
       {"dram_read_bytes", Direction::unchanged, 1.1, is_large}});
}

// ---- column: neighbours along y in registers
//
// A thread takes eight points of a column, one after the other, and keeps the 2·radius + 1 that a
// sum needs along y in registers: each step loads one of them and moves the others up. What it
// loads along y serves all of its points, and global_load_requests falls to nearly 2·radius + 1 per
// point. Places are computed once, and there are fewer blocks to start. A thread waits for each
// step's loads before the next: it has no more in flight than before.

constexpr int kColumn = 8;

/// The sum of what lies along y, by distance from the first on, and of the neighbours along x.
template <int kRadius>
__device__ float sum_at(const Plane& p, int x, int y, const float* column) {
  float sum = 2 * weight<kRadius>(0) * column[kRadius];
#pragma unroll
  for (int r = 1; r <= kRadius; ++r)
    sum += weight<kRadius>(r) *
           (column[kRadius - r] + column[kRadius + r] + p.load(x - r, y) + p.load(x + r, y));
  return sum;
}

template <int kRadius>
__global__ void __launch_bounds__(kThreads) column_kernel(Plane p) {
  const int x = blockIdx.x * kLanes + threadIdx.x;
  const int first = (blockIdx.y * kWarps + threadIdx.y) * kColumn;
  if (x >= p.nx) return;
  float column[2 * kRadius + 1];
#pragma unroll
  for (int i = 0; i < 2 * kRadius; ++i)
    column[i] = p.load(x, first - kRadius + i);
#pragma unroll 1
  for (int y = first; y < min(first + kColumn, p.ny); ++y) {
    column[2 * kRadius] = p.load(x, y + kRadius);
    p.out[p.place(x, y)] = sum_at<kRadius>(p, x, y, column);
#pragma unroll
    for (int i = 0; i < 2 * kRadius; ++i)
      column[i] = column[i + 1];
  }
}

Variant column() {
  return scalar("column", "naive",
                {column_kernel<1>, column_kernel<2>, column_kernel<3>, column_kernel<4>},
                {1, kColumn},
                {{"global_load_requests", Direction::decreases, 1.4, is_large},
                 {"warp_instructions", Direction::decreases, 1.1, is_large},
                 {"dram_read_bytes", Direction::unchanged, 1.1, is_large}});
}

// ---- column_unrolled: all steps at once
//
// The same column with its steps unrolled. Nothing has to move, since each step knows which
// registers it means; no step branches, and all loads stand before the first store, so that they
// are in flight together. warp_instructions falls, global_load_requests stays. It costs registers
// for all that the thread loads.

template <int kRadius>
__global__ void __launch_bounds__(kThreads) column_unrolled_kernel(Plane p) {
  const int x = blockIdx.x * kLanes + threadIdx.x;
  const int first = (blockIdx.y * kWarps + threadIdx.y) * kColumn;
  if (x >= p.nx) return;
  float column[kColumn + 2 * kRadius];
#pragma unroll
  for (int i = 0; i < kColumn + 2 * kRadius; ++i)
    column[i] = p.load(x, first - kRadius + i);
  float sum[kColumn];
#pragma unroll
  for (int i = 0; i < kColumn; ++i)
    sum[i] = sum_at<kRadius>(p, x, first + i, column + i);
#pragma unroll
  for (int i = 0; i < kColumn; ++i)
    if (first + i < p.ny) p.out[p.place(x, first + i)] = sum[i];
}

Variant column_unrolled() {
  return scalar("column_unrolled", "column",
                {column_unrolled_kernel<1>, column_unrolled_kernel<2>, column_unrolled_kernel<3>,
                 column_unrolled_kernel<4>},
                {1, kColumn},
                {{"warp_instructions", Direction::decreases, 1.2, is_large},
                 {"global_load_requests", Direction::unchanged, 1.05, is_large}});
}

// ---- vectors: four columns per thread
//
// 16 bytes per access: a thread has two points of four columns in place of eight of one, and loads
// the vectors to the left and to the right, which neighbouring lanes loaded as well and L1 has. A
// vector serves four points: global_load_requests and warp_instructions fall. Where nx is no
// multiple of 4, rows begin between vectors, and accesses are narrower (access_width_bits).

constexpr int kPoints = kColumn;  // of a thread, as in column_unrolled
template <int kWidth>
constexpr int kRowsOf = kPoints / kWidth;

/// The sums of kPoints points from (x, first) on, kWidth in each row. With kIsChecked, zeros
/// outside.
template <int kRadius, int kWidth, bool kIsChecked>
__device__ void add_vectors(const Plane& p, int x, int first) {
  using Vector = Floats<kWidth>;
  constexpr int kRows = kRowsOf<kWidth>;
  constexpr int kSides = (kRadius + kWidth - 1) / kWidth;  // vectors on either side
  Vector column[kRows + 2 * kRadius];
#pragma unroll
  for (int i = 0; i < kRows + 2 * kRadius; ++i)
    column[i] = p.load<kWidth, kIsChecked>(x, first - kRadius + i);
  Vector sum[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    Vector row[2 * kSides + 1];
#pragma unroll
    for (int side = 1; side <= kSides; ++side) {
      row[kSides - side] = p.load<kWidth, kIsChecked>(x - side * kWidth, first + i);
      row[kSides + side] = p.load<kWidth, kIsChecked>(x + side * kWidth, first + i);
    }
    row[kSides] = column[i + kRadius];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const auto in_row = [&](int at) { return row[at / kWidth].at[at % kWidth]; };
      const int at = kSides * kWidth + k;
      float s = 2 * weight<kRadius>(0) * in_row(at);
#pragma unroll
      for (int r = 1; r <= kRadius; ++r)
        s += weight<kRadius>(r) * (column[i + kRadius - r].at[k] + column[i + kRadius + r].at[k] +
                                   in_row(at - r) + in_row(at + r));
      sum[i].at[k] = s;
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i)
    if (!kIsChecked || first + i < p.ny) store(p.out + p.place(x, first + i), sum[i]);
}

template <int kRadius, int kWidth, bool kPartsInner>
__global__ void __launch_bounds__(kThreads) vectors_kernel(Plane p) {
  constexpr int kRows = kRowsOf<kWidth>;
  const int x0 = blockIdx.x * kLanes * kWidth;
  const int y0 = blockIdx.y * kWarps * kRows;
  const int x = x0 + threadIdx.x * kWidth;
  const int first = y0 + threadIdx.y * kRows;
  constexpr int kHalo = (kRadius + kWidth - 1) / kWidth * kWidth;
  const bool is_inner = x0 >= kHalo && y0 >= kRadius && x0 + kLanes * kWidth + kHalo <= p.nx &&
                        y0 + kWarps * kRows + kRadius <= p.ny;
  if (kPartsInner && is_inner)
    add_vectors<kRadius, kWidth, false>(p, x, first);
  else if (x < p.nx)
    add_vectors<kRadius, kWidth, true>(p, x, first);
}

bool has_wide_rows(const Problem& p) {
  return is_large(p) && has_widest_access(p.nx);
}

template <int kWidth, bool kPartsInner>
constexpr ByRadius kVectors{
    vectors_kernel<1, kWidth, kPartsInner>, vectors_kernel<2, kWidth, kPartsInner>,
    vectors_kernel<3, kWidth, kPartsInner>, vectors_kernel<4, kWidth, kPartsInner>};

template <bool kPartsInner>
Variant with_vectors(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  Variant v = variant(
      std::move(id), std::move(compare_to),
      [](const Problem& p) {
        const std::array<ByRadius, 3> by_width{kVectors<1, kPartsInner>, kVectors<2, kPartsInner>,
                                               kVectors<4, kPartsInner>};
        return by_width[logarithm(access_points(p.nx))][p.radius - 1];
      },
      [](const Problem& p) {
        const int width = access_points(p.nx);
        return PointsPerThread{width, kPoints / width};
      },
      std::move(expected));
  const auto of_points = v.metrics;
  v.metrics = [of_points](const Problem& p, const DeviceSpec& device) {
    MetricValues values = of_points(p, device);
    values.push_back({"access_width_bits", 8.0 * sizeof(float) * access_points(p.nx)});
    return values;
  };
  return v;
}

Variant vectors() {
  return with_vectors<false>("vectors", "column_unrolled",
                             {{"global_load_requests", Direction::decreases, 1.5, has_wide_rows},
                              {"warp_instructions", Direction::decreases, 1.5, has_wide_rows},
                              {"dram_read_bytes", Direction::unchanged, 1.1, is_large}});
}

// ---- inner_unchecked: no comparisons where all is inside
//
// Most blocks have all of their points and of the halo inside of the plane, and find that out once:
// they take the same code without its comparisons. warp_instructions falls, global_load_requests
// stays. It costs a second copy of the code, for the blocks at the edges.

Variant inner_unchecked() {
  return with_vectors<true>("inner_unchecked", "vectors",
                            {{"warp_instructions", Direction::decreases, 1.2, has_wide_rows},
                             {"global_load_requests", Direction::unchanged, 1.01, is_large}});
}

// ---- inputs and the plain reference

struct Laplacian {
  Problem p;
  const float* in;
  __host__ __device__ double point(std::int64_t x, std::int64_t y) const {
    return x >= 0 && x < p.nx && y >= 0 && y < p.ny ? in[y * p.nx + x] : 0.0;
  }
  template <int kRadius>
  __host__ __device__ double sum(std::int64_t x, std::int64_t y) const {
    double sum = 2.0 * weight<kRadius>(0) * point(x, y);
    for (int r = 1; r <= kRadius; ++r)
      sum += static_cast<double>(weight<kRadius>(r)) *
             (point(x - r, y) + point(x + r, y) + point(x, y - r) + point(x, y + r));
    return sum;
  }
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const std::int64_t x = i % p.nx;
    const std::int64_t y = i / p.nx;
    switch (p.radius) {
      case 1: return {sum<1>(x, y), 0.0};
      case 2: return {sum<2>(x, y), 0.0};
      case 3: return {sum<3>(x, y), 0.0};
      default: return {sum<4>(x, y), 0.0};
    }
  }
};

// ---- declaration

/// Of sums and of what they are sums of: points times weights, whatever their signs.
constexpr int most_magnitude() {
  float weights = 2 * -weight<kMostRadius>(0);
  for (int r = 1; r <= kMostRadius; ++r) {
    const float w = weight<kMostRadius>(r);
    weights += 4 * (w < 0 ? -w : w);
  }
  return static_cast<int>(weights) * kMostPoint;
}

Family declare() {
  Family f("stencil_2d", Topic::execution, "Who serves the neighbours of a point in a plane?");
  f.physics =
      "A stencil reads each point once and writes it once, as a copy does, whose time is its "
      "limit. Its neighbours are read again and again by neighbouring threads. L1 can serve them, "
      "shared memory can, and where one thread has several points in a column its registers do. "
      "What memory cannot be saved, requests and instructions can: once they are few, and enough "
      "bytes are in flight, the stencil takes the time of a copy.";
  constexpr std::int64_t kMostRows = 65535 * kWarps;  // blocks along the y axis of a grid
  f.extent("nx", &Problem::nx, 16384, 1 << 24, "points of a row, which lie side by side")
      .extent("ny", &Problem::ny, 16384, kMostRows, "rows")
      .integer("radius", &Problem::radius, 1, 1, kMostRadius, "",
               "distance of the farthest neighbour, of which there are 4·radius");
  declare_stencil<Laplacian>(f, points);
  f.outputs = extent;
  f.tolerance_derivation =
      "Zero: points are whole numbers of up to 255, the weights' magnitudes add up to 2^16 at "
      "most, and fp32 has all whole numbers up to 2^24: every partial sum is exact, in any order.";
  static_assert(most_magnitude() < 1 << 24, "sums are exact");
  f.variants(copy(), naive(), smem_tile(), column(), column_unrolled(), vectors(),
             inner_unchecked());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::stencil_2d
