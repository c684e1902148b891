// One access by one warp to given lines.
#pragma once

#include <array>
#include <cstdint>

struct CUstream_st;

namespace gpuexp::test {

/// The copies are cp.async to shared memory; committed_copy also commits its group.
enum class LineAccess { load, store, add, copy, committed_copy };

/// Byte offset of each lane's access from `begin`.
struct LaneOffsets {
  std::array<std::int64_t, 32> of;
  int lanes;
};

/// Each lane accesses one word with one instruction; the kernel has no other global accesses. No
/// word may be all ones.
void queue_line_access(LineAccess access, void* begin, const LaneOffsets& offsets,
                       CUstream_st* stream);

}  // namespace gpuexp::test
