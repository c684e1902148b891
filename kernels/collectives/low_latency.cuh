// All-reduce that stores data together with a flag, as NCCL's protocol LL does.
#pragma once

#include "kernels/collectives/problem.cuh"
#include "kernels/common/rank_signals.cuh"

namespace gpuexp::collectives {

constexpr std::int64_t kMaxInboxBytes = 1 << 20;  // maximum bytes of a vector

// 12 bytes of data and the number of the launch. An access of type b128 is indivisible: a load
// returns either all 16 bytes of a store or none (PTX ISA, memory consistency model, scalar data
// types).
struct Flagged {
  unsigned data[3];
  unsigned epoch;
};
constexpr int kUnitWords = 3;
constexpr std::int64_t kUnitBytes = 4 * kUnitWords;

__device__ inline void store_flagged(Flagged* to, const Flagged& f) {
  asm volatile(
      "{\n\t.reg .b64 low, high;\n\t.reg .b128 all;\n\t"
      "mov.b64 low, {%1, %2};\n\tmov.b64 high, {%3, %4};\n\tmov.b128 all, {low, high};\n\t"
      "st.relaxed.sys.global.b128 [%0], all;\n\t}" ::"l"(__cvta_generic_to_global(to)),
      "r"(f.data[0]), "r"(f.data[1]), "r"(f.data[2]), "r"(f.epoch)
      : "memory");
}
__device__ inline Flagged load_flagged(const Flagged* from) {
  Flagged f;
  asm volatile(
      "{\n\t.reg .b64 low, high;\n\t.reg .b128 all;\n\t"
      "ld.relaxed.sys.global.b128 all, [%4];\n\tmov.b128 {low, high}, all;\n\t"
      "mov.b64 {%0, %1}, low;\n\tmov.b64 {%2, %3}, high;\n\t}"
      : "=r"(f.data[0]), "=r"(f.data[1]), "=r"(f.data[2]), "=r"(f.epoch)
      : "l"(__cvta_generic_to_global(from))
      : "memory");
  return f;
}

// Small blocks start early. Blocks of one warp need no barrier; they are used if there are enough
// of them for one thread per unit.
constexpr int kWarpBlock = 32;
constexpr int kSmallBlock = 128;

// Returns one fp32 element or two bf16 elements; past the end of the vector, elements are 0.
template <class T>
__device__ unsigned word_at(const T* x, int word, int n) {
  constexpr int kElements = 4 / sizeof(T);
  T of_word[kElements] = {};
  const int first = word * kElements;
  if (first + kElements <= n) return *reinterpret_cast<const unsigned*>(x + first);
  if (first < n) of_word[0] = x[first];
  unsigned bits;
  memcpy(&bits, of_word, sizeof bits);
  return bits;
}
template <class T>
__device__ void store_word(T* y, int word, int n, unsigned bits) {
  constexpr int kElements = 4 / sizeof(T);
  const int first = word * kElements;
  if (first + kElements <= n) {
    *reinterpret_cast<unsigned*>(y + first) = bits;
  } else if (first < n) {
    T of_word[kElements];
    memcpy(of_word, &bits, sizeof bits);
    y[first] = of_word[0];
  }
}

/// Adds a word's elements to sums in fp32.
__device__ inline void add_word(float2& sum, unsigned bits, float) {
  sum.x += __uint_as_float(bits);
}
__device__ inline void add_word(float2& sum, unsigned bits, __nv_bfloat16) {
  __nv_bfloat162 pair;
  memcpy(&pair, &bits, sizeof bits);
  const float2 more = widen(pair);
  sum = {sum.x + more.x, sum.y + more.y};
}
__device__ inline unsigned word_of(const float2& sum, float) {
  return __float_as_uint(sum.x);
}
__device__ inline unsigned word_of(const float2& sum, __nv_bfloat16) {
  const __nv_bfloat162 pair = narrow<__nv_bfloat16>(sum);
  unsigned bits;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

/// Arguments of one rank: its vectors, its inbox, and its section of each rank's inbox.
template <class T>
struct LowLatency {
  const T* x;
  T* y;
  int n;
  int units;            ///< 12-byte units per vector
  Ranks<Flagged> into;  ///< this rank's section of the inbox of each rank
  const Flagged* inbox;
};

// A rank's vector also passes through its own inbox, so that no rank is a special case. Each
// instruction before the first store adds to the latency.
template <class T, int kRanks, int kBlock>
__global__ void __launch_bounds__(kBlock)
    low_latency_kernel(const LowLatency<T> vectors, const RankPeers peers) {
  const int stride = static_cast<int>(gridDim.x) * kBlock;
  int i = static_cast<int>(blockIdx.x) * kBlock + static_cast<int>(threadIdx.x);
  Flagged own{};
  const auto load_own = [&] {
#pragma unroll
    for (int w = 0; w < kUnitWords; ++w)
      own.data[w] = word_at(vectors.x, kUnitWords * i + w, vectors.n);
  };
  load_own();  // in flight together with the load of the epoch
  own.epoch = epoch_of(peers);
  const int turn = own.epoch % 2 == 0 ? 0 : kRanks * vectors.units;
  for (; i < vectors.units; i += stride) {
    if (i >= stride) load_own();
#pragma unroll
    for (int r = 0; r < kRanks; ++r)
      store_flagged(vectors.into.of[r] + (turn + i), own);
    Flagged received[kRanks];
    int missing = 0;
    for (unsigned polls = 0; missing >= 0; ++polls) {
      missing = -1;
#pragma unroll
      for (int r = 0; r < kRanks; ++r)
        received[r] = load_flagged(vectors.inbox + (turn + r * vectors.units + i));
#pragma unroll
      for (int r = 0; r < kRanks; ++r) {
        if (static_cast<int>(received[r].epoch - own.epoch) < 0) missing = r;
      }
      if (polls > kMaxPolls) give_up_waiting(peers, missing, 0);
    }
#pragma unroll
    for (int w = 0; w < kUnitWords; ++w) {
      float2 sum{0, 0};
#pragma unroll
      for (int r = 0; r < kRanks; ++r)
        add_word(sum, received[r].data[w], T{});
      store_word(vectors.y, kUnitWords * i + w, vectors.n, word_of(sum, T{}));
    }
  }
  __syncthreads();
  end_epoch(peers, own.epoch);
}

}  // namespace gpuexp::collectives
