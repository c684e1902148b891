// training_block: a step of training of a transformer block: forward, backward, AdamW.
//
// The question: what do attention and norms change in the shares of a step's time? Beside the six
// products of its MLP (training_step has these alone) a block has six more for Q, K and V and for
// the projection behind attention, and attention's own: two forward and five backward, which grow
// with a sequence's length. Between them are passes over activations: two LayerNorms, whose
// gradients are sums over rows and over columns, heads that are split and merged, residuals. In 16
// bits products take a tenth of fp32's time, and what moves bytes is seen beside them.
//
// Each array that a step writes is checked against what its operation makes of what the device
// itself found, as in training_step.
#include <algorithm>
#include <cmath>

#include "kernels/common/attention_scalar_gradient.cuh"
#include "kernels/common/column_sums.cuh"
#include "kernels/common/row_norm_gradient.cuh"
#include "kernels/common/training_family.cuh"
#include "kernels/common/training_heads.cuh"
#include "kernels/common/training_layer.cuh"
#include "kernels/training_block/block_reference.cuh"

namespace gpuexp::training_block {

// ---- separate: a kernel per operation
//
// Products with their biases, as frameworks' linear layers have them. LayerNorm, heads split and
// merged, GELU, sums with the residual, gradients and sums over columns are kernels of their own,
// and so are a check for gradients that are not finite, AdamW of each tensor, and in 16 bits the
// copy of its weights. Attention goes by tiles here as well: its scores stay on the SM
// (attention_backward says what it costs to keep them).

// A block has a row in its registers. The mean and 1/deviation of each are found and kept for the
// backward pass, or are those that were kept.
template <bool kFinds, class T, int kElements>
__global__ void __launch_bounds__(kMostRowThreads)
    norm_kernel(RowMatrix<T> m, NormWeights<T> w, float* mean, float* rstd) {
  const BlockRow group;
  RowPart<T, kRowWidth<T>, kElements / kRowWidth<T>, Edges::whole> part(group, m.x, m.columns);
  part.load(m.in(group.row), 0.0f);
  NormStatistics s{};
  if (kFinds) {
    s = TwoWaits::find<Norm::layer>(group, part, 0.0f);
    if (group.thread == 0) {
      mean[group.row] = s.mean;
      rstd[group.row] = s.rstd;
    }
  } else {
    s = {mean[group.row], rstd[group.row]};
  }
  weigh<Norm::layer>(part, s, w);
  part.store(m.out(group.row));
}

using Family = StepFamily<Problem, Data>;
using Variant = Family::Variant;

// ---- the phases of a step, as launches

NormProblem norm_problem(const Problem& p) {
  NormProblem of{};
  of.rows = p.rows();
  of.columns = p.width;
  of.dtype = p.dtype;
  of.norm = Norm::layer;
  return of;
}
Slices column_slices(const Problem& p, std::int64_t columns, const DeviceSpec& device) {
  return slices_of(p.rows(), columns, tile_columns(columns, p.dtype), kTilesPerSm, device);
}

// Behind the sums of blocks' losses, what one operation at a time works in: sums of slices of
// columns, or of norms; numbers of rows of scores; and a product's sums, or rows, that another
// kernel goes on with.
std::int64_t scratch_bytes(const Problem& p, Way way, const DeviceSpec& device) {
  std::int64_t most =
      std::max(norm_gradient_bytes(norm_problem(p), device), attention::row_bytes(attention_of(p)));
  for (const std::int64_t columns : {3 * p.width, p.hidden, p.width})
    most = std::max(most, column_slices(p, columns, device).partial_bytes());
  if (way.by_library || !way.fuses) {
    const std::int64_t columns = std::max(3 * p.width, p.hidden);
    most = std::max(most, p.rows() * columns * std::int64_t{sizeof(float)});
  }
  return most;
}

template <class T>
struct Network : StepNetwork<T, Problem, Data> {
  using Step = StepNetwork<T, Problem, Data>;
  using Step::context, Step::d, Step::gradient, Step::p, Step::scratch, Step::state, Step::way,
      Step::weights;
  Layout at = layout(p);
  std::int64_t rows = p.rows();

  static T* array(void* from) { return static_cast<T*>(from); }
  T* n1() const { return array(way.recomputes ? d.n1_again : d.n1); }
  T* n2() const { return array(way.recomputes ? d.n2_again : d.n2); }
  T* h() const { return array(way.recomputes ? d.h_again : d.h); }
  T* a() const { return array(way.recomputes ? d.a_again : d.a); }

  // ---- products

  template <Lies a_lies, Lies b_lies, class Tail>
  Steps multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b,
                 const Tail& tail, bool in_vectors = true) const {
    const Extents x = Step::extents(m, n, k);
    if (way.by_library) return this->template by_library<a_lies, b_lies>(x, a, b, tail, scratch());
    if constexpr (std::is_same<Tail, HeadsTail<T>>::value) {
      return vector_product<a_lies, b_lies>(x, a, b, tail);
    } else {
      return Step::template layer_product<a_lies, b_lies>(x, a, b, tail, in_vectors);
    }
  }
  // Of matrices whose rows may be `hidden` elements.
  template <Lies a_lies, Lies b_lies, class Tail>
  Steps multiply_hidden(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b,
                        const Tail& tail) const {
    constexpr std::int64_t kPerVector = 16 / sizeof(T);
    return multiply<a_lies, b_lies>(m, n, k, a, b, tail, p.hidden % kPerVector == 0);
  }
  // Whose result is of heads: `columns` of rows.
  template <Lies b_lies>
  Steps multiply_to_heads(std::int64_t columns, const T* a, const T* b, const float* bias,
                          T* to) const {
    const HeadsTail<T> tail{bias, head_places(p), static_cast<int>(columns), to};
    if (way.fuses) return multiply<Lies::as_it_is, b_lies>(rows, columns, p.width, a, b, tail);
    T* const in_rows = reinterpret_cast<T*>(scratch());
    HeadsTail<T> only_places = tail;
    only_places.bias = nullptr;
    return multiply<Lies::as_it_is, b_lies>(
               rows, columns, p.width, a, b,
               LayerTail<T>{bias, nullptr, nullptr, in_rows, nullptr}) +
           split_heads(static_cast<const T*>(in_rows), only_places, rows * columns);
  }

  // ---- what stands between products

  Steps merge(const HeadArrays<T>& from, T* to) const {
    const std::int64_t n = rows * from.columns;
    return launch(merge_heads_kernel<T>, head_elements<T>(n), from, head_places(p), to, n);
  }
  // `which`: 0 of x, 1 of y.
  Steps norm(int which, T* to, bool finds) const {
    const T* const from = array(which == 0 ? d.x : d.y);
    const std::int64_t gamma = which == 0 ? at.gamma1 : at.gamma2;
    const RowMatrix<T> m{from, to, rows, static_cast<int>(p.width)};
    const NormWeights<T> w{weights(gamma), weights(gamma + p.width)};
    float* const mean = d.statistics + 2 * which * rows;
    const RowShape shape = row_shape(p.width, Edges::whole);
    constexpr int kMost = kMostNormGradientColumns / kFewRowThreads;  // elements of a thread
    return with_part<kMost>(shape.elements, Edges::whole, [&](auto count, auto) {
      return finds ? block_per_row(norm_kernel<true, T, count>, shape.threads, m, w, mean,
                                   mean + rows)
                   : block_per_row(norm_kernel<false, T, count>, shape.threads, m, w, mean,
                                   mean + rows);
    });
  }
  // Of y, by what stands behind it, with dz; or of x, whose own gradient nobody asks for.
  Steps norm_gradient(int which) const {
    const float* const mean = d.statistics + 2 * which * rows;
    const std::int64_t gamma = which == 0 ? at.gamma1 : at.gamma2;
    const bool adds = which == 1 && way.fuses;
    const LayerNormGradient<T> of{array(which == 0 ? d.x : d.y),
                                  array(which == 0 ? d.dn1 : d.dn2),
                                  weights(gamma),
                                  mean,
                                  mean + rows,
                                  adds ? array(d.dz) : nullptr,
                                  which == 0 ? nullptr : array(d.dy),
                                  d.gradients + gamma};
    Steps steps = layer_norm_gradient(norm_problem(p), of, {context.device, scratch()});
    if (which == 1 && !way.fuses) steps += Passes<T>::add(array(d.dz), array(d.dy), outer(p));
    return steps;
  }
  Steps column_sums(const T* from, std::int64_t columns, std::int64_t to) const {
    return stored_tile_sums(column_slices(p, columns, context.device), ElementTerms<T>{from},
                            scratch(), d.gradients + to);
  }

  Steps attention_forward() const {
    T* const q = array(d.qkv);
    return attention::forward_by_tiles(
        attention_of(p), {q, q + outer(p), q + 2 * outer(p), d.o, d.log_sum, nullptr});
  }
  Steps attention_backward() const {
    T* const q = array(d.qkv);
    T *const k = q + outer(p), *const v = k + outer(p);
    if constexpr (std::is_same<T, float>::value) {
      return attention::scalar_gradients<kHeadDim>(attention_of(p), {q, k, v}, array(d.o),
                                                   array(d.d_o), d.log_sum, array(d.dq),
                                                   array(d.dk), array(d.dv), scratch());
    } else {
      const attention_backward::Data data{q,     k,    v,    d.o,  d.log_sum, nullptr,
                                          d.d_o, d.dq, d.dk, d.dv, nullptr,   nullptr};
      return attention_backward::gradients_in_two_passes(attention_of(p), data, scratch());
    }
  }

  // ---- phases

  Steps first_half_of_mlp() const {
    T *const to_h = h(), *const to_a = a();
    Steps steps = multiply_hidden<Lies::as_it_is, Lies::as_it_is>(
        rows, p.hidden, p.width, n2(), weights(at.w1),
        LayerTail<T>{d.weights + at.b1, nullptr, nullptr, to_h, way.fuses ? to_a : nullptr});
    if (!way.fuses) steps += Passes<T>::activate(to_h, to_a, inner(p));
    return steps;
  }
  // What a product of `width` columns ends with, which a residual is added to.
  LayerTail<T> residual_tail(std::int64_t bias, const T* residual, T* to) const {
    return {d.weights + bias, nullptr, way.fuses ? residual : nullptr, to, nullptr};
  }

  Steps forward() const {
    T *const x = array(d.x), *const y = array(d.y), *const z = array(d.z);
    const std::int64_t w = p.width;
    Steps steps = norm(0, n1(), true);
    steps += multiply_to_heads<Lies::as_it_is>(3 * w, n1(), weights(at.qkv), d.weights + at.b_qkv,
                                               array(d.qkv));
    steps += attention_forward();
    steps += merge({{array(d.o), nullptr, nullptr}, static_cast<int>(w), static_cast<int>(w)},
                   array(d.merged));
    steps += multiply<Lies::as_it_is, Lies::as_it_is>(rows, w, w, array(d.merged), weights(at.proj),
                                                      residual_tail(at.b_proj, x, y));
    if (!way.fuses) steps += Passes<T>::add(x, y, outer(p));
    steps += norm(1, n2(), true);
    steps += first_half_of_mlp();
    steps += multiply_hidden<Lies::as_it_is, Lies::as_it_is>(rows, w, p.hidden, a(), weights(at.w2),
                                                             residual_tail(at.b2, y, z));
    if (!way.fuses) steps += Passes<T>::add(y, z, outer(p));
    return steps + squared_error(z, d.target, array(d.dz), outer(p), Step::loss_sums(), d.loss,
                                 state(), p.hidden);
  }

  Steps backward_of_mlp() const {
    T *const dz = array(d.dz), *const dh = array(d.dh);
    const std::int64_t w = p.width;
    Steps steps;
    if (way.recomputes) steps += norm(1, n2(), false) + first_half_of_mlp();
    steps += column_sums(dz, w, at.b2);
    steps += multiply_hidden<Lies::transposed, Lies::as_it_is>(p.hidden, w, rows, a(), dz,
                                                               gradient(at.w2));
    steps += multiply_hidden<Lies::as_it_is, Lies::transposed>(
        rows, p.hidden, w, dz, weights(at.w2),
        LayerTail<T>{nullptr, way.fuses ? h() : nullptr, nullptr, dh, nullptr});
    if (!way.fuses) steps += Passes<T>::scale_by_slope(h(), dh, inner(p));
    steps += column_sums(dh, p.hidden, at.b1);
    steps += multiply_hidden<Lies::transposed, Lies::as_it_is>(w, p.hidden, rows, n2(), dh,
                                                               gradient(at.w1));
    steps += multiply_hidden<Lies::as_it_is, Lies::transposed>(
        rows, w, p.hidden, dh, weights(at.w1),
        LayerTail<T>{nullptr, nullptr, nullptr, array(d.dn2), nullptr});
    return steps + norm_gradient(1);
  }
  Steps backward_of_attention() const {
    T *const dy = array(d.dy), *const dqkv = array(d.dqkv);
    const std::int64_t w = p.width;
    Steps steps = column_sums(dy, w, at.b_proj);
    steps += multiply<Lies::transposed, Lies::as_it_is>(w, w, rows, array(d.merged), dy,
                                                        gradient(at.proj));
    steps += multiply_to_heads<Lies::transposed>(w, dy, weights(at.proj), nullptr, array(d.d_o));
    steps += attention_backward();
    steps += merge(
        {{array(d.dq), array(d.dk), array(d.dv)}, static_cast<int>(w), static_cast<int>(3 * w)},
        dqkv);
    if (way.recomputes) steps += norm(0, n1(), false);
    steps += column_sums(dqkv, 3 * w, at.b_qkv);
    steps +=
        multiply<Lies::transposed, Lies::as_it_is>(w, 3 * w, rows, n1(), dqkv, gradient(at.qkv));
    steps += multiply<Lies::as_it_is, Lies::transposed>(
        rows, w, 3 * w, dqkv, weights(at.qkv),
        LayerTail<T>{nullptr, nullptr, nullptr, array(d.dn1), nullptr});
    return steps + norm_gradient(0);
  }
  Steps backward() const {
    Steps steps = backward_of_mlp() + backward_of_attention();
    if (!is_scaled(p)) return steps;
    // Products have looked at matrices; vectors, behind these, are few.
    if (Step::products_look())
      return steps + check_gradients(d.gradients + at.gamma1, at.all - at.gamma1, state());
    return steps + Step::check_all_gradients();
  }
};

// ---- how the variants are launched

std::int64_t workspace_bytes(const Problem& p, Way way, const DeviceSpec& device) {
  return kLossBlocks * std::int64_t{sizeof(float)} + scratch_bytes(p, way, device);
}

MetricValues memory(const Problem& p, Way way) {
  MetricValues values{{"kept_bytes", kept_bytes(p, way.recomputes)}};
  if (p.phase == Phase::step) values.emplace_back("peak_bytes", peak_bytes(p, way.recomputes));
  return values;
}

const StepVariants<Network, Problem, Data>& variants() {
  static const StepVariants<Network, Problem, Data> all{
      work,
      workspace_bytes,
      memory,
      {"statistics", "qkv",  "o",         "log_sum", "merged", "y",  "z",    "dz",
       "dh",         "dn2",  "dy",        "d_o",     "dq",     "dk", "dv",   "dqkv",
       "dn1",        "loss", "gradients", "weights", "m",      "v",  "copy", "state"},
      {"n1", "n2", "h", "a"}};
  return all;
}

Variant separate() {
  return variants().separate();
}

// ---- fused: what follows a product, in the product; one kernel for all weights
//
// Bias, GELU and residual forward, GELU's slope backward cost no pass of their own, products of Q,
// K, V and of dO put their results where attention reads them, and LayerNorm's gradient adds the
// residual's: global_store_sectors fall. Products of gradients see an overflow themselves, and one
// kernel of AdamW goes over all weights: kernels fall, which is what a small block's time is made
// of. Attention's results are merged into rows by a kernel of its own in either case.

Variant fused() {
  return variants().fused();
}

// ---- cublas: the library's products
//
// The twelve products of weights by cuBLAS, which drives tensor cores by wgmma, into fp32 sums;
// what follows each is a kernel that reads these. Attention is fused's.

Variant by_cublas() {
  return variants().by_cublas([](const Problem& p) { return p.hidden; },
                              "hidden has to be a multiple of 8");
}

// ---- fused_recompute: what is cheap computed again
//
// Backward computes LayerNorm's results again, of the means and deviations that forward kept, and h
// with GELU(h) by one more product: tensor_instructions increases. What a block keeps for its
// backward pass, which a deeper network has for each of its blocks, falls to less than a half:
// metric.kept_bytes.

bool is_deep_and_wide(const Problem& p) {
  return p.hidden >= 2 * p.width;
}

Variant fused_recompute() {
  return variants().fused_recompute(
      {{"metric.kept_bytes", Direction::decreases, 1.8, is_deep_and_wide},
       {"tensor_instructions", Direction::increases, 1.05, [](const Problem& p) {
          return is_large(p) && is_deep_and_wide(p) && p.tokens <= p.width &&
                 p.dtype != DataType::fp32;
        }}});
}

// ---- fused_one_by_one: by the host's clock
//
// The same kernels, timed from before the host hands over the first until the GPU has done the
// last. Where kernels are short, it is the host's calls that take the time. Counters do not change.

Variant fused_one_by_one() {
  return variants().fused_one_by_one();
}

// ---- fused_graph: a step as one graph
//
// The same kernels as a CUDA graph, captured once: the host makes one call per step in place of one
// per kernel. The scale of the loss and the overflow live on the device, so that no step needs
// another graph. Counters do not change.

Variant fused_graph() {
  return variants().fused_graph();
}

// ---- fused_first: the first step of a process
//
// The same kernels, the first time that a process launches them: each is loaded on its first use.
// Each sample is a process of its own. Counters do not change.

Variant fused_first() {
  return variants().fused_first();
}

// ---- declaration

std::optional<std::string> unsupported(const Problem& p, const DeviceSpec&) {
  if (p.width % kHeadDim != 0) return "width is no multiple of 64, the elements of a head";
  if (p.width > kMostNormGradientColumns) return "LayerNorm's gradient has at most 4096 columns";
  if (const auto why = attention::unsupported(attention_of(p))) return why;
  if (!p.overflow) return std::nullopt;
  if (!is_scaled(p)) return "an overflow is planted for fp16 to find";
  if (p.phase == Phase::forward || p.phase == Phase::backward)
    return "an overflow is planted in whole steps, or found by an update";
  constexpr std::int64_t kFewElements = 1 << 14;
  if (outer(p) < kFewElements)
    return "an overflow is planted in one row of many, whose gradients are small beside it";
  return std::nullopt;
}

Family declare() {
  Family f("training_block", Topic::patterns,
           "What do attention and norms change in a step of training?");
  f.physics =
      "A transformer block multiplies its activations by four matrices of weights, twelve products "
      "with those of the gradients, and by each other in attention: two products forward and five "
      "backward, whose operations grow with the length of sequences where the others' do not. "
      "Norms, residuals, the heads' places and sums of gradients are passes over activations, "
      "bytes and not operations, and so is the optimizer. The fewer bits products have, the larger "
      "the share of all that is no product.";
  f.refers_to_results = true;
  f.extent("sequences", &Problem::sequences, 8, 1 << 16, "of the batch")
      .extent("width", &Problem::width, 768, kMostNormGradientColumns,
              "elements of a token, a multiple of 64, which each head has")
      .extent("tokens", &Problem::tokens, 512, 1 << 16, "of a sequence")
      .extent("hidden", &Problem::hidden, 3072, 1 << 15, "what GELU is applied to per token");
  f.step_parameters();
  const auto type = [](const Problem& p) { return p.dtype; };
  f.input("x", &Data::x, type, outer).input("target", &Data::target, outer);
  f.parameter_inputs(parameters);
  const auto all = [](Output o) { return [o](const Problem& p) { return elements_of(p, o); }; };
  const auto by_width = [](const Problem& p) { return product_tolerance(p, p.width); };
  const auto by_hidden = [](const Problem& p) { return product_tolerance(p, p.hidden); };
  const auto by_qkv = [](const Problem& p) { return product_tolerance(p, 3 * p.width); };
  const auto within = [](Output o) {
    return [o](const Problem& p) { return attention_gradient_tolerance(p, o); };
  };
  f.state("n1", &Data::n1, type, outer, norm_tolerance_of)
      .state("n2", &Data::n2, type, outer, norm_tolerance_of)
      .state("h", &Data::h, type, inner, by_width)
      .state("a", &Data::a, type, inner, gelu_tolerance)
      .state("n1_again", &Data::n1_again, type, outer, norm_tolerance_of)
      .state("n2_again", &Data::n2_again, type, outer, norm_tolerance_of)
      .state("h_again", &Data::h_again, type, inner, by_width)
      .state("a_again", &Data::a_again, type, inner, gelu_tolerance)
      .state("statistics", &Data::statistics, all(kStatistics), statistics_tolerance)
      .state("qkv", &Data::qkv, type, all(kQkv), by_width)
      .state("o", &Data::o, type, outer, attention_tolerance)
      .state("log_sum", &Data::log_sum, head_rows, log_sum_tolerance)
      .state("merged", &Data::merged, type, outer, exact_tolerance)
      .state("y", &Data::y, type, outer, by_width)
      .state("z", &Data::z, type, outer, by_hidden)
      .state("dz", &Data::dz, type, outer, by_hidden)
      .state("dh", &Data::dh, type, inner, by_width)
      .state("dn2", &Data::dn2, type, outer, by_hidden)
      .state("dy", &Data::dy, type, outer, norm_tolerance_of)
      .state("d_o", &Data::d_o, type, outer, by_width)
      .state("dq", &Data::dq, type, outer, within(kDq))
      .state("dk", &Data::dk, type, outer, within(kDk))
      .state("dv", &Data::dv, type, outer, within(kDv))
      .state("dqkv", &Data::dqkv, type, all(kDqkv), exact_tolerance)
      .state("dn1", &Data::dn1, type, outer, by_qkv);
  f.parameter_outputs(parameters, [](const Problem& p) { return p.rows(); });
  f.step_metrics().metric(
      "kept_bytes", "B",
      "that forward leaves for backward: what a network has for each of its blocks");
  f.figure("training_block", "step_phases", "A step of training, of a transformer block",
           {{"param.phase", "phase"}, {"param.dtype", "type"}});
  f.outputs = [](const Problem& p) { return Extent{p.hidden, 1, 1}; };
  f.unsupported = unsupported;
  f.inputs = inputs;
  f.reset = reset;
  f.reference = reference;
  f.tolerance_derivation = block_derivation();
  f.variants(separate(), fused(), by_cublas(), fused_recompute(), fused_one_by_one(), fused_graph(),
             fused_first());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::training_block
