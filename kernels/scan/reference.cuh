// The problem of scan, its inputs, its plain reference and the error bound.
#pragma once

#include <cmath>

#include "kernels/common/prefix_reference.cuh"

namespace gpuexp::scan {

struct Problem {
  std::int64_t n;
  DataType dtype;  // int32 or fp32
};

struct Data {
  void* x;
  void* sums;
  void* copied;  // the output of `copy`
};

// Returns make(zero), where zero is 0 of the element type.
template <class Make>
auto of_type(const Problem& p, Make make) {
  return p.dtype == DataType::int32 ? make(std::int32_t{}) : make(float{});
}

template <class T>
struct Element {
  std::uint64_t seed;
  __host__ __device__ T operator()(std::int64_t i) const {
    constexpr float kMaxInteger = 64.0f;
    const float x = random_signed(seed, static_cast<std::uint64_t>(i));
    return std::is_same<T, float>::value ? static_cast<T>(x)
                                         : static_cast<T>(rintf(kMaxInteger * x));
  }
};

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return of_type(p, [&](auto zero) {
    using T = decltype(zero);
    return fill(static_cast<T*>(d.x), p.n, Element<T>{stream_seed(seed, 0)});
  });
}

// Returns the maximum number of additions that a term of sum i takes part in.
__host__ __device__ inline double depth(double i) {
  constexpr double kOfTile = 1024;
  constexpr double kOfTrees = 64;
  return i / kOfTile + kOfTrees;
}

// Element i, and a magnitude proportional to the error bound of prefix sum i.
template <class T>
struct Term {
  const T* x;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const auto count = static_cast<double>(i + 1);
    const double squares = count / 3 + 4 * sqrt(count);
    return {static_cast<double>(x[i]), sqrt(squares * depth(count))};
  }
};

inline Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return of_type(p, [&](auto zero) {
    const Term<decltype(zero)> term{static_cast<const decltype(zero)*>(d.x)};
    Steps steps = evaluate_references(out, p.n, [&](int) { return term; });
    return out[0] ? std::move(steps) + prefix_reference(out[0].value, p.n, term) : steps;
  });
}

// Computes the bound that tolerance_derivation derives.
inline Tolerance tolerance(const Problem& p) {
  if (p.dtype == DataType::int32) return {};
  const double lambda = std::sqrt(2 * (32 + std::log(2.0)));
  const auto n = static_cast<double>(p.n);
  const double mean_square = n * (depth(n) / 3 - depth(0) / 6) / 3;
  constexpr double kShared = 2;
  return {lambda * unit_roundoff(DataType::fp32), 0.0, 0.0,
          kShared * kRmsSafety * rounding_rms(DataType::fp32) * std::sqrt(mean_square)};
}

}  // namespace gpuexp::scan
