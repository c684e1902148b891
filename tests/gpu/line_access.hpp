// One access of one warp, to lines of the caller's choice.
#pragma once

#include <array>
#include <cstdint>

struct CUstream_st;

namespace gpuexp::test {

/// The copies are cp.async to shared memory; the last is committed.
enum class LineAccess { load, store, add, copy, committed_copy };

/// Where each lane goes, from the begin.
struct LaneOffsets {
  std::array<std::int64_t, 32> of;
  int lanes;
};

/// No word is all ones. The lanes access a word each with one instruction; the kernel accesses no
/// other global memory.
void queue_line_access(LineAccess access, void* begin, const LaneOffsets& offsets,
                       CUstream_st* stream);

}  // namespace gpuexp::test
