// Random bits as a function of a seed and an index, equal on host and device. C++17, included by
// .cu files.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define GPUEXP_HOST_DEVICE __host__ __device__
#else
#define GPUEXP_HOST_DEVICE
#endif

namespace gpuexp {

/// Element i of the SplitMix64 sequence (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014).
GPUEXP_HOST_DEVICE inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

}  // namespace gpuexp
