// What the addresses of a warp come to in the memory system. C++17, free of CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "family/traffic.hpp"

namespace gpuexp {

inline constexpr int kLanes = 32;
inline constexpr std::int64_t kLineBytes = 128;

constexpr Accesses operator*(double times, const Accesses& a) {
  return {times * a.requests, times * a.sectors, times * a.wavefronts, times * a.tag_wavefronts};
}
constexpr Accesses operator+(const Accesses& a, const Accesses& b) {
  return {a.requests + b.requests, a.sectors + b.sectors, a.wavefronts + b.wavefronts,
          a.tag_wavefronts + b.tag_wavefronts};
}

/// All lanes touch one element.
inline constexpr Accesses kOneElement{1, 1, 1, 1};

/// Where each lane's access starts, in bytes from a 128-byte line on.
using LaneOffsets = std::array<std::int64_t, kLanes>;

/// offset(i) of every lane.
template <class Offset>
LaneOffsets lane_offsets(const Offset& offset) {
  LaneOffsets offsets{};
  for (int lane = 0; lane < kLanes; ++lane)
    offsets[static_cast<std::size_t>(lane)] = offset(lane);
  return offsets;
}

/// Tag-stage wavefronts in which L1 looks these lines up, each named once. Its tags lie in four
/// banks, of which each finds one line per wavefront, and which hold lines by a hash: an XOR of the
/// digits to the base of four of a line's number gives the wavefronts that an H200 counts
/// (l1tex__t_output_wavefronts) for the rows of a matrix at ten pitches within 15 %: 8.8 of 32
/// lines that lie 32 lines apart, 12 of 32 that lie 31 apart.
double tag_wavefronts(const std::vector<std::int64_t>& lines);

/// One access of a warp to global memory: lane i touches `bytes` bytes from offset(i) on, counted
/// from a 128-byte line. Sectors are those that any lane touches. L1's data lies in 32 banks as
/// shared memory's does. Data that L1 does not hold takes a wavefront of the data stage for each
/// one of the tag stage, if that is more than the banks ask for: on an H200 4-byte lanes 31 words
/// apart, which meet in no bank, take 13 of each. Lanes from `lanes` on take no part.
Accesses global_access(int bytes, const LaneOffsets& offsets, int lanes = kLanes);
template <class Offset, class = std::enable_if_t<std::is_class<Offset>::value>>
Accesses global_access(int bytes, const Offset& offset, int lanes = kLanes) {
  return global_access(bytes, lane_offsets(offset), lanes);
}

/// The same access of a kernel whose warps all wait for what L1 does not hold. Where each lane asks
/// for a line of its own, lines are looked up again until they are on their way: an H200 counts two
/// lines per wavefront (15.1 to 16.4 wavefronts at strides of 32 and 64 words and at random places,
/// however they lie in the banks of the tags), and as many as of hits where only 16 warps per SM
/// ask at all.
Accesses global_access_missing(int bytes, const LaneOffsets& offsets);
template <class Offset, class = std::enable_if_t<std::is_class<Offset>::value>>
Accesses global_access_missing(int bytes, const Offset& offset) {
  return global_access_missing(bytes, lane_offsets(offset));
}

/// The same access where L1 holds what most of its lanes touch: banks alone set its wavefronts.
Accesses global_access_in_l1(int bytes, const LaneOffsets& offsets, int lanes = kLanes);

/// Lane i touches element first + i × stride of `bytes` bytes.
inline Accesses global_access(int bytes, std::int64_t stride = 1, std::int64_t first = 0) {
  return global_access(bytes, [=](int lane) { return (first + lane * stride) * bytes; });
}
inline Accesses global_access_missing(int bytes, std::int64_t stride, std::int64_t first = 0) {
  return global_access_missing(bytes, [=](int lane) { return (first + lane * stride) * bytes; });
}

/// Lane i reads 4 bytes of row i, of rows `pitch` words apart, where L1 holds most of them: the
/// mean over the places at which such an access may start.
Accesses column_access_in_l1(std::int64_t pitch, int lanes = kLanes);

/// One access of a warp to `rows` rows of `bytes` bytes each, whole in every row. What a row
/// touches depends on where it starts: counted is the mean over rows that start `pitch` bytes
/// apart. Tags are as evenly spread over their banks as they can be.
Accesses rows_access(int rows, std::int64_t bytes, std::int64_t pitch);

/// The same loads made by cp.async, for which an H200 counts about two wavefronts of the tags where
/// other loads take one.
constexpr Accesses by_cp_async(const Accesses& a) {
  return {a.requests, a.sectors, a.wavefronts, 2 * a.tag_wavefronts};
}

/// One access of a warp to shared memory: lane i touches `bytes` (4, 8 or 16) bytes from offset(i)
/// on. 32 banks serve a word of 4 bytes each per turn; lanes that touch the same word share it.
/// Accesses of 8 bytes go in halves of a warp, of 16 in quarters; where lanes are paired, twice as
/// many go together (NVIDIA developer forum, topic 77228; on an H200 a broadcast of 16 bytes takes
/// 2 wavefronts, and 8 pieces of 16 bytes take 2 where neighbouring lanes share them, 4 where lanes
/// i and i^8 do).
Accesses shared_access(int bytes, const LaneOffsets& offsets);
template <class Offset, class = std::enable_if_t<std::is_class<Offset>::value>>
Accesses shared_access(int bytes, const Offset& offset) {
  return shared_access(bytes, lane_offsets(offset));
}

inline Accesses shared_access(int bytes, std::int64_t stride = 1) {
  return shared_access(bytes, [=](int lane) { return lane * stride * bytes; });
}

}  // namespace gpuexp
