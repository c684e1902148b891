// recomputation: three sigmoids, y = s(s(s(x))), and their gradient. Intermediate results are
// either stored for the gradient or recomputed.
//
// The question: what does it cost to store the intermediate results for the backward pass, and what
// to recompute them? The gradient of a sigmoid is dy·s·(1 - s), and the forward pass has computed
// s. Frameworks store it: the forward pass reads x and writes three results, and the backward pass
// reads these and dy and writes dx, 9 arrays in all. Recomputing the results from x costs 5 arrays
// (x and y, x, dy and dx) and three more exponentials per element.
#include <array>
#include <cmath>

#include "kernels/common/family.cuh"
#include "kernels/common/float_vector.cuh"
#include "kernels/common/sigmoid.cuh"

namespace gpuexp::recomputation {

enum class Math { intrinsics, functions };

struct Problem {
  std::int64_t n;
  DataType dtype;  // fp32 or bf16, of all arrays; arithmetic is in fp32
  Math math;
};

// given_1 to given_3 are arbitrary numbers in the place of s1, s2 and y, inputs of the backward
// pass when it is timed separately.
struct Data {
  void* x;
  void* dy;
  void* given_1;
  void* given_2;
  void* given_3;
  void* s1;  // s(x)
  void* s2;  // s(s(x))
  void* y;
  void* dx;
  void* dx_given;
};

// The arrays of n elements that a kernel reads and writes.
template <class T, int kIns, int kOuts>
struct Arrays {
  const T* in[kIns];
  T* out[kOuts];
  std::int64_t n;
};

// ---- ops: one kernel per operation
//
// Each sigmoid is one kernel, and so is each step of the gradient: 6 passes forward and 9 backward,
// with all three results stored. A lane accesses 16 bytes at a time, so each kernel is as fast as a
// copy of its bytes.

constexpr int kBlock = 256;
template <class T>
constexpr int kWidth = 16 / static_cast<int>(sizeof(T));  // elements per access of a lane

template <class P, int kCount, class T>
__device__ void process_elements(const Arrays<T, P::kIns, P::kOuts>& a, std::int64_t first);

template <class P, class T>
__global__ void __launch_bounds__(kBlock) pass_kernel(Arrays<T, P::kIns, P::kOuts> a) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = thread * kWidth<T>;
  if (first + kWidth<T> <= a.n) {
    process_elements<P, kWidth<T>>(a, first);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < a.n; ++i)
      process_elements<P, 1>(a, i);
  }
}

// P::compute computes kOuts numbers from one element of each of the kIns inputs.
template <class P, int kCount, class T>
__device__ void process_elements(const Arrays<T, P::kIns, P::kOuts>& a, std::int64_t first) {
  float in[P::kIns][kCount], out[P::kOuts][kCount];
#pragma unroll
  for (int i = 0; i < P::kIns; ++i)
    load_floats(a.in[i] + first, in[i]);
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    float of[P::kIns], to[P::kOuts];
#pragma unroll
    for (int i = 0; i < P::kIns; ++i)
      of[i] = in[i][j];
    P::compute(of, to);
#pragma unroll
    for (int i = 0; i < P::kOuts; ++i)
      out[i][j] = to[i];
  }
#pragma unroll
  for (int i = 0; i < P::kOuts; ++i)
    store_floats(a.out[i] + first, out[i]);
}

template <Math math>
__device__ float s(float x) {
  return math == Math::intrinsics ? fast_sigmoid(x) : sigmoid(x);
}

template <int kArraysIn, int kArraysOut>
struct Pass {
  static constexpr int kIns = kArraysIn, kOuts = kArraysOut;
};

template <Math math>
struct Sigmoid : Pass<1, 1> {  // x
  static __device__ void compute(const float* in, float* out) { out[0] = s<math>(in[0]); }
};

template <Math math>
struct SigmoidGradient : Pass<2, 1> {  // the incoming gradient, and the sigmoid's result
  static __device__ void compute(const float* in, float* out) {
    out[0] = in[0] * sigmoid_slope(in[1]);
  }
};

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kSigmoids = 3;
constexpr int kTemporaries = 4;  // maximum per variant

std::int64_t element_bytes(const Problem& p) {
  return static_cast<std::int64_t>(size_of(p.dtype));
}

// Arrays in the workspace start at 128-byte lines.
std::int64_t array_bytes(const Problem& p) {
  constexpr std::int64_t kLine = 128;
  return ceil_div(p.n * element_bytes(p), kLine) * kLine;
}

template <template <Math> class P, Math math>
Steps launch_pass(const Problem& p, const std::vector<void*>& in, const std::vector<void*>& out) {
  return of_float_type(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    Arrays<T, P<math>::kIns, P<math>::kOuts> a;
    for (std::size_t i = 0; i < in.size(); ++i)
      a.in[i] = static_cast<const T*>(in[i]);
    for (std::size_t i = 0; i < out.size(); ++i)
      a.out[i] = static_cast<T*>(out[i]);
    a.n = p.n;
    return launch(pass_kernel<P<math>, T>, shape_of_tiles({p.n}, {kBlock * kWidth<T>}, kBlock), a);
  });
}

template <template <Math> class P>
Steps run(const Problem& p, const std::vector<void*>& in, const std::vector<void*>& out) {
  return p.math == Math::intrinsics ? launch_pass<P, Math::intrinsics>(p, in, out)
                                    : launch_pass<P, Math::functions>(p, in, out);
}

template <template <Math> class P>
constexpr int kArrays = P<Math::intrinsics>::kIns + P<Math::intrinsics>::kOuts;

/// Arrays that any implementation must read and write, sigmoids that it must compute, and array
/// reads and writes of the variant's kernels.
struct Amounts {
  int in, out, sigmoids, passes;
};

Work work(const Problem& p, const Amounts& a) {
  constexpr double kOperations = 3;  // sigmoid: exponential, +, /; slope: -, *, *
  const std::int64_t bytes = p.n * element_bytes(p);
  return a.in * reads<char>(bytes) + a.out * writes<char>(bytes) +
         computes(Pipe::fp32, kOperations * a.sigmoids * static_cast<double>(p.n));
}

// `t` is the list of temporary arrays.
using Launch = Steps (*)(const Problem&, const Data&, void* const* t);

Variant variant(std::string id, std::string compare_to, const Amounts& amounts,
                std::vector<std::string> writes, ExpectedChangesOf<Problem> expected,
                Launch launch) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = std::move(writes);
  v.work = [amounts](const Problem& p) { return work(p, amounts); };
  v.metrics = [amounts](const Problem&, const DeviceSpec&) {
    return MetricValues{{"passes", amounts.passes}};
  };
  v.launch = [launch](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(p, d, nullptr);
  };
  return v;
}

// Variants that read x and dy and write y and dx. `kept` arrays are stored from the forward until
// the backward pass. Each step of the backward pass also needs two gradient arrays.
Variant both_passes(std::string id, std::string compare_to, int passes, int kept, int temporaries,
                    ExpectedChangesOf<Problem> expected, Launch launch) {
  Variant v = variant(std::move(id), std::move(compare_to), {2, 2, 2 * kSigmoids, passes},
                      {"y", "dx"}, std::move(expected), launch);
  v.metrics = [passes, kept](const Problem& p, const DeviceSpec&) {
    const auto bytes = static_cast<double>(p.n * element_bytes(p));
    return MetricValues{
        {"passes", passes}, {"kept_bytes", kept * bytes}, {"peak_bytes", (kept + 2) * bytes}};
  };
  v.workspace_bytes = [temporaries](const Problem& p, const DeviceSpec&) {
    return temporaries * array_bytes(p);
  };
  v.launch = [launch](const Problem& p, const Data& d, const LaunchContext& x) {
    std::array<void*, kTemporaries> t{};
    for (std::size_t i = 0; i < t.size(); ++i)
      t[i] = static_cast<char*>(x.workspace) + static_cast<std::int64_t>(i) * array_bytes(p);
    return launch(p, d, t.data());
  };
  return v;
}

Variant ops() {
  return both_passes(
      "ops", "", kSigmoids * (kArrays<Sigmoid> + kArrays<SigmoidGradient>), kSigmoids, kTemporaries,
      {}, [](const Problem& p, const Data& d, void* const* t) {
        return run<Sigmoid>(p, {d.x}, {t[0]}) + run<Sigmoid>(p, {t[0]}, {t[1]}) +
               run<Sigmoid>(p, {t[1]}, {d.y}) + run<SigmoidGradient>(p, {d.dy, d.y}, {t[2]}) +
               run<SigmoidGradient>(p, {t[2], t[1]}, {t[3]}) +
               run<SigmoidGradient>(p, {t[3], t[0]}, {d.dx});
      });
}

// DRAM serves every kernel; L2 keeps too little of the previous kernel's data.
bool beyond_caches(const Problem& p) {
  constexpr std::int64_t kManyBytes = 1 << 28;
  return p.n * element_bytes(p) >= kManyBytes;
}

// ---- stored: one kernel forward, one backward, with all results stored
//
// The forward kernel reads x and writes all three results; the backward kernel reads these and dy:
// 4 and 5 passes. Values between two operations stay in registers, so there are fewer reads forward
// and fewer writes backward.

template <Math math>
struct ForwardStored : Pass<1, 3> {  // x; to s1, s2 and y
  static __device__ void compute(const float* in, float* out) {
    out[0] = s<math>(in[0]);
    out[1] = s<math>(out[0]);
    out[2] = s<math>(out[1]);
  }
};

template <Math math>
struct BackwardStored : Pass<4, 1> {  // dy, s1, s2 and y
  static __device__ void compute(const float* in, float* out) {
    out[0] = in[0] * sigmoid_slope(in[3]) * sigmoid_slope(in[2]) * sigmoid_slope(in[1]);
  }
};

Variant stored() {
  return both_passes("stored", "ops", kArrays<ForwardStored> + kArrays<BackwardStored>, kSigmoids,
                     2,
                     {{"dram_read_bytes", Direction::decreases, 1.6, beyond_caches},
                      {"dram_write_bytes", Direction::decreases, 1.35, beyond_caches},
                      {"metric.peak_bytes", Direction::unchanged}},
                     [](const Problem& p, const Data& d, void* const* t) {
                       return run<ForwardStored>(p, {d.x}, {t[0], t[1], d.y}) +
                              run<BackwardStored>(p, {d.dy, t[0], t[1], d.y}, {d.dx});
                     });
}

// ---- stored_two: the last result recomputed from the previous one
//
// y is s(s2), so the backward kernel recomputes y from s2 instead of reading it. The backward pass
// has 4 passes instead of 5, 8 together, and y need not be kept for it. It costs one exponential
// per element.

template <Math math>
struct BackwardOfTwo : Pass<3, 1> {  // dy, s1 and s2
  static __device__ void compute(const float* in, float* out) {
    out[0] = in[0] * sigmoid_slope(s<math>(in[2])) * sigmoid_slope(in[2]) * sigmoid_slope(in[1]);
  }
};

Variant stored_two() {
  return both_passes("stored_two", "stored", kArrays<ForwardStored> + kArrays<BackwardOfTwo>,
                     kSigmoids - 1, 2,
                     {{"dram_read_bytes", Direction::decreases, 1.2, beyond_caches},
                      {"dram_write_bytes", Direction::unchanged, 1.05, beyond_caches},
                      {"metric.peak_bytes", Direction::decreases, 1.2}},
                     [](const Problem& p, const Data& d, void* const* t) {
                       return run<ForwardStored>(p, {d.x}, {t[0], t[1], d.y}) +
                              run<BackwardOfTwo>(p, {d.dy, t[0], t[1]}, {d.dx});
                     });
}

// ---- recomputed: all results recomputed from x
//
// The forward kernel writes only y, and the backward kernel recomputes all three results from x: 2
// and 3 passes, 5 instead of 8 (stored_two) or 9 (stored). Only x is kept. It costs two
// exponentials and two reciprocals per element more than stored_two: xu_instructions increases. In
// fp32, these instructions fit into the time of the bytes.

template <Math math>
struct BackwardRecomputed : Pass<2, 1> {  // dy and x
  static __device__ void compute(const float* in, float* out) {
    const float s1 = s<math>(in[1]);
    const float s2 = s<math>(s1);
    out[0] = in[0] * sigmoid_slope(s<math>(s2)) * sigmoid_slope(s2) * sigmoid_slope(s1);
  }
};

template <Math math>
struct Forward : Pass<1, 1> {  // x; to y
  static __device__ void compute(const float* in, float* out) {
    out[0] = s<math>(s<math>(s<math>(in[0])));
  }
};

Variant recomputed() {
  return both_passes(
      "recomputed", "stored_two", kArrays<Forward> + kArrays<BackwardRecomputed>, 1, 0,
      {{"dram_write_bytes", Direction::decreases, 1.8, beyond_caches},
       {"dram_read_bytes", Direction::decreases, 1.25, beyond_caches},
       {"xu_instructions", Direction::increases, 1.3},
       {"metric.peak_bytes", Direction::decreases, 1.3}},
      [](const Problem& p, const Data& d, void* const*) {
        return run<Forward>(p, {d.x}, {d.y}) + run<BackwardRecomputed>(p, {d.dy, d.x}, {d.dx});
      });
}

// ---- forward_stored: only the forward pass of stored
//
// The kernel reads x and writes three results: 3 of 4 bytes are writes, and 2 of each 3 bytes
// written serve only the backward pass.

Variant forward_stored() {
  return variant("forward_stored", "", {1, kSigmoids, kSigmoids, kArrays<ForwardStored>},
                 {"s1", "s2", "y"}, {}, [](const Problem& p, const Data& d, void* const*) {
                   return run<ForwardStored>(p, {d.x}, {d.s1, d.s2, d.y});
                 });
}

// ---- forward: only the forward pass of recomputed
//
// The kernel reads x and writes y, as inference does. It moves 2 / 4 = 1/2 of forward_stored's
// bytes and writes a third of its bytes.
// held: bytes_written = 1/3 × forward_stored

Variant forward_pass(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  return variant(std::move(id), std::move(compare_to), {1, 1, kSigmoids, kArrays<Forward>}, {"y"},
                 std::move(expected), [](const Problem& p, const Data& d, void* const*) {
                   return run<Forward>(p, {d.x}, {d.y});
                 });
}

Variant forward() {
  return forward_pass("forward", "forward_stored",
                      {{"dram_write_bytes", Direction::decreases, 2.5, beyond_caches},
                       {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
}

// ---- forward_from_first: the first launches of a process
//
// The host's clock times the launch of forward, and the first sample is the first launch of a
// process, as in a program without warm-up. The first launch loads the kernel's module, which is
// host time. Later launches take the kernel's time plus the host's time to launch it and to detect
// its end. Counters do not change.

Variant forward_from_first() {
  Variant v = forward_pass("forward_from_first", "forward",
                           {{"global_load_requests", Direction::unchanged},
                            {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
  v.timing = Timing::from_first;
  return v;
}

// ---- backward_stored: only the backward pass of stored
//
// The kernel reads dy and three results, and writes dx: 5 passes.

Variant backward_stored() {
  return variant(
      "backward_stored", "", {1 + kSigmoids, 1, kSigmoids, kArrays<BackwardStored>}, {"dx_given"},
      {}, [](const Problem& p, const Data& d, void* const*) {
        return run<BackwardStored>(p, {d.dy, d.given_1, d.given_2, d.given_3}, {d.dx_given});
      });
}

// ---- backward_recomputed: only the backward pass of recomputed
//
// The kernel reads dy and x and writes dx: 3 passes, and all exponentials. xu_instructions
// increases from zero. If DRAM still limits the time, these instructions take no extra time.

Variant backward_recomputed() {
  return variant("backward_recomputed", "backward_stored",
                 {2, 1, 2 * kSigmoids, kArrays<BackwardRecomputed>}, {"dx"},
                 {{"dram_read_bytes", Direction::decreases, 1.8, beyond_caches},
                  {"dram_write_bytes", Direction::unchanged, 1.05, beyond_caches},
                  {"xu_instructions", Direction::increases, 2}},
                 [](const Problem& p, const Data& d, void* const*) {
                   return run<BackwardRecomputed>(p, {d.dy, d.x}, {d.dx});
                 });
}

// ---- inputs

constexpr float kRange = 3.0f;  // x is in [-3, 3), where the error of __expf is 5 ulp

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return of_float_type(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto uniform = [&](void* to, std::uint64_t stream, float scale, float centre) {
      return fill_uniform(static_cast<T*>(to), p.n, stream_seed(seed, stream), scale, centre);
    };
    return uniform(d.x, 0, kRange, 0.0f) + uniform(d.dy, 1, 1.0f, 0.0f) +
           uniform(d.given_1, 2, 0.25f, 0.5f) + uniform(d.given_2, 3, 0.25f, 0.5f) +
           uniform(d.given_3, 4, 0.25f, 0.5f);
  });
}

// ---- the plain reference

// The gradient through three sigmoid results. The magnitude of its error assumes that the results
// have relative errors, or that they are exact (`are_given`).
__host__ __device__ inline ReferenceElement exact_gradient(double dy, double s1, double s2,
                                                           double s3, bool are_given) {
  const double g1 = sigmoid_slope(s1);
  const double g2 = sigmoid_slope(s2);
  const double g3 = sigmoid_slope(s3);
  const double value = dy * g1 * g2 * g3;
  if (are_given) return {value, fabs(value)};
  return {value, fabs(dy) * (s1 * g2 * g3 + g1 * s2 * g3 + g1 * g2 * s3)};
}

// Indices of the outputs, in the order of declare().
enum Output { kS1, kS2, kY, kDx, kDxGiven };

struct Reference {
  int output;
  DataType type;
  const void* x;
  const void* dy;
  const void* given[kSigmoids];
  __host__ __device__ double number(const void* array, std::int64_t i) const {
    return element_of(array, type, i);
  }
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    if (output == kDxGiven)
      return exact_gradient(number(dy, i), number(given[0], i), number(given[1], i),
                            number(given[2], i), true);
    const double s1 = exact_sigmoid(number(x, i));
    const double s2 = exact_sigmoid(s1);
    const double y = exact_sigmoid(s2);
    if (output == kDx) return exact_gradient(number(dy, i), s1, s2, y, false);
    const double value = output == kS1 ? s1 : output == kS2 ? s2 : y;
    return {value, value};
  }
};

// Bounds derived in tolerance_derivation.
double function_error(const Problem& p) {
  return p.math == Math::intrinsics ? kFastSigmoidError : kSigmoidError;
}

Tolerance value_tolerance(const Problem& p) {
  const double stored = unit_roundoff(p.dtype);
  const double e = function_error(p);
  return {1.4 * (e + stored), 0.0, kRmsSafety * (0.61 * stored + 0.81 * e), 0.0};
}

Tolerance gradient_tolerance(const Problem& p) {
  const double u = unit_roundoff(DataType::fp32);
  const double stored = unit_roundoff(p.dtype);
  const double e = function_error(p);
  return {1.1 * (1.4 * (e + stored) + stored + 3 * u), 0.0,
          kRmsSafety * (1.75 * stored + 3 * e + 2 * u), 0.0};
}

Tolerance given_tolerance(const Problem& p) {
  const double u = unit_roundoff(DataType::fp32);
  const double stored = unit_roundoff(p.dtype);
  return {(1 + stored) * (1 + 10 * u) - 1, 0.0, kRmsSafety * (0.58 * (stored + 3 * u)), 0.0};
}

// ---- declaration

Family declare() {
  Family f("recomputation", Topic::fusion,
           "What does it cost to store the results that the backward pass needs, and what to "
           "recompute them?");
  f.physics =
      "A backward pass needs results of the forward pass. Stored results are written once, read "
      "once, and occupy memory in between. Recomputed results cost instructions but no bytes. "
      "Elementwise kernels execute few instructions per byte and wait for DRAM. Recomputation "
      "therefore takes no extra time while its instructions fit into the time of the bytes, and it "
      "saves the bytes of the stored results. With half the bytes (bf16), or with library "
      "functions of many instructions instead of the special function unit, fewer instructions "
      "fit.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, std::int64_t{1} << 31, "elements of x")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of all arrays; arithmetic is in fp32")
      .choice<Math>("math", &Problem::math,
                    {{"intrinsics", Math::intrinsics}, {"functions", Math::functions}},
                    "sigmoid by __expf and __fdividef; or by expf and a correctly rounded "
                    "division");
  f.input("x", &Data::x, &Problem::dtype, &Problem::n)
      .input("dy", &Data::dy, &Problem::dtype, &Problem::n)
      .input("given_1", &Data::given_1, &Problem::dtype, &Problem::n)
      .input("given_2", &Data::given_2, &Problem::dtype, &Problem::n)
      .input("given_3", &Data::given_3, &Problem::dtype, &Problem::n);
  f.output("s1", &Data::s1, &Problem::dtype, &Problem::n, value_tolerance)
      .output("s2", &Data::s2, &Problem::dtype, &Problem::n, value_tolerance)
      .output("y", &Data::y, &Problem::dtype, &Problem::n, value_tolerance)
      .output("dx", &Data::dx, &Problem::dtype, &Problem::n, gradient_tolerance)
      .output("dx_given", &Data::dx_given, &Problem::dtype, &Problem::n, given_tolerance);
  f.metric("passes", "", "reads and writes of an array of n elements by the kernels of a launch")
      .metric("kept_bytes", "B",
              "memory of the arrays that live from the forward to the backward pass")
      .metric("peak_bytes", "B",
              "maximum of memory in use: kept arrays, and the two gradients that a step of the "
              "backward pass reads and writes");
  f.plot("recomputation", "traffic", "Recomputation: useful bandwidth");
  f.inputs = inputs;
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int output) {
    return Reference{output, p.dtype, d.x, d.dy, {d.given_1, d.given_2, d.given_3}};
  });
  f.tolerance = value_tolerance;
  f.tolerance_derivation =
      "u = 2^-24 (fp32), U = unit roundoff of the stored type, x in [-3, 3]. The relative error of "
      "a sigmoid is e: 15u by intrinsics, 6u by functions (kernels/common/sigmoid.cuh has both "
      "from the CUDA C++ Programming Guide). A sigmoid of z in (0, 1) passes on the relative error "
      "of z by the factor z·(1 - s(z)) <= 0.28 and adds its own e + U: in all below (e + U)/(1 - "
      "0.28) = 1.4·(e + U) = r. The gradient is dy·g1·g2·g3 with g = s·(1 - s). An error r of s "
      "changes g by |1 - 2s|·r·s, at most r·s. The errors of all three are therefore within r of "
      "the magnitude |dy|·(s1·g2·g3 + g1·s2·g3 + g1·g2·s3), which is at least three times the "
      "result. Relative to this magnitude, up to three roundings of the result to U cost U, and "
      "nine roundings of fp32 cost 3u. Squares of r are within a tenth of that: r/(1 - s2) stays "
      "below 0.02. With given results, the only errors are roundings: U, and nine of fp32. "
      "The RMS errors: a rounding is uniform up to its bound, U/√3 = 0.58·U of the value. Errors "
      "of "
      "earlier results are passed on by the factor 0.28, √(1 + 0.28² + …) = 1.04 times as much. A "
      "function's errors may all have one sign: 1.4/√3 = 0.81 of e. Over x in [-3, 3] the RMS of "
      "s·(1 - 2s)·(the other two g) is 2.08, 0.73 and 0.86 times the RMS of g1·g2·g3. Roundings of "
      "results thus change the gradient by √(2.08² + 0.73² + 0.86²)·0.61·U = 1.44·U, three "
      "roundings of gradients by 1.0·U, both by 1.75·U, and functions by (2.08 + 0.73 + "
      "0.86)·0.81·e = 3e. The bounds are twice the RMS errors.";
  f.variants(ops(), stored(), stored_two(), recomputed(), forward_stored(), forward(),
             forward_from_first(), backward_stored(), backward_recomputed());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::recomputation
