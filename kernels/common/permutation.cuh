// A random permutation of n elements that needs no sort and no table.
#pragma once

#include "kernels/common/random.cuh"

namespace gpuexp {

/// A random permutation of [0, n), computed for each element. A Feistel network permutes the
/// range up to the smallest power of four that is at least n. It is applied again to results
/// outside [0, n) until they are inside (cycle walking; Black and Rogaway, "Ciphers with
/// Arbitrary Finite Domains", CT-RSA 2002).
struct Permutation {
  std::uint64_t seed;
  std::int64_t n;
  int half_bits;

  Permutation(std::uint64_t seed_, std::int64_t n_) : seed(seed_), n(n_), half_bits(1) {
    while ((std::int64_t{1} << (2 * half_bits)) < n)
      ++half_bits;
  }

  __host__ __device__ std::int64_t operator()(std::int64_t i) const { return walk<true>(i); }
  __host__ __device__ std::int64_t inverse(std::int64_t i) const { return walk<false>(i); }

 private:
  static constexpr int kRounds = 4;

  template <bool kForward>
  __host__ __device__ std::int64_t walk(std::int64_t i) const {
    std::uint64_t x = static_cast<std::uint64_t>(i);
    do {
      x = kForward ? permuted(x) : unpermuted(x);
    } while (x >= static_cast<std::uint64_t>(n));
    return static_cast<std::int64_t>(x);
  }

  __host__ __device__ std::uint64_t mask() const { return (std::uint64_t{1} << half_bits) - 1; }

  // A round mixes one half of the bits into the other half and swaps them. It can be inverted, so
  // no two inputs have the same output.
  __host__ __device__ std::uint64_t permuted(std::uint64_t x) const {
    std::uint64_t left = x >> half_bits;
    std::uint64_t right = x & mask();
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t mixed = left ^ (random_bits(seed + round, right) & mask());
      left = right;
      right = mixed;
    }
    return left << half_bits | right;
  }
  __host__ __device__ std::uint64_t unpermuted(std::uint64_t x) const {
    std::uint64_t left = x >> half_bits;
    std::uint64_t right = x & mask();
    for (int round = kRounds - 1; round >= 0; --round) {
      const std::uint64_t mixed = right ^ (random_bits(seed + round, left) & mask());
      right = left;
      left = mixed;
    }
    return left << half_bits | right;
  }
};

}  // namespace gpuexp
