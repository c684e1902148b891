// A thread's part of a row in registers as it is stored: bf16 takes half of what it takes as fp32
// (RowPart of row_registers.cuh), until it is needed.
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
  /// The compiler takes the elements for other ones: what was made of them is not kept.
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

/// Vectors of rows that begin and end with one; those outside of the row are zeros.
template <class T, int kWidth, int kVectors>
struct StoredPart {
  detail::StoredVector<T, kWidth> vectors[kVectors];

  /// Of the row's elements that `place` has.
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
