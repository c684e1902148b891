// The executor's own kernels: cache flush, comparison of results, checks of guards and inputs,
// clock readings.
#pragma once

#include <cstdint>

#include "run/output_comparison.hpp"

struct CUstream_st;

namespace gpuexp {

inline constexpr int kComparisonBlocks = 4096;
struct ComparisonSpace {
  ComparisonSums sums;
  ComparisonSums of_block[kComparisonBlocks];
};

/// Stores the sums of the comparison in d_space->sums. The comparison has at least one element.
void queue_comparison(const Comparison& comparison, ComparisonSpace* d_space, CUstream_st* stream);

/// Adds the number of bytes in [begin, begin + bytes) that are not `pattern` to *d_changed.
void queue_guard_check(const void* begin, std::int64_t bytes, unsigned char pattern,
                       unsigned long long* d_changed, CUstream_st* stream);

/// Adds a hash of the bytes in [begin, begin + bytes) and their positions to *d_sum. `begin` is
/// 8-byte aligned. Different contents have equal sums only by chance.
void queue_fingerprint(const void* begin, std::int64_t bytes, unsigned long long* d_sum,
                       CUstream_st* stream);

/// Reads the whole buffer through the caches: this evicts other lines and leaves clean lines, so
/// that the next launch causes no write-back. `bytes` is a multiple of 16.
void queue_cache_flush(const void* buffer, std::int64_t bytes, unsigned* d_sink,
                       CUstream_st* stream);

/// Enqueues sm_count blocks. Each block stores the clock64 of its SM in d_stamps[2 × SM] and
/// globaltimer in the next element; elements of an SM without a block remain unchanged.
void queue_clock_stamps(long long* d_stamps, int sm_count, CUstream_st* stream);

/// Enqueues an empty kernel of one thread, to measure launch overhead.
void queue_empty_kernel(CUstream_st* stream);

}  // namespace gpuexp
