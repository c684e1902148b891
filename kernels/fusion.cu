// fusion: y = sin²(x) + cos²(x), or ELU(x), as one kernel per operation and as one kernel for all.
//
// The question: what does it cost to execute each operation of an expression as a separate kernel?
// sin, square, cos and square each read and write n elements, and the sum reads two arrays and
// writes one: 11 passes. One kernel makes 2 passes, so it can be 11/2 times as fast. The gain is
// smaller if intermediate results stay in L2.
#include <array>
#include <cmath>
#include <vector>

#include "kernels/common/family.cuh"
#include "kernels/common/pack.cuh"

namespace gpuexp::fusion {

enum class Expression {
  sin2_cos2,  // sin²(x) + cos²(x)
  elu,        // x if x > 0, else α·(exp(x) - 1)
};

struct Problem {
  std::int64_t n;
  Expression expression;
  DataType dtype;  // fp32 or bf16, of x, y and intermediate results
  double chunk_l2_pct;
};

struct Data {
  void* x;
  void* y;
  void* y_intrinsics;  // computed with special function unit instructions, less accurate
};

// Arrays of one operation, with n elements each. `out` may be an operand.
template <class T>
struct Arrays {
  const T* a;
  const T* b;
  T* out;
  std::int64_t n;
};

// Operations on an element.
enum class Op { sin, cos, square, add, exp, sub, mul, where, sin2_cos2, elu, sin2_cos2_xu, elu_xu };

template <Op... ops>  // the result of each operation is the operand of the next
__device__ float result(float a, float b);

template <Op... ops>
constexpr bool kHasTwoOperands = ((ops == Op::add || ops == Op::where) || ...);

// ---- ops_scalar: one kernel per operation, one element per thread
//
// Each operation is a launch: sin, square, cos, square, add, or exp, sub, mul, where. If arrays are
// larger than L2, all 11 passes (ELU: 9) go through device memory. A thread loads one element, so a
// full SM has 8 KB in flight (bf16: 4 KB), a fraction of the bytes needed to cover DRAM's latency.

constexpr int kBlock = 256;

// Computes in fp32, and rounds the result of the last of `ops` to T.
template <class T, Op... ops>
__device__ void compute_element(const Arrays<T>& s, std::int64_t i) {
  const auto a = static_cast<float>(s.a[i]);
  float b = 0.0f;
  if constexpr (kHasTwoOperands<ops...>) b = static_cast<float>(s.b[i]);
  s.out[i] = from_float<T>(result<ops...>(a, b));
}

template <class T, Op... ops>
__global__ void __launch_bounds__(kBlock) scalar_kernel(Arrays<T> s) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < s.n) compute_element<T, ops...>(s, i);
}

constexpr float kAlpha = 1.6732632f;  // SELU's α (Klambauer et al., NIPS 2017); any value but 1

__device__ inline float sin2_cos2(float x) {
  float s, c;
  sincosf(x, &s, &c);
  return s * s + c * c;
}

template <Op op>
__device__ float result_of(float a, float b) {
  if constexpr (op == Op::sin) return sinf(a);
  if constexpr (op == Op::cos) return cosf(a);
  if constexpr (op == Op::square) return a * a;
  if constexpr (op == Op::add) return a + b;
  if constexpr (op == Op::exp) return expf(a);
  if constexpr (op == Op::sub) return a - 1.0f;
  if constexpr (op == Op::mul) return kAlpha * a;
  if constexpr (op == Op::where) return a > 0.0f ? a : b;
  if constexpr (op == Op::sin2_cos2) return sin2_cos2(a);
  if constexpr (op == Op::elu) return a > 0.0f ? a : kAlpha * (expf(a) - 1.0f);
  if constexpr (op == Op::sin2_cos2_xu) return __sinf(a) * __sinf(a) + __cosf(a) * __cosf(a);
  if constexpr (op == Op::elu_xu) return a > 0.0f ? a : kAlpha * (__expf(a) - 1.0f);
}

template <Op... ops>
__device__ float result(float a, float b) {
  ((a = result_of<ops>(a, b)), ...);
  return a;
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Arrays that an operation reads or writes: x, y and temporaries.
enum Place { kX, kY, kT0, kT1, kT2, kT3, kPlaces };

template <class T>
struct Operation {
  void (*scalar)(Arrays<T>);
  void (*vectors)(Arrays<T>);
  int inputs;
  Place out;
  Place a;
  Place b;
};

template <class T>
using Operations = std::vector<Operation<T>>;

// Bytes per access of a thread in vector_kernel.
constexpr int kVectorBytes = 16;
template <class T>
constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

template <class T, Op... ops>
__global__ void vector_kernel(Arrays<T> s);

template <class T, Op... ops>
Operation<T> operation(Place out, Place a, Place b = kX) {
  return {scalar_kernel<T, ops...>,
          vector_kernel<T, ops...>,
          kHasTwoOperands<ops...> ? 2 : 1,
          out,
          a,
          b};
}

// Returns one operation per kernel; `t` are the arrays of intermediate results.
template <class T>
Operations<T> one_by_one(Expression e, const std::array<Place, 4>& t) {
  if (e == Expression::elu)
    return {operation<T, Op::exp>(t[0], kX), operation<T, Op::sub>(t[1], t[0]),
            operation<T, Op::mul>(t[2], t[1]), operation<T, Op::where>(kY, kX, t[2])};
  return {operation<T, Op::sin>(t[0], kX), operation<T, Op::square>(t[1], t[0]),
          operation<T, Op::cos>(t[2], kX), operation<T, Op::square>(t[3], t[2]),
          operation<T, Op::add>(kY, t[1], t[3])};
}

bool is_elu(const Problem& p) {
  return p.expression == Expression::elu;
}

std::int64_t element_bytes(const Problem& p) {
  return static_cast<std::int64_t>(size_of(p.dtype));
}

// Temporaries and chunks start at 128-byte lines.
constexpr std::int64_t kLine = 128;
std::int64_t array_bytes(std::int64_t n, std::int64_t element) {
  return ceil_div(n * element, kLine) * kLine;
}

Work work(const Problem& p) {
  const std::int64_t bytes = p.n * element_bytes(p);
  const double operations = is_elu(p) ? 4 : 5;  // sin, cos and exp count as one operation each
  return reads<char>(bytes) + writes<char>(bytes) +
         computes(Pipe::fp32, operations * static_cast<double>(p.n));
}

enum class Access { scalar, vectors };

// Launches the operations on the first `n` elements of the arrays in `places`.
template <class T>
Steps launch_all(const Operations<T>& operations, Access access,
                 const std::array<T*, kPlaces>& places, std::int64_t n) {
  const int tile = kBlock * (access == Access::scalar ? 1 : kWidth<T>);
  const Shape s = shape_of_tiles({n}, {tile}, kBlock);
  Steps steps;
  for (const Operation<T>& o : operations)
    steps += launch(access == Access::scalar ? o.scalar : o.vectors, s,
                    Arrays<T>{places[o.a], places[o.b], places[o.out], n});
  return steps;
}

// Pointers to x, y and temporary arrays of `each` elements.
template <class T>
std::array<T*, kPlaces> places_of(const Data& d, void* y, void* workspace, std::int64_t each) {
  std::array<T*, kPlaces> places{static_cast<T*>(d.x), static_cast<T*>(y)};
  for (int i = kT0; i < kPlaces; ++i)
    places[i] = static_cast<T*>(workspace) + (i - kT0) * array_bytes(each, sizeof(T)) / sizeof(T);
  return places;
}

// `operations_of(T{}, expression)` returns the launch's operations.
template <class OperationsOf>
Variant variant(std::string id, std::string compare_to, Access access, OperationsOf operations_of,
                ExpectedChangesOf<Problem> expected, void* Data::*to = &Data::y) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {to == &Data::y ? "y" : "y_intrinsics"};
  v.work = work;
  v.metrics = [=](const Problem& p, const DeviceSpec&) {
    double passes = 0;
    for (const auto& o : operations_of(float{}, p.expression))
      passes += o.inputs + 1;
    return MetricValues{{"passes", passes}};
  };
  v.workspace_bytes = [=](const Problem& p, const DeviceSpec&) {
    int temporaries = 0;
    for (const auto& o : operations_of(float{}, p.expression))
      temporaries = std::max(temporaries, o.out - kT0 + 1);
    return temporaries * array_bytes(p.n, element_bytes(p));
  };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    return of_float_type(p.dtype, [&](auto zero) {
      using T = decltype(zero);
      return launch_all(operations_of(zero, p.expression), access,
                        places_of<T>(d, d.*to, x.workspace, p.n), p.n);
    });
  };
  return v;
}

constexpr auto kSeparateArrays = [](auto zero, Expression e) {
  return one_by_one<decltype(zero)>(e, {kT0, kT1, kT2, kT3});
};

Variant ops_scalar() {
  return variant("ops_scalar", "", Access::scalar, kSeparateArrays, {});
}

// True if most blocks are whole.
constexpr auto is_large = at_least(&Problem::n, 1 << 16);

// True if every kernel loads from DRAM, because L2 keeps too little of the previous kernel's data.
bool beyond_caches(const Problem& p) {
  constexpr std::int64_t kManyBytes = 1 << 28;
  return p.n * element_bytes(p) >= kManyBytes;
}

// ---- ops: one kernel per operation, 16-byte vectors
//
// A thread loads and stores 16 bytes at a time, so a full SM has 32 KB in flight, and each kernel
// moves its bytes as fast as a copy. global_load_requests falls to a quarter (bf16: an eighth). The
// passes and the bytes from DRAM are unchanged. The fused kernels are compared with ops.
// held: global_load_requests = 1/4 × ops_scalar at dtype=fp32, n=4194304
// held: global_load_requests = 1/8 × ops_scalar at dtype=bf16, n=4194304

template <class T, Op... ops>
__global__ void __launch_bounds__(kBlock) vector_kernel(Arrays<T> s) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = thread * kWidth<T>;
  if (first + kWidth<T> <= s.n) {
    auto a = load_pack<kWidth<T>>(s.a + first);
    auto b = a;
    if constexpr (kHasTwoOperands<ops...>) b = load_pack<kWidth<T>>(s.b + first);
#pragma unroll
    for (int i = 0; i < a.kPairs; ++i) {
      const float2 x = widen(a.pairs[i]);
      const float2 y = widen(b.pairs[i]);
      a.pairs[i] = narrow<T>({result<ops...>(x.x, y.x), result<ops...>(x.y, y.y)});
    }
    store_pack(s.out + first, a);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < s.n; ++i)
      compute_element<T, ops...>(s, i);
  }
}

Variant ops() {
  return variant("ops", "ops_scalar", Access::vectors, kSeparateArrays,
                 {{"global_load_requests", Direction::decreases, 3.5, is_large},
                  {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
}

// ---- ops_in_place: fewer buffers
//
// Operations overwrite their operand: of four temporary arrays (ELU: three), one is left (ELU:
// none). This saves memory but no traffic. Each kernel reads and writes as many elements as in ops,
// and arrays larger than L2 go through DRAM. l2_sectors and dram_read_bytes are unchanged.

constexpr auto kInPlace = [](auto zero, Expression e) {
  using Places = std::array<Place, 4>;
  return one_by_one<decltype(zero)>(
      e, e == Expression::elu ? Places{kY, kY, kY} : Places{kT0, kT0, kY, kY});
};

Variant ops_in_place() {
  return variant("ops_in_place", "ops", Access::vectors, kInPlace,
                 {{"l2_sectors", Direction::unchanged},
                  {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches},
                  {"dram_write_bytes", Direction::unchanged, 1.05, beyond_caches}});
}

// ---- ops_chunks: all operations on a chunk before the next chunk
//
// The host launches all operations on one chunk of x (chunk_l2_pct of L2) before the first
// operation on the next chunk. Chunks share one temporary array, so each operation reads from L2
// what the previous operation wrote, and most of the temporary array is overwritten before L2
// writes it back. dram_read_bytes and dram_write_bytes decrease to nearly the values of fused.
// l2_sectors is unchanged. The cost is several hundred launches, each with its latency and the wait
// for an SM's first loads.

std::int64_t chunk_elements(const Problem& p, const DeviceSpec& device) {
  constexpr double kPercent = 100;
  const double bytes = p.chunk_l2_pct / kPercent * static_cast<double>(device.l2_bytes);
  const auto lines = std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes) / kLine);
  return std::min(p.n, lines * kLine / element_bytes(p));
}

template <class T>
Steps launch_chunks(const Operations<T>& operations, const Problem& p, const Data& d,
                    const LaunchContext& x) {
  const std::int64_t each = chunk_elements(p, x.device);
  std::array<T*, kPlaces> places = places_of<T>(d, d.y, x.workspace, each);
  Steps steps;
  for (std::int64_t begin = 0; begin < p.n; begin += each) {
    steps += launch_all(operations, Access::vectors, places, std::min(each, p.n - begin));
    places[kX] += each;
    places[kY] += each;
  }
  return steps;
}

bool has_small_chunks(const Problem& p) {
  constexpr double kMaxPct = 11;  // x, y and the temporary array occupy three times this share
  return beyond_caches(p) && p.chunk_l2_pct <= kMaxPct;
}

Variant ops_chunks() {
  Variant v = variant("ops_chunks", "ops_in_place", Access::vectors, kInPlace,
                      {{"dram_read_bytes", Direction::decreases, 3, has_small_chunks},
                       {"dram_write_bytes", Direction::decreases, 2.5, has_small_chunks},
                       {"l2_sectors", Direction::unchanged}});
  v.workspace_bytes = [](const Problem& p, const DeviceSpec& device) {
    return array_bytes(chunk_elements(p, device), element_bytes(p));
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return of_float_type(
        p.dtype, [&](auto zero) { return launch_chunks(kInPlace(zero, p.expression), p, d, x); });
  };
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    // With more than about 1024 launches in a stream's queue, the host would wait for the GPU.
    constexpr std::int64_t kMaxKernels = 1000;
    const std::int64_t chunks = ceil_div(p.n, chunk_elements(p, device));
    const std::int64_t kernels = chunks * (is_elu(p) ? 4 : 5);
    if (kernels <= kMaxKernels) return std::nullopt;
    return std::to_string(kernels) +
           " launches are needed; the stream accepts about 1000 before it starts";
  };
  return v;
}

// ---- fused_chains: chains of operations with one operand
//
// A kernel ends at an operation with two operands: sin² and cos² are one kernel each, and the sum
// is another (ELU: exp, sub and mul are one kernel, `where` the next). The passes, as l2_sectors
// shows, fall from 11 to 7 (9 to 5).
// held: l2_sectors = 7/11 × ops within 2 %; l2_sectors = 5/9 × ops within 2 % at expression=elu

constexpr auto kChains = [](auto zero, Expression e) {
  using T = decltype(zero);
  if (e == Expression::elu)
    return Operations<T>{operation<T, Op::exp, Op::sub, Op::mul>(kT0, kX),
                         operation<T, Op::where>(kY, kX, kT0)};
  return Operations<T>{operation<T, Op::sin, Op::square>(kT0, kX),
                       operation<T, Op::cos, Op::square>(kT1, kX),
                       operation<T, Op::add>(kY, kT0, kT1)};
};

Variant fused_chains() {
  return variant("fused_chains", "ops", Access::vectors, kChains,
                 {{"dram_read_bytes", Direction::decreases, 1.4, beyond_caches},
                  {"dram_write_bytes", Direction::decreases, 1.5, beyond_caches},
                  {"l2_sectors", Direction::decreases, 1.5, is_large}});
}

// ---- fused_scalar: one kernel, one element per thread
//
// One thread applies all operations to an element: it loads x, stores y and keeps intermediate
// results in registers. dram_read_bytes falls to a sixth (ELU: a fifth) and dram_write_bytes to a
// fifth (a quarter). In bf16, intermediate results are not rounded, so the error decreases.
// held: dram_read_bytes = 1/6 × ops_scalar within 2 %
// held: dram_write_bytes = 1/5 × ops_scalar within 2 %
// held: dram_read_bytes = 1/5 × ops_scalar within 2 % at expression=elu
// held: dram_write_bytes = 1/4 × ops_scalar within 2 % at expression=elu

template <Op kSumOfSquares, Op kUnit>
constexpr auto kFused = [](auto zero, Expression e) {
  using T = decltype(zero);
  return Operations<T>{e == Expression::elu ? operation<T, kUnit>(kY, kX)
                                            : operation<T, kSumOfSquares>(kY, kX)};
};

ExpectedChangesOf<Problem> two_passes() {
  return {{"dram_read_bytes", Direction::decreases, 4.5, beyond_caches},
          {"dram_write_bytes", Direction::decreases, 3.5, beyond_caches},
          {"l2_sectors", Direction::decreases, 4.2, is_large}};
}

Variant fused_scalar() {
  return variant("fused_scalar", "ops_scalar", Access::scalar, kFused<Op::sin2_cos2, Op::elu>,
                 two_passes());
}

// ---- fused: one kernel with 16-byte vectors
//
// fused and ops both move their bytes as fast as a copy, so the ratio of their times is the gain of
// fusion: two passes instead of 11 (ELU: 9), and one launch instead of five (four). fused calls
// sincosf, which reduces the argument once. sinf and cosf each reduce it, with a branch for huge
// arguments, and need more issue slots than the time of DRAM has. The kernel executes the
// instructions of all operations for fewer bytes, so issue_active_pct increases. In bf16,
// instructions may be the limit.

Variant fused() {
  return variant("fused", "ops", Access::vectors, kFused<Op::sin2_cos2, Op::elu>, two_passes());
}

// ---- fused_intrinsics: special function unit instructions
//
// __sinf, __cosf and __expf are one special function unit instruction and a multiplication each.
// sinf and cosf reduce their argument, evaluate a polynomial and select by quadrant.
// warp_instructions decreases, and the bytes from DRAM are unchanged. If instructions are the
// limit, the time decreases. The cost is accuracy: the absolute error is about 2^-20, whereas
// sinf's error is 2 ulp.

Variant fused_intrinsics() {
  return variant("fused_intrinsics", "fused", Access::vectors, kFused<Op::sin2_cos2_xu, Op::elu_xu>,
                 {{"warp_instructions", Direction::decreases, 1.1, is_large},
                  {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}},
                 &Data::y_intrinsics);
}

// ---- inputs

// x is in [-3, 3), within [-π, π], for which the errors of __sinf and __cosf are published.
constexpr double kRange = 3.0;

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return of_float_type(p.dtype, [&](auto zero) {
    return fill_uniform(static_cast<decltype(zero)*>(d.x), p.n, stream_seed(seed, 0),
                        static_cast<float>(kRange));
  });
}

// ---- the plain reference

__host__ __device__ inline double exact(Expression e, double x) {
  if (e == Expression::elu) return x > 0.0 ? x : static_cast<double>(kAlpha) * expm1(x);
  return sin(x) * sin(x) + cos(x) * cos(x);
}

struct Reference {
  Problem p;
  const void* x;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const double y = exact(p.expression, element_of(x, p.dtype, i));
    return {y, fabs(y)};
  }
};

// Bounds derived in tolerance_derivation.
Tolerance tolerance(const Problem& p, bool intrinsics) {
  const double u = unit_roundoff(DataType::fp32);
  const double stored = unit_roundoff(p.dtype);
  const double alpha = kAlpha;
  const double growth = std::pow(1 + stored, 4) * (1 + 10 * u) - 1;  // relative, of products
  if (is_elu(p)) {
    const double exponential = intrinsics ? 10 * u : 4 * u;
    const double rms = alpha * std::hypot(0.33 * stored, 0.29 * exponential / std::sqrt(3.0));
    return {growth, alpha * (exponential + stored) * (1 + growth), 0.0, kRmsSafety * rms};
  }
  if (intrinsics) {
    constexpr double kError = 0x1p-20;  // absolute error of sin and cos
    return {growth, 3 * kError, 0.0, kRmsSafety * (2 * kError / std::sqrt(3.0) + 0.58 * stored)};
  }
  const double functions = std::pow(1 + 4 * u, 2) - 1;
  return {growth + functions, 0.0, 0.0, kRmsSafety * (stored + functions / std::sqrt(3.0))};
}

// ---- declaration

Family declare() {
  Family f("fusion", Topic::fusion,
           "What does it cost to execute each operation of an expression as a separate kernel?");
  f.physics =
      "An elementwise operation executes few instructions per byte, so its time is bytes divided "
      "by bandwidth. A separate kernel reads its operands from device memory and writes its result "
      "there, and the next kernel reads it again. One kernel for all operations only reads x and "
      "writes y. The speedup is the ratio of the passes, if arrays are larger than L2 and "
      "instructions are not the limit. For small arrays, the number of launches determines the "
      "time.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, std::int64_t{1} << 32, "elements of x")
      .choice<Expression>("expression", &Problem::expression,
                          {{"sin2_cos2", Expression::sin2_cos2}, {"elu", Expression::elu}},
                          "sin²(x) + cos²(x), five operations; or ELU, x if x > 0, else α·(exp(x) "
                          "- 1), four")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of all arrays; arithmetic is in fp32")
      .real("chunk_l2_pct", &Problem::chunk_l2_pct, 11, 0.0001, 100, "%",
            "size of a chunk of x in ops_chunks, as a share of L2's size");
  f.input("x", &Data::x, &Problem::dtype, &Problem::n)
      .output("y", &Data::y, &Problem::dtype, &Problem::n)
      .output("y_intrinsics", &Data::y_intrinsics, &Problem::dtype, &Problem::n,
              [](const Problem& p) { return tolerance(p, true); });
  f.metric("passes", "", "reads and writes of an array of n elements by the kernels of a launch");
  f.plot("fusion", "traffic", "Fusion of elementwise operations: useful bandwidth");
  f.inputs = inputs;
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int) {
    return Reference{p, d.x};
  });
  f.tolerance = [](const Problem& p) { return tolerance(p, false); };
  f.tolerance_derivation =
      "u = 2^-24 (fp32), U = unit roundoff of the stored type, x in [-3, 3]. sinf, cosf and expf "
      "are within 2 ulp (CUDA C++ Programming Guide, table of mathematical functions), 4u of their "
      "value. With one kernel per operation, sin² has an error factor of (1 + 4u)²·(1 + U)³: sin "
      "is rounded to U and squared, and its square is rounded. cos² has the same error, and the "
      "sum is rounded once more: (1 + 4u)²·(1 + U)⁴·(1 + 10u) - 1, relative, where 10u covers fp32 "
      "arithmetic before each rounding. ELU: exp(x) <= 1 has an error of 4u + U, which the "
      "subtraction leaves and α multiplies; the other errors are relative. Intrinsics: sin.approx "
      "and cos.approx have errors of at most 2^-20.5 within [-2π, 2π] (PTX ISA), here 2^-20; the "
      "error of a square is twice that times its root, and |sin| + |cos| <= √2. __expf has an "
      "error of 2 + floor(1.173·|x|) ulp (CUDA C++ Programming Guide), here 5 ulp or 10u. The RMS "
      "error of sin² + cos²: roundings of sin, 0.42·U each (Knuth), count twice, roundings of its "
      "square once, and the mean of sin⁴ + cos⁴ is 3/4; the sum near 1 is rounded by 0.58·U: "
      "U·√(0.42²·5·3/4 + 0.58²) = U. The functions' errors are added as if uniform up to their "
      "bounds. ELU: positive elements are exact; over the others the mean of exp² is 1/6 and the "
      "mean of (1 - exp)², which is rounded twice, 0.53: 0.42·U·α·√((0.17 + 2·0.53)/2) = 0.33·U·α, "
      "and 0.29 of the exponential's bound over √3. The bounds are twice the RMS errors.";
  f.variants(ops_scalar(), ops(), ops_in_place(), ops_chunks(), fused_chains(), fused_scalar(),
             fused(), fused_intrinsics());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::fusion
