// fp64 reference of the network of training_mlp.cuh. The reference of each array is the exact
// result of its operation on the device's own operands.
#pragma once

#include "kernels/common/rounding.cuh"
#include "kernels/common/training_mlp.cuh"
#include "kernels/common/training_reference.cuh"

namespace gpuexp::training {

template <class T>
struct ExactNetwork : ExactStep<T, Problem, Data> {
  using Step = ExactStep<T, Problem, Data>;
  using Step::d, Step::exactly, Step::kRoundoff, Step::number, Step::p, Step::rounded, Step::stored,
      Step::weight;
  Layout at;
  Output output;
  bool again;
  std::int64_t inner_elements, outer_elements;
  ProductError by_width, hidden_error, by_batch, of_column;
  InitialContents<T> found;

  __host__ __device__ double stream(std::int64_t layer, std::int64_t i) const {
    return layer == 0 ? number(d.x, i) : number(d.stream, (layer - 1) * outer_elements + i);
  }
  __host__ __device__ const T* last_stream() const {
    return static_cast<const T*>(d.stream) + (p.layers - 1) * outer_elements;
  }
  __host__ __device__ ReferenceElement unwritten() const { return {kUnwrittenValue<T>, 0.0}; }

  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    switch (output) {
      case kH:
      case kA:
      case kStream: return forward_element(i);
      case kHAgain:
      case kAAgain: return recomputed_element(i);
      case kDx: return dx_element(i);
      case kDh: return dh_element(i);
      case kLoss: return {kUnwrittenValue<float>, 0.0};  // the loss is not computed
      case kGradients: return gradient_element(i);
      default: return Step::updated(output, i);
    }
  }

  __host__ __device__ ReferenceElement exact_h(std::int64_t layer, std::int64_t i) const {
    const std::int64_t row = i / p.hidden, column = i % p.hidden, first = layer * at.each;
    const ProductSums sums = sum_of_products(
        p.width, [&](std::int64_t k) { return stream(layer, row * p.width + k); },
        [&](std::int64_t k) { return weight(first + at.w1 + k * p.hidden + column); });
    return stored(sums.value + Step::bias(first + at.b1 + column), by_width(sums));
  }
  __host__ __device__ ReferenceElement exact_stream(std::int64_t layer, std::int64_t i) const {
    const std::int64_t row = i / p.width, column = i % p.width, first = layer * at.each;
    const void* const a = again ? d.a_recomputed : d.a;
    const ProductSums sums = sum_of_products(
        p.hidden,
        [&](std::int64_t k) { return number(a, layer * inner_elements + row * p.hidden + k); },
        [&](std::int64_t k) { return weight(first + at.w2 + k * p.width + column); });
    const double grown = sums.value + Step::bias(first + at.b2 + column);
    return stored(stream(layer, i) + grown, hidden_error(sums) + rounded(grown));
  }

  __host__ __device__ ReferenceElement forward_element(std::int64_t i) const {
    if (p.phase == Phase::backward)
      return exactly(to_double(output == kH   ? found.h(i)
                               : output == kA ? found.a(i)
                                              : found.stream(i)));
    const std::int64_t each = output == kStream ? outer_elements : inner_elements;
    const std::int64_t size = p.batch * (output == kStream ? p.width : p.hidden);
    if (p.phase == Phase::update || i % each >= size) return unwritten();
    if (output == kStream) return exact_stream(i / each, i % each);
    return output == kH ? exact_h(i / each, i % each) : Step::activated(number(d.h, i));
  }
  __host__ __device__ ReferenceElement recomputed_element(std::int64_t i) const {
    if (!p.has(Phase::backward) || i % inner_elements >= p.batch * p.hidden) return unwritten();
    return output == kHAgain ? exact_h(i / inner_elements, i % inner_elements)
                             : Step::activated(number(d.h_recomputed, i));
  }

  __host__ __device__ ReferenceElement dx_element(std::int64_t i) const {
    const std::int64_t layer = i / outer_elements,
                       place = i % outer_elements;  // `layer` has this result
    if (layer + 1 == p.layers) {
      if (p.phase == Phase::backward)
        return exactly(p.overflow && place == 0 ? HUGE_VAL : to_double(found.dx(place)));
      if (p.phase == Phase::update || place >= p.batch * p.width) return unwritten();
      return last_dx_element(place);
    }
    if (!p.has(Phase::backward) || place >= p.batch * p.width) return unwritten();
    const std::int64_t row = place / p.width, column = place % p.width;
    const std::int64_t above = layer + 1;  // the layer with this result as input
    const ProductSums sums =
        Step::row_products(d.dh, above * inner_elements + row * p.hidden,
                           above * at.each + at.w1 + column * p.hidden, p.hidden);
    return stored(number(d.dx, above * outer_elements + place) + sums.value,
                  hidden_error(sums) + rounded(sums.value));
  }
  __host__ __device__ ReferenceElement last_dx_element(std::int64_t place) const {
    const double value = Step::loss_gradient(last_stream(), place, p.batch * p.width);
    if (p.overflow && fabs(round_to(kFp16, value)) == HUGE_VAL)
      return exactly(copysign(HUGE_VAL, value));
    return stored(value, 2.0 * kRoundoff * fabs(value));
  }
  __host__ __device__ ReferenceElement dh_element(std::int64_t i) const {
    const std::int64_t layer = i / inner_elements, place = i % inner_elements;
    if (!p.has(Phase::backward) || place >= p.batch * p.hidden) return unwritten();
    const std::int64_t row = place / p.hidden, column = place % p.hidden;
    const ProductSums sums =
        Step::row_products(d.dx, layer * outer_elements + row * p.width,
                           layer * at.each + at.w2 + column * p.width, p.width);
    return Step::times_slope(sums, by_width(sums), number(again ? d.h_recomputed : d.h, i));
  }

  __host__ __device__ ReferenceElement gradient_element(std::int64_t i) const {
    const std::int64_t layer = i / at.each, place = i % at.each, size = p.width * p.hidden;
    const bool is_w1 = place < size;
    const bool is_w2 = place >= at.w2 && place < at.w2 + size;
    const bool is_b1 = place >= at.b1 && place < at.b1 + p.hidden;
    const bool is_b2 = place >= at.b2 && place < at.b2 + p.width;
    if (!is_w1 && !is_w2 && !is_b1 && !is_b2) return exactly(0.0);
    if (p.phase == Phase::update) return exactly(initial_gradients()(i));
    if (!p.has(Phase::backward)) return {kUnwrittenValue<float>, 0.0};
    const auto dh = [&](std::int64_t row, std::int64_t column) {
      return number(d.dh, layer * inner_elements + row * p.hidden + column);
    };
    const auto dx = [&](std::int64_t row, std::int64_t column) {
      return number(d.dx, layer * outer_elements + row * p.width + column);
    };
    const auto one = [](std::int64_t) { return 1.0; };
    if (is_b1 || is_b2) {
      const std::int64_t column = place - (is_b1 ? at.b1 : at.b2);
      const ProductSums sums = sum_of_products(
          p.batch, [&](std::int64_t k) { return is_b1 ? dh(k, column) : dx(k, column); }, one);
      return {sums.value, of_column(sums) / kRoundoff};
    }
    const void* const a = again ? d.a_recomputed : d.a;
    const std::int64_t columns = is_w1 ? p.hidden : p.width;
    const std::int64_t row = (is_w1 ? place : place - at.w2) / columns;
    const std::int64_t column = (is_w1 ? place : place - at.w2) % columns;
    const ProductSums sums = sum_of_products(
        p.batch,
        [&](std::int64_t k) {
          return is_w1 ? stream(layer, k * p.width + row)
                       : number(a, layer * inner_elements + k * p.hidden + row);
        },
        [&](std::int64_t k) { return is_w1 ? dh(k, column) : dx(k, column); });
    return Step::matrix_gradient(sums, by_batch(sums));
  }
};

template <class T>
ExactNetwork<T> exact_network(const Problem& p, const Data& d, Output output, bool again) {
  return {exact_step<T>(p, d, first_state(p, p.batch * p.width)),
          layout(p),
          output,
          again,
          inner(p),
          outer(p),
          product_error(p.dtype, p.width),
          product_error(p.dtype, p.hidden),
          product_error(p.dtype, p.batch),
          product_error(DataType::fp32, p.batch),
          {}};
}

inline std::int64_t elements_of(const Problem& p, Output output) {
  switch (output) {
    case kH:
    case kA:
    case kHAgain:
    case kAAgain:
    case kDh: return p.layers * inner(p);
    case kStream:
    case kDx: return p.layers * outer(p);
    case kLoss: return 1;
    case kState: return kStateFields;
    case kCopy: return p.dtype == DataType::fp32 ? 0 : parameters(p);
    default: return parameters(p);
  }
}

inline Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_type(p, [&](auto zero) {
    using T = decltype(zero);
    Steps steps;
    for (std::size_t o = 0; o < out.size(); ++o) {
      const auto output = static_cast<Output>(o);
      const auto exact = exact_network<T>(p, d, output, static_cast<bool>(out[kHAgain]));
      if (output == kLoss && p.has(Phase::forward)) {
        steps += evaluate_rows(out[o], 1,
                               ExactLoss<T>{exact.last_stream(), d.target, p.batch * p.width});
      } else if (elements_of(p, output) > 0) {
        steps += evaluate_reference(out[o], elements_of(p, output), exact);
      }
    }
    return steps;
  });
}

}  // namespace gpuexp::training
