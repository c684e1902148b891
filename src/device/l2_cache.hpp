// What an L2 cache keeps and what it fetches: rules of thumb that hold for every kernel alike, each
// with where it was seen. C++17, free of CUDA.
#pragma once

#include <cstdint>

#include "device/device_spec.hpp"

namespace gpuexp {

/// Bytes that L2 reads from DRAM at least when a 32-byte sector is missing: 64 where
/// cudaLimitMaxL2FetchGranularity starts at 64 (A100, H100 and H200, and later), else 32. An H200
/// reads 64 bytes per value at strides of 64 bytes and more.
std::int64_t l2_fetch_bytes(const DeviceSpec& device);

/// Of L2, what is dirty at most. About a quarter of an H200's stays: of 268 MB written it had 243
/// MB to 260 MB in DRAM when the launch ended, of 67 MB 52 MB to 62 MB, of 17 MB 0 to 10 MB.
inline constexpr double kDirtyShare = 0.25;

/// The share of what is read that is still in L2 after so many times what L2 can hold was touched.
/// An H200 (60 MiB) reads nothing again from DRAM up to 21 MB, a quarter of it at 25 MB, two thirds
/// at 42 MB and everything from 50 MB on: both halves of the chip keep a copy of what both read.
/// Linear in between.
double kept_share_at(double times_l2);
/// Of what L2 can hold, after which half is kept.
inline constexpr double kHalfKept = 0.575;

}  // namespace gpuexp
