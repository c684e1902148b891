#include "gpu/sm_clock.hpp"

#include <algorithm>

#include "gpu/device_ops.hpp"

namespace gpuexp {

SmClock::SmClock(int sm_count)
    : sm_count_(sm_count),
      d_stamps_(static_cast<std::int64_t>(sm_count) * static_cast<std::int64_t>(sizeof(Stamp))) {}

double SmClock::elapsed_s() const {
  if (last_.empty()) return 0;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - last_at_).count();
}

std::optional<double> SmClock::mhz(const CudaStream& stream) {
  std::vector<Stamp> now = stamps(stream);
  last_at_ = std::chrono::steady_clock::now();
  std::swap(now, last_);
  std::vector<double> mhz;
  for (std::size_t sm = 0; sm < now.size(); ++sm) {
    const long long nanoseconds = last_[sm].nanoseconds - now[sm].nanoseconds;
    if (now[sm].nanoseconds == 0 || last_[sm].nanoseconds == 0 || nanoseconds <= 0) continue;
    mhz.push_back(1e3 * static_cast<double>(last_[sm].cycles - now[sm].cycles) /
                  static_cast<double>(nanoseconds));
  }
  if (mhz.empty()) return std::nullopt;
  const auto middle = mhz.begin() + static_cast<std::ptrdiff_t>(mhz.size() / 2);
  std::nth_element(mhz.begin(), middle, mhz.end());
  return *middle;
}

std::vector<SmClock::Stamp> SmClock::stamps(const CudaStream& stream) {
  const auto bytes = static_cast<std::size_t>(d_stamps_.bytes());
  std::vector<Stamp> stamps(static_cast<std::size_t>(sm_count_));
  GPUEXP_CUDA(cudaMemsetAsync(d_stamps_.get(), 0, bytes, stream.get()));
  queue_clock_stamps(d_stamps_.as<long long>(), sm_count_, stream.get());
  GPUEXP_CUDA(
      cudaMemcpyAsync(stamps.data(), d_stamps_.get(), bytes, cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  return stamps;
}

}  // namespace gpuexp
