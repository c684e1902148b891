// Rules of the time model for L2: which sectors it fetches from DRAM, and how long it keeps them,
// each with the measurement from which it is derived. C++17 without CUDA headers.
#pragma once

#include <cstdint>

#include "device/device_spec.hpp"

namespace gpuexp {

/// Number of bytes that L2 reads from DRAM for a missing 32-byte sector: 64 if
/// cudaLimitMaxL2FetchGranularity is 64 by default (A100, H100, H200 and later), otherwise 32. An
/// H200 reads 64 bytes per value at strides of 64 bytes and more.
std::int64_t l2_fetch_bytes(const DeviceSpec& device);

/// Maximum share of L2 in dirty lines. When a launch ended, an H200 had written to DRAM 243 to
/// 260 MB of 268 MB that the launch stored, 52 to 62 MB of 67 MB, and 0 to 10 MB of 17 MB.
inline constexpr double kDirtyShare = 0.25;

/// Share of read data that is still in L2 after accesses to `times_l2` times L2's capacity. Falls
/// linearly from 1 to 0, because each half of the chip keeps a copy of what both halves read. An
/// H200 (60 MiB) reads no byte of a 21 MB array from DRAM a second time, a quarter at 25 MB (the
/// line: a tenth), two thirds at 42 MB and all of it at 50 MB and more.
double kept_share_at(double times_l2);
/// The argument at which kept_share_at() is 0.5.
inline constexpr double kHalfKept = 0.575;
/// Number of accesses to sectors after which L2 still holds half of the sectors read before.
double kept_l2_sectors(const DeviceSpec& device);

/// Maximum number of copies of a problem's buffers over which the launches of a graph rotate.
/// Copies of small buffers stay in L2.
inline constexpr std::int64_t kMaxGraphCopies = 256;

}  // namespace gpuexp
