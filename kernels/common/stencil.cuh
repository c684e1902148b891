// Common parts of stencils in two and three dimensions: integer inputs, references, and the copy
// variant, their lower bound on time.
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

inline int access_points(std::int64_t nx) {
  return static_cast<int>(widest_access(nx * sizeof(float)) / sizeof(float));
}
inline bool has_widest_access(std::int64_t nx) {
  return access_points(nx) * sizeof(float) == kWidestAccess;
}

/// The work of reading and writing `points` points once, with `operations` fp32 operations each.
inline Work stencil_work(std::int64_t points, double operations) {
  Work w = streaming_work<float>(points, points);
  if (operations > 0) w.operations = {{Pipe::fp32, operations * static_cast<double>(points)}};
  return w;
}

/// Returns the variant `copy`, which copies d.in to d.copied. extent_of(p) is the extent of both
/// arrays.
template <class Variant, class ExtentOf>
Variant copy_of_points(ExtentOf extent_of) {
  Variant v("copy");
  v.writes = {"copied"};
  v.work = [extent_of](const auto& p) { return stencil_work(extent_of(p).count(), 0); };
  v.launch = [extent_of](const auto& p, const auto& d, const LaunchContext&) {
    const Extent extent = extent_of(p);
    constexpr std::int64_t kPerBlock = kCopyBlockBytes / sizeof(float);
    return copy_limit(
        d.in, d.copied, extent.count() * sizeof(float),
        {kPerBlock, extent.y, extent.z});  // a block copies consecutive points of any rows
  };
  return v;
}

constexpr int kMaxPoint = 255;

struct WholePoint {
  std::uint64_t seed;
  __host__ __device__ float operator()(std::int64_t i) const {
    const auto bits = random_bits(seed, static_cast<std::uint64_t>(i));
    return static_cast<float>(static_cast<int>(bits % (2 * kMaxPoint + 1)) - kMaxPoint);
  }
};

/// Declares the arrays, metrics, plot, inputs and reference of a stencil. Data has the points `in`,
/// the sums `out` and the copy `copied`. Laplacian{p, d.in} is the reference functor of `out`.
/// Points are integers, so sums are exact.
template <class Laplacian, class Problem, class Data>
void declare_stencil(FamilyOf<Problem, Data>& f, std::int64_t (*points)(const Problem&)) {
  f.input("in", &Data::in, points)
      .output("out", &Data::out, points)
      .output("copied", &Data::copied, points);
  f.metric("points_per_thread", "", "number of output points per thread")
      .metric("access_width_bits", "bit",
              "width of an access to a row; it depends on the divisibility of nx");
  f.plot("stencil", "share_of_copy", "Stencils: throughput relative to a copy",
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
