// The executor's own kernels: clearing caches, comparing results, checking guards and inputs.
#pragma once

#include <cstdint>

#include "base/types.hpp"

struct CUstream_st;

namespace gpuexp {

/// Sums over the comparison of one output with its reference, in device memory.
struct ComparisonSums {
  unsigned long long wrong;
  unsigned long long first_wrong;  ///< lowest wrong index; all bits set when none is wrong
  unsigned long long
      worst_ratio;  ///< bits of the largest error over allowed; doubles >= 0 order as integers
  unsigned long long worst_error;  ///< bits of the largest error against the accuracy reference
  double error_squares;            ///< against the accuracy reference
  double reference_squares;
};

struct Comparison {
  const void* got;
  DataType type;
  std::int64_t count;
  const double* value;  ///< exact result for the inputs as stored
  const double* magnitude;
  const double* accurate;  ///< exact result for unrounded inputs
  double relative;
  double absolute;
};

/// Adds the comparison to `sums`, which must start at zero with first_wrong all ones.
void queue_comparison(const Comparison& comparison, ComparisonSums* d_sums, CUstream_st* stream);

/// Adds the number of bytes in [begin, begin + bytes) that differ from `pattern` to *d_changed.
void queue_guard_check(const void* begin, std::int64_t bytes, unsigned char pattern,
                       unsigned long long* d_changed, CUstream_st* stream);

/// Adds to *d_sum a number that depends on each byte of [begin, begin + bytes) and on its place;
/// `begin` is aligned to 8 bytes. Two contents that differ give the same sum by chance only.
void queue_fingerprint(const void* begin, std::int64_t bytes, unsigned long long* d_sum,
                       CUstream_st* stream);

/// Reads all of the buffer through the caches: evicts what was there and leaves clean lines, so
/// that no write-back is owed when the next launch starts. `bytes` is a multiple of 16.
void queue_cache_flush(const void* buffer, std::int64_t bytes, unsigned* d_sink,
                       CUstream_st* stream);

/// A kernel of one thread that does nothing: what is left is the launch.
void queue_empty_kernel(CUstream_st* stream);

}  // namespace gpuexp
