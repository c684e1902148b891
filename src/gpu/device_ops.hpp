// The executor's own kernels: cache flush, comparison of results, checks of guards and inputs,
// clock readings.
#pragma once

#include <cstdint>

#include "run/output_comparison.hpp"

struct CUstream_st;

namespace gpuexp {

/// Device memory of a comparison: the result and the sums of each block.
inline constexpr int kComparisonBlocks = 4096;
struct ComparisonSpace {
  ComparisonSums sums;
  ComparisonSums of_block[kComparisonBlocks];
};

/// Stores the sums of the comparison, of at least one element, in d_space->sums.
void queue_comparison(const Comparison& comparison, ComparisonSpace* d_space, CUstream_st* stream);

/// Adds the number of bytes in [begin, begin + bytes) that differ from `pattern` to *d_changed.
void queue_guard_check(const void* begin, std::int64_t bytes, unsigned char pattern,
                       unsigned long long* d_changed, CUstream_st* stream);

/// Adds a hash of the bytes of [begin, begin + bytes) and their positions to *d_sum. `begin` is
/// aligned to 8 bytes. Different contents give equal sums only by chance.
void queue_fingerprint(const void* begin, std::int64_t bytes, unsigned long long* d_sum,
                       CUstream_st* stream);

/// Reads the whole buffer through the caches. This evicts earlier lines and leaves clean ones, so
/// that no write-back occurs during the next launch. `bytes` is a multiple of 16.
void queue_cache_flush(const void* buffer, std::int64_t bytes, unsigned* d_sink,
                       CUstream_st* stream);

/// Enqueues one block per SM. Each block writes its SM's clock64 and globaltimer to d_stamps[2 ×
/// SM] and the following element.
void queue_clock_stamps(long long* d_stamps, int sm_count, CUstream_st* stream);

/// Enqueues a kernel of one thread that does nothing, to measure the launch overhead.
void queue_empty_kernel(CUstream_st* stream);

}  // namespace gpuexp
