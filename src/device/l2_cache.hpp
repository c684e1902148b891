// Which sectors L2 fetches from DRAM and how long it keeps them: rules that the time model applies
// to every kernel, each with the measurement that it comes from. C++17, no CUDA.
#pragma once

#include <cstdint>

#include "device/device_spec.hpp"

namespace gpuexp {

/// Minimum number of bytes that L2 reads from DRAM for a missing 32-byte sector: 64 if the default
/// of cudaLimitMaxL2FetchGranularity is 64 (A100, H100, H200 and later), else 32. An H200 reads 64
/// bytes per value at strides of 64 bytes and more.
std::int64_t l2_fetch_bytes(const DeviceSpec& device);

/// Maximum share of L2 that holds dirty lines. When a launch had ended, an H200 had written to DRAM
/// 243 to 260 MB of 268 MB that the launch stored, 52 to 62 MB of 67 MB, and 0 to 10 MB of 17 MB.
inline constexpr double kDirtyShare = 0.25;

/// The share of read data that is still in L2 after accesses to `times_l2` times its capacity. An
/// H200 (60 MiB) reads no byte of a 21 MB array from DRAM a second time, a quarter at 25 MB, two
/// thirds at 42 MB and all of it at 50 MB and more: each half of the chip keeps a copy of what both
/// read. Linear in between.
double kept_share_at(double times_l2);
/// The argument of kept_share_at() at which half is kept.
inline constexpr double kHalfKept = 0.575;

}  // namespace gpuexp
