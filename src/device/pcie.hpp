// The link between host and device (PCI Express).
#pragma once

namespace gpuexp {

inline constexpr int kNewestPcieGeneration = 6;

/// Bytes per second that such a link carries each way at most, before the headers of packets: the
/// signalling rate per lane less the line code (PCI Express Base Specification: 8b/10b in
/// generations 1 and 2, 128b/130b from 3 on, in 6 FLITs of 256 bytes with 236 of packets). 0 of
/// any other generation than 1 to kNewestPcieGeneration, and of no lanes.
double pcie_bytes_per_s(int generation, int lanes);

}  // namespace gpuexp
