// The plain fp64 reference: one thread per output element evaluates a functor.
#pragma once

#include "family/family_of.hpp"
#include "kernels/common/random.cuh"

namespace gpuexp {

/// The exact value of one output element, and the magnitude that its tolerance scales with.
struct ReferenceElement {
  double value;
  double magnitude;
};

namespace detail {
template <class Function>
__global__ void reference_kernel(ReferenceView out, std::int64_t count, Function f) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    if (!out.draw.has(i)) continue;
    const ReferenceElement element = f(i);
    out.value[i] = element.value;
    out.magnitude[i] = element.magnitude;
  }
}
}  // namespace detail

/// out[i] = f(i) for the elements of i < count that are drawn, where f is a __host__ __device__
/// functor returning ReferenceElement. `on_host(first, end)` computes these elements on the host.
template <class Function, class OnHost>
Steps evaluate_reference(const ReferenceView& out, std::int64_t count, Function f, OnHost on_host) {
  return with_host_loop(
      launch(detail::reference_kernel<Function>, grid_stride(count, 1 << 20), out, count, f),
      {count, on_host, out.value, sizeof(double)});
}
template <class Function>
Steps evaluate_reference(const ReferenceView& out, std::int64_t count, Function f) {
  return evaluate_reference(out, count, f, [out, f](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      const ReferenceElement element = f(i);
      out.value[i] = element.value;
      out.magnitude[i] = element.magnitude;
    }
  });
}

/// References of outputs with `count` elements each: f(o) is the functor of output o, in the order
/// of their declaration, for those that are asked for.
template <class FunctorOf>
Steps evaluate_references(const std::vector<ReferenceView>& out, std::int64_t count, FunctorOf f) {
  Steps steps;
  for (std::size_t o = 0; o < out.size(); ++o) {
    if (out[o]) steps += evaluate_reference(out[o], count, f(static_cast<int>(o)));
  }
  return steps;
}
/// The same by plain loops on the host.
template <class FunctorOf>
void evaluate_references_on_host(const std::vector<ReferenceView>& out, std::int64_t count,
                                 FunctorOf f) {
  for (std::size_t o = 0; o < out.size(); ++o) {
    for (std::int64_t i = 0; out[o] && i < count; ++i) {
      const ReferenceElement element = f(static_cast<int>(o))(i);
      out[o].value[i] = element.value;
      out[o].magnitude[i] = element.magnitude;
    }
  }
}

/// Both references of a family whose outputs have count(p) elements each: functor(p, d, o) is that
/// of output o, in the order of their declaration.
template <class Problem, class Data, class Count, class FunctorOf>
void set_references(FamilyOf<Problem, Data>& f, Count count, FunctorOf functor) {
  f.reference = [=](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    return evaluate_references(out, count(p), [&](int o) { return functor(p, d, o); });
  };
  f.host_reference = [=](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    evaluate_references_on_host(out, count(p), [&](int o) { return functor(p, d, o); });
  };
}

}  // namespace gpuexp
