// Useful and transferred bytes of a variant. Transferred bytes are whole 32-byte sectors, the
// unit of transfers between L1, L2 and DRAM.
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp {

inline constexpr std::int64_t kSectorBytes = 32;

/// Bytes of all sectors that contain at least one of the `count` elements first, first + stride,
/// … of an array of T that starts at a sector boundary. Each sector counts once.
template <class T>
double sector_bytes(std::int64_t count, std::int64_t stride = 1, std::int64_t first = 0) {
  constexpr std::int64_t kPerSector = kSectorBytes / static_cast<std::int64_t>(sizeof(T));
  static_assert(kPerSector * sizeof(T) == kSectorBytes, "an element must not straddle sectors");
  if (count == 0) return 0.0;
  // With strides below a sector, the elements touch every sector from the first to the last. With
  // other strides, each element is in a different sector.
  const std::int64_t last = first + (count - 1) * stride;
  const std::int64_t sectors =
      stride < kPerSector ? last / kPerSector - first / kPerSector + 1 : count;
  return static_cast<double>(sectors * kSectorBytes);
}

/// The work of reading the `count` elements first, first + stride, … of an array of T once.
template <class T>
Work reads(std::int64_t count, std::int64_t stride = 1, std::int64_t first = 0) {
  Work w;
  w.bytes_read = static_cast<double>(count) * sizeof(T);
  w.moved_read = sector_bytes<T>(count, stride, first);
  return w;
}
/// The work of writing the `count` elements first, first + stride, … of an array of T once.
template <class T>
Work writes(std::int64_t count, std::int64_t stride = 1, std::int64_t first = 0) {
  Work w;
  w.bytes_written = static_cast<double>(count) * sizeof(T);
  w.moved_written = sector_bytes<T>(count, stride, first);
  return w;
}
/// The work of reading `read` bytes and writing `written` bytes; transferred bytes equal useful
/// bytes.
inline Work moves_bytes(double read, double written) {
  Work w;
  w.bytes_read = w.moved_read = read;
  w.bytes_written = w.moved_written = written;
  return w;
}
inline Work computes(Pipe pipe, double operations) {
  Work w;
  w.operations = {{pipe, operations}};
  return w;
}

inline Work operator+(Work a, const Work& b) {
  a.bytes_read += b.bytes_read;
  a.bytes_written += b.bytes_written;
  a.moved_read += b.moved_read;
  a.moved_written += b.moved_written;
  a.operations.insert(a.operations.end(), b.operations.begin(), b.operations.end());
  return a;
}
inline Work operator*(double times, Work w) {
  w.bytes_read *= times;
  w.bytes_written *= times;
  w.moved_read *= times;
  w.moved_written *= times;
  for (Operations& o : w.operations)
    o.count *= times;
  return w;
}

/// The work of reading `read` consecutive elements of type Read and writing `written` consecutive
/// elements of type Written, once each, in arrays that start at sector boundaries.
template <class Read, class Written = Read>
Work streaming_work(std::int64_t read, std::int64_t written,
                    std::vector<Operations> operations = {}) {
  Work w = reads<Read>(read) + writes<Written>(written);
  w.operations = std::move(operations);
  return w;
}

}  // namespace gpuexp
