// The plain fp64 reference of a network in training: each array by what its operation makes of what
// the device found.
#pragma once

#include "kernels/common/rounding.cuh"
#include "kernels/common/training_mlp.cuh"
#include "kernels/common/training_reference.cuh"

namespace gpuexp::training {

/// Magnitudes are what an element may be off by, over the tolerance's roundoff.
template <class T>
struct ExactNetwork {
  Problem p;
  Layout at;
  Data d;
  Output output;
  bool again;  ///< h and a are those computed again
  std::int64_t of_inner, of_outer;
  ProductError by_width, by_hidden, by_batch, of_column;
  ExactUpdate update;
  Found<T> found;

  static constexpr double kSlack = 1.05;  // roundings of what was rounded before
  static constexpr double kRoundoff = 0x1p-24;

  __host__ __device__ double number(const void* array, std::int64_t i) const {
    return to_double(static_cast<const T*>(array)[i]);
  }
  // Weight i as the network computes with it.
  __host__ __device__ double weight(std::int64_t i) const {
    return to_double(from_float<T>(d.weights_before[i]));
  }
  __host__ __device__ double stream(std::int64_t layer, std::int64_t i) const {
    return layer == 0 ? number(d.x, i) : number(d.stream, (layer - 1) * of_outer + i);
  }
  /// A number of T that is off by so much, with its own rounding.
  __host__ __device__ ReferenceElement stored(double value, double off) const {
    return {value, (kSlack * off + rounded(value)) / by_width.stored};
  }
  __host__ __device__ double rounded(double value) const {
    return kSlack * (by_width.stored + kRoundoff) * fabs(value);
  }
  __host__ __device__ ReferenceElement unwritten() const { return {kUnwrittenValue<T>, 0.0}; }
  __host__ __device__ ReferenceElement exactly(double value) const { return {value, 0.0}; }

  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    switch (output) {
      case kH:
      case kA:
      case kStream: return of_forward(i);
      case kHAgain:
      case kAAgain: return of_again(i);
      case kDx: return of_dx(i);
      case kDh: return of_dh(i);
      case kLoss: return of_loss();
      case kGradients: return of_gradients(i);
      case kCopy: return exactly(to_double(from_float<T>(d.weights[i])));
      default: return of_update(i);
    }
  }

  // Element i of a layer's array.
  __host__ __device__ ReferenceElement exact_h(std::int64_t layer, std::int64_t i) const {
    const std::int64_t row = i / p.hidden, column = i % p.hidden, first = layer * at.each;
    const ProductSums sums = sum_of_products(
        p.width, [&](std::int64_t k) { return stream(layer, row * p.width + k); },
        [&](std::int64_t k) { return weight(first + at.w1 + k * p.hidden + column); });
    return stored(sums.value + d.weights_before[first + at.b1 + column], by_width(sums));
  }
  __host__ __device__ ReferenceElement exact_a(double h) const {
    const ExactGelu gelu = exact_gelu(h);
    return stored(gelu.value.value, gelu.value.magnitude);
  }
  __host__ __device__ ReferenceElement exact_stream(std::int64_t layer, std::int64_t i) const {
    const std::int64_t row = i / p.width, column = i % p.width, first = layer * at.each;
    const void* const a = again ? d.a_again : d.a;
    const ProductSums sums = sum_of_products(
        p.hidden, [&](std::int64_t k) { return number(a, layer * of_inner + row * p.hidden + k); },
        [&](std::int64_t k) { return weight(first + at.w2 + k * p.width + column); });
    const double grown = sums.value + d.weights_before[first + at.b2 + column];
    return stored(stream(layer, i) + grown, by_hidden(sums) + rounded(grown));
  }

  __host__ __device__ ReferenceElement of_forward(std::int64_t i) const {
    if (p.phase == Phase::backward)
      return exactly(to_double(output == kH   ? found.h(i)
                               : output == kA ? found.a(i)
                                              : found.stream(i)));
    const std::int64_t each = output == kStream ? of_outer : of_inner;
    const std::int64_t size = p.batch * (output == kStream ? p.width : p.hidden);
    if (p.phase == Phase::update || i % each >= size) return unwritten();
    if (output == kStream) return exact_stream(i / each, i % each);
    return output == kH ? exact_h(i / each, i % each) : exact_a(number(d.h, i));
  }
  __host__ __device__ ReferenceElement of_again(std::int64_t i) const {
    if (!p.has(Phase::backward) || i % of_inner >= p.batch * p.hidden) return unwritten();
    return output == kHAgain ? exact_h(i / of_inner, i % of_inner) : exact_a(number(d.h_again, i));
  }

  __host__ __device__ ReferenceElement of_dx(std::int64_t i) const {
    const std::int64_t layer = i / of_outer, place = i % of_outer;  // what gave it
    if (layer + 1 == p.layers) {
      if (p.phase == Phase::backward)
        return exactly(p.overflow && place == 0 ? HUGE_VAL : to_double(found.dx(place)));
      if (p.phase == Phase::update || place >= p.batch * p.width) return unwritten();
      return of_last_dx(place);
    }
    if (!p.has(Phase::backward) || place >= p.batch * p.width) return unwritten();
    const std::int64_t row = place / p.width, column = place % p.width;
    const std::int64_t above = layer + 1;  // whose input's gradient it is
    const ProductSums sums = sum_of_products(
        p.hidden,
        [&](std::int64_t k) { return number(d.dh, above * of_inner + row * p.hidden + k); },
        [&](std::int64_t k) { return weight(above * at.each + at.w1 + column * p.hidden + k); });
    return stored(number(d.dx, above * of_outer + place) + sums.value,
                  by_hidden(sums) + rounded(sums.value));
  }
  __host__ __device__ ReferenceElement of_last_dx(std::int64_t place) const {
    const auto two_over_n = static_cast<float>(2.0 / static_cast<double>(p.batch * p.width));
    const double off = stream(p.layers, place) - static_cast<double>(d.target[place]);
    const double value = off * ldexp(static_cast<double>(two_over_n), update.before.scale_log2);
    if (p.overflow && fabs(round_to(kFp16, value)) == HUGE_VAL)
      return exactly(copysign(HUGE_VAL, value));
    return stored(value, 2.0 * kRoundoff * fabs(value));
  }
  __host__ __device__ ReferenceElement of_dh(std::int64_t i) const {
    const std::int64_t layer = i / of_inner, place = i % of_inner;
    if (!p.has(Phase::backward) || place >= p.batch * p.hidden) return unwritten();
    const std::int64_t row = place / p.hidden, column = place % p.hidden;
    const ProductSums sums = sum_of_products(
        p.width, [&](std::int64_t k) { return number(d.dx, layer * of_outer + row * p.width + k); },
        [&](std::int64_t k) { return weight(layer * at.each + at.w2 + column * p.width + k); });
    const ReferenceElement slope = exact_gelu(number(again ? d.h_again : d.h, i)).slope;
    return stored(sums.value * slope.value,
                  (by_width(sums) + rounded(sums.value)) * fabs(slope.value) +
                      fabs(sums.value) * slope.magnitude);
  }

  // Of squares, none of which cancels another: a thread adds up to 2^31 / (256·1024) of them, and
  // trees the rest.
  __host__ __device__ ReferenceElement of_loss() const {
    constexpr double kRoundings = 40, kThreads = 256.0 * 1024.0;
    if (!p.has(Phase::forward)) return {kUnwrittenValue<float>, 0.0};
    const std::int64_t n = p.batch * p.width;
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double off = stream(p.layers, i) - static_cast<double>(d.target[i]);
      sum += off * off;
    }
    const double value = sum / static_cast<double>(n);
    return {value, (kRoundings + static_cast<double>(n) / kThreads) * value};
  }

  __host__ __device__ ReferenceElement of_gradients(std::int64_t i) const {
    const std::int64_t layer = i / at.each, place = i % at.each, size = p.width * p.hidden;
    const bool is_w1 = place < size;
    const bool is_w2 = place >= at.w2 && place < at.w2 + size;
    const bool is_b1 = place >= at.b1 && place < at.b1 + p.hidden;
    const bool is_b2 = place >= at.b2 && place < at.b2 + p.width;
    if (!is_w1 && !is_w2 && !is_b1 && !is_b2) return exactly(0.0);
    if (p.phase == Phase::update) return exactly(found_gradients()(i));
    if (!p.has(Phase::backward)) return {kUnwrittenValue<float>, 0.0};
    const auto dh = [&](std::int64_t row, std::int64_t column) {
      return number(d.dh, layer * of_inner + row * p.hidden + column);
    };
    const auto dx = [&](std::int64_t row, std::int64_t column) {
      return number(d.dx, layer * of_outer + row * p.width + column);
    };
    const auto one = [](std::int64_t) { return 1.0; };
    if (is_b1 || is_b2) {
      const std::int64_t column = place - (is_b1 ? at.b1 : at.b2);
      const ProductSums sums = sum_of_products(
          p.batch, [&](std::int64_t k) { return is_b1 ? dh(k, column) : dx(k, column); }, one);
      return {sums.value, of_column(sums) / kRoundoff};
    }
    const void* const a = again ? d.a_again : d.a;
    const std::int64_t columns = is_w1 ? p.hidden : p.width;
    const std::int64_t row = (is_w1 ? place : place - at.w2) / columns;
    const std::int64_t column = (is_w1 ? place : place - at.w2) % columns;
    const ProductSums sums = sum_of_products(
        p.batch,
        [&](std::int64_t k) {
          return is_w1 ? stream(layer, k * p.width + row)
                       : number(a, layer * of_inner + k * p.hidden + row);
        },
        [&](std::int64_t k) { return is_w1 ? dh(k, column) : dx(k, column); });
    return {sums.value, kSlack * by_batch(sums) / kRoundoff + fabs(sums.value)};
  }

  __host__ __device__ ReferenceElement of_update(std::int64_t i) const {
    if (output == kState) return exactly(exact_state(p, update.before, i));
    if (output == kWeights) return update.weight(i);
    return output == kM ? update.first_moment(i) : update.second_moment(i);
  }
};

template <class T>
ExactNetwork<T> exact_network(const Problem& p, const Data& d, Output output, bool again) {
  const bool overflows = p.overflow && p.phase != Phase::forward;
  return {p,
          layout(p),
          d,
          output,
          again,
          inner(p),
          outer(p),
          product_error(p.dtype, p.width),
          product_error(p.dtype, p.hidden),
          product_error(p.dtype, p.batch),
          product_error(DataType::fp32, p.batch),
          exact_update(p, d, first_state(p, p.batch * p.width), overflows),
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

/// Calls use(output, functor) for each output that is asked for.
template <class Use>
void for_each_reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out,
                        Use use) {
  with_type(p, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t o = 0; o < out.size(); ++o) {
      const auto output = static_cast<Output>(o);
      if (out[o] && elements_of(p, output) > 0)
        use(output, exact_network<T>(p, d, output, static_cast<bool>(out[kHAgain])));
    }
  });
}

inline Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  Steps steps;
  for_each_reference(p, d, out, [&](Output output, auto f) {
    steps += evaluate_reference(out[output], elements_of(p, output), f);
  });
  return steps;
}

inline void host_reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  for_each_reference(p, d, out, [&](Output output, auto f) {
    for (std::int64_t i = 0; i < elements_of(p, output); ++i) {
      const ReferenceElement element = f(i);
      out[output].value[i] = element.value;
      out[output].magnitude[i] = element.magnitude;
    }
  });
}

}  // namespace gpuexp::training
