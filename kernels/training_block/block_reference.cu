// The plain fp64 reference of a transformer block in training. It evaluates each array's operation
// on the operands that the device computed.
#include "kernels/common/attention_gradient_reference.cuh"
#include "kernels/common/rounding.cuh"
#include "kernels/common/row_norm_gradient.cuh"
#include "kernels/common/training_family.cuh"
#include "kernels/training_block/block_reference.cuh"

namespace gpuexp::training_block {

/// Reference of all arrays except the results of attention.
template <class T>
struct ExactBlock : ExactStep<T, Problem, Data> {
  using Step = ExactStep<T, Problem, Data>;
  using Step::bias, Step::d, Step::exactly, Step::kRoundoff, Step::number, Step::p, Step::rounded,
      Step::stored, Step::weight;
  Layout at;
  Output output;
  bool again;  ///< read the recomputed n1, n2, h and a
  HeadPlaces places;
  ProductError by_width, hidden_error, by_qkv, by_rows, of_column;
  double row_additions;  ///< maximum number of additions of a term in a sum over `width` elements
  double gradient_of_norm;  ///< norm_gradient_computed
  InitialContents<T> found;

  __host__ __device__ const void* n1() const { return again ? d.n1_recomputed : d.n1; }
  __host__ __device__ const void* n2() const { return again ? d.n2_recomputed : d.n2; }
  __host__ __device__ const void* h() const { return again ? d.h_recomputed : d.h; }
  __host__ __device__ const void* a() const { return again ? d.a_recomputed : d.a; }

  /// Row of an array times a column of a weight matrix: Σ a[row][k]·b[k][column], k < depth.
  __host__ __device__ ProductSums times(const void* array, std::int64_t row, std::int64_t depth,
                                        std::int64_t first, std::int64_t column,
                                        std::int64_t columns) const {
    return sum_of_products(
        depth, [&](std::int64_t k) { return number(array, row * depth + k); },
        [&](std::int64_t k) { return weight(first + k * columns + column); });
  }
  /// Row of an array times a column of a transposed weight matrix.
  __host__ __device__ ProductSums times_transposed(const void* array, std::int64_t row,
                                                   std::int64_t depth, std::int64_t first,
                                                   std::int64_t column) const {
    return Step::row_products(array, row * depth, first + column * depth, depth);
  }

  // The code of each operation appears once: with several copies, the kernel exceeds the call range
  // of some GPUs.
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    if (output == kGradients) return gradient_element(i);
    if (output > kGradients) return Step::updated(output, i);
    const bool is_again = output >= kN1Again && output <= kAAgain;
    const bool is_backward = output >= kDh && output <= kDn1;
    if (!p.has(is_again || is_backward ? Phase::backward : Phase::forward)) return given(i);
    if (output == kDz) return of_dz(i);
    return is_backward ? of_backward(i) : forward_element(i);
  }
  __host__ __device__ ReferenceElement unwritten() const {
    const bool is_fp32 =
        output == kStatistics || output == kLogSum || output == kLoss || output == kGradients;
    return {is_fp32 ? kUnwrittenValue<float> : kUnwrittenValue<T>, 0.0};
  }
  /// Contents of arrays that the launch does not write: the inputs of a backward launch, or
  /// unwritten.
  __host__ __device__ ReferenceElement given(std::int64_t i) const {
    if (p.phase != Phase::backward) return unwritten();
    switch (output) {
      case kN1: return exactly(to_double(found.n1(i)));
      case kN2: return exactly(to_double(found.n2(i)));
      case kH: return exactly(to_double(found.h(i)));
      case kA: return exactly(to_double(found.a(i)));
      case kStatistics: return exactly(InitialStatistics{p.rows()}(i));
      case kQkv: return exactly(to_double(found.qkv(i)));
      case kO: return exactly(to_double(found.o(i)));
      case kLogSum: return exactly(InitialLogSum{static_cast<int>(p.tokens)}(i));
      case kMerged: return exactly(to_double(found.merged(i)));
      case kY: return exactly(to_double(found.y(i)));
      case kDz: return exactly(to_double(found.dz(i)));
      default: return unwritten();
    }
  }

  // ---- forward

  __host__ __device__ ReferenceElement forward_element(std::int64_t i) const {
    const std::int64_t w = p.width, row = i / w, column = i % w;
    switch (output) {
      case kN1:
      case kN1Again: return of_norm(d.x, 0, at.gamma1, at.beta1, row, column);
      case kN2:
      case kN2Again: return of_norm(d.y, 2, at.gamma2, at.beta2, row, column);
      case kStatistics: return of_statistics(i);
      case kQkv: {
        const std::int64_t of_row = places.row_of(i);
        const std::int64_t of_column = places.column_of(i);
        const ProductSums sums = times(n1(), of_row, w, at.qkv, of_column, 3 * w);
        return stored(sums.value + bias(at.b_qkv + of_column), by_width(sums));
      }
      case kMerged: return exactly(number(d.o, places(row, static_cast<int>(column))));
      case kY: {
        const ProductSums sums = times(d.merged, row, w, at.proj, column, w);
        const double grown = sums.value + bias(at.b_proj + column);
        return stored(number(d.x, i) + grown, by_width(sums) + rounded(grown));
      }
      case kH:
      case kHAgain: {
        const std::int64_t of_column = i % p.hidden;
        const ProductSums sums = times(n2(), i / p.hidden, w, at.w1, of_column, p.hidden);
        return stored(sums.value + bias(at.b1 + of_column), by_width(sums));
      }
      case kA:
      case kAAgain: return Step::activated(number(output == kA ? d.h : d.h_recomputed, i));
      case kZ: {
        const ProductSums sums = times(a(), row, p.hidden, at.w2, column, w);
        const double grown = sums.value + bias(at.b2 + column);
        return stored(number(d.y, i) + grown, hidden_error(sums) + rounded(grown));
      }
      default: return unwritten();  // the loss has its own reference
    }
  }
  __host__ __device__ ReferenceElement of_norm(const void* x, int statistics, std::int64_t gamma,
                                               std::int64_t beta, std::int64_t row,
                                               std::int64_t column) const {
    const double mean = d.statistics[statistics * p.rows() + row];
    const double rstd = d.statistics[(statistics + 1) * p.rows() + row];
    const double grown = (number(x, row * p.width + column) - mean) * rstd * weight(gamma + column);
    return stored(grown + weight(beta + column), 3 * kRoundoff * fabs(grown));
  }
  // The mean's terms have either sign, so its error is relative to the mean of their magnitudes.
  // 1/deviation has half the relative error of the sum of squares, because of the root, and 2 ulp
  // of rsqrtf.
  __host__ __device__ ReferenceElement of_statistics(std::int64_t i) const {
    const std::int64_t row = i % p.rows();
    const void* const x = i < 2 * p.rows() ? d.x : d.y;
    const auto n = static_cast<double>(p.width);
    double sum = 0.0, absolute = 0.0;
    for (std::int64_t k = 0; k < p.width; ++k) {
      const double element = number(x, row * p.width + k);
      sum += element;
      absolute += fabs(element);
    }
    const double mean = sum / n;
    if (i / p.rows() % 2 == 0) return {mean, (row_additions + 2) * absolute / n};
    double squares = 0.0;
    for (std::int64_t k = 0; k < p.width; ++k) {
      const double deviation = number(x, row * p.width + k) - mean;
      squares += deviation * deviation;
    }
    const double rstd = 1 / sqrt(squares / n + static_cast<double>(kNormEpsilon));
    return {rstd, (row_additions / 2 + 8) * rstd};
  }
  __host__ __device__ ReferenceElement of_dz(std::int64_t i) const {
    const double value = Step::loss_gradient(d.z, i, p.rows() * p.width);
    return stored(value, 2.0 * kRoundoff * fabs(value));
  }

  // ---- backward

  __host__ __device__ ReferenceElement of_backward(std::int64_t i) const {
    const std::int64_t w = p.width, row = i / w, column = i % w;
    switch (output) {
      case kDh: {
        const ProductSums sums = times_transposed(d.dz, i / p.hidden, w, at.w2, i % p.hidden);
        return Step::times_slope(sums, by_width(sums), number(h(), i));
      }
      case kDn2: {
        const ProductSums sums = times_transposed(d.dh, row, p.hidden, at.w1, column);
        return stored(sums.value, hidden_error(sums));
      }
      case kDy: return of_dy(row, column);
      case kDo: {
        const ProductSums sums =
            times_transposed(d.dy, places.row_of(i), w, at.proj, places.column_of(i));
        return stored(sums.value, by_width(sums));
      }
      case kDqkv: {
        const std::int64_t of_row = i / (3 * w), of_column = i % (3 * w);
        const void* const array = of_column < w ? d.dq : of_column < 2 * w ? d.dk : d.dv;
        return exactly(number(array, places(of_row, static_cast<int>(of_column % w))));
      }
      default: {  // dn1, which contains the overflow of overflow=planted
        const ProductSums sums = times_transposed(d.dqkv, row, 3 * w, at.qkv, column);
        if (p.overflow && fabs(round_to(kFp16, sums.value)) == HUGE_VAL)
          return exactly(copysign(HUGE_VAL, sums.value));
        return stored(sums.value, by_qkv(sums));
      }
    }
  }
  __host__ __device__ ExactNormGradient<T> norm_gradient(bool is_second) const {
    const void* const x = is_second ? d.y : d.x;
    const void* const dn = is_second ? d.dn2 : d.dn1;
    const float* const mean = d.statistics + (is_second ? 2 * p.rows() : 0);
    return {static_cast<const T*>(x),
            static_cast<const T*>(dn),
            nullptr,
            mean,
            mean + p.rows(),
            p.rows(),
            p.width,
            Norm::layer};
  }
  // LayerNorm's gradient plus dz. If a separate kernel adds dz, the gradient is rounded before.
  __host__ __device__ ReferenceElement of_dy(std::int64_t row, std::int64_t column) const {
    const ExactNormGradient<T> g = norm_gradient(true);
    const auto weighed = [&](std::int64_t k) {
      return weight(at.gamma2 + k) * number(d.dn2, row * p.width + k);
    };
    double sum = 0.0, products = 0.0, absolute = 0.0, absolute_products = 0.0;
    for (std::int64_t k = 0; k < p.width; ++k) {
      const double t = weighed(k), product = t * g.normed(row, k);
      sum += t;
      products += product;
      absolute += fabs(t);
      absolute_products += fabs(product);
    }
    const auto n = static_cast<double>(p.width);
    const double t = weighed(column), x_hat = g.normed(row, column), scale = g.rstd[row];
    const double value = scale * (t - sum / n - x_hat * products / n);
    const double magnitude = scale * (fabs(t) + absolute / n + fabs(x_hat) * absolute_products / n);
    return stored(number(d.dz, row * p.width + column) + value,
                  gradient_of_norm * magnitude + rounded(value));
  }

  __host__ __device__ ReferenceElement gradient_element(std::int64_t i) const {
    if (p.phase == Phase::update)
      return exactly(is_between(i) ? 0.0 : to_double(initial_gradients()(i)));
    if (is_between(i)) return exactly(0.0);
    if (!p.has(Phase::backward)) return unwritten();
    const std::int64_t w = p.width;
    if (i < at.proj) return of_matrix(i, n1(), w, d.dqkv, 3 * w);
    if (i < at.w1) return of_matrix(i - at.proj, d.merged, w, d.dy, w);
    if (i < at.w2) return of_matrix(i - at.w1, n2(), w, d.dh, p.hidden);
    if (i < at.gamma1) return of_matrix(i - at.w2, a(), p.hidden, d.dz, w);
    if (i < at.b_qkv) return of_norm_weight(i - at.gamma1);
    if (i < at.b_proj) return of_bias(i - at.b_qkv, d.dqkv, 3 * w);
    if (i < at.b1) return of_bias(i - at.b_proj, d.dy, w);
    if (i < at.b2) return of_bias(i - at.b1, d.dh, p.hidden);
    return of_bias(i - at.b2, d.dz, w);
  }
  __host__ __device__ bool is_between(std::int64_t i) const {
    const std::int64_t inner = p.width * p.hidden;
    return (i >= at.w1 + inner && i < at.w2) || (i >= at.w2 + inner && i < at.gamma1) ||
           (i >= at.b1 + p.hidden && i < at.b2);
  }
  /// Aᵀ·B over all rows, where A has `columns_of_a` columns and B `columns` columns.
  __host__ __device__ ReferenceElement of_matrix(std::int64_t i, const void* of_a,
                                                 std::int64_t columns_of_a, const void* of_b,
                                                 std::int64_t columns) const {
    const std::int64_t row = i / columns, column = i % columns;
    const ProductSums sums = sum_of_products(
        p.rows(), [&](std::int64_t k) { return number(of_a, k * columns_of_a + row); },
        [&](std::int64_t k) { return number(of_b, k * columns + column); });
    return Step::matrix_gradient(sums, by_rows(sums));
  }
  __host__ __device__ ReferenceElement of_bias(std::int64_t column, const void* of,
                                               std::int64_t columns) const {
    const ProductSums sums = sum_of_products(
        p.rows(), [&](std::int64_t k) { return number(of, k * columns + column); },
        [](std::int64_t) { return 1.0; });
    return {sums.value, of_column(sums) / kRoundoff};
  }
  /// Gradients of γ1, β1, γ2, β2; each term has four more roundings.
  __host__ __device__ ReferenceElement of_norm_weight(std::int64_t i) const {
    const std::int64_t column = i % p.width, which = i / p.width;
    const ExactNormGradient<T> g = norm_gradient(which >= 2);
    const ProductSums sums = sum_of_products(
        p.rows(), [&](std::int64_t k) { return to_double(g.dy[k * p.width + column]); },
        [&](std::int64_t k) { return which % 2 == 0 ? g.normed(k, column) : 1.0; });
    return {sums.value, of_column(sums) / kRoundoff + 4 * sums.absolute};
  }
};

template <class T>
ExactBlock<T> exact_block(const Problem& p, const Data& d, Output output, bool again) {
  return {exact_step<T>(p, d, first_state(p)),
          layout(p),
          output,
          again,
          head_places(p),
          product_error(p.dtype, p.width),
          product_error(p.dtype, p.hidden),
          product_error(p.dtype, 3 * p.width),
          product_error(p.dtype, p.rows()),
          product_error(DataType::fp32, p.rows()),
          static_cast<double>(row_additions(p.width)),
          norm_gradient_computed(p.width),
          {}};
}

/// Rows of attention's reference, on the operands that the device computed.
template <class T>
attention::ReferenceRows<T> attention_rows(const Problem& p, const Data& d) {
  const auto* const qkv = static_cast<const T*>(d.qkv);
  const attention::Problem of = attention_of(p);
  return {{qkv, qkv + outer(p), qkv + 2 * outer(p)},
          attention::heads_of(of),
          kHeadDim,
          attention::output_bound(of, false)};
}
template <class T>
attention::GradientRows<T> attention_gradient_rows(const Problem& p, const Data& d,
                                                   attention::Gradient of) {
  const attention::Problem heads = attention_of(p);
  return {attention_rows<T>(p, d), static_cast<const T*>(d.o), static_cast<const T*>(d.d_o),
          d.log_sum, attention::gradient_bound(heads, attention::gradient_terms(heads, of), false)};
}
bool is_of_attention(const Problem& p, Output o) {
  if (o == kO || o == kLogSum) return p.has(Phase::forward);
  return (o == kDq || o == kDk || o == kDv) && p.has(Phase::backward);
}
attention::Gradient gradient_of(Output o) {
  return o == kDq   ? attention::Gradient::of_q
         : o == kDk ? attention::Gradient::of_k
                    : attention::Gradient::of_v;
}

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_type(p, [&](auto zero) {
    using T = decltype(zero);
    Steps steps;
    if (p.has(Phase::forward) && (out[kO] || out[kLogSum]))
      steps += attention::evaluate_rows(attention_rows<T>(p, d), out[kO], out[kLogSum]);
    for (std::size_t o = 0; o < out.size(); ++o) {
      const auto output = static_cast<Output>(o);
      if (!out[o] || elements_of(p, output) == 0) continue;
      if (output == kLoss && p.has(Phase::forward)) {
        steps += evaluate_rows(
            out[o], 1, ExactLoss<T>{static_cast<const T*>(d.z), d.target, p.rows() * p.width});
      } else if (!is_of_attention(p, output)) {
        steps += evaluate_reference(out[o], elements_of(p, output),
                                    exact_block<T>(p, d, output, static_cast<bool>(out[kHAgain])));
      } else if (output != kO && output != kLogSum) {
        const attention::Gradient of = gradient_of(output);
        steps += attention::evaluate_gradient(attention_gradient_rows<T>(p, d, of), of, out[o]);
      }
    }
    return steps;
  });
}

// ---- tolerances

Tolerance norm_tolerance_of(const Problem& p) {
  const double rms =
      std::hypot(std::sqrt(2.0) * rounding_rms(p.dtype), 4 * unit_roundoff(DataType::fp32));
  return stored_tolerance(p, rms, 2.0);
}
Tolerance statistics_tolerance(const Problem& p) {
  return fp32_tolerance(rounding_rms(DataType::fp32) *
                        std::sqrt(static_cast<double>(row_additions(p.width))));
}

Tolerance attention_tolerance(const Problem& p) {
  return attention::output_tolerance(attention_of(p), false);
}
Tolerance log_sum_tolerance(const Problem& p) {
  return attention::log_sum_tolerance(attention_of(p));
}
Tolerance attention_gradient_tolerance(const Problem& p, Output o) {
  return attention::gradient_tolerance(attention_of(p), gradient_of(o), false);
}

std::string block_derivation() {
  std::string text = step_derivation();
  text +=
      " LayerNorm rounds the term that γ multiplies three times, given a row's mean and deviation. "
      "In a sum over a row, each term passes through at most columns/32 + 13 additions (Higham, "
      "section 4.2). The error of the mean is relative to the mean of |x|. The relative error of "
      "1/deviation is half of that sum's error for the squares, plus 2 ulp of rsqrtf. The bound "
      "for LayerNorm's gradient is the bound of normalization_backward, with the residual's "
      "gradient added. Each term of γ's gradient has four roundings. Attention is bounded in fp32 "
      "as well, where sums in any order have smaller errors than the truncation in tensor cores: ";
  text += attention::kToleranceDerivation;
  text += " Gradients of attention: ";
  text += attention::kGradientDerivation;
  return text;
}

}  // namespace gpuexp::training_block
