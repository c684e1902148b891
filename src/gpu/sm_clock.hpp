// The clock of the SMs, read on the SMs: no privilege is needed, and it is what kernels had.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "gpu/resources.hpp"

namespace gpuexp {

/// Reads clock64 and globaltimer on every SM at two moments; cycles over nanoseconds on the same SM
/// is its mean clock in between, under whatever load there was. globaltimer steps by 32 ns to 1 µs
/// depending on the GPU, so an interval of 1 ms is read to 0.1 % on all of them.
class SmClock {
 public:
  explicit SmClock(int sm_count);

  /// Mean clock in MHz since the last call of this or of start(), the median over the SMs. Empty at
  /// the first call. Waits for the stream.
  std::optional<double> mhz(const CudaStream& stream);

  void start(const CudaStream& stream) { static_cast<void>(mhz(stream)); }

  /// Since the last call of mhz() or of start(); 0 before the first.
  double elapsed_s() const;
  /// The shortest stretch that is read to 0.1 %.
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
