// One access of one warp, to lines of the caller's choice.
#pragma once

#include <array>
#include <cstdint>

struct CUstream_st;

namespace gpuexp::test {

/// The copies are cp.async of 4 bytes, or of 16 past L1, each lane's to 128 bytes of shared memory
/// of its own; the last is committed.
enum class LineAccess { load, store, add, copy, copy_past_l1, committed_copy };

/// Where each lane goes, from the begin.
struct LaneOffsets {
  std::array<std::int64_t, 32> of;
  int lanes;
};

/// The lanes access a word each (16 bytes past L1) with one instruction; the kernel accesses no
/// other global memory.
void queue_line_access(LineAccess access, void* begin, const LaneOffsets& offsets,
                       CUstream_st* stream);

}  // namespace gpuexp::test
