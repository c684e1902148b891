// stencil_2d: the Laplacian of a 2D array by finite differences: each output is a weighted sum of a
// point and of its neighbours along both axes, up to `radius` points away.
//
// The question: which memory serves the neighbours? 4·radius + 1 sums use each point. If each
// thread loads all neighbours, L1 receives that many requests for each point.
//
// Points outside the array count as zero. The weights are those of the finite difference of order
// 2·radius, multiplied by their common denominator. Weights and points are small integers, so sums
// are exact.
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
  float* copied;  // the output of `copy`
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kMaxRadius = 4;

/// Returns the weight of a point at `distance` along an axis in the second derivative (B. Fornberg,
/// "Generation of finite difference formulas on arbitrarily spaced grids", Math. Comp. 51, 1988).
template <int kRadius>
__host__ __device__ constexpr float weight(int distance) {
  constexpr float kWeights[kMaxRadius][kMaxRadius + 1] = {
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
  /// Loads kWidth points starting at (x, y), or returns zeros if all of them are outside.
  template <int kWidth, bool kIsChecked = true>
  __device__ Floats<kWidth> load(int x, int y) const {
    const bool is_inside = !kIsChecked || (static_cast<unsigned>(x) < static_cast<unsigned>(nx) &&
                                           static_cast<unsigned>(y) < static_cast<unsigned>(ny));
    return is_inside ? *reinterpret_cast<const Floats<kWidth>*>(in + place(x, y))
                     : Floats<kWidth>{};
  }
  __device__ float load(int x, int y) const { return load<1>(x, y).at[0]; }
};

// ---- naive: 4·radius + 1 loads per point
//
// Each thread computes one point and loads the point and all its neighbours: global_load_requests
// and warp_instructions increase. Lanes are neighbours along x, so each load of a warp accesses one
// or two lines. L1 serves all loads of a point but the first (l1_hit_pct). Most instructions
// compute addresses and compare coordinates. dram_read_bytes is unchanged.

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

// A product for the point itself; for each distance, the sum of four neighbours, a product and an
// addition.
Work work(const Problem& p) {
  return stencil_work(points(p), 1 + 5.0 * p.radius);
}

using Kernel = void (*)(Plane);
/// The kernel of each radius, starting at radius 1.
using ByRadius = std::array<Kernel, kMaxRadius>;

/// The rectangle of points that each thread computes.
struct PointsPerThread {
  int x, y;
};

/// A variant that launches `kernel_for(p)`, whose threads compute `each_of(p)` points.
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

// ---- copy: the same bytes in order, the lower bound on time
//
// Each thread loads 16 bytes and stores them. A stencil loads and stores the same bytes, so it
// takes at least this time.

Extent extent(const Problem& p) {
  return {p.nx, p.ny, 1};
}

Variant copy() {
  return copy_of_points<Variant>(extent);
}

// True if blocks and warps at the edges of the array are a small part of all.
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

// ---- smem_tile: points and halo in shared memory
//
// A block loads the points of its tile and a halo of width `radius` once, waits at a barrier, and
// sums from shared memory: global_load_requests decreases. Shared memory and L1 are the same memory
// and return as many words per cycle, so a neighbour costs as much as before
// (shared_load_wavefronts increases). The block saves the tag lookups in L1 and the comparisons of
// coordinates. The cost is the halo, which is a large share of a small tile, and a barrier before
// any warp can sum. dram_read_bytes is unchanged.

template <int kRadius>
__global__ void __launch_bounds__(kThreads) smem_tile_kernel(Plane p) {
  constexpr int kColumns = kLanes + 2 * kRadius;
  constexpr int kCount = kColumns * (kWarps + 2 * kRadius);
  constexpr int kLoads = (kCount + kThreads - 1) / kThreads;  // per thread
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
// A thread computes eight points of a column one after another and keeps the 2·radius + 1 points
// that a sum needs along y in registers. A point loaded along y serves all sums of the thread:
// global_load_requests decreases to nearly 2·radius + 1 per point. Addresses are computed once, and
// fewer blocks start: warp_instructions decreases. It costs loads in flight: a thread waits for the
// loads of a step before the next one. dram_read_bytes is unchanged.

constexpr int kColumn = 8;

/// Returns the weighted sum at (x, y). `column` holds the 2·kRadius + 1 points along y; the
/// function loads the neighbours along x.
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

// ---- column_unrolled: all steps of a column unrolled
//
// The eight steps of column are unrolled. The compiler knows the register of each point in each
// step, so no point is shifted between registers. No step branches, and all loads precede the first
// store, so they are in flight together. warp_instructions decreases, and global_load_requests is
// unchanged. The cost is registers for all points that the thread loads.

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

// ---- vectors: 16-byte accesses, four columns per thread
//
// A thread computes two points in each of four columns instead of eight points of one, with 16-byte
// accesses. It also loads the vectors to the left and to the right, which neighbouring lanes load,
// so L1 has them. A vector serves four points: global_load_requests and warp_instructions decrease.
// dram_read_bytes is unchanged. If nx is not a multiple of 4, rows do not start at multiples of 16
// bytes, and accesses are narrower (access_width_bits).

constexpr int kPoints = kColumn;  // per thread, as in column_unrolled
template <int kWidth>
constexpr int kRowsOf = kPoints / kWidth;

/// Stores the sums of kPoints points starting at (x, first), kWidth per row. With kIsChecked,
/// points outside the array are zero; without, all points must be inside.
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

template <int kRadius, int kWidth, bool kHasInnerPath>
__global__ void __launch_bounds__(kThreads) vectors_kernel(Plane p) {
  constexpr int kRows = kRowsOf<kWidth>;
  const int x0 = blockIdx.x * kLanes * kWidth;
  const int y0 = blockIdx.y * kWarps * kRows;
  const int x = x0 + threadIdx.x * kWidth;
  const int first = y0 + threadIdx.y * kRows;
  constexpr int kHalo = (kRadius + kWidth - 1) / kWidth * kWidth;
  const bool is_inner = x0 >= kHalo && y0 >= kRadius && x0 + kLanes * kWidth + kHalo <= p.nx &&
                        y0 + kWarps * kRows + kRadius <= p.ny;
  if (kHasInnerPath && is_inner)
    add_vectors<kRadius, kWidth, false>(p, x, first);
  else if (x < p.nx)
    add_vectors<kRadius, kWidth, true>(p, x, first);
}

bool has_wide_rows(const Problem& p) {
  return is_large(p) && has_widest_access(p.nx);
}

template <int kWidth, bool kHasInnerPath>
constexpr ByRadius kVectors{
    vectors_kernel<1, kWidth, kHasInnerPath>, vectors_kernel<2, kWidth, kHasInnerPath>,
    vectors_kernel<3, kWidth, kHasInnerPath>, vectors_kernel<4, kWidth, kHasInnerPath>};

template <bool kHasInnerPath>
Variant with_vectors(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  Variant v = variant(
      std::move(id), std::move(compare_to),
      [](const Problem& p) {
        const std::array<ByRadius, 3> by_width{
            kVectors<1, kHasInnerPath>, kVectors<2, kHasInnerPath>, kVectors<4, kHasInnerPath>};
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

// ---- inner_unchecked: no comparisons in inner blocks
//
// Most blocks have all their points and halo points inside the array. Each block checks this once;
// inner blocks then execute the same code without comparisons. warp_instructions decreases, and
// global_load_requests is unchanged. The cost is a second copy of the code.

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

/// Returns the maximum magnitude of a sum, and of any of its partial sums, for weights and points
/// of any sign.
constexpr int max_magnitude() {
  float weights = 2 * -weight<kMaxRadius>(0);
  for (int r = 1; r <= kMaxRadius; ++r) {
    const float w = weight<kMaxRadius>(r);
    weights += 4 * (w < 0 ? -w : w);
  }
  return static_cast<int>(weights) * kMaxPoint;
}

Family declare() {
  Family f("stencil_2d", Topic::execution,
           "Which memory serves the neighbours of a 2D stencil fastest?");
  f.physics =
      "A stencil loads each point once and stores it once, as a copy does, so the time of a copy "
      "is its lower bound. Neighbouring threads load the same neighbours again and again. L1 or "
      "shared memory can serve these loads, and registers can if one thread computes several "
      "points of a column. The bytes from DRAM cannot decrease, but requests and instructions can. "
      "Once they are few, and enough bytes are in flight, the stencil takes the time of a copy.";
  constexpr std::int64_t kMaxRows = 65535 * kWarps;  // blocks along the y axis of a grid
  f.extent("nx", &Problem::nx, 16384, 1 << 24, "points per row, the contiguous dimension")
      .extent("ny", &Problem::ny, 16384, kMaxRows, "number of rows")
      .integer("radius", &Problem::radius, 1, 1, kMaxRadius, "",
               "distance of the farthest neighbour in points; a point has 4·radius neighbours");
  declare_stencil<Laplacian>(f, points);
  f.outputs = extent;
  f.tolerance_derivation =
      "Zero: points are integers of up to 255, the magnitudes of the weights sum to at most 2^16, "
      "and fp32 represents all integers up to 2^24: every partial sum is exact, in any order.";
  static_assert(max_magnitude() < 1 << 24, "sums are exact");
  f.variants(copy(), naive(), smem_tile(), column(), column_unrolled(), vectors(),
             inner_unchecked());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::stencil_2d
