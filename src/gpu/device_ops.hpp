// The executor's own kernels: clearing caches, comparing results, checking guards and inputs,
// reading clocks.
#pragma once

#include <cstdint>

#include "run/output_comparison.hpp"

struct CUstream_st;

namespace gpuexp {

/// A comparison's place in device memory: the result, and room for what blocks find.
inline constexpr int kComparisonBlocks = 4096;
struct ComparisonSpace {
  ComparisonSums sums;
  ComparisonSums of_block[kComparisonBlocks];
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
