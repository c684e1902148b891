// What single loads take: tells where a line was.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace gpuexp::test {

inline constexpr std::int64_t kCacheLineBytes = 128;

/// Loads one word of each of the lines past L1 and writes how many cycles that took, one load at a
/// time on each SM: a line that L2 holds takes a fraction of what one in DRAM does.
void queue_load_latencies(const void* begin, std::int64_t lines, unsigned* d_cycles,
                          CUstream_st* stream);

}  // namespace gpuexp::test
