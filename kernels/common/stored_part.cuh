// A thread's elements of a row in registers, in the stored type. bf16 elements need half of the
// registers that RowPart (row_registers.cuh) needs for fp32 copies. Threads convert them on use.
#pragma once

#include "kernels/common/row_registers.cuh"

namespace gpuexp {

namespace detail {
template <class T, int kWidth>
struct StoredVector {
  using Word = typename Pack<T, kWidth>::Word;
  Word word{};
  __device__ void load(const T* from) { word = *reinterpret_cast<const Word*>(from); }
  __device__ void fill(T element) {
    T elements[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      elements[i] = element;
    memcpy(&word, elements, sizeof word);
  }
  /// Makes the compiler assume that the elements have changed, so that it does not keep fp32
  /// copies in registers.
  __device__ void make_opaque() {
    unsigned words[sizeof(Word) / sizeof(unsigned)];
    memcpy(words, &word, sizeof word);
#pragma unroll
    for (unsigned i = 0; i < sizeof words / sizeof *words; ++i)
      asm volatile("" : "+r"(words[i]));
    memcpy(&word, words, sizeof word);
  }
  __device__ void widen_to(float (&v)[kWidth]) const {
    Pack<T, kWidth> pack;
    memcpy(&pack, &word, sizeof word);
#pragma unroll
    for (int i = 0; i < kWidth; i += 2) {
      const float2 pair = widen(pack.pairs[i / 2]);
      v[i] = pair.x;
      v[i + 1] = pair.y;
    }
  }
};
template <class T>
struct StoredVector<T, 1> {
  T element = from_float<T>(0.0f);
  __device__ void load(const T* from) { element = *from; }
  __device__ void widen_to(float (&v)[1]) const { v[0] = static_cast<float>(element); }
};
}  // namespace detail

/// A thread's vectors of a row that starts and ends at vector boundaries. Vectors outside the row
/// are zero.
template <class T, int kWidth, int kVectors>
struct StoredPart {
  detail::StoredVector<T, kWidth> vectors[kVectors];

  __device__ void load(const RowPart<T, kWidth, kVectors, Edges::whole>& place, const T* row) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (place.is_inside(k)) vectors[k].load(row + place.at(k));
  }
  __device__ void widen_to(float (&v)[kVectors][kWidth]) const {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      vectors[k].widen_to(v[k]);
  }
};

}  // namespace gpuexp
