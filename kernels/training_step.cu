// training_step: a training step (forward, backward, AdamW) of layers x + GELU(x·W1 + b1)·W2 + b2.
//
// The question: where does a training step spend its time and its memory? Each layer has six
// products, two forward and four backward, with 12·batch·width·hidden operations. For each weight,
// AdamW reads the fp32 gradient, the weight and two moments, and writes the weight, the moments and
// a 16-bit copy. In 16 bits, products take a tenth of their fp32 time, so passes over activations,
// AdamW and launches become visible.
//
// Each array that a step writes is compared with the reference of its own operation on the operands
// that the device computed, because AdamW's division by a root of squares would magnify all earlier
// rounding errors.
#include <cmath>

#include "kernels/common/column_sums.cuh"
#include "kernels/common/ordered_sum.cuh"
#include "kernels/common/training_family.cuh"
#include "kernels/common/training_layer.cuh"
#include "kernels/common/training_mlp_reference.cuh"

namespace gpuexp::training_step {

using namespace training;
using training::Phase;

// ---- separate: one kernel per operation
//
// Products apply their biases. GELU, residual additions, GELU's slope and column sums are separate
// kernels. Each kernel loads the result of the previous one from memory and works in place where
// frameworks do. A further kernel checks the gradients for non-finite values. AdamW is one kernel
// per tensor, and in 16 bits another kernel copies its weights.

constexpr int kBlock = 256;

// Applies `op` to kWidth adjacent elements per thread; the last elements are processed
// individually.
template <class T, class Op>
__global__ void __launch_bounds__(kBlock) elementwise_kernel(Op op, std::int64_t n) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(T));
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = thread * kWidth;
  if (first + kWidth <= n) {
    op.template apply<kWidth>(first);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      op.template apply<1>(i);
  }
}

template <class T>
struct Activate {
  const T* h;
  T* a;
  template <int kCount>
  __device__ void apply(std::int64_t i) const {
    float v[kCount];
    load_floats(h + i, v);
    activate(v);
    store_floats(a + i, v);
  }
};
// Updates the array `to` in place with the array `by`, by the operation `Change`.
template <class T, class Change>
struct InPlace {
  const T* by;
  T* to;
  template <int kCount>
  __device__ void apply(std::int64_t i) const {
    float v[kCount], x[kCount];
    load_floats(to + i, v);
    load_floats(by + i, x);
    Change::apply(v, x);
    store_floats(to + i, v);
  }
};
struct BySlope {
  template <int kCount>
  static __device__ void apply(float (&v)[kCount], const float (&x)[kCount]) {
    scale_by_slope(v, x);
  }
};
struct ByAddition {
  template <int kCount>
  static __device__ void apply(float (&v)[kCount], const float (&x)[kCount]) {
    add(v, x);
  }
};
template <class T>
using ScaleBySlope = InPlace<T, BySlope>;
template <class T>
using AddTo = InPlace<T, ByAddition>;

template <class T, class Op>
Steps elementwise(std::int64_t n, const Op& op) {
  return launch(elementwise_kernel<T, Op>,
                shape_of_tiles({n}, {kBlock * 16 / std::int64_t{sizeof(T)}}, kBlock), op, n);
}

}  // namespace gpuexp::training_step

namespace gpuexp::training {

template <class T>
Steps Passes<T>::activate(const T* h, T* a, std::int64_t n) {
  return training_step::elementwise<T>(n, training_step::Activate<T>{h, a});
}
template <class T>
Steps Passes<T>::scale_by_slope(const T* h, T* dh, std::int64_t n) {
  return training_step::elementwise<T>(n, training_step::ScaleBySlope<T>{h, dh});
}
template <class T>
Steps Passes<T>::add(const T* by, T* to, std::int64_t n) {
  return training_step::elementwise<T>(n, training_step::AddTo<T>{by, to});
}
template <class T>
Steps Passes<T>::finish(const ApplyEpilogue<LayerEpilogue<T>>& op, std::int64_t n) {
  return training_step::elementwise<T>(n, op);
}
template struct Passes<float>;
template struct Passes<__half>;
template struct Passes<__nv_bfloat16>;

template <class T>
__global__ void __launch_bounds__(kLossBlock)
    loss_kernel(const T* y, const float* target, T* dy, std::int64_t n, float two_over_n,
                const State* state, float* sums) {
  const float factor = ldexpf(two_over_n, state->scale_log2);
  float sum = 0.0f;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kLossBlock;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kLossBlock + threadIdx.x; i < n;
       i += stride) {
    const float off = static_cast<float>(y[i]) - target[i];
    sum = fmaf(off, off, sum);
    dy[i] = from_float<T>(off * factor);
  }
  sum = ordered_block_sum<kLossBlock>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kLossBlock)
    loss_sum_kernel(const float* sums, int count, float one_over_n, float* loss, State* state) {
  float sum = 0.0f;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kLossBlock)
    sum += sums[i];
  sum = ordered_block_sum<kLossBlock>(sum);
  if (threadIdx.x != 0) return;
  *loss = sum * one_over_n;
  state->overflow = 0;
}

template <class T>
Steps squared_error(const T* y, const float* target, T* dy, std::int64_t n, float* sums,
                    float* loss, State* state, std::int64_t covered) {
  const auto blocks = std::min<std::int64_t>(ceil_div(n, kLossBlock), kLossBlocks);
  return launch(loss_kernel<T>, shape_of_shares({blocks}, {n}, kLossBlock), y, target, dy, n,
                static_cast<float>(2.0 / static_cast<double>(n)), state, sums) +
         launch(loss_sum_kernel, shape_of_shares({1}, {covered}, kLossBlock), sums, blocks,
                static_cast<float>(1.0 / static_cast<double>(n)), loss, state);
}
template Steps squared_error(const float*, const float*, float*, std::int64_t, float*, float*,
                             State*, std::int64_t);
template Steps squared_error(const __half*, const float*, __half*, std::int64_t, float*, float*,
                             State*, std::int64_t);
template Steps squared_error(const __nv_bfloat16*, const float*, __nv_bfloat16*, std::int64_t,
                             float*, float*, State*, std::int64_t);

}  // namespace gpuexp::training

namespace gpuexp::training_step {

using Family = StepFamily<Problem, Data>;
using Variant = Family::Variant;

// ---- the phases of a step, as launches

// Number of fp32 values in the workspace: per-block loss sums, then slices of column sums.
std::int64_t partial_floats(const Problem& p, const DeviceSpec& device) {
  const auto partials = [&](std::int64_t columns) {
    return slices_of(p.batch, columns, columns_per_block(columns, p.dtype), kTilesPerSm, device)
               .partial_bytes() /
           std::int64_t{sizeof(float)};
  };
  return aligned(kLossBlocks + std::max(partials(p.width), partials(p.hidden)));
}

template <class T>
struct Network : StepNetwork<T, Problem, Data> {
  using Step = StepNetwork<T, Problem, Data>;
  using Step::context, Step::d, Step::gradient, Step::p, Step::state, Step::way, Step::weights;

  T* of(void* array, std::int64_t each, int layer) const {
    return static_cast<T*>(array) + layer * each;
  }
  const T* stream(int layer) const {
    return layer == 0 ? static_cast<const T*>(d.x) : of(d.stream, outer(p), layer - 1);
  }
  T* dx(int layer) const { return of(d.dx, outer(p), layer - 1); }
  // With recomputation, all layers share one array in the forward pass; recomputed values are kept
  // per layer.
  T* h(int layer, bool again = true) const {
    return of(way.recomputes ? d.h_recomputed : d.h, inner(p),
              way.recomputes && !again ? 0 : layer);
  }
  T* a(int layer, bool again = true) const {
    return of(way.recomputes ? d.a_recomputed : d.a, inner(p),
              way.recomputes && !again ? 0 : layer);
  }

  template <OperandLayout a_layout, OperandLayout b_layout, class Tail>
  Steps multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b,
                 const Tail& tail) const {
    const Extents x = Step::extents(m, n, k);
    if (way.by_library)
      return this->template by_library<a_layout, b_layout>(
          x, a, b, tail, Step::loss_sums() + partial_floats(p, context.device));
    constexpr std::int64_t kPerVector = 16 / sizeof(T);
    return Step::template layer_product<a_layout, b_layout>(x, a, b, tail,
                                                            (p.width | p.hidden) % kPerVector == 0);
  }
  Steps column_sums(const T* from, std::int64_t columns, float* to) const {
    return launch_stored_tile_sums(slices_of(p.batch, columns, columns_per_block(columns, p.dtype),
                                             kTilesPerSm, context.device),
                                   ElementTerms<T>{from}, Step::scratch(), to);
  }

  Steps first_half(int layer, bool again) const {
    const Layout at = layout(p);
    const std::int64_t first = layer * at.each;
    T* const to_h = h(layer, again);
    T* const to_a = a(layer, again);
    Steps steps = multiply<OperandLayout::row_major, OperandLayout::row_major>(
        p.batch, p.hidden, p.width, stream(layer), weights(first + at.w1),
        LayerEpilogue<T>{d.weights + first + at.b1, nullptr, nullptr, to_h,
                         way.fuses ? to_a : nullptr});
    if (!way.fuses) steps += Passes<T>::activate(to_h, to_a, p.batch * p.hidden);
    return steps;
  }

  Steps forward() const {
    const Layout at = layout(p);
    Steps steps;
    for (int l = 0; l < p.layers; ++l) {
      const std::int64_t first = l * at.each;
      T* const to = of(d.stream, outer(p), l);
      steps += first_half(l, false);
      steps += multiply<OperandLayout::row_major, OperandLayout::row_major>(
          p.batch, p.width, p.hidden, a(l, false), weights(first + at.w2),
          LayerEpilogue<T>{d.weights + first + at.b2, nullptr, way.fuses ? stream(l) : nullptr, to,
                           nullptr});
      if (!way.fuses) steps += Passes<T>::add(stream(l), to, p.batch * p.width);
    }
    return steps + squared_error(stream(p.layers), d.target, dx(p.layers), p.batch * p.width,
                                 Step::loss_sums(), d.loss, state(), p.hidden);
  }

  Steps backward() const {
    const Layout at = layout(p);
    Steps steps;
    for (int l = p.layers - 1; l >= 0; --l) {
      const std::int64_t first = l * at.each;
      const T* const given = dx(l + 1);
      T* const dh = of(d.dh, inner(p), l);
      if (way.recomputes) steps += first_half(l, true);
      steps += column_sums(given, p.width, d.gradients + first + at.b2);
      steps += multiply<OperandLayout::transposed, OperandLayout::row_major>(
          p.hidden, p.width, p.batch, a(l), given, gradient(first + at.w2));
      steps += multiply<OperandLayout::row_major, OperandLayout::transposed>(
          p.batch, p.hidden, p.width, given, weights(first + at.w2),
          LayerEpilogue<T>{nullptr, way.fuses ? h(l) : nullptr, nullptr, dh, nullptr});
      if (!way.fuses) steps += Passes<T>::scale_by_slope(h(l), dh, p.batch * p.hidden);
      steps += multiply<OperandLayout::transposed, OperandLayout::row_major>(
          p.width, p.hidden, p.batch, stream(l), dh, gradient(first + at.w1));
      if (l > 0) {
        steps += multiply<OperandLayout::row_major, OperandLayout::transposed>(
            p.batch, p.width, p.hidden, dh, weights(first + at.w1),
            LayerEpilogue<T>{nullptr, nullptr, way.fuses ? given : nullptr, dx(l), nullptr});
        if (!way.fuses) steps += Passes<T>::add(given, dx(l), p.batch * p.width);
      }
      steps += column_sums(dh, p.hidden, d.gradients + first + at.b1);
    }
    return is_scaled(p) && !Step::products_check_finite() ? steps + Step::check_all_gradients()
                                                          : steps;
  }
};

// ---- how the variants are launched

std::int64_t workspace_bytes(const Problem& p, Way way, const DeviceSpec& device) {
  const std::int64_t sums = way.by_library ? p.batch * std::max(p.width, p.hidden) : 0;
  return (partial_floats(p, device) + sums) * std::int64_t{sizeof(float)};
}

MetricValues memory(const Problem& p, Way way) {
  if (p.phase != Phase::step) return {};
  return {{"peak_bytes", peak_bytes(p, way.recomputes ? 1 : p.layers)}};
}

const StepVariants<Network, Problem, Data>& variants() {
  static const StepVariants<Network, Problem, Data> all{
      work,
      workspace_bytes,
      memory,
      {"stream", "dx", "dh", "loss", "gradients", "weights", "m", "v", "copy", "state"},
      {"h", "a"}};
  return all;
}

Variant separate() {
  return variants().separate();
}

// ---- fused: epilogues in the products, one AdamW kernel for all weights
//
// The epilogue of a product finds its sums in registers. It applies bias, GELU and the residual
// forward, and GELU's slope and the sum of gradients backward, without separate passes:
// global_store_sectors decreases, because no intermediate results are stored. Products of gradients
// detect overflows themselves. One AdamW kernel updates the weights of all layers and writes their
// copies: kernels decreases by more than a third, and launches take most of a small network's time.
// Accumulators limit an SM to 8 warps, which do not multiply while they execute epilogues.
// held: kernels <= 2/3 × separate

Variant fused() {
  return variants().fused();
}

// ---- cublas: products by cuBLAS
//
// cuBLAS computes the six products into fp32 sums, with wgmma on tensor cores. A separate kernel
// reads these sums and applies each epilogue, so results are rounded as in fused. The cost is one
// more pass per product; the gain is faster products.

Variant by_cublas() {
  return variants().by_cublas([](const Problem& p) { return p.width | p.hidden; },
                              "width and hidden must be multiples of 8");
}

// ---- fused_recompute: recomputation of activations
//
// The forward pass keeps only x of each layer. The backward pass recomputes h and GELU(h) of a
// layer before it needs them, with one more product per layer, seven instead of six:
// tensor_instructions increases by a sixth. The kept activations shrink from two arrays of batch ×
// hidden per layer to two arrays in total: metric.peak_bytes decreases.

bool has_layers(const Problem& p) {
  return p.phase == Phase::step && p.layers >= 4 && p.batch >= 4 * p.width &&
         p.hidden >= 2 * p.width;
}

Variant fused_recompute() {
  return variants().fused_recompute(
      {{"metric.peak_bytes", Direction::decreases, 1.15, has_layers},
       {"tensor_instructions", Direction::increases, 1.1,
        [](const Problem& p) { return is_large(p) && p.dtype != DataType::fp32; }}});
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
// of one per kernel. A graph is faster if the kernels are shorter than the calls that launch them.
// The loss scale and the overflow flag are in device memory, so one graph serves all steps.
// Counters do not change.

Variant fused_graph() {
  return variants().fused_graph();
}

// ---- fused_first: the first step of a process
//
// The kernels are the same as in fused, but each sample is the first launch in a new process: each
// kernel is loaded at its first use, which takes the host longer than a step. Counters do not
// change.

Variant fused_first() {
  return variants().fused_first();
}

// ---- declaration

Family declare() {
  Family f("training_step", Topic::patterns,
           "Where does a training step spend its time, and which data does it keep in memory?");
  f.physics =
      "A layer of a network in training has six products: two forward, and for each of them the "
      "gradients of its weights and of its input. The other kernels are limited by bytes, not "
      "operations: passes over activations, and an optimizer that reads and writes all weights "
      "with their moments. The narrower the type of the products, the larger the share of these "
      "passes. The backward pass needs activations of the forward pass. If they are stored, memory "
      "grows with the number of layers; if they are recomputed, operations are repeated. Rounding "
      "to 16 bits loses small updates and small gradients; fp32 master weights and a scaled loss "
      "preserve them.";
  f.refers_to_results = true;
  f.extent("batch", &Problem::batch, 4096, 1 << 18, "rows of activations (tokens) per batch")
      .extent("width", &Problem::width, 1024, 1 << 15,
              "elements per row at a layer's input and output")
      .extent("hidden", &Problem::hidden, 4096, 1 << 15,
              "elements per row in the hidden layer, the input of GELU")
      .integer("layers", &Problem::layers, 4, 1, 8, "", "number of layers of the network");
  f.step_parameters();
  const auto type = [](const Problem& p) { return p.dtype; };
  const auto outer_elements = [](const Problem& p) { return p.batch * p.width; };
  const auto count_of = [](Output o) {
    return [o](const Problem& p) { return elements_of(p, o); };
  };
  f.input("x", &Data::x, type, outer_elements).input("target", &Data::target, outer_elements);
  f.parameter_inputs(parameters);
  const auto by_width = [](const Problem& p) { return product_tolerance(p, p.width); };
  const auto hidden_tolerance = [](const Problem& p) { return product_tolerance(p, p.hidden); };
  f.state("h", &Data::h, type, count_of(kH), by_width)
      .state("a", &Data::a, type, count_of(kA), gelu_tolerance)
      .state("h_again", &Data::h_recomputed, type, count_of(kHAgain), by_width)
      .state("a_again", &Data::a_recomputed, type, count_of(kAAgain), gelu_tolerance)
      .state("stream", &Data::stream, type, count_of(kStream), hidden_tolerance)
      .state("dx", &Data::dx, type, count_of(kDx), hidden_tolerance)
      .state("dh", &Data::dh, type, count_of(kDh), by_width);
  f.parameter_outputs(parameters, [](const Problem& p) { return p.batch; });
  f.step_metrics();
  f.plot("training_step", "step_phases", "Training step: time by phase",
         {{"param.phase", "phase"}, {"param.dtype", "type"}});
  f.outputs = [](const Problem& p) { return Extent{p.hidden, 1, 1}; };
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.overflow && !is_scaled(p))
      return "overflow=planted needs dtype=fp16, whose loss is scaled";
    if (p.overflow && p.layers > 1)
      return "overflow=planted needs layers=1: in further layers, infinities of both signs sum to "
             "NaN, which the reference cannot match";
    return std::nullopt;
  };
  f.inputs = inputs;
  f.reset = reset;
  f.reference = reference;
  f.tolerance_derivation = step_derivation();
  f.variants(separate(), fused(), by_cublas(), fused_recompute(), fused_one_by_one(), fused_graph(),
             fused_first());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::training_step
