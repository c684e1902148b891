// Latency of single loads, which shows where a line was.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace gpuexp::test {

inline constexpr std::int64_t kCacheLineBytes = 128;

/// Loads one word of each line, bypassing L1, and writes the cycles per load, with one load at a
/// time per SM. L2 hits take a fraction of the cycles of DRAM accesses.
void queue_load_latencies(const void* begin, std::int64_t lines, unsigned* d_cycles,
                          CUstream_st* stream);

}  // namespace gpuexp::test
