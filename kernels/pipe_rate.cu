// pipe_rate: maximum rate of multiply-adds on the SMs' arithmetic pipes, without tensor cores.
//
// The question: what is the maximum arithmetic rate of this device for each type? A scheduler
// issues one instruction per cycle, and a pipe accepts 16 or 32 lanes of it per cycle. The result
// of a multiply-add is available after at least 4 cycles. Every thread has eight independent
// chains, on an SM full of threads, which hides many times this latency.
//
// All blocks compute the same chains from the same numbers. Other instructions take issue slots, so
// no instruction loads or stores between the first and the last step, and 256 multiply-adds follow
// each jump.
#include "kernels/common/family.cuh"
#include "kernels/common/repeat.cuh"
#include "kernels/common/rounding.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::pipe_rate {

constexpr int kBlock = 256;
constexpr int kChains = 8;     // chains per thread, one register each
constexpr int kUnrolled = 32;  // steps between two jumps

struct Problem {
  std::int64_t blocks;
  int steps;
  Pipe pipe;
};

// A chain is x ← c·x + d, `steps` times. With l lanes per register (two for fp16, otherwise one):
//   start  kChains × kBlock × l start values, for the chains of one block
//   c, d   kBlock × l values: the chains of a thread share them
//   out    results, in the layout of start, for every block
struct Data {
  void* start;
  void* c;
  void* d;
  void* out;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- types

/// Type of a register that holds chains of T.
template <class T>
struct Register {
  using Type = T;
};
template <>
struct Register<__half> {
  using Type = __half2;
};
// ---- fma_chains: independent multiply-adds
//
// Each thread executes eight independent multiply-adds in turn: FFMA, DFMA, HFMA2 (two fp16 values)
// or IMAD, with only three other instructions per 256 multiply-adds. On an SM full of threads,
// every scheduler can choose from 128 of them. It issues one per cycle if the pipe accepts 32 lanes
// per cycle, and one per two cycles if it accepts 16. This saturates the pipe:
// sm__inst_executed_pipe_fma, _fp64 or _fmaheavy per cycle is at its peak.

__device__ float step(float x, float c, float d) {
  return fmaf(x, c, d);
}
__device__ double step(double x, double c, double d) {
  return fma(x, c, d);
}
__device__ __half2 step(__half2 x, __half2 c, __half2 d) {
  return __hfma2(x, c, d);
}
__device__ std::uint32_t step(std::uint32_t x, std::uint32_t c, std::uint32_t d) {
  return x * c + d;
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    fma_chains_kernel(const void* start, const void* c, const void* d, void* out, int steps) {
  using R = typename Register<T>::Type;
  const int thread = threadIdx.x;
  const R c_value = static_cast<const R*>(c)[thread];
  const R d_value = static_cast<const R*>(d)[thread];
  R x[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i)
    x[i] = static_cast<const R*>(start)[i * kBlock + thread];
  repeat<kUnrolled>(steps, [&] {
#pragma unroll
    for (int i = 0; i < kChains; ++i)
      x[i] = step(x[i], c_value, d_value);
  });
  R* const block_out =
      static_cast<R*>(out) + static_cast<std::int64_t>(blockIdx.x) * kChains * kBlock;
#pragma unroll
  for (int i = 0; i < kChains; ++i)
    block_out[i * kBlock + thread] = x[i];
}

template <class T>
constexpr int kLanes = static_cast<int>(sizeof(typename Register<T>::Type) / sizeof(T));

template <class Function>
auto with_type(const Problem& p, Function f) {
  switch (p.pipe) {
    case Pipe::fp64: return f(double{});
    case Pipe::fp32: return f(float{});
    case Pipe::fp16: return f(__half{});
    case Pipe::int32: return f(std::uint32_t{});
    default: throw std::logic_error("pipe_rate has no such pipe");
  }
}

DataType type(const Problem& p) {
  return with_type(p, [](auto x) { return DataTypeOf<decltype(x)>::value; });
}

int factors(const Problem& p) {
  return with_type(p, [](auto x) { return kBlock * kLanes<decltype(x)>; });
}
int block_chains(const Problem& p) {
  return kChains * factors(p);
}

auto fma_chains_for(const Problem& p) {
  return with_type(p, [](auto x) { return fma_chains_kernel<decltype(x)>; });
}

Work work(const Problem& p) {
  const auto bytes = static_cast<double>(size_of(type(p)));
  const double chains = static_cast<double>(p.blocks) * block_chains(p);
  return moves_bytes(bytes * (block_chains(p) + 2.0 * factors(p)), bytes * chains) +
         computes(p.pipe, 2.0 * chains * p.steps);
}

Variant fma_chains() {
  Variant v("fma_chains");
  v.work = work;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(fma_chains_for(p),
                  shape_of_tiles(p.blocks * block_chains(p), block_chains(p), kBlock), d.start, d.c,
                  d.d, d.out, p.steps);
  };
  return v;
}

// ---- inputs

enum class Input { start, c, d };

template <class T>
struct Number;

// |x| starts at most at 1 and stays there: |c| + |d| <= 1. c is so close to 1 that x still depends
// on its start and on the number of steps after thousands of steps.
template <>
struct Number<double> {
  std::uint64_t seed;
  Input input;
  __host__ __device__ double operator()(std::int64_t i) const {
    const auto bits = static_cast<std::uint64_t>(2 * i);
    const double unit = random_unit(seed, bits) + 0x1p-24 * random_unit(seed, bits + 1);
    if (input == Input::c) return 1.0 - 0x1p-12 * (1.0 + unit);
    return (input == Input::d ? 0x1p-12 : 1.0) * (2.0 * unit - 1.0);
  }
};
template <>
struct Number<float> {
  std::uint64_t seed;
  Input input;
  __host__ __device__ float operator()(std::int64_t i) const {
    const float unit = random_unit(seed, static_cast<std::uint64_t>(i));
    if (input == Input::c) return 1.0f - 0x1p-12f * (1.0f + unit);
    return (input == Input::d ? 0x1.fp-13f : 1.0f) * (2.0f * unit - 1.0f);
  }
};
// c is negative here: x oscillates around d/(1-c), within 2 of zero. After some hundred steps, a
// pair of steps leaves x unchanged.
template <>
struct Number<__half> {
  std::uint64_t seed;
  Input input;
  __host__ __device__ __half operator()(std::int64_t i) const {
    const float unit = random_unit(seed, static_cast<std::uint64_t>(i));
    if (input == Input::c) return __float2half_rn(-1.0f + 0x1p-9f * (1.0f + unit));
    return __float2half_rn((input == Input::d ? 0.5f : 1.0f) * (2.0f * unit - 1.0f));
  }
};
// Modulo 2^32; odd, so that a step loses no bit of x.
template <>
struct Number<std::uint32_t> {
  std::uint64_t seed;
  Input input;
  __host__ __device__ std::uint32_t operator()(std::int64_t i) const {
    return static_cast<std::uint32_t>(random_bits(seed, static_cast<std::uint64_t>(i))) | 1u;
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  Steps steps;
  with_type(p, [&](auto x) {
    using T = decltype(x);
    const auto make = [&](void* out, int count, Input input) {
      const std::uint64_t own_seed = stream_seed(seed, static_cast<std::uint64_t>(input));
      steps += fill(static_cast<T*>(out), count, Number<T>{own_seed, input});
    };
    make(d.start, block_chains(p), Input::start);
    make(d.c, factors(p), Input::c);
    make(d.d, factors(p), Input::d);
  });
  return steps;
}

// ---- the plain reference

// Chain i of a block in fp64, rounded after each step for types with too few digits for the
// tolerance; integers modulo 2^32.
template <class T>
struct ChainResult {
  const void* start;
  const void* c;
  const void* d;
  int steps;
  __host__ __device__ double operator()(std::int64_t i) const {
    const std::int64_t factor = i % (kBlock * kLanes<T>);
    const double c_value = to_double(static_cast<const T*>(c)[factor]);
    const double d_value = to_double(static_cast<const T*>(d)[factor]);
    double x = to_double(static_cast<const T*>(start)[i]);
    for (int step = 0; step < steps; ++step) {
      x = fma(x, c_value, d_value);
      if (std::is_same<T, __half>::value) x = round_to(kFp16, x);
    }
    return x;
  }
};
template <>
struct ChainResult<std::uint32_t> {
  const void* start;
  const void* c;
  const void* d;
  int steps;
  __host__ __device__ double operator()(std::int64_t i) const {
    const std::uint32_t c_value = static_cast<const std::uint32_t*>(c)[i % kBlock];
    const std::uint32_t d_value = static_cast<const std::uint32_t*>(d)[i % kBlock];
    std::uint32_t x = static_cast<const std::uint32_t*>(start)[i];
    for (int step = 0; step < steps; ++step)
      x = x * c_value + d_value;
    return static_cast<double>(x);
  }
};

template <class T>
struct FirstBlock {
  ChainResult<T> result;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const { return {result(i), 0.0}; }
};

struct LikeFirstBlock {
  const double* first;
  int chains;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {first[i % chains], 0.0};
  }
};

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  Steps steps;
  const int chains = block_chains(p);
  with_type(p, [&](auto x) {
    using T = decltype(x);
    steps += evaluate_reference(out[0], chains, FirstBlock<T>{{d.start, d.c, d.d, p.steps}});
  });
  const ReferenceView others{out[0].value + chains, out[0].magnitude + chains};
  steps +=
      evaluate_reference(others, (p.blocks - 1) * chains, LikeFirstBlock{out[0].value, chains});
  return steps;
}

Tolerance tolerance(const Problem& p) {
  if (p.pipe != Pipe::fp32) return {0.0, 0.0};
  constexpr double kLargestC = 1.0 - 0x1p-12;
  constexpr double kRandomSteps = 4096;
  const double all = p.steps;
  const double random = kRmsSafety * std::sqrt((1.0 - std::pow(kLargestC, 2.0 * all)) /
                                               (1.0 - kLargestC * kLargestC) / 3.0);
  const double one_sign = (1.0 - std::pow(kLargestC, all)) / (1.0 - kLargestC);
  const double rms = all <= kRandomSteps ? random : one_sign;
  return {0.0, all * (0x1p-25 + 0x1p-50), 0.0, rms * 0x1p-25 + all * 0x1p-50};
}

// ---- declaration

Family declare() {
  Family f("pipe_rate", Topic::limits,
           "What is the maximum rate of multiply-adds on the SMs' arithmetic pipes?");
  f.physics =
      "The rate of a pipe is its lanes times the clock frequency. Multiply-adds per cycle and SM: "
      "in fp32 128 on compute capability 8.6 and later, and 64 before; in int32 64; in fp64 64 on "
      "9.0, 32 on 8.0, and 2 on graphics GPUs; in fp16 256 on 8.0 and 9.0, 128 on 7.x, where a "
      "lane processes two, and the fp32 rate elsewhere. To reach the maximum, an SM needs an "
      "independent instruction for every cycle of a multiply-add's latency; more threads and more "
      "chains per thread both provide them.";
  f.extent("blocks", &Problem::blocks, 31680, 1 << 20,
           "blocks of 256 threads with eight chains each; default: 186 or more per SM on up to 170 "
           "SMs")
      .extent("steps", &Problem::steps, 4096, 1 << 16, "multiply-adds per chain");
  f.choice(
      "pipe", &Problem::pipe,
      {{"fp32", Pipe::fp32}, {"fp16", Pipe::fp16}, {"int32", Pipe::int32}, {"fp64", Pipe::fp64}},
      "type of the chains");
  f.input("start", &Data::start, type, block_chains)
      .input("c", &Data::c, type, factors)
      .input("d", &Data::d, type, factors)
      .output("out", &Data::out, type, [](const Problem& p) { return p.blocks * block_chains(p); });
  for (const char* pipe : {"fp32", "fp16", "int32", "fp64"}) {
    f.ceilings.push_back(
        CeilingRows::rate(pipe, {"fma_chains"}, Mode::warm, "operations").where("pipe", pipe));
  }
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance_derivation =
      "int32 is exact modulo 2^32. fp64 and fp16 are compared bit by bit: IEEE 754 defines the "
      "fused multiply-add as one rounding of the exact result. For fp64 the reference uses the "
      "same operation. For fp16, c·x + d is exact in fp64, and the reference rounds it to the "
      "format. fp32 is compared with fp64: all values are in [-1, 1], where a rounding errs by at "
      "most 2^-25, and each step multiplies the previous error by c < 1, so `steps` steps err by "
      "at most steps·2^-25; steps·2^-50 covers the reference's own roundings. The RMS error of "
      "fp32 over all elements: a step's error is uniform in ±2^-25, independent of the previous "
      "errors (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.5). Its "
      "square shrinks by c² per step, with c up to 1 - 2^-12: 2^-25·√((1 - c^(2·steps))/(1 - "
      "c²)/3), and twice this is allowed up to 4096 steps. After more steps, x is so close to "
      "d/(1 - c) that it moves by less than its last digit, and all roundings have one sign: "
      "2^-25·(1 - c^steps)/(1 - c), which is also the bound of each element. For chance, the bound "
      "per element times √(32/elements) is added (Bernstein's inequality, probability 1e-14).";
  f.tolerance = tolerance;
  f.variant(fma_chains());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::pipe_rate
