// Limits and peak rates of a GPU, from the driver or from configs/devices/*.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/types.hpp"
#include "device/machine.hpp"

namespace gpuexp {

/// Residency limits of one streaming multiprocessor (SM), determined by the compute capability
/// (CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability").
struct SmLimits {
  int max_threads = 0;
  int max_blocks = 0;
  int registers = 0;
  std::int64_t shared_bytes = 0;            ///< shared memory of the SM for all resident blocks
  std::int64_t shared_bytes_per_block = 0;  ///< maximum, with the opt-in attribute
  std::int64_t reserved_shared_bytes = 0;   ///< reserved by the runtime in every block
};

/// Throws std::out_of_range, which lists the known compute capabilities, if this one is unknown.
SmLimits sm_limits(int cc_major, int cc_minor);

/// Warp instructions per cycle of one SM.
struct SmRates {
  double issue = 4;  ///< four schedulers, one instruction each
  double fma = 4;
  double alu = 2;
  double fp64 = 2;
  double xu = 0.5;
};

/// From the CUDA C++ Programming Guide, table "Throughput of Native Arithmetic Instructions":
/// results per cycle and SM, divided by 32 lanes. Throws like sm_limits().
SmRates sm_rates(int cc_major, int cc_minor);

struct DeviceSpec {
  std::string id;    ///< file stem in configs/devices, or the index of a device that is present
  std::string name;  ///< as the driver reports it, or the marketing name
  std::string chip;  ///< NVIDIA's name of the die ("GH100"); empty when unknown
  int cc_major = 0;
  int cc_minor = 0;
  int sm_count = 0;
  double sm_clock_max_mhz = 0;
  /// Maximum SM clock while tensor cores multiply types narrower than fp64; 0: no separate value.
  double sm_clock_tensor_mhz = 0;
  std::int64_t memory_bytes = 0;
  double memory_bytes_per_s = 0;  ///< theoretical DRAM bandwidth
  std::int64_t l2_bytes = 0;
  double power_limit_w = 0;
  double pcie_bytes_per_s = 0;  ///< between host and device, in each direction; 0: unknown
  SmLimits sm;
  /// Peak operations per second from the datasheet, without sparsity, at the maximum SM clock. A
  /// fused multiply-add counts as 2.
  std::array<std::optional<double>, kPipeCount> peak_ops_per_s{};
  bool measured_here = false;  ///< read from a device that is present
  bool simulated = false;      ///< represents a GPU whose kernels the CPU executes
  Machine machine = {};

  int compute_capability() const { return 10 * cc_major + cc_minor; }
  std::optional<double> peak(Pipe pipe) const { return peak_ops_per_s[static_cast<int>(pipe)]; }
};

}  // namespace gpuexp
