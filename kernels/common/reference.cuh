// fp64 references. A thread evaluates a functor for each output element, or for each term of a sum.
#pragma once

#include "family/family_of.hpp"
#include "kernels/common/random.cuh"

namespace gpuexp {

/// The exact value of an output element, and the magnitude that is multiplied by the relative
/// tolerance.
struct ReferenceElement {
  double value;
  double magnitude;
};

namespace detail {
template <class Function>
__global__ void reference_kernel(ReferenceView out, std::int64_t count, Function f) {
  for_items_of_thread(count, [&](std::int64_t i) {
    if (!out.draw.has(i)) return;
    const ReferenceElement element = f(i);
    out.value[i] = element.value;
    out.magnitude[i] = element.magnitude;
  });
}
}  // namespace detail

/// Sets out[i] = f(i) for every sampled i < count, where f is a __host__ __device__ functor that
/// returns ReferenceElement. on_host(first, end) computes elements first to end - 1. Returns no
/// steps for an output that is not requested.
template <class Function, class OnHost>
Steps evaluate_reference(const ReferenceView& out, std::int64_t count, Function f, OnHost on_host) {
  if (!out) return Steps();
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

/// References of outputs with `count` elements each. f(o) returns the functor for output o, in
/// the order of declaration.
template <class FunctorOf>
Steps evaluate_references(const std::vector<ReferenceView>& out, std::int64_t count, FunctorOf f) {
  Steps steps;
  for (std::size_t o = 0; o < out.size(); ++o)
    steps += evaluate_reference(out[o], count, f(static_cast<int>(o)));
  return steps;
}
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

/// Sets the references of a family whose outputs have `count` elements each; `count` is a
/// function or a member of the problem. functor(p, d, o) returns the functor for output o, in the
/// order of declaration.
template <class Problem, class Data, class Count, class FunctorOf>
void set_references(FamilyOf<Problem, Data>& f, Count count, FunctorOf functor) {
  f.reference = [count_of = detail::function_of_problem(count), functor](
                    const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    return evaluate_references(out, count_of(p), [&](int o) { return functor(p, d, o); });
  };
}

struct ReferenceTerm {
  std::int64_t place;
  double value;
  double magnitude;
};

namespace detail {
__host__ __device__ inline void add_term(const ReferenceView& out, const ReferenceTerm& term) {
#ifdef __CUDA_ARCH__
  atomicAdd(out.value + term.place, term.value);
  atomicAdd(out.magnitude + term.place, term.magnitude);
#else
  out.value[term.place] += term.value;
  out.magnitude[term.place] += term.magnitude;
#endif
}

template <class Function>
__global__ void sum_reference_kernel(ReferenceView out, std::int64_t items, Function f) {
  for_items_of_thread(items, [&](std::int64_t i) { add_term(out, f(i)); });
}
}  // namespace detail

/// The reference of an output whose `count` elements are sums of terms. Each item i < items adds
/// the term f(i), where f is a __host__ __device__ functor that returns ReferenceTerm.
template <class Function>
Steps evaluate_sums(const ReferenceView& out, std::int64_t count, std::int64_t items, Function f) {
  if (!out) return Steps();
  constexpr std::int64_t kMaxBlocks = 1 << 16;
  const std::int64_t bytes = count * std::int64_t{sizeof(double)};
  const auto on_host = [=](std::int64_t, std::int64_t) {
    for (std::int64_t i = 0; i < items; ++i)
      detail::add_term(out, f(i));
  };
  return Steps(MemsetStep{out.value, 0, bytes}) + MemsetStep{out.magnitude, 0, bytes} +
         with_host_loop(launch(detail::sum_reference_kernel<Function>,
                               grid_stride(items, kMaxBlocks), out, items, f),
                        {1, on_host});
}

/// Reference of a copy, for a tolerance of zero.
template <class T>
struct SameElement {
  const T* x;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {to_double(x[i]), 0.0};
  }
};

}  // namespace gpuexp
