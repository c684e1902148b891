// argmax: the maximum of n numbers, and the lowest index at which it occurs.
//
// The question: how much more time does argmax need than max? The maximum takes one instruction per
// number (FMNMX). With the index, a thread compares the values and selects two registers.
#include <cmath>
#include <vector>

#include "gpu/cub_reduce.hpp"
#include "kernels/common/family.cuh"
#include "kernels/common/last_block.cuh"
#include "kernels/common/pack.cuh"
#include "kernels/common/row_reference.cuh"

namespace gpuexp::argmax {

struct Problem {
  std::int64_t n;
  DataType dtype;  // fp32 or bf16
};

struct Data {
  void* x;
  void* max;
  std::uint64_t* index;
};

template <class T>
struct Numbers {
  const T* at;
  std::int64_t n;
};

constexpr int kBlock = 256;
constexpr int kPerSm = 4;  // resident blocks
constexpr int kLoads = 8;
constexpr int kVectorBytes = 16;
template <class T>
constexpr int kWidth = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
using Vector = Pack<T, kWidth<T>>;

// Passes this thread's numbers to `visitor`: batches of eight 16-byte vectors in a grid-stride
// loop, then single vectors, then single numbers of the incomplete last vector.
template <class T, class Visitor>
__device__ __forceinline__ void visit_part(const Numbers<T>& x, Visitor& visitor);

template <class T>
struct Results {
  T* max;
  std::uint64_t* index;
};

// Per-block results, and the number of blocks that have stored their result.
template <class Value>
struct Partials {
  Value* of_blocks;
  unsigned* finished;
};

// ---- max_shuffles: maximum without index, with warp shuffles
//
// Each thread computes the maximum of its numbers with one instruction per number. The lanes of a
// warp reduce their values in five shuffle steps, and the warps of a block through shared memory.
// The last block to finish reduces the per-block values. A memset clears its counter before each
// launch.

// Reduces `own` over all threads of the grid. Returns true only in thread 0 of the last block to
// finish; there `own` is the result.
template <class Value, class OfWarp>
__device__ __forceinline__ bool over_all(Value& own, Value none, const Partials<Value>& partials,
                                         const OfWarp& of_warp);

template <class Visitor, class OfWarp, class T>
__global__ void __launch_bounds__(kBlock, kPerSm)
    max_kernel(Numbers<T> x, Partials<float> partials, Results<T> to) {
  Visitor largest;
  visit_part(x, largest);
  if (over_all(largest.value, -INFINITY, partials, OfWarp{}))
    *to.max = from_float<T>(largest.value);
}

struct Largest {
  float value = -INFINITY;
  template <class T, int kCount>
  __device__ void take(const Vector<T> (&vectors)[kCount], std::int64_t, std::int64_t) {
#pragma unroll
    for (const Vector<T>& vector : vectors) {
#pragma unroll
      for (const auto& pair : vector.pairs)
        take_one(fmaxf(widen(pair).x, widen(pair).y), 0);
    }
  }
  __device__ void take_one(float other, std::int64_t) {
    value = fmaxf(value, other);
  }
};

template <class Value>
__device__ __forceinline__ Value better(Value a, Value b) {
  return a < b ? b : a;
}

struct ByShuffles {
  template <class Value>
  __device__ Value operator()(Value own) const {
#pragma unroll
    for (int offset = kWarp / 2; offset > 0; offset /= 2)
      own = better(own, __shfl_down_sync(kAllLanes, own, offset));
    return own;
  }
};

template <class Value, class OfWarp>
__device__ __forceinline__ Value over_block(Value own, Value none, const OfWarp& of_warp) {
  __shared__ Value of_warps[kBlock / kWarp];
  own = of_warp(own);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = own;
  __syncthreads();
  if (threadIdx.x >= kWarp) return none;
  return of_warp(threadIdx.x < kBlock / kWarp ? of_warps[threadIdx.x] : none);
}

template <class Value, class OfWarp>
__device__ __forceinline__ bool over_all(Value& own, Value none, const Partials<Value>& partials,
                                         const OfWarp& of_warp) {
  own = over_block(own, none, of_warp);
  if (threadIdx.x == 0) partials.of_blocks[blockIdx.x] = own;
  if (!is_last_block(partials.finished)) return false;
  own = none;
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock)
    own = better(own, __ldcg(partials.of_blocks + i));
  own = over_block(own, none, of_warp);
  return threadIdx.x == 0;
}

template <class T, class Visitor>
__device__ __forceinline__ void visit_part(const Numbers<T>& x, Visitor& visitor) {
  constexpr int kElements = kWidth<T>;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock * kElements;
  const std::int64_t whole = x.n / kElements * kElements;
  std::int64_t i = thread * kElements;
#pragma unroll 1
  for (; i + (kLoads - 1) * stride < whole; i += kLoads * stride) {
    Vector<T> vectors[kLoads];
#pragma unroll
    for (int j = 0; j < kLoads; ++j)
      vectors[j] = load_pack<kElements>(x.at + i + j * stride);
    visitor.take(vectors, i, stride);
  }
#pragma unroll 1
  for (; i < whole; i += stride) {
    const Vector<T> one[] = {load_pack<kElements>(x.at + i)};
    visitor.take(one, i, stride);
  }
  if (whole + thread < x.n)
    visitor.take_one(static_cast<float>(x.at[whole + thread]), whole + thread);
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

template <class T>
Numbers<T> numbers(const Problem& p, const Data& d) {
  return {static_cast<const T*>(d.x), p.n};
}

std::int64_t bytes_of(const Problem& p) {
  return p.n * static_cast<std::int64_t>(size_of(p.dtype));
}

// As many blocks as are resident, or fewer if some threads would have no vector.
Shape shape(const Problem& p, const DeviceSpec& device) {
  return shape_of_blocks(std::min(std::int64_t{device.sm_count} * kPerSm,
                                  ceil_div(bytes_of(p), kBlock * kVectorBytes)),
                         kBlock);
}

Variant variant(std::string id, std::string compare_to, bool has_index,
                ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.deterministic = true;  // the maximum is the same in any order
  if (!has_index) v.writes = {"max"};
  v.work = [has_index](const Problem& p) {
    const std::int64_t index_bytes = has_index ? sizeof(std::uint64_t) : 0;
    Work w = streaming_work<char>(bytes_of(p), size_of(p.dtype) + index_bytes,
                                  {{Pipe::fp32, static_cast<double>(p.n)}});
    w.moved_written = static_cast<double>(kSectorBytes * (has_index ? 2 : 1));
    return w;
  };
  return v;
}

// Bytes reserved for the counter at the start of the workspace; the per-block results follow.
constexpr std::int64_t kCounterBytes = 16;

template <class T>
Results<T> results(const Data& d) {
  return {static_cast<T*>(d.max), d.index};
}

// `kernel_of(zero)` returns the kernel for the element type of `zero`.
template <class Value, class KernelOf>
Variant in_one_kernel(Variant v, KernelOf kernel_of) {
  v.workspace_bytes = [](const Problem& p, const DeviceSpec& device) {
    return kCounterBytes + shape(p, device).grid.x * static_cast<std::int64_t>(sizeof(Value));
  };
  v.launch = [kernel_of](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const counter = static_cast<unsigned*>(x.workspace);
    auto* const of_blocks =
        reinterpret_cast<Value*>(static_cast<char*>(x.workspace) + kCounterBytes);
    return Steps(MemsetStep{counter, 0, sizeof *counter}) + of_float_type(p.dtype, [&](auto zero) {
             using T = decltype(zero);
             return launch(kernel_of(zero), shape(p, x.device), numbers<T>(p, d),
                           Partials<Value>{of_blocks, counter}, results<T>(d));
           });
  };
  return v;
}

template <class OfWarp>
Variant max_variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  return in_one_kernel<float>(
      variant(std::move(id), std::move(compare_to), false, std::move(expected)),
      [](auto zero) { return max_kernel<Largest, OfWarp, decltype(zero)>; });
}

// On 132 SMs a thread has 2^28 / (132 · 4 · 256 · 4 · 8) = 62 batches of fp32, or 31 of bf16.
constexpr auto has_many_batches = at_least(&Problem::n, 1 << 28);
constexpr auto is_large = at_least(&Problem::n, 1 << 25);  // 3 batches per thread or more
// True if the reduction between threads takes most of the instructions.
bool is_small(const Problem& p) {
  return p.n <= 1 << 12;
}

Variant max_shuffles() {
  return max_variant<ByShuffles>("max_shuffles", "", {});
}

// ---- max_redux: warp maximum with redux.sync
//
// redux.sync (compute capability 8.0) computes the maximum of the lanes' integers in one
// instruction; it supports floats only on Blackwell and later. The bits of a float become an
// unsigned integer of the same order if the sign bit is flipped, and for negative floats all other
// bits as well. One redux.sync and two conversions replace five shuffles and five comparisons:
// warp_instructions decreases for small arrays. For large arrays the change is negligible, because
// each lane first compares its own numbers. dram_read_bytes is unchanged.

// Returns an unsigned integer of the same order as `value`; both zeros give the same integer.
__device__ __forceinline__ unsigned ordered(float value) {
  const unsigned bits = __float_as_uint(value + 0.0f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float in_order(unsigned key) {
  return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

struct ByRedux {
  __device__ float operator()(float value) const {
    return in_order(__reduce_max_sync(kAllLanes, ordered(value)));
  }
  // Reduces the upper words first, then the lower words of the lanes with the largest upper word.
  __device__ unsigned long long operator()(unsigned long long own) const {
    const auto upper = static_cast<unsigned>(own >> 32);
    const unsigned largest = __reduce_max_sync(kAllLanes, upper);
    const unsigned lower = upper == largest ? static_cast<unsigned>(own) : 0u;
    return static_cast<unsigned long long>(largest) << 32 | __reduce_max_sync(kAllLanes, lower);
  }
};

Variant max_redux() {
  return max_variant<ByRedux>("max_redux", "max_shuffles",
                              {{"warp_instructions", Direction::decreases, 1.1, is_small},
                               {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- argmax_pairs: pairs of value and index
//
// A thread keeps its maximum and the index of its maximum: one comparison and two selections per
// number, where max_shuffles executes one instruction. A thread visits its numbers in ascending
// order of their indices, so only a larger number replaces the maximum. Between threads, a
// candidate is a 64-bit integer with the ordered bits of the value above the inverted index. The
// larger integer wins, so ties go to the lowest index. A 64-bit shuffle compiles to two shuffles.
// warp_instructions increases, and dram_read_bytes is unchanged.

using Candidate = unsigned long long;

struct LargestAt {
  float value = -INFINITY;
  unsigned index = 0;
  template <class T, int kCount>
  __device__ void take(const Vector<T> (&vectors)[kCount], std::int64_t first, std::int64_t step) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
#pragma unroll
      for (int i = 0; i < Vector<T>::kPairs; ++i) {
        const float2 pair = widen(vectors[j].pairs[i]);
        take_one(pair.x, first + j * step + 2 * i);
        take_one(pair.y, first + j * step + 2 * i + 1);
      }
    }
  }
  __device__ void take_one(float other, std::int64_t at) {
    if (!(other > value)) return;
    value = other;
    index = static_cast<unsigned>(at);
  }
  __device__ Candidate candidate() const {
    return static_cast<Candidate>(ordered(value)) << 32 | ~index;
  }
};

template <class T>
__device__ __forceinline__ void write(Candidate best, const Results<T>& to) {
  *to.max = from_float<T>(in_order(static_cast<unsigned>(best >> 32)));
  *to.index = ~static_cast<unsigned>(best);
}

template <class OfWarp, class T>
__global__ void __launch_bounds__(kBlock, kPerSm)
    argmax_kernel(Numbers<T> x, Partials<Candidate> partials, Results<T> to) {
  LargestAt largest;
  visit_part(x, largest);
  Candidate best = largest.candidate();
  if (over_all(best, Candidate{0}, partials, OfWarp{})) write(best, to);
}

template <class OfWarp>
Variant argmax_variant(std::string id, std::string compare_to,
                       ExpectedChangesOf<Problem> expected) {
  return in_one_kernel<Candidate>(
      variant(std::move(id), std::move(compare_to), true, std::move(expected)),
      [](auto zero) { return argmax_kernel<OfWarp, decltype(zero)>; });
}

Variant argmax_pairs() {
  return argmax_variant<ByShuffles>("argmax_pairs", "max_shuffles",
                                    {{"warp_instructions", Direction::increases, 1.5, is_large},
                                     {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- argmax_redux: two redux.sync instructions per warp
//
// One redux.sync computes the largest value in the warp, and a second one the lowest index among
// One redux.sync computes the largest value in the warp, and a second one the lowest index among
// the lanes with this value. argmax_pairs takes five steps, each with two shuffles and a 64-bit
// comparison. For small arrays warp_instructions decreases; for large arrays the change is small.
// dram_read_bytes is unchanged. redux.sync needs compute capability 8.0.

Variant argmax_redux() {
  return argmax_variant<ByRedux>("argmax_redux", "argmax_pairs",
                                 {{"warp_instructions", Direction::decreases, 1.1, is_small},
                                  {"dram_read_bytes", Direction::unchanged, 1.05, is_large}});
}

// ---- argmax_batches: the maximum first, its index at the end
//
// A thread computes the maximum of eight vectors at a time, with one instruction per number, and
// remembers the batch in which its maximum last increased. At the end, each thread whose maximum
// equals its block's maximum, usually one thread, loads its batch again and searches for the index:
// warp_instructions decreases to nearly that of max_shuffles. The cost is one batch of loads per
// block, for which the other threads wait. If many threads have the maximum, as with 16-bit
// numbers, each of them loads a batch.

struct LargestOfBatches {
  float value = -INFINITY;
  unsigned first = 0;  // index of the batch's first number
  unsigned step = 0;   // stride between the vectors of the batch
  int vectors = 0;     // number of vectors in the batch; 0 if it is a single number
  template <class T, int kCount>
  __device__ void take(const Vector<T> (&batch)[kCount], std::int64_t at, std::int64_t apart) {
    Largest of_batch;
    of_batch.take<T>(batch, at, apart);
    grow(of_batch.value, at, apart, kCount);
  }
  __device__ void take_one(float other, std::int64_t at) { grow(other, at, 0, 0); }
  __device__ void grow(float other, std::int64_t at, std::int64_t apart, int count) {
    const bool grows = other > value;
    value = grows ? other : value;
    first = grows ? static_cast<unsigned>(at) : first;
    step = grows ? static_cast<unsigned>(apart) : step;
    vectors = grows ? count : vectors;
  }
  // Returns the candidate with the lowest index of `value`. Searches the batch from the end, so
  // that the lowest index is assigned last.
  template <class T>
  __device__ Candidate candidate(const Numbers<T>& x) const {
    unsigned index = first;
    Vector<T> batch[kLoads];
#pragma unroll
    for (int j = 0; j < kLoads; ++j) {
      if (j < vectors) batch[j] = load_pack<kWidth<T>>(x.at + first + std::int64_t{j} * step);
    }
#pragma unroll
    for (int i = kLoads * Vector<T>::kPairs; i-- > 0;) {
      const int j = i / Vector<T>::kPairs;
      const float2 pair = widen(batch[j].pairs[i % Vector<T>::kPairs]);
      const unsigned at = first + j * step + 2 * (i % Vector<T>::kPairs);
      if (j < vectors && pair.y == value) index = at + 1;
      if (j < vectors && pair.x == value) index = at;
    }
    return static_cast<Candidate>(ordered(value)) << 32 | ~index;
  }
};

// Returns this thread's candidate, or 0 if another thread of the block has a larger value.
template <class T>
__device__ __forceinline__ Candidate candidate_of_batches(const Numbers<T>& x) {
  __shared__ float of_block;
  LargestOfBatches largest;
  visit_part(x, largest);
  const float of_all = over_block(largest.value, -INFINITY, ByRedux{});
  if (threadIdx.x == 0) of_block = of_all;
  __syncthreads();
  return largest.value == of_block ? largest.candidate(x) : Candidate{0};
}

template <class T>
__global__ void __launch_bounds__(kBlock, kPerSm)
    batches_kernel(Numbers<T> x, Partials<Candidate> partials, Results<T> to) {
  Candidate best = candidate_of_batches(x);
  if (over_all(best, Candidate{0}, partials, ByRedux{})) write(best, to);
}

Variant argmax_batches() {
  return in_one_kernel<Candidate>(
      variant("argmax_batches", "argmax_redux", true,
              {{"warp_instructions", Direction::decreases, 1.3, has_many_batches}}),
      [](auto zero) { return batches_kernel<decltype(zero)>; });
}

// ---- the library baselines: cub::DeviceReduce

Variant vendor(std::string id, std::string compare_to, cub::Reduction reduction) {
  const bool has_index = reduction == cub::Reduction::argmax;
  Variant v = variant(std::move(id), std::move(compare_to), has_index, {});
  v.is_vendor = true;
  v.why = has_index ? "cub::DeviceReduce::ArgMax, the library baseline."
                    : "cub::DeviceReduce::Max, the library baseline.";
  v.workspace_bytes = [](const Problem&, const DeviceSpec& device) {
    return cub::reduce_workspace_bytes(device);
  };
  v.launch = [reduction](const Problem& p, const Data& d, const LaunchContext& x) {
    return cub::step_of(cub::Reduce{reduction, p.dtype, p.n, d.x, d.max, d.index, x.workspace},
                        x.device);
  };
  return v;
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return of_float_type(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    return fill_uniform(static_cast<T*>(d.x), p.n, stream_seed(seed, 0));
  });
}

// ---- the plain reference

// Reference of the maximum or, if `is_index`, of the lowest index at which it occurs.
template <class T>
struct ExactLargest {
  struct Common {
    double value;
    std::int64_t index;
    __host__ __device__ static Common combined(const Common& a, const Common& b) {
      const bool is_b = b.value > a.value || (b.value == a.value && b.index < a.index);
      return is_b ? b : a;
    }
  };
  const T* x;
  std::int64_t n;
  bool is_index;
  std::int64_t columns = 1;  // outputs
  __host__ __device__ Common common(std::int64_t, std::int64_t first, std::int64_t step) const {
    Common found{-HUGE_VAL, n};
    for (std::int64_t i = first; i < n; i += step) {
      const double value = to_double(x[i]);
      if (value > found.value) found = {value, i};
    }
    return found;
  }
  __host__ __device__ ReferenceElement element(std::int64_t, std::int64_t,
                                               const Common& found) const {
    return {is_index ? static_cast<double>(found.index) : found.value, 0.0};
  }
};

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return of_float_type(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* const x = static_cast<const T*>(d.x);
    return evaluate_rows(out[0], 1, ExactLargest<T>{x, p.n, false}) +
           evaluate_rows(out[1], 1, ExactLargest<T>{x, p.n, true});
  });
}

// ---- declaration

Family declare() {
  Family f("argmax", Topic::patterns,
           "What does the index of the maximum cost in addition to the maximum?");
  f.physics =
      "The maximum of many numbers is a reduction whose operation rounds nothing, so results are "
      "bitwise identical in any order. The value takes one instruction per number. A value with "
      "its index takes three, and twice as many shuffles between lanes. This costs no time as long "
      "as there are fewer instructions than issue slots while memory delivers the numbers. 16-bit "
      "numbers, which arrive twice as fast, come nearest to that limit. A thread that searches the "
      "index only after it has found a larger value searches rarely.";
  const auto one = [](const Problem&) { return std::int64_t{1}; };
  f.extent("n", &Problem::n, std::int64_t{1} << 28, (std::int64_t{1} << 31) - 1,
           "number of elements")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of the numbers");
  f.input("x", &Data::x, &Problem::dtype, &Problem::n)
      .output("max", &Data::max, &Problem::dtype, one)
      .output("index", &Data::index, one);
  f.plot("argmax", "traffic", "Argmax, mean and variance: useful bandwidth");
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance_derivation =
      "Zero: the maximum is one of the numbers, and its lowest index is an integer. bf16 has 129 "
      "values in [0.5, 1], and many numbers are equal to the maximum, which tests ties.";
  f.variants(max_shuffles(), max_redux(), argmax_pairs(), argmax_redux(), argmax_batches(),
             vendor("cub_max", "max_shuffles", cub::Reduction::max),
             vendor("cub_argmax", "argmax_pairs", cub::Reduction::argmax));
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::argmax
