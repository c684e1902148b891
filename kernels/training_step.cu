// training_step: a step of training: forward, backward, AdamW, of layers x + GELU(x·W1 + b1)·W2 +
// b2.
//
// The question: where does the time of a step of training go, and its memory? Each layer has six
// products, two forward and four backward, of 12·batch·width·hidden operations; the rest is bytes:
// a bias, GELU, a sum, their gradients, and what AdamW moves of each weight (fp32 gradient, weight
// and two moments in, the latter three and a 16-bit copy out). In 16 bits products take a tenth of
// fp32's time, and what was hidden behind them is seen: passes over activations, which products can
// do on the way, AdamW, and the launches, which a graph hands over at once. What backward needs of
// forward is kept, or computed again where memory is short.
//
// Each array that a step writes is checked against what its operation makes of what the device
// itself found: AdamW divides by a root of squares and would magnify all rounding before it.
#include <cmath>

#include "kernels/common/column_sums.cuh"
#include "kernels/common/ordered_sum.cuh"
#include "kernels/common/training_family.cuh"
#include "kernels/common/training_layer.cuh"
#include "kernels/common/training_mlp_reference.cuh"

namespace gpuexp::training_step {

using namespace training;
using training::Phase;

// ---- separate: a kernel per operation
//
// Products with their biases, as frameworks' linear layers have them; GELU, sums with the residual,
// GELU's slope, sums over columns are kernels of their own, each of which reads from memory what
// the one before put there, in place where frameworks allow it. A kernel looks for gradients that
// are not finite. AdamW is a kernel per tensor, and in 16 bits another one copies its weights.

constexpr int kBlock = 256;

// What a thread does to kWidth neighbours, or to one, is up to `op`.
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
// Changes an array by another one, as `Change` has it.
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
Steps Passes<T>::finish(const FinishSums<LayerTail<T>>& op, std::int64_t n) {
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

// Sums of blocks' losses, and of slices of columns.
std::int64_t own_floats(const Problem& p, const DeviceSpec& device) {
  const auto partials = [&](std::int64_t columns) {
    return slices_of(p.batch, columns, tile_columns(columns, p.dtype), kTilesPerSm, device)
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
  // What is computed again is not kept: until then all layers use one place.
  T* h(int layer, bool again = true) const {
    return of(way.recomputes ? d.h_again : d.h, inner(p), way.recomputes && !again ? 0 : layer);
  }
  T* a(int layer, bool again = true) const {
    return of(way.recomputes ? d.a_again : d.a, inner(p), way.recomputes && !again ? 0 : layer);
  }

  template <Lies a_lies, Lies b_lies, class Tail>
  Steps multiply(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, const T* b,
                 const Tail& tail) const {
    const Extents x = Step::extents(m, n, k);
    if (way.by_library)
      return this->template by_library<a_lies, b_lies>(
          x, a, b, tail, Step::loss_sums() + own_floats(p, context.device));
    constexpr std::int64_t kPerVector = 16 / sizeof(T);
    return Step::template layer_product<a_lies, b_lies>(x, a, b, tail,
                                                        (p.width | p.hidden) % kPerVector == 0);
  }
  Steps column_sums(const T* from, std::int64_t columns, float* to) const {
    return stored_tile_sums(
        slices_of(p.batch, columns, tile_columns(columns, p.dtype), kTilesPerSm, context.device),
        ElementTerms<T>{from}, Step::scratch(), to);
  }

  Steps first_half(int layer, bool again) const {
    const Layout at = layout(p);
    const std::int64_t first = layer * at.each;
    T* const to_h = h(layer, again);
    T* const to_a = a(layer, again);
    Steps steps = multiply<Lies::as_it_is, Lies::as_it_is>(
        p.batch, p.hidden, p.width, stream(layer), weights(first + at.w1),
        LayerTail<T>{d.weights + first + at.b1, nullptr, nullptr, to_h,
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
      steps += multiply<Lies::as_it_is, Lies::as_it_is>(
          p.batch, p.width, p.hidden, a(l, false), weights(first + at.w2),
          LayerTail<T>{d.weights + first + at.b2, nullptr, way.fuses ? stream(l) : nullptr, to,
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
      steps += multiply<Lies::transposed, Lies::as_it_is>(p.hidden, p.width, p.batch, a(l), given,
                                                          gradient(first + at.w2));
      steps += multiply<Lies::as_it_is, Lies::transposed>(
          p.batch, p.hidden, p.width, given, weights(first + at.w2),
          LayerTail<T>{nullptr, way.fuses ? h(l) : nullptr, nullptr, dh, nullptr});
      if (!way.fuses) steps += Passes<T>::scale_by_slope(h(l), dh, p.batch * p.hidden);
      steps += multiply<Lies::transposed, Lies::as_it_is>(p.width, p.hidden, p.batch, stream(l), dh,
                                                          gradient(first + at.w1));
      if (l > 0) {
        steps += multiply<Lies::as_it_is, Lies::transposed>(
            p.batch, p.width, p.hidden, dh, weights(first + at.w1),
            LayerTail<T>{nullptr, nullptr, way.fuses ? given : nullptr, dx(l), nullptr});
        if (!way.fuses) steps += Passes<T>::add(given, dx(l), p.batch * p.width);
      }
      steps += column_sums(dh, p.hidden, d.gradients + first + at.b1);
    }
    return is_scaled(p) && !Step::products_look() ? steps + Step::check_all_gradients() : steps;
  }
};

// ---- how the variants are launched

std::int64_t workspace_bytes(const Problem& p, Way way, const DeviceSpec& device) {
  const std::int64_t sums = way.by_library ? p.batch * std::max(p.width, p.hidden) : 0;
  return (own_floats(p, device) + sums) * std::int64_t{sizeof(float)};
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

// ---- fused: what follows a product, in the product; one kernel for all weights
//
// Sums are in registers when a product is done: bias, GELU and residual forward, GELU's slope and
// the sum of gradients backward cost no pass of their own there. global_store_sectors fall by what
// was put down in between. The products of gradients see an overflow themselves. One kernel of
// AdamW goes over the weights of all layers and writes their copies as well: kernels fall by more
// than a third, which is what a small network's time is made of. It costs the tails' instructions
// in kernels whose sums leave room for 8 warps per SM, of which none multiplies meanwhile.
// held: kernels <= 2/3 × separate

Variant fused() {
  return variants().fused();
}

// ---- cublas: the library's products
//
// The six products by cuBLAS, which drives tensor cores by wgmma, into fp32 sums; what follows each
// is a kernel that reads these, so that results are rounded as fused rounds them. A pass of 4 bytes
// in and out per product, against what the library's products are faster by.

Variant by_cublas() {
  return variants().by_cublas([](const Problem& p) { return p.width | p.hidden; },
                              "width and hidden have to be multiples of 8");
}

// ---- fused_recompute: activations computed again
//
// Forward keeps x of each layer alone; backward computes h and GELU(h) of a layer again before it
// needs them, by one more product per layer: 14 in place of 12 products' operations, tensor
// instructions up by a sixth. What is kept of activations falls from two arrays of batch × hidden
// per layer to two in all: metric.peak_bytes falls.

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
// per kernel. It relieves the host, and gains where kernels are shorter than the calls that start
// them. The scale of the loss and the overflow live on the device, so that no step needs another
// graph. Counters do not change.

Variant fused_graph() {
  return variants().fused_graph();
}

// ---- fused_first: the first step of a process
//
// The same kernels, the first time that a process launches them: each is loaded on its first use,
// which takes the host longer than a step. Each sample is a process of its own. Counters do not
// change.

Variant fused_first() {
  return variants().fused_first();
}

// ---- declaration

Family declare() {
  Family f("training_step", Topic::patterns,
           "Where does a step of training spend its time, and what does it keep?");
  f.physics =
      "A layer of a network in training has six products: two forward, and for each the gradients "
      "of its weights and of its input. Around them are passes over activations, and an optimizer "
      "that reads and writes all weights with their moments: bytes, not operations. The fewer "
      "bits products have, the larger the share of what is not a product. Backward needs what "
      "forward found: kept, it takes memory that grows with the layers; computed again, it takes "
      "operations. Rounding to 16 bits loses small updates and small gradients, which fp32 master "
      "weights and a scale of the loss keep.";
  f.refers_to_results = true;
  f.extent("batch", &Problem::batch, 4096, 1 << 18, "rows of activations, or tokens")
      .extent("width", &Problem::width, 1024, 1 << 15, "what a layer takes and gives per row")
      .extent("hidden", &Problem::hidden, 4096, 1 << 15, "what GELU is applied to per row")
      .integer("layers", &Problem::layers, 4, 1, 8, "", "of the network");
  f.step_parameters();
  const auto type = [](const Problem& p) { return p.dtype; };
  const auto outer_elements = [](const Problem& p) { return p.batch * p.width; };
  const auto count_of = [](Output o) {
    return [o](const Problem& p) { return elements_of(p, o); };
  };
  f.input("x", &Data::x, type, outer_elements).input("target", &Data::target, outer_elements);
  f.parameter_inputs(parameters);
  const auto by_width = [](const Problem& p) { return product_tolerance(p, p.width); };
  const auto by_hidden = [](const Problem& p) { return product_tolerance(p, p.hidden); };
  f.state("h", &Data::h, type, count_of(kH), by_width)
      .state("a", &Data::a, type, count_of(kA), gelu_tolerance)
      .state("h_again", &Data::h_again, type, count_of(kHAgain), by_width)
      .state("a_again", &Data::a_again, type, count_of(kAAgain), gelu_tolerance)
      .state("stream", &Data::stream, type, count_of(kStream), by_hidden)
      .state("dx", &Data::dx, type, count_of(kDx), by_hidden)
      .state("dh", &Data::dh, type, count_of(kDh), by_width);
  f.parameter_outputs(parameters, [](const Problem& p) { return p.batch; });
  f.step_metrics();
  f.figure("training_step", "step_phases", "A step of training",
           {{"param.phase", "phase"}, {"param.dtype", "type"}});
  f.outputs = [](const Problem& p) { return Extent{p.hidden, 1, 1}; };
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.overflow && !is_scaled(p)) return "an overflow is planted for fp16 to find";
    if (p.overflow && p.layers > 1)
      return "behind a second layer, infinities of both signs add up to NaN, which no reference "
             "equals";
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
