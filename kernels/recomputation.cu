// recomputation: three sigmoids, y = s(s(s(x))), and their gradient, with what lies between stored
// for the gradient, or computed again.
//
// The question: what does it cost to keep what the backward pass needs? The gradient of a sigmoid
// is dy·s·(1 - s), of which the forward pass knows s. Frameworks store it. Kept, three results are
// three passes out and three in over n elements: with x in, dy in and dx out that is 9 passes. Who
// throws them away computes them again from x: x in and y out, x and dy in and dx out, 5 passes,
// and three exponentials per element more. A kernel that does a few instructions per byte waits for
// DRAM, and has the exponentials' instructions for nothing. Less memory is less time, as long as
// they fit into the time that the bytes take.
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

// What the backward pass is given where it is timed apart: results of three sigmoids, any numbers.
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

// A pass over arrays of n elements: which it reads, and which it writes.
template <class T, int kIns, int kOuts>
struct Arrays {
  const T* in[kIns];
  T* out[kOuts];
  std::int64_t n;
};

// ---- ops: a kernel per operation
//
// Each sigmoid is a kernel, and each step of the gradient: 6 passes forward and 9 backward, with
// all three results kept. A lane moves 16 bytes per access, so that every kernel moves its bytes as
// fast as a copy does. This is what a framework does that executes operations one by one.

constexpr int kBlock = 256;
template <class T>
constexpr int kWidth = 16 / static_cast<int>(sizeof(T));  // elements that a lane moves at a time

template <class P, int kCount, class T>
__device__ void do_elements(const Arrays<T, P::kIns, P::kOuts>& a, std::int64_t first);

template <class P, class T>
__global__ void __launch_bounds__(kBlock) pass_kernel(Arrays<T, P::kIns, P::kOuts> a) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = thread * kWidth<T>;
  if (first + kWidth<T> <= a.n) {
    do_elements<P, kWidth<T>>(a, first);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < a.n; ++i)
      do_elements<P, 1>(a, i);
  }
}

// P::compute makes kOuts numbers of an element of kIns.
template <class P, int kCount, class T>
__device__ void do_elements(const Arrays<T, P::kIns, P::kOuts>& a, std::int64_t first) {
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
struct SigmoidGradient : Pass<2, 1> {  // the gradient so far, and a result of the sigmoid
  static __device__ void compute(const float* in, float* out) {
    out[0] = in[0] * sigmoid_slope(in[1]);
  }
};

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kSigmoids = 3;
constexpr int kTemporaries = 4;  // at most

std::int64_t element_bytes(const Problem& p) {
  return static_cast<std::int64_t>(size_of(p.dtype));
}

// Arrays in the workspace begin at lines.
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

// The arrays of n elements that a pass reads and writes.
template <template <Math> class P>
constexpr int kArrays = P<Math::intrinsics>::kIns + P<Math::intrinsics>::kOuts;

/// Of a variant: arrays that have to be read and written whatever is kept, sigmoids that have to be
/// computed, and how often its kernels read or write an array.
struct Amounts {
  int in, out, sigmoids, passes;
};

Work work(const Problem& p, const Amounts& a) {
  constexpr double kOperations = 3;  // an exponential, +, /; of a slope -, *, *
  const std::int64_t bytes = p.n * element_bytes(p);
  return a.in * reads<char>(bytes) + a.out * writes<char>(bytes) +
         computes(Pipe::fp32, kOperations * a.sigmoids * static_cast<double>(p.n));
}

// `t` are temporary arrays.
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

// x and dy in, y and dx out. `kept` arrays live from the forward to the backward pass. While a step
// of the latter goes on, so do the gradient that it is given and the one that it makes.
Variant both(std::string id, std::string compare_to, int passes, int kept, int temporaries,
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
  return both("ops", "", kSigmoids * (kArrays<Sigmoid> + kArrays<SigmoidGradient>), kSigmoids,
              kTemporaries, {}, [](const Problem& p, const Data& d, void* const* t) {
                return run<Sigmoid>(p, {d.x}, {t[0]}) + run<Sigmoid>(p, {t[0]}, {t[1]}) +
                       run<Sigmoid>(p, {t[1]}, {d.y}) +
                       run<SigmoidGradient>(p, {d.dy, d.y}, {t[2]}) +
                       run<SigmoidGradient>(p, {t[2], t[1]}, {t[3]}) +
                       run<SigmoidGradient>(p, {t[3], t[0]}, {d.dx});
              });
}

// Where DRAM serves every kernel, whatever L2 kept of the one before.
bool beyond_caches(const Problem& p) {
  constexpr std::int64_t kManyBytes = 1 << 28;
  return p.n * element_bytes(p) >= kManyBytes;
}

// ---- stored: one kernel forward, one backward, with all results kept
//
// The forward kernel reads x and writes all three results, the backward kernel reads these and dy:
// 4 and 5 passes. What was read again forward and what was written backward between two operations
// stays in registers. What is kept is the same as before, and so is the memory that it takes.

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
  return both("stored", "ops", kArrays<ForwardStored> + kArrays<BackwardStored>, kSigmoids, 2,
              {{"dram_read_bytes", Direction::decreases, 1.6, beyond_caches},
               {"dram_write_bytes", Direction::decreases, 1.35, beyond_caches},
               {"metric.peak_bytes", Direction::unchanged}},
              [](const Problem& p, const Data& d, void* const* t) {
                return run<ForwardStored>(p, {d.x}, {t[0], t[1], d.y}) +
                       run<BackwardStored>(p, {d.dy, t[0], t[1], d.y}, {d.dx});
              });
}

// ---- stored_two: the last result computed again from the one before
//
// y is s(s2): who has s2 need not read y. 4 passes backward in place of 5, 8 together, and y need
// not live until then. It is the first step of recomputing, with one exponential per element.

template <Math math>
struct BackwardOfTwo : Pass<3, 1> {  // dy, s1 and s2
  static __device__ void compute(const float* in, float* out) {
    out[0] = in[0] * sigmoid_slope(s<math>(in[2])) * sigmoid_slope(in[2]) * sigmoid_slope(in[1]);
  }
};

Variant stored_two() {
  return both("stored_two", "stored", kArrays<ForwardStored> + kArrays<BackwardOfTwo>,
              kSigmoids - 1, 2,
              {{"dram_read_bytes", Direction::decreases, 1.2, beyond_caches},
               {"dram_write_bytes", Direction::unchanged, 1.05, beyond_caches},
               {"metric.peak_bytes", Direction::decreases, 1.2}},
              [](const Problem& p, const Data& d, void* const* t) {
                return run<ForwardStored>(p, {d.x}, {t[0], t[1], d.y}) +
                       run<BackwardOfTwo>(p, {d.dy, t[0], t[1]}, {d.dx});
              });
}

// ---- recomputed: nothing kept but x
//
// The forward kernel writes y alone, the backward kernel computes all three results again from x: 2
// and 3 passes, 5 where stored_two has 8 and stored has 9. Nothing but x is kept, and x was there
// already. It costs two exponentials and two reciprocals per element more than stored_two:
// xu_instructions rises. In fp32 they fit into the time that the bytes take.

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
  return both(
      "recomputed", "stored_two", kArrays<Forward> + kArrays<BackwardRecomputed>, 1, 0,
      {{"dram_write_bytes", Direction::decreases, 1.8, beyond_caches},
       {"dram_read_bytes", Direction::decreases, 1.25, beyond_caches},
       {"xu_instructions", Direction::increases, 1.3},
       {"metric.peak_bytes", Direction::decreases, 1.3}},
      [](const Problem& p, const Data& d, void* const*) {
        return run<Forward>(p, {d.x}, {d.y}) + run<BackwardRecomputed>(p, {d.dy, d.x}, {d.dx});
      });
}

// ---- forward_stored: the forward pass of stored alone
//
// x in, three results out: 3 of 4 bytes are written, and of each 3, 2 are for the backward pass
// alone.

Variant forward_stored() {
  return variant("forward_stored", "", {1, kSigmoids, kSigmoids, kArrays<ForwardStored>},
                 {"s1", "s2", "y"}, {}, [](const Problem& p, const Data& d, void* const*) {
                   return run<ForwardStored>(p, {d.x}, {d.s1, d.s2, d.y});
                 });
}

// ---- forward: the forward pass of recomputed alone
//
// x in, y out, as of a network that learns nothing: 2 / 4 = 1/2 of forward_stored's bytes, a third
// of what it writes.
// held: bytes_written = 1/3 × forward_stored

Variant forward_alone(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  return variant(std::move(id), std::move(compare_to), {1, 1, kSigmoids, kArrays<Forward>}, {"y"},
                 std::move(expected), [](const Problem& p, const Data& d, void* const*) {
                   return run<Forward>(p, {d.x}, {d.y});
                 });
}

Variant forward() {
  return forward_alone("forward", "forward_stored",
                       {{"dram_write_bytes", Direction::decreases, 2.5, beyond_caches},
                        {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
}

// ---- forward_from_first: the first launches of a process
//
// The same launch, timed from the first one of a process on, by the host's clock: its samples are
// what a program sees that warms nothing up. The first has the kernel's module to load, which is
// host time and no GPU's. From the second on a launch takes what it takes, beside what the host
// needs to start it and to learn that it has ended. Counters do not change.

Variant forward_from_first() {
  Variant v = forward_alone("forward_from_first", "forward",
                            {{"global_load_requests", Direction::unchanged},
                             {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
  v.timing = Timing::from_first;
  return v;
}

// ---- backward_stored: the backward pass of stored alone
//
// dy and three results in, dx out: 5 passes.

Variant backward_stored() {
  return variant(
      "backward_stored", "", {1 + kSigmoids, 1, kSigmoids, kArrays<BackwardStored>}, {"dx_given"},
      {}, [](const Problem& p, const Data& d, void* const*) {
        return run<BackwardStored>(p, {d.dy, d.given_1, d.given_2, d.given_3}, {d.dx_given});
      });
}

// ---- backward_recomputed: the backward pass of recomputed alone
//
// dy and x in, dx out: 3 passes, and all exponentials. xu_instructions rises from nothing.
// Where DRAM is the limit all the same, they are free.

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

constexpr float kRange = 3.0f;  // of x, for which the error of __expf is 5 ulp

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

// The gradient through three results of sigmoids, with the magnitude of its error where these are
// off by a share of themselves.
__host__ __device__ inline ReferenceElement exact_gradient(double dy, double s1, double s2,
                                                           double s3, bool are_given) {
  const double g1 = sigmoid_slope(s1);
  const double g2 = sigmoid_slope(s2);
  const double g3 = sigmoid_slope(s3);
  const double value = dy * g1 * g2 * g3;
  if (are_given) return {value, fabs(value)};
  return {value, fabs(dy) * (s1 * g2 * g3 + g1 * s2 * g3 + g1 * g2 * s3)};
}

// Positions of the outputs, in the order in which declare() names them.
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

// The derivation that tolerance_derivation states in words.
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
           "What does it cost to keep what the backward pass needs, and what to compute it again?");
  f.physics =
      "A backward pass needs results of the forward pass. Kept, they are written once, read once, "
      "and take up memory in between. Computed again from what is there in any case, they cost "
      "instructions and no bytes. Element-wise kernels do a few instructions per byte and wait for "
      "DRAM: up to as many instructions as fit into the time of the bytes, computing again is "
      "free, and what is not kept is saved. Half the bytes (bf16), or functions of many "
      "instructions in place of the special function unit's, leave less room.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, std::int64_t{1} << 31, "elements of x")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of all arrays; arithmetic is in fp32")
      .choice<Math>("math", &Problem::math,
                    {{"intrinsics", Math::intrinsics}, {"functions", Math::functions}},
                    "of a sigmoid: __expf and __fdividef; or expf and a division rounded to "
                    "nearest");
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
  f.metric("passes", "", "times that the kernels of a launch read or write an array of n elements")
      .metric("kept_bytes", "B", "arrays that live from the forward to the backward pass")
      .metric("peak_bytes", "B",
              "the most that lives at a time: what is kept, and the two gradients that a step of "
              "the backward pass reads and writes");
  f.figure("recomputation", "traffic", "Recomputation: useful bytes per second");
  f.inputs = inputs;
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int output) {
    return Reference{output, p.dtype, d.x, d.dy, {d.given_1, d.given_2, d.given_3}};
  });
  f.tolerance = value_tolerance;
  f.tolerance_derivation =
      "u = 2^-24 of fp32, U of the stored type, x in [-3, 3]; a sigmoid is off by e: 15u by "
      "intrinsics, 6u by functions (kernels/common/sigmoid.cuh has both from the CUDA C++ "
      "Programming Guide). A result of a sigmoid of z in (0, 1) has of z's relative error "
      "z·(1 - s(z)) <= 0.28, and e + U of its own: in all below (e + U)/(1 - 0.28) = "
      "1.4·(e + U) = r. The gradient dy·g1·g2·g3, g = s·(1 - s): s off by r moves g by |1 - 2s|·"
      "r·s, at most r·s, so that the errors of all three are within r of the magnitude "
      "|dy|·(s1·g2·g3 + g1·s2·g3 + g1·g2·s3), which is at least three times the result: up to "
      "three roundings to U of it are U, nine of fp32 3u. Squares of r are within a tenth of "
      "that: r/(1 - s2) stays below 0.02. Of given results there are the roundings alone: U, and "
      "nine of fp32. "
      "The RMS errors: a rounding is spread evenly up to its bound, U/√3 = 0.58·U of the value; "
      "those of results before add 0.28 of theirs, √(1 + 0.28² + …) = 1.04 times as much. A "
      "function may err to one side: 1.4/√3 = 0.81 of e. Over x in [-3, 3] the RMS of "
      "s·(1 - 2s)·(the other two g) is 2.08, 0.73 and 0.86 times that of g1·g2·g3: roundings of "
      "results move the gradient by √(2.08² + 0.73² + 0.86²)·0.61·U = 1.44·U, three roundings of "
      "gradients by 1.0·U, both by 1.75·U, and functions by (2.08 + 0.73 + 0.86)·0.81·e = 3e. "
      "Twice that is allowed.";
  f.variants(ops(), stored(), stored_two(), recomputed(), forward_stored(), forward(),
             forward_from_first(), backward_stored(), backward_recomputed());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::recomputation
