// mixed_precision: y = activation(x), element by element, stored in fp32, fp16 or bf16.
//
// The question: when does halving the bytes of a number halve the time? An activation reads and
// writes 8 bytes per element in fp32, 4 in the 16-bit types. All variants compute in fp32; only the
// storage type differs.
#include <array>
#include <cmath>

#include "kernels/common/family.cuh"
#include "kernels/common/pack.cuh"

namespace gpuexp::mixed_precision {

enum class Op {
  relu,
  gelu,       // x·Φ(x), with the Gaussian's Φ from the error function
  gelu_tanh,  // the usual approximation of gelu by tanh
};

struct Problem {
  std::int64_t n;
  Op op;
};

// The same activations in three types; each variant reads x and writes y of its type.
struct Data {
  float* x_fp32;
  __half* x_fp16;
  __nv_bfloat16* x_bf16;
  float* y_fp32;
  __half* y_fp16;
  __nv_bfloat16* y_bf16;
};
// Indices of the outputs, in the order of declare().
enum Output { kYFp32, kYFp16, kYBf16 };

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the arithmetic, in fp32 for all storage types

template <Op op>
__device__ inline float activate(float x) {
  if constexpr (op == Op::relu) {
    return fmaxf(x, 0.0f);
  } else if constexpr (op == Op::gelu) {
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
  } else {
    // 1/2·(1 + tanh(z)) is 1/(1 + exp(-2z)): one ex2 and one rcp of the special function unit, and
    // no cancellation at negative z.
    const float minus_two_z = x * fmaf(-0.071354816f, x * x, -1.5957691f);
    return __fdividef(x, 1.0f + __expf(minus_two_z));
  }
}

template <Op op>
__device__ inline float2 activate(float2 pair) {
  return {activate<op>(pair.x), activate<op>(pair.y)};
}

constexpr int kBlock = 256;

// ---- scalar: one element per lane and access

template <class T, Op op>
__global__ void __launch_bounds__(kBlock) scalar_kernel(std::int64_t n, const T* x, T* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < n) y[i] = from_float<T>(activate<op>(static_cast<float>(x[i])));
}

template <class T>
using Member = T* Data::*;
template <class T>
struct Storage {
  const char* output;
  Member<T> x;
  Member<T> y;
};
template <class T>
constexpr Storage<T> kStorage{"y_fp32", &Data::x_fp32, &Data::y_fp32};
template <>
constexpr Storage<__half> kStorage<__half>{"y_fp16", &Data::x_fp16, &Data::y_fp16};
template <>
constexpr Storage<__nv_bfloat16> kStorage<__nv_bfloat16>{"y_bf16", &Data::x_bf16, &Data::y_bf16};

// Operations of the formula; each evaluated function counts as one.
double operations_per_element(Op op) {
  switch (op) {
    case Op::relu: return 1.0;       // max
    case Op::gelu: return 5.0;       // x·c, erf, 1 +, 0.5·x·
    case Op::gelu_tanh: return 7.0;  // x·x, ·c + d, x·, exp, 1 +, /
  }
  return 0.0;
}

template <class T>
Work work(const Problem& p) {
  return reads<T>(p.n) + writes<T>(p.n) +
         computes(Pipe::fp32, operations_per_element(p.op) * static_cast<double>(p.n));
}

template <class T>
using Kernel = void (*)(std::int64_t, const T*, T*);

template <class T>
Kernel<T> scalar_kernel_of(Op op) {
  constexpr Kernel<T> kOfOps[] = {scalar_kernel<T, Op::relu>, scalar_kernel<T, Op::gelu>,
                                  scalar_kernel<T, Op::gelu_tanh>};
  return kOfOps[static_cast<int>(op)];
}

template <class T>
Variant elementwise(std::string id, Kernel<T> (*kernel_of)(Op), std::int64_t tile) {
  Variant v(std::move(id));
  v.writes = {kStorage<T>.output};
  v.work = work<T>;
  v.launch = [kernel_of, tile](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(kernel_of(p.op), shape_of_tiles({p.n}, {tile}, kBlock), p.n, d.*kStorage<T>.x,
                  d.*kStorage<T>.y);
  };
  return v;
}

// ---- fp32_scalar
//
// Each lane loads one fp32 element: a warp requests 128 bytes at a time. 2048 resident threads with
// 4 bytes each keep 8 KiB per SM in flight. Bandwidth × latency of HBM is several times as many
// bytes, so latency is the limit.

Variant fp32_scalar() {
  return elementwise<float>("fp32_scalar", scalar_kernel_of<float>, kBlock);
}

// DRAM serves every launch; the caches keep too little of the previous launch's data.
constexpr auto beyond_caches = at_least(&Problem::n, 1 << 27);

// ---- fp16_scalar
//
// The kernel loads and stores half the bytes of fp32_scalar with the same number of lanes, requests
// and instructions: each request of a warp loads 64 bytes. If requests in flight are the limit,
// halving the type halves the bandwidth, not the time: DRAM throughput decreases.

Variant fp16_scalar() {
  return elementwise<__half>("fp16_scalar", scalar_kernel_of<__half>, kBlock)
      .against("fp32_scalar", {{"global_load_requests", Direction::unchanged},
                               {"dram_read_bytes", Direction::decreases, 1.9, beyond_caches}});
}

// ---- packed: 16 bytes per access for each type

// Two loads per lane are in flight before the first use: up to 64 KiB per SM at full occupancy.
constexpr int kPacksPerThread = 2;

template <class T>
struct Packed {
  static constexpr int kElements = 16 / static_cast<int>(sizeof(T));
  static constexpr int kTile = kBlock * kPacksPerThread * kElements;
};

template <class T, Op op>
__global__ void __launch_bounds__(kBlock) packed_kernel(std::int64_t n, const T* x, T* y) {
  constexpr int kElements = Packed<T>::kElements;
  constexpr int kTile = Packed<T>::kTile;
  const std::int64_t tile_begin = static_cast<std::int64_t>(blockIdx.x) * kTile;
  if (tile_begin + kTile > n) {
#pragma unroll 1
    for (std::int64_t i = tile_begin + threadIdx.x; i < n; i += kBlock)
      y[i] = from_float<T>(activate<op>(static_cast<float>(x[i])));
    return;
  }
  const std::int64_t first = tile_begin + threadIdx.x * kElements;
  Pack<T, kElements> packs[kPacksPerThread];
#pragma unroll
  for (int k = 0; k < kPacksPerThread; ++k)
    packs[k] = load_pack<kElements>(x + first + k * kBlock * kElements);
#pragma unroll
  for (int k = 0; k < kPacksPerThread; ++k) {
    for (auto& pair : packs[k].pairs)
      pair = narrow<T>(activate<op>(widen(pair)));
    store_pack(y + first + k * kBlock * kElements, packs[k]);
  }
}

template <class T>
Kernel<T> packed_kernel_of(Op op) {
  constexpr Kernel<T> kOfOps[] = {packed_kernel<T, Op::relu>, packed_kernel<T, Op::gelu>,
                                  packed_kernel<T, Op::gelu_tanh>};
  return kOfOps[static_cast<int>(op)];
}

template <class T>
Variant packed(std::string id) {
  return elementwise<T>(std::move(id), packed_kernel_of<T>, Packed<T>::kTile);
}

// ---- fp32
//
// A lane loads four elements per access and issues two accesses before the first use: 4 × 2 = 8
// times the bytes in flight for a quarter of the load and store instructions
// (global_load_requests). DRAM throughput approaches that of a copy. It costs registers.
// held: global_load_requests = 1/4 × fp32_scalar

Variant fp32() {
  return packed<float>("fp32").against(
      "fp32_scalar", {{"global_load_requests", Direction::decreases, 3.5,
                       [](const Problem& p) { return p.n >= 1 << 16; }},
                      {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
}

// ---- fp16
//
// Accesses of 16 bytes hold eight elements instead of four: half the DRAM bytes, and half the time
// while DRAM is the limit. Arithmetic is in fp32, with additional conversions, so the issue slots
// per byte about double, which slows gelu by erf, but not relu. 11 significant bits remain, and
// fewer for numbers below 2^-14.
// held: dram_read_bytes = 1/2 × fp32

Variant fp16() {
  return packed<__half>("fp16").against(
      "fp32",
      {{"dram_read_bytes", Direction::decreases, 1.9, beyond_caches},
       {"l2_sectors", Direction::decreases, 1.9, [](const Problem& p) { return p.n >= 1 << 16; }}});
}

// ---- bf16
//
// bf16 costs the bytes and the time of fp16, but has the exponent range of fp32 and 8 significant
// bits. The relative error is 8 times that of fp16; no number underflows.

Variant bf16() {
  return packed<__nv_bfloat16>("bf16").against(
      "fp16", {{"l2_sectors", Direction::unchanged},
               {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
}

// ---- inputs

// Activations are in [-4, 4), wide enough for both tails of the Gaussian; [-1, 1) is not.
constexpr double kRange = 4.0;

// The inputs are exact in fp32; the 16-bit types round the same numbers.
Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const auto filled = [&](auto* x) {
    return fill_uniform(x, p.n, stream_seed(seed, 0), static_cast<float>(kRange));
  };
  return filled(d.x_fp32) + filled(d.x_fp16) + filled(d.x_bf16);
}

// ---- the plain reference

__host__ __device__ inline double exact(Op op, double x) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  switch (op) {
    case Op::relu: return x > 0.0 ? x : 0.0;
    case Op::gelu:
      // erfc keeps its digits where 1 + erf cancels, at negative x.
      return 0.5 * x * erfc(-x * kSqrtHalf);
    case Op::gelu_tanh: return 0.5 * x * (1.0 + tanh(kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
  }
  return NAN;
}

struct Reference {
  Op op;
  const void* x;
  DataType type;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const double y = exact(op, element_of(x, type, i));
    return {y, fabs(y)};
  }
};

Reference reference(const Problem& p, const Data& d, int output) {
  if (output == kYFp16) return {p.op, d.x_fp16, DataType::fp16};
  if (output == kYBf16) return {p.op, d.x_bf16, DataType::bf16};
  return {p.op, d.x_fp32, DataType::fp32};
}

// Reference results for x before it was rounded to the storage type.
Steps accuracy_reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return evaluate_references(out, p.n, [&](int) { return reference(p, d, kYFp32); });
}

// Bounds derived in tolerance_derivation.
Tolerance tolerance(const Problem& p, DataType stored) {
  const double u = unit_roundoff(DataType::fp32);
  // Below 2^-14, fp16 numbers have a spacing of 2^-24; the other types' subnormals do not occur.
  const double subnormal = stored == DataType::fp16 ? 0x1p-25 : 0.0;
  const double stored_rms = kRmsSafety * rounding_rms(stored);
  switch (p.op) {
    case Op::relu: return {0.0, 0.0};
    case Op::gelu:
      return {unit_roundoff(stored), 4.0 * u * kRange + subnormal, stored_rms,
              4.0 * u * kRange / 3.0};
    case Op::gelu_tanh:
      return {unit_roundoff(stored) + 96.0 * u, subnormal, stored_rms + 5.0 * u / std::sqrt(3.0),
              0.14 * 83.0 * u / std::sqrt(3.0)};
  }
  return {};
}

// ---- declaration

Family declare() {
  Family f("mixed_precision", Topic::precision,
           "When does halving the bytes of a number halve the time?");
  f.physics =
      "An elementwise operation reads and writes each element once and executes few instructions. "
      "Time is bytes divided by DRAM bandwidth, and a 16-bit type halves the bytes. This needs "
      "wide accesses, because bandwidth needs bytes in flight and a lane issues few requests. It "
      "holds only while the instructions per element, which do not depend on the type, fit into "
      "the halved time.";
  f.extent("n", &Problem::n, std::int64_t{1} << 27, std::int64_t{1} << 32, "number of elements")
      .choice<Op>("op", &Problem::op,
                  {{"relu", Op::relu}, {"gelu", Op::gelu}, {"gelu_tanh", Op::gelu_tanh}},
                  "relu; gelu by erf, exact to rounding; gelu_tanh, the approximation by tanh, "
                  "with half the instructions");
  f.input("x_fp32", &Data::x_fp32, &Problem::n)
      .input("x_fp16", &Data::x_fp16, &Problem::n)
      .input("x_bf16", &Data::x_bf16, &Problem::n)
      .output("y_fp32", &Data::y_fp32, &Problem::n,
              [](const Problem& p) { return tolerance(p, DataType::fp32); })
      .output("y_fp16", &Data::y_fp16, &Problem::n,
              [](const Problem& p) { return tolerance(p, DataType::fp16); })
      .output("y_bf16", &Data::y_bf16, &Problem::n,
              [](const Problem& p) { return tolerance(p, DataType::bf16); });
  f.plot("mixed_precision", "times_by_type", "Elementwise operations: time by type",
         {{"param.op", ""}});
  f.inputs = inputs;
  set_references(f, &Problem::n, reference);
  f.accuracy_reference = accuracy_reference;
  f.tolerance_derivation =
      "u = 2^-24 for the fp32 arithmetic, U for the stored type, x in [-4, 4]. Storing rounds by "
      "U·|y|, and by 2^-25 where fp16 is subnormal. relu selects and never rounds: it is exact. "
      "gelu = 0.5·x·(1 + erf(z)), z = x·√½: z has a relative error of 2u, which changes erf by at "
      "most 2u·max(z·erf'(z)) = 0.97u; erff adds 2 ulp = 2u and the sum u (CUDA C++ Programming "
      "Guide, Mathematical Functions), together 2u·|x|; the product adds u·|y|: 4u·4 covers them. "
      "gelu_tanh = x/(1 + exp(a)), |a| < 11: a has a relative error of 5u, so exp(a) has 55u; "
      "__expf adds 2 + floor(1.173·|a|) = 14 ulp = 28u, the sum u, __fdividef 2 ulp = 4u, all "
      "relative to y: 96u covers them. The RMS error over all elements is bounded by twice 0.42·U "
      "of the RMS result for storing it (Higham, Accuracy and Stability of Numerical Algorithms, "
      "2nd ed., section 4.5), and the arithmetic as if uniform within its bounds, √⅓ of them: for "
      "gelu, 4u·|x| with |x| of RMS 4/√3; for gelu_tanh, 5u of the result, and the 83u of exp(a) "
      "times |y|·exp(a)/(1 + exp(a)), which is at most 0.14. A margin for chance is added: the "
      "bound per element times √(32/elements) (Bernstein's inequality, probability 1e-14).";
  f.variants(fp32_scalar(), fp16_scalar(), fp32(), fp16(), bf16());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::mixed_precision
