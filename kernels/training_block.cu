// training_block: a training step of a transformer block: forward, backward, AdamW.
//
// The question: how do attention and norms change the time shares of a training step? An MLP block
// has six products (training_step). A transformer block has six more, for Q, K and V and for the
// output projection, and seven in attention. Between the products are passes over activations: two
// LayerNorms, splitting and merging of heads, and residuals. In 16 bits, products take a tenth of
// their fp32 time, so memory-bound kernels become visible.
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

// ---- separate: one kernel per operation
//
// Products apply their biases. Separate kernels execute LayerNorm, the splitting and merging of
// heads, GELU, residual additions, their gradients and column sums. Further kernels check the
// gradients for non-finite values, apply AdamW to each tensor, and in 16 bits copy its weights.
// Every variant computes attention in tiles, so its scores stay on the SM (attention_backward
// measures the cost of storing them).

// Each block holds a row in registers. If kComputes is set, the block computes mean and 1/deviation
// and stores them for the backward pass; otherwise it loads the stored values.
template <bool kComputes, class T, int kElements>
__global__ void __launch_bounds__(kMaxRowThreads)
    norm_kernel(RowMatrix<T> m, NormWeights<T> w, float* mean, float* rstd) {
  const BlockRow group;
  RowPart<T, kRowWidth<T>, kElements / kRowWidth<T>, Edges::whole> part(group, m.x, m.columns);
  part.load(m.in(group.row), 0.0f);
  NormStatistics s{};
  if (kComputes) {
    s = TwoReductions::find<Norm::layer>(group, part, 0.0f);
    if (group.thread == 0) {
      mean[group.row] = s.mean;
      rstd[group.row] = s.rstd;
    }
  } else {
    s = {mean[group.row], rstd[group.row]};
  }
  apply_norm<Norm::layer>(part, s, w);
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
  return slices_of(p.rows(), columns, columns_per_block(columns, p.dtype), kTilesPerSm, device);
}

// Workspace after the per-block loss sums, shared by operations that run one at a time: slices of
// column sums or of the norms' gradients, per-row values of attention, or the fp32 sums or rows of
// a product that another kernel processes further.
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
  T* n1() const { return array(way.recomputes ? d.n1_recomputed : d.n1); }
  T* n2() const { return array(way.recomputes ? d.n2_recomputed : d.n2); }
  T* h() const { return array(way.recomputes ? d.h_recomputed : d.h); }
  T* a() const { return array(way.recomputes ? d.a_recomputed : d.a); }

  // ---- products

  template <OperandLayout a_layout, OperandLayout b_layout, class Tail>
  Steps multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b,
                 const Tail& tail, bool rows_aligned = true) const {
    const Extents x = Step::extents(m, n, k);
    if (way.by_library)
      return this->template by_library<a_layout, b_layout>(x, a, b, tail, scratch());
    if constexpr (std::is_same<Tail, HeadsEpilogue<T>>::value) {
      return vector_product<a_layout, b_layout>(x, a, b, tail);
    } else {
      return Step::template layer_product<a_layout, b_layout>(x, a, b, tail, rows_aligned);
    }
  }
  // Product of matrices whose rows may have `hidden` elements, and may not fit 16-byte accesses.
  template <OperandLayout a_layout, OperandLayout b_layout, class Tail>
  Steps multiply_hidden(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b,
                        const Tail& tail) const {
    constexpr std::int64_t kPerVector = 16 / sizeof(T);
    return multiply<a_layout, b_layout>(m, n, k, a, b, tail, p.hidden % kPerVector == 0);
  }
  // Product whose result rows of `columns` elements are stored as heads.
  template <OperandLayout b_layout>
  Steps multiply_to_heads(std::int64_t columns, const T* a, const T* b, const float* bias,
                          T* to) const {
    const HeadsEpilogue<T> tail{bias, head_places(p), static_cast<int>(columns), to};
    if (way.fuses)
      return multiply<OperandLayout::row_major, b_layout>(rows, columns, p.width, a, b, tail);
    T* const in_rows = reinterpret_cast<T*>(scratch());
    HeadsEpilogue<T> split_only = tail;
    split_only.bias = nullptr;
    return multiply<OperandLayout::row_major, b_layout>(
               rows, columns, p.width, a, b,
               LayerEpilogue<T>{bias, nullptr, nullptr, in_rows, nullptr}) +
           split_heads(static_cast<const T*>(in_rows), split_only, rows * columns);
  }

  // ---- operations between products

  Steps merge(const HeadArrays<T>& from, T* to) const {
    const std::int64_t n = rows * from.columns;
    return launch(merge_heads_kernel<T>, head_elements<T>(n), from, head_places(p), to, n);
  }
  // Normalizes x (`which` = 0) or y (`which` = 1).
  Steps norm(int which, T* to, bool computes_statistics) const {
    const T* const from = array(which == 0 ? d.x : d.y);
    const std::int64_t gamma = which == 0 ? at.gamma1 : at.gamma2;
    const RowMatrix<T> m{from, to, rows, static_cast<int>(p.width)};
    const NormWeights<T> w{weights(gamma), weights(gamma + p.width)};
    float* const mean = d.statistics + 2 * which * rows;
    const RowShape shape = row_shape(p.width, Edges::whole);
    constexpr int kMaxElements =
        kMaxNormGradientColumns / kDefaultRowThreads;  // elements per thread
    return with_part<kMaxElements>(shape.elements, Edges::whole, [&](auto count, auto) {
      return computes_statistics ? block_per_row(norm_kernel<true, T, count>, shape.threads, m, w,
                                                 mean, mean + rows)
                                 : block_per_row(norm_kernel<false, T, count>, shape.threads, m, w,
                                                 mean, mean + rows);
    });
  }
  // Gradient through the norm of y, with dz added; or only the weights' gradients of the norm of x.
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
    return launch_stored_tile_sums(column_slices(p, columns, context.device), ElementTerms<T>{from},
                                   scratch(), d.gradients + to);
  }

  Steps attention_forward() const {
    T* const q = array(d.qkv);
    return attention::launch_attention_forward(
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
      return attention_backward::launch_two_pass_gradients(attention_of(p), data, scratch());
    }
  }

  // ---- phases

  Steps first_half_of_mlp() const {
    T *const to_h = h(), *const to_a = a();
    Steps steps = multiply_hidden<OperandLayout::row_major, OperandLayout::row_major>(
        rows, p.hidden, p.width, n2(), weights(at.w1),
        LayerEpilogue<T>{d.weights + at.b1, nullptr, nullptr, to_h, way.fuses ? to_a : nullptr});
    if (!way.fuses) steps += Passes<T>::activate(to_h, to_a, inner(p));
    return steps;
  }
  // Epilogue of a product of `width` columns whose result a residual is added to.
  LayerEpilogue<T> residual_tail(std::int64_t bias, const T* residual, T* to) const {
    return {d.weights + bias, nullptr, way.fuses ? residual : nullptr, to, nullptr};
  }

  Steps forward() const {
    T *const x = array(d.x), *const y = array(d.y), *const z = array(d.z);
    const std::int64_t w = p.width;
    Steps steps = norm(0, n1(), true);
    steps += multiply_to_heads<OperandLayout::row_major>(3 * w, n1(), weights(at.qkv),
                                                         d.weights + at.b_qkv, array(d.qkv));
    steps += attention_forward();
    steps += merge({{array(d.o), nullptr, nullptr}, static_cast<int>(w), static_cast<int>(w)},
                   array(d.merged));
    steps += multiply<OperandLayout::row_major, OperandLayout::row_major>(
        rows, w, w, array(d.merged), weights(at.proj), residual_tail(at.b_proj, x, y));
    if (!way.fuses) steps += Passes<T>::add(x, y, outer(p));
    steps += norm(1, n2(), true);
    steps += first_half_of_mlp();
    steps += multiply_hidden<OperandLayout::row_major, OperandLayout::row_major>(
        rows, w, p.hidden, a(), weights(at.w2), residual_tail(at.b2, y, z));
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
    steps += multiply_hidden<OperandLayout::transposed, OperandLayout::row_major>(
        p.hidden, w, rows, a(), dz, gradient(at.w2));
    steps += multiply_hidden<OperandLayout::row_major, OperandLayout::transposed>(
        rows, p.hidden, w, dz, weights(at.w2),
        LayerEpilogue<T>{nullptr, way.fuses ? h() : nullptr, nullptr, dh, nullptr});
    if (!way.fuses) steps += Passes<T>::scale_by_slope(h(), dh, inner(p));
    steps += column_sums(dh, p.hidden, at.b1);
    steps += multiply_hidden<OperandLayout::transposed, OperandLayout::row_major>(
        w, p.hidden, rows, n2(), dh, gradient(at.w1));
    steps += multiply_hidden<OperandLayout::row_major, OperandLayout::transposed>(
        rows, w, p.hidden, dh, weights(at.w1),
        LayerEpilogue<T>{nullptr, nullptr, nullptr, array(d.dn2), nullptr});
    return steps + norm_gradient(1);
  }
  Steps backward_of_attention() const {
    T *const dy = array(d.dy), *const dqkv = array(d.dqkv);
    const std::int64_t w = p.width;
    Steps steps = column_sums(dy, w, at.b_proj);
    steps += multiply<OperandLayout::transposed, OperandLayout::row_major>(
        w, w, rows, array(d.merged), dy, gradient(at.proj));
    steps += multiply_to_heads<OperandLayout::transposed>(w, dy, weights(at.proj), nullptr,
                                                          array(d.d_o));
    steps += attention_backward();
    steps += merge(
        {{array(d.dq), array(d.dk), array(d.dv)}, static_cast<int>(w), static_cast<int>(3 * w)},
        dqkv);
    if (way.recomputes) steps += norm(0, n1(), false);
    steps += column_sums(dqkv, 3 * w, at.b_qkv);
    steps += multiply<OperandLayout::transposed, OperandLayout::row_major>(w, 3 * w, rows, n1(),
                                                                           dqkv, gradient(at.qkv));
    steps += multiply<OperandLayout::row_major, OperandLayout::transposed>(
        rows, w, 3 * w, dqkv, weights(at.qkv),
        LayerEpilogue<T>{nullptr, nullptr, nullptr, array(d.dn1), nullptr});
    return steps + norm_gradient(0);
  }
  Steps backward() const {
    Steps steps = backward_of_mlp() + backward_of_attention();
    if (!is_scaled(p)) return steps;
    // The products checked the matrices; the vectors that follow them are small.
    if (Step::products_check_finite())
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

// ---- fused: epilogues in the products, one AdamW kernel for all weights
//
// The products apply bias, GELU, the residual and GELU's slope in their epilogues, so these
// operations need no passes. The products for Q, K, V and dO store their results in attention's
// layout, and LayerNorm's gradient adds the residual's gradient: global_store_sectors decreases.
// Products of gradients detect overflows themselves, and one AdamW kernel updates all weights:
// kernels decreases. In a small block, launches take most of the time.

Variant fused() {
  return variants().fused();
}

// ---- cublas: products by cuBLAS
//
// cuBLAS computes the twelve products with weights into fp32 sums, with wgmma on tensor cores. A
// separate kernel reads these sums and applies each epilogue. Attention is the same as in fused.

Variant by_cublas() {
  return variants().by_cublas([](const Problem& p) { return p.hidden; },
                              "hidden must be a multiple of 8");
}

// ---- fused_recompute: recomputation of norms and GELU
//
// The backward pass recomputes the results of LayerNorm from the stored means and deviations. It
// also recomputes h and GELU(h) with one more product: tensor_instructions increases. The bytes
// that a block keeps for its backward pass fall to less than a half: metric.kept_bytes.

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

// ---- fused_one_by_one: individual launches, timed with the host's clock
//
// The kernels are the same as in fused. The time runs from before the host launches the first
// kernel until the GPU has finished the last one. If kernels are short, the host's launch calls
// determine the time. Counters do not change.

Variant fused_one_by_one() {
  return variants().fused_one_by_one();
}

// ---- fused_graph: one CUDA graph per step
//
// The kernels of fused are captured once as a CUDA graph: the host makes one call per step instead
// of one per kernel. Counters do not change.

Variant fused_graph() {
  return variants().fused_graph();
}

// ---- fused_first: the first step of a process
//
// The kernels are the same as in fused, but each sample is the first launch in a new process: each
// kernel is loaded at its first use. Counters do not change.

Variant fused_first() {
  return variants().fused_first();
}

// ---- declaration

std::optional<std::string> unsupported(const Problem& p, const DeviceSpec&) {
  if (p.width % kHeadDim != 0) return "width must be a multiple of 64, the head dimension";
  if (p.width > kMaxNormGradientColumns)
    return "width is above 4096, the limit of LayerNorm's gradient";
  if (const auto why = attention::unsupported(attention_of(p))) return why;
  if (!p.overflow) return std::nullopt;
  if (!is_scaled(p)) return "overflow=planted needs dtype=fp16, whose loss is scaled";
  if (p.phase == Phase::forward || p.phase == Phase::backward)
    return "overflow=planted needs phase=step or phase=update";
  constexpr std::int64_t kFewElements = 1 << 14;
  if (outer(p) < kFewElements)
    return "overflow=planted needs sequences·tokens·width of 16384 or more: one row overflows, and "
           "the other rows' gradients must be small compared with it";
  return std::nullopt;
}

Family declare() {
  Family f("training_block", Topic::patterns,
           "How do attention and norms change the time shares of a training step?");
  f.physics =
      "A transformer block multiplies its activations by four weight matrices: twelve products per "
      "step, with those for the gradients. Attention multiplies activations by each other: two "
      "products forward and five backward. Only the operations of attention per token grow with "
      "the sequence length. Norms, residuals, the rearrangement of heads, sums of gradients and "
      "the optimizer are passes over memory: their time depends on bytes, not operations. The "
      "narrower the type of the products, the larger the share of these passes.";
  f.refers_to_results = true;
  f.extent("sequences", &Problem::sequences, 8, 1 << 16, "sequences per batch")
      .extent("width", &Problem::width, 768, kMaxNormGradientColumns,
              "elements per token, a multiple of the head dimension of 64")
      .extent("tokens", &Problem::tokens, 512, 1 << 16, "tokens per sequence")
      .extent("hidden", &Problem::hidden, 3072, 1 << 15,
              "elements per token in the hidden layer, the input of GELU");
  f.step_parameters();
  const auto type = [](const Problem& p) { return p.dtype; };
  f.input("x", &Data::x, type, outer).input("target", &Data::target, outer);
  f.parameter_inputs(parameters);
  const auto all = [](Output o) { return [o](const Problem& p) { return elements_of(p, o); }; };
  const auto by_width = [](const Problem& p) { return product_tolerance(p, p.width); };
  const auto hidden_tolerance = [](const Problem& p) { return product_tolerance(p, p.hidden); };
  const auto by_qkv = [](const Problem& p) { return product_tolerance(p, 3 * p.width); };
  const auto within = [](Output o) {
    return [o](const Problem& p) { return attention_gradient_tolerance(p, o); };
  };
  f.state("n1", &Data::n1, type, outer, norm_tolerance_of)
      .state("n2", &Data::n2, type, outer, norm_tolerance_of)
      .state("h", &Data::h, type, inner, by_width)
      .state("a", &Data::a, type, inner, gelu_tolerance)
      .state("n1_again", &Data::n1_recomputed, type, outer, norm_tolerance_of)
      .state("n2_again", &Data::n2_recomputed, type, outer, norm_tolerance_of)
      .state("h_again", &Data::h_recomputed, type, inner, by_width)
      .state("a_again", &Data::a_recomputed, type, inner, gelu_tolerance)
      .state("statistics", &Data::statistics, all(kStatistics), statistics_tolerance)
      .state("qkv", &Data::qkv, type, all(kQkv), by_width)
      .state("o", &Data::o, type, outer, attention_tolerance)
      .state("log_sum", &Data::log_sum, head_rows, log_sum_tolerance)
      .state("merged", &Data::merged, type, outer, exact_tolerance)
      .state("y", &Data::y, type, outer, by_width)
      .state("z", &Data::z, type, outer, hidden_tolerance)
      .state("dz", &Data::dz, type, outer, hidden_tolerance)
      .state("dh", &Data::dh, type, inner, by_width)
      .state("dn2", &Data::dn2, type, outer, hidden_tolerance)
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
      "activations that the forward pass keeps for the backward pass, per block of a network");
  f.plot("training_block", "step_phases", "Training step of a transformer block: time by phase",
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
