// checkpointing: 64 layers forward and backward; only the input of every k-th layer is stored.
//
// The question: which layers' inputs should a deep network store for its backward pass? The
// backward pass recomputes the layers after each checkpoint. 64/k checkpoints and the k inputs of
// one segment are fewest if k is near √64 (Chen, Xu, Zhang, Guestrin, "Training deep nets with
// sublinear memory cost", 2016).
#include <algorithm>

#include "kernels/common/family.cuh"
#include "kernels/common/float_vector.cuh"
#include "kernels/common/sigmoid.cuh"

namespace gpuexp::checkpointing {

struct Problem {
  std::int64_t n;
  int every;  // layers per segment, from one checkpoint to the next
};

struct Data {
  float* x;   // input of the first layer
  float* dy;  // gradient with respect to the last layer's result
  float* y;
  float* dx;
};

// ---- layers: one kernel per layer
//
// Forward, a layer's kernel reads the layer's input and writes its result: 2 passes over n
// elements. Backward, segments are processed from last to first. Forward kernels recompute the
// inputs of a segment's layers from its checkpoint, into arrays that all segments share. Then each
// layer's kernel reads the gradient and the layer's input and writes the next gradient: 3 passes.
// With every = 1, all inputs are stored and none is recomputed. With every = 64, all are
// recomputed, and the only segment needs as many arrays.

constexpr int kBlock = 256;
constexpr int kWidth = 4;  // elements per access of a lane, 16 bytes

// Processes kCount elements. Forward: out = layer(x). Backward: out = d · the layer's slope at x.
template <bool kForward, int kCount>
__device__ void apply_layer(const float* x, const float* d, float* out);

template <bool kForward>
__global__ void __launch_bounds__(kBlock)
    layer_kernel(const float* x, const float* d, float* out, std::int64_t n) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = thread * kWidth;
  if (first + kWidth <= n) {
    apply_layer<kForward, kWidth>(x + first, d + first, out + first);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      apply_layer<kForward, 1>(x + i, d + i, out + i);
  }
}

// A layer is x + (1/2 - s(x))/8, a step of a residual network. Its slope, 1 - s·(1 - s)/8, is
// between 31/32 and 1, so gradients neither vanish nor grow over 64 layers. The slope of a plain
// sigmoid is at most 1/4, and gradients would underflow in fp32.
constexpr int kLayers = 64;
constexpr float kStep = 0.125f;

__device__ inline float layer(float x) {
  return fmaf(kStep, 0.5f - fast_sigmoid(x), x);
}
__device__ inline float layer_slope(float x) {
  return fmaf(-kStep, sigmoid_slope(fast_sigmoid(x)), 1.0f);
}

template <bool kForward, int kCount>
__device__ void apply_layer(const float* x, const float* d, float* out) {
  float of_x[kCount], of_d[kCount], result[kCount];
  load_floats(x, of_x);
  if constexpr (!kForward) load_floats(d, of_d);
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    result[i] = kForward ? layer(of_x[i]) : of_d[i] * layer_slope(of_x[i]);
  store_floats(out, result);
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Arrays in the workspace start at 128-byte lines.
std::int64_t array_elements(const Problem& p) {
  constexpr std::int64_t kPerLine = 128 / sizeof(float);
  return ceil_div(p.n, kPerLine) * kPerLine;
}

int segments(const Problem& p) {
  return static_cast<int>(ceil_div(kLayers, p.every));
}
int layers_of(const Problem& p, int segment) {
  return std::min(p.every, kLayers - segment * p.every);
}

// Arrays of n elements in the workspace, in this order: the inputs of all segments except the
// first, whose input is x; two arrays for alternating results or gradients; in variant `layers`,
// the inputs of a segment's layers except the first layer.
struct Workspace {
  float* at;
  std::int64_t each;
  const Problem* p;
  float* x;

  Workspace(const Problem& problem, const Data& d, const LaunchContext& context)
      : at(static_cast<float*>(context.workspace)),
        each(array_elements(problem)),
        p(&problem),
        x(d.x) {}
  float* array(int i) const { return at + i * each; }
  float* input_of(int segment) const { return segment == 0 ? x : array(segment - 1); }
  float* alternating(int i) const { return array(segments(*p) - 1 + i % 2); }
  float* input_of_layer(int segment, int i) const {
    return i == 0 ? input_of(segment) : array(segments(*p) + i);
  }
};
int kept_arrays(const Problem& p) {
  return segments(p) + 1;
}

template <class... Parameters, class... Arguments>
Steps run(void (*kernel)(Parameters...), const Problem& p, int width, Arguments... arguments) {
  return launch(kernel, shape_of_tiles({p.n}, {kBlock * width}, kBlock), arguments..., p.n);
}

Steps forward(const Problem& p, const float* x, float* to) {
  return run(layer_kernel<true>, p, kWidth, x, static_cast<const float*>(nullptr), to);
}
Steps backward(const Problem& p, const float* x, const float* d, float* to) {
  return run(layer_kernel<false>, p, kWidth, x, d, to);
}

Steps layer_by_layer(const Problem& p, const Data& d, const LaunchContext& context) {
  const Workspace w(p, d, context);
  Steps steps;
  const float* from = d.x;
  for (int i = 1; i <= kLayers; ++i) {
    float* const to = i == kLayers       ? d.y
                      : i % p.every == 0 ? w.input_of(i / p.every)
                                         : w.alternating(i);
    steps += forward(p, from, to);
    from = to;
  }
  int index = 0;
  from = d.dy;
  for (int segment = segments(p) - 1; segment >= 0; --segment) {
    const int layers = layers_of(p, segment);
    for (int i = 1; i < layers; ++i)
      steps += forward(p, w.input_of_layer(segment, i - 1), w.input_of_layer(segment, i));
    for (int i = layers - 1; i >= 0; --i) {
      float* const to = segment + i == 0 ? d.dx : w.alternating(index++);
      steps += backward(p, w.input_of_layer(segment, i), from, to);
      from = to;
    }
  }
  return steps;
}

// Number of layers that are computed a second time.
int recomputed_layers(const Problem& p) {
  return kLayers - segments(p);
}

Work work(const Problem& p) {
  constexpr double kForward = 6;   // exponential, +, /, -, *, +
  constexpr double kBackward = 8;  // exponential, +, /, -, *, *, -, *
  return 2 * (reads<float>(p.n) + writes<float>(p.n)) +
         computes(Pipe::fp32, kLayers * (kForward + kBackward) * static_cast<double>(p.n));
}

using CountOf = int (*)(const Problem&);

// `temporaries` is the number of arrays in the workspace.
Variant variant(std::string id, std::string compare_to, CountOf passes, CountOf temporaries,
                ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.work = work;
  v.metrics = [=](const Problem& p, const DeviceSpec&) {
    constexpr int kInsAndOuts = 4;
    const double bytes = static_cast<double>(p.n) * sizeof(float);
    return MetricValues{{"passes", passes(p)},
                        {"recomputed_layers", recomputed_layers(p)},
                        {"peak_bytes", (kInsAndOuts + temporaries(p)) * bytes}};
  };
  v.workspace_bytes = [temporaries](const Problem& p, const DeviceSpec&) {
    return temporaries(p) * array_elements(p) * std::int64_t{sizeof(float)};
  };
  return v;
}

Variant layers() {
  Variant v = variant(
      "layers", "",
      [](const Problem& p) { return 2 * (kLayers + recomputed_layers(p)) + 3 * kLayers; },
      [](const Problem& p) { return kept_arrays(p) + p.every - 1; }, {});
  v.launch = layer_by_layer;
  return v;
}

// ---- segments: one kernel per segment
//
// Forward, a kernel computes the k layers of a segment in registers and writes the next checkpoint.
// Backward, a kernel reads the checkpoint and the gradient, recomputes the segment and keeps each
// layer's slope in a register. It multiplies the gradient by the slopes in reverse order. These are
// 2 and 3 passes per segment instead of per layer, without intermediate arrays. l2_sectors
// decreases by a factor of at least k. Each exponential is computed once per pass. Longer segments
// use more registers per element, so a lane processes fewer elements at a time.

__device__ inline void next_layer(float& x, float& slope) {
  const float s = fast_sigmoid(x);
  slope = fmaf(-kStep, sigmoid_slope(s), 1.0f);
  x = fmaf(kStep, 0.5f - s, x);
}

template <int kCount>
__device__ void forward_segment(const float* x, float* out, int layers) {
  float v[kCount];
  load_floats(x, v);
#pragma unroll 4
  for (int l = 0; l < layers; ++l) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      v[i] = layer(v[i]);
  }
  store_floats(out, v);
}

// Loops are unrolled to kMaxLayers iterations, so that each slope has its own register.
template <int kMaxLayers, int kCount>
__device__ void backward_segment(const float* x, const float* d, float* out, int layers) {
  float v[kCount], g[kCount], slopes[kMaxLayers][kCount];
  load_floats(x, v);
  load_floats(d, g);
#pragma unroll
  for (int l = 0; l < kMaxLayers; ++l) {
    if (l >= layers) break;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      next_layer(v[i], slopes[l][i]);
  }
#pragma unroll
  for (int l = kMaxLayers - 1; l >= 0; --l) {
    if (l >= layers) continue;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      g[i] *= slopes[l][i];
  }
  store_floats(out, g);
}

__global__ void __launch_bounds__(kBlock)
    forward_segment_kernel(const float* x, float* out, int layers, std::int64_t n) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = thread * kWidth;
  if (first + kWidth <= n) {
    forward_segment<kWidth>(x + first, out + first, layers);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      forward_segment<1>(x + i, out + i, layers);
  }
}

// Elements per lane, chosen so that their slopes occupy at most 64 registers.
template <int kMaxLayers>
constexpr int kElements = kMaxLayers* kWidth <= kLayers ? kWidth : kLayers / kMaxLayers;

template <int kMaxLayers>
__global__ void __launch_bounds__(kBlock)
    backward_segment_kernel(const float* x, const float* d, float* out, int layers,
                            std::int64_t n) {
  constexpr int kCount = kElements<kMaxLayers>;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = thread * kCount;
  if (first + kCount <= n) {
    backward_segment<kMaxLayers, kCount>(x + first, d + first, out + first, layers);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      backward_segment<kMaxLayers, 1>(x + i, d + i, out + i, layers);
  }
}

// Launches the kernel with the smallest kMaxLayers that is at least `layers` per segment.
template <int kMaxLayers = 1>
Steps launch_backward_segment(const Problem& p, const float* x, const float* d, float* out,
                              int layers) {
  if constexpr (kMaxLayers < kLayers) {
    if (p.every > kMaxLayers) return launch_backward_segment<2 * kMaxLayers>(p, x, d, out, layers);
  }
  return run(backward_segment_kernel<kMaxLayers>, p, kElements<kMaxLayers>, x, d, out, layers);
}

Steps segment_by_segment(const Problem& p, const Data& d, const LaunchContext& context) {
  const Workspace w(p, d, context);
  const int last = segments(p) - 1;
  Steps steps;
  for (int i = 0; i <= last; ++i)
    steps += run(forward_segment_kernel, p, kWidth, w.input_of(i),
                 i == last ? d.y : w.input_of(i + 1), layers_of(p, i));
  const float* from = d.dy;
  for (int i = last; i >= 0; --i) {
    float* const to = i == 0 ? d.dx : w.alternating(i);
    steps += launch_backward_segment(p, w.input_of(i), from, to, layers_of(p, i));
    from = to;
  }
  return steps;
}

constexpr auto has_long_segments = at_least(&Problem::every, 8);

Variant in_segments() {
  Variant v = variant("segments", "layers", [](const Problem& p) { return (2 + 3) * segments(p); },
                      kept_arrays,
                      {{"l2_sectors", Direction::decreases, 4, has_long_segments},
                       {"xu_instructions", Direction::decreases, 1.3, has_long_segments},
                       {"metric.peak_bytes", Direction::decreases, 1.4, has_long_segments}});
  v.launch = segment_by_segment;
  return v;
}

// ---- inputs

constexpr double kRange = 3.0;  // x is in [-3, 3), where the error of __expf is 5 ulp

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_uniform(d.x, p.n, stream_seed(seed, 0), static_cast<float>(kRange)) +
         fill_uniform(d.dy, p.n, stream_seed(seed, 1));
}

// ---- the plain reference

// Reference of y or, if is_gradient, of dx.
struct Reference {
  bool is_gradient;
  const float* x;
  const float* dy;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    double v = x[i];
    double gradient = dy[i];
    for (int l = 0; l < kLayers; ++l) {
      const double s = exact_sigmoid(v);
      gradient *= 1.0 - static_cast<double>(kStep) * sigmoid_slope(s);
      v += static_cast<double>(kStep) * (0.5 - s);
    }
    if (is_gradient) return {gradient, fabs(gradient)};
    return {v, fabs(static_cast<double>(x[i])) + 2.0};
  }
};

auto references(const Data& d) {
  return [d](int output) { return Reference{output == 1, d.x, d.dy}; };
}

// Bounds derived in tolerance_derivation.
Tolerance result_tolerance(const Problem&) {
  const double u = unit_roundoff(DataType::fp32);
  return {kLayers * u, 0.0, 0.0, kRmsSafety * (8.1 * u + 2.8 * kFastSigmoidError)};
}
Tolerance gradient_tolerance(const Problem&) {
  const double u = unit_roundoff(DataType::fp32);
  return {400 * u, 0.0, kRmsSafety * (7 * u + 2.4 * kFastSigmoidError + 20 * u), 0.0};
}

// ---- declaration

Family declare() {
  Family f("checkpointing", Topic::fusion,
           "Which layers' inputs are stored for the backward pass, and which are recomputed?");
  f.physics =
      "A deep network's backward pass needs the input of each layer, last layer first. Storing all "
      "inputs takes memory in proportion to the depth. Checkpoints, the inputs of every k-th "
      "layer, divide this memory by k. They cost one more forward pass and the memory for one "
      "segment's inputs: together 64/k + k arrays, fewest at k = 8. If layers are separate "
      "kernels, recomputation costs passes over memory. If a segment is one kernel, its layers' "
      "inputs stay in registers: longer segments take less memory and less time, as long as their "
      "exponentials fit into the time of their bytes.";
  f.extent("n", &Problem::n, std::int64_t{1} << 25, std::int64_t{1} << 31,
           "elements of each layer's input")
      .integer("every", &Problem::every, 8, 1, kLayers, "layers",
               "layers per segment, from one checkpoint to the next; the last segment may have "
               "fewer");
  f.input("x", &Data::x, &Problem::n)
      .input("dy", &Data::dy, &Problem::n)
      .output("y", &Data::y, &Problem::n, result_tolerance)
      .output("dx", &Data::dx, &Problem::n, gradient_tolerance);
  f.metric("passes", "", "reads and writes of an array of n elements by the kernels of a launch")
      .metric("recomputed_layers", "", "layers that the backward pass recomputes")
      .metric("peak_bytes", "B", "memory of x, dy, y, dx and all intermediate arrays");
  f.plot("checkpointing", "time_against_memory", "Checkpointing: time by memory",
         {{"metric.peak_bytes", "memory of all arrays"}, {"param.every", "layers per segment"}});
  f.inputs = inputs;
  set_references(f, &Problem::n,
                 [](const Problem&, const Data& d, int o) { return references(d)(o); });
  f.tolerance = result_tolerance;
  f.tolerance_derivation =
      "u = 2^-24, x in [-3, 3], e = 15u the error of a sigmoid (kernels/common/sigmoid.cuh). A "
      "layer's slope is at most 1, so no error grows, and |x| decreases from layer to layer. Each "
      "layer adds u·|x| for its sum and (e + u/2)/8 for s and its difference from 1/2: 64 of them "
      "stay below 64u·(|x| + 2). For the gradient, the relative error of a slope, at least 31/32, "
      "is u for its rounding, (e + u/2)/8 for s, and 0.097/8 of the error of x (0.097 is the "
      "maximum of s·(1 - s)·|1 - 2s|); its product adds u: 64·4u, and 0.0125·5u·(1 + … + 63) = "
      "126u for x, together below 400u. The RMS errors: 64 roundings, uniform up to u·|x| with "
      "x of RMS 1.74, are 8·0.58·1.74·u = 8.1u. A sigmoid's errors may all have one sign, "
      "64/8·0.6/√3 = 2.8 times e with an RMS of s of 0.6. For the gradient, 128 roundings are "
      "6.6u, sigmoids 64/8·0.5/√3 = 2.4 times e with s·|1 - 2s| up to 0.5, and x, with errors up "
      "to 25u, 64·0.0125·25u = 20u. The bounds are twice the RMS errors.";
  f.variants(layers(), in_segments());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::checkpointing
