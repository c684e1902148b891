// What stencils in two and three dimensions have in common: whole numbers at points, their
// references, and the copy that is their limit.
#pragma once

#include "kernels/common/copy_limit.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/powers_of_two.cuh"
#include "kernels/common/vectors.cuh"

namespace gpuexp {

template <int kWidth>
__device__ void store(float* to, const Floats<kWidth>& points) {
  *reinterpret_cast<Floats<kWidth>*>(to) = points;
}

/// Points that the widest access to rows of nx has.
inline int access_points(std::int64_t nx) {
  return static_cast<int>(widest_access(nx * sizeof(float)) / sizeof(float));
}
inline bool has_widest_access(std::int64_t nx) {
  return access_points(nx) * sizeof(float) == kWidestAccess;
}

/// Of so many points that are read once and written once, by `operations` for each.
inline Work stencil_work(std::int64_t points, double operations) {
  Work w = streaming_work<float>(points, points);
  if (operations > 0) w.operations = {{Pipe::fp32, operations * static_cast<double>(points)}};
  return w;
}

/// Copies d.in to d.copied; `extent_of(p)` is what they hold.
template <class Variant, class ExtentOf>
Variant copy_of_points(ExtentOf extent_of) {
  Variant v("copy");
  v.writes = {"copied"};
  v.work = [extent_of](const auto& p) { return stencil_work(extent_of(p).count(), 0); };
  v.launch = [extent_of](const auto& p, const auto& d, const LaunchContext&) {
    const Extent extent = extent_of(p);
    constexpr std::int64_t kPerBlock = kCopyBlockBytes / sizeof(float);
    return copy_limit(d.in, d.copied, extent.count() * sizeof(float),
                      {kPerBlock, extent.y, extent.z});  // consecutive, whichever rows
  };
  return v;
}

/// Points are whole numbers up to that, of either sign.
constexpr int kMostPoint = 255;

struct WholePoint {
  std::uint64_t seed;
  __host__ __device__ float operator()(std::int64_t i) const {
    const auto bits = random_bits(seed, static_cast<std::uint64_t>(i));
    return static_cast<float>(static_cast<int>(bits % (2 * kMostPoint + 1)) - kMostPoint);
  }
};

/// What stencils have in common whose Data has the points `in`, their sums `out` and a copy
/// `copied`; Laplacian{p, d.in} is the sum of one point. Of whole numbers, with exact sums.
template <class Laplacian, class Problem, class Data>
void declare_stencil(FamilyOf<Problem, Data>& f, std::int64_t (*points)(const Problem&)) {
  f.input("in", &Data::in, points)
      .output("out", &Data::out, points)
      .output("copied", &Data::copied, points);
  f.metric("points_per_thread", "", "points whose sums a thread computes")
      .metric("access_width_bits", "bit", "width of an access to a row, by the divisibility of nx");
  f.figure("stencil", "share_of_copy", "Stencils: rate over that of a copy",
           {{"param.radius", "radius"}});
  f.inputs = [points](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill(d.in, points(p), WholePoint{stream_seed(seed, 0)});
  };
  f.reference = [points](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    return evaluate_reference(out[0], points(p), Laplacian{p, d.in}) +
           evaluate_reference(out[1], points(p), SameElement<float>{d.in});
  };
}

}  // namespace gpuexp
