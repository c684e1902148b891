#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/resources.hpp"

namespace gpuexp {

/// Reads clock64 and globaltimer on every SM at two times. The mean clock of an SM between the two
/// times is the number of cycles divided by the nanoseconds, regardless of the SM's load.
/// globaltimer steps by 32 ns to 1 µs depending on the GPU; 1 ms gives an accuracy of 0.1 % on all
/// GPUs.
class SmClock {
 public:
  explicit SmClock(int sm_count);

  /// Mean clock in MHz since the last call of mhz() or start(): the median over the SMs. Empty on
  /// the first call. Waits for the stream.
  std::optional<double> mhz(const CudaStream& stream);

  void start(const CudaStream& stream) { static_cast<void>(mhz(stream)); }

  double elapsed_s() const;
  /// Minimum seconds for an accuracy of 0.1 %.
  static constexpr double kShortestS = 1e-3;

 private:
  struct Stamp {
    long long cycles;
    long long nanoseconds;  ///< 0 if no block ran on this SM
  };

  std::vector<Stamp> stamps(const CudaStream& stream);

  int sm_count_;
  DeviceMemory d_stamps_;
  std::vector<Stamp> last_;
  std::chrono::steady_clock::time_point last_at_;
};

}  // namespace gpuexp
