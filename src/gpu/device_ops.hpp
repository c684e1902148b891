// The executor's own kernels: clearing caches, comparing results, checking guards and inputs,
// reading clocks.
#pragma once

#include <cstdint>

#include "base/types.hpp"
#include "family/tolerance.hpp"

struct CUstream_st;

namespace gpuexp {

/// Sums over the comparison of one output with its reference. They come out the same, bit by bit,
/// whenever the same numbers are compared.
struct ComparisonSums {
  unsigned long long wrong;
  unsigned long long first_wrong;  ///< lowest wrong index; all bits set when none is wrong
  unsigned long long
      worst_ratio;  ///< bits of the largest error over allowed; doubles >= 0 order as integers
  unsigned long long worst_error;      ///< bits of the largest error against the accuracy reference
  unsigned long long largest_allowed;  ///< bits of the largest error that an element may have
  double error_squares;
  double value_squares;
  double inaccuracy_squares;  ///< of errors against the accuracy reference
  double accurate_squares;
};

/// A comparison's place in device memory: the result, and room for what blocks find.
inline constexpr int kComparisonBlocks = 4096;
struct ComparisonSpace {
  ComparisonSums sums;
  ComparisonSums of_block[kComparisonBlocks];
};

struct Comparison {
  const void* got;
  DataType type;
  std::int64_t count;
  const double* value;  ///< exact result for the inputs as stored
  const double* magnitude;
  const double* accurate;  ///< exact result for unrounded inputs
  Tolerance tolerance;
};

/// Leaves the sums of the comparison, of one element at least, in d_space->sums.
void queue_comparison(const Comparison& comparison, ComparisonSpace* d_space, CUstream_st* stream);

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

/// Queues one block per SM, each of which writes its SM's clock64 and globaltimer to
/// d_stamps[2 × SM] and the word after it.
void queue_clock_stamps(long long* d_stamps, int sm_count, CUstream_st* stream);

/// A kernel of one thread that does nothing: what is left is the launch.
void queue_empty_kernel(CUstream_st* stream);

}  // namespace gpuexp
