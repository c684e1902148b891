// What an L2 cache keeps and what it fetches: rules of thumb that hold for every kernel alike, each
// with where it was seen. C++17, free of CUDA.
#pragma once

#include <cstdint>

#include "core/device_spec.hpp"

namespace gpuexp {

/// Bytes that L2 reads from DRAM at least when a 32-byte sector is missing: 64 where
/// cudaLimitMaxL2FetchGranularity starts at 64 (A100, H100 and H200, and later), else 32. An H200
/// reads 64 bytes per value at strides of 64 bytes and more.
std::int64_t l2_fetch_bytes(const DeviceSpec& device);

/// Of so many bytes that a launch writes to whole lines, those that reach DRAM before it ends: what
/// L2 holds dirty at the end is written later. About a quarter of an H200's L2 stays: of 268 MB
/// written it had 243 MB to 260 MB in DRAM, of 67 MB 52 MB to 62 MB, of 17 MB 0 to 10 MB.
double written_back(double bytes, const DeviceSpec& device);

/// The share of what is read that is still in L2 after a launch that reads and writes so many bytes,
/// for the next launch of the same. An H200 (60 MiB) reads nothing again from DRAM up to 21 MB, a
/// quarter of it at 25 MB, two thirds at 42 MB and everything from 50 MB on: both halves of the chip
/// keep a copy of what both read. Linear in between.
double kept_share(double bytes, const DeviceSpec& device);

}  // namespace gpuexp
