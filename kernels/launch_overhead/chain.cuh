// The chain that all variants of launch_overhead compute, for launch_overhead.cu and
// device_launched.cu, whose kernels launch kernels and need other compiler flags.
#pragma once

#include "kernels/common/family.cuh"

namespace gpuexp::launch_overhead {

struct Problem {
  std::int64_t kernels;
  std::int64_t n;
};

struct Data {
  const std::uint32_t* x;  ///< n
  std::uint32_t* y;        ///< n
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kBlock = 256;

/// Element i of a step is computed from element i + kBlock of the previous step, modulo n, which
/// another block has written.
struct Chain {
  std::int64_t n;
  std::int64_t kernels;
  const std::uint32_t* x;
  std::uint32_t* y;
  std::uint32_t* other;  ///< n: steps write alternately to y and here, the last one to y

  __host__ __device__ std::uint32_t* target(std::int64_t step) const {
    return (kernels - 1 - step) % 2 == 0 ? y : other;
  }
  __host__ __device__ const std::uint32_t* source(std::int64_t step) const {
    return step == 0 ? x : target(step - 1);
  }
};

/// The linear congruential generator of Numerical Recipes, 3rd ed., section 7.1.
__host__ __device__ constexpr std::uint32_t next(std::uint32_t v) {
  return v * 1664525u + 1013904223u;
}

__device__ inline void make_element(const Chain& chain, std::int64_t step, std::int64_t i) {
  chain.target(step)[i] = next(chain.source(step)[(i + kBlock) % chain.n]);
}

inline Chain chain_of(const Problem& p, const Data& d, const LaunchContext& x) {
  return {p.n, p.kernels, d.x, d.y, static_cast<std::uint32_t*>(x.workspace)};
}

inline Shape step_shape(const Problem& p) {
  return shape_of_tiles(p.n, kBlock, kBlock);
}

inline std::int64_t other_bytes(const Problem& p) {
  return ceil_div(p.n, kBlock) * kBlock * std::int64_t{sizeof(std::uint32_t)};
}

inline constexpr auto is_long = at_least(&Problem::kernels, 50);

/// Returns a chain timed by the host's clock, complete except for its launch.
inline Variant chain_variant(std::string id, std::string compare_to) {
  Variant v(std::move(id), std::move(compare_to));
  v.timing = Timing::host_clock;
  v.deterministic = true;
  if (!v.compare_to.empty()) v.expected_changes = {{"warp_instructions", Direction::unchanged}};
  v.work = [](const Problem& p) {
    const double bytes = static_cast<double>(p.n) * sizeof(std::uint32_t);
    return moves_bytes(bytes, bytes);  // intermediate arrays stay in L2 if they fit
  };
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) { return other_bytes(p); };
  return v;
}

// Defined in device_launched.cu.
Variant tail_launched();
Variant device_stream();

}  // namespace gpuexp::launch_overhead
