// The SM clock, read on the SMs: this requires no privileges and gives the clock at which kernels
// ran.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/resources.hpp"

namespace gpuexp {

/// Reads clock64 and globaltimer on every SM at two moments. Cycles divided by nanoseconds on the
/// same SM is its mean clock in between, under any load. globaltimer steps by 32 ns to 1 µs
/// depending on the GPU; 1 ms is long enough for 0.1 % on all of them.
class SmClock {
 public:
  explicit SmClock(int sm_count);

  /// Mean clock in MHz since the last call of mhz() or start(), as the median over the SMs. Empty
  /// on the first call. Waits for the stream.
  std::optional<double> mhz(const CudaStream& stream);

  void start(const CudaStream& stream) { static_cast<void>(mhz(stream)); }

  /// Seconds since the last call of mhz() or start(); 0 before the first.
  double elapsed_s() const;
  /// Shortest interval with an accuracy of 0.1 %.
  static constexpr double kShortestS = 1e-3;

 private:
  struct Stamp {
    long long cycles;
    long long nanoseconds;  ///< 0: no block ran on this SM
  };

  std::vector<Stamp> stamps(const CudaStream& stream);

  int sm_count_;
  DeviceMemory d_stamps_;
  std::vector<Stamp> last_;
  std::chrono::steady_clock::time_point last_at_;
};

}  // namespace gpuexp
