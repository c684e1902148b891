// Share of a buffer that stays in L2 after a flush.
#include <algorithm>
#include <numeric>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "gpu/cuda_check.hpp"
#include "gpu/device_ops.hpp"
#include "gpu/device_query.hpp"
#include "gpu/load_latency.hpp"
#include "gpu/resources.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

// Each SM loads each line of a buffer once, one load at a time, with no other work. On an H200 a
// hit takes 260 to 500 cycles, depending on the distance between SM and L2 slice, and a miss 450 to
// 1200. Single loads are therefore ambiguous; the mean over all lines is not.
class ResidentBuffer {
 public:
  explicit ResidentBuffer(const DeviceSpec& device)
      : l2_bytes_(device.l2_bytes),
        lines_(device.l2_bytes / 4 / kCacheLineBytes),
        resident_(lines_ * kCacheLineBytes),
        flush_(kMaxL2s * device.l2_bytes),
        sink_(sizeof(unsigned)),
        d_cycles_(lines_ * std::int64_t{sizeof(unsigned)}) {
    for (const DeviceMemory* memory : {&resident_, &flush_})
      GPUEXP_CUDA(cudaMemset(memory->get(), 0, static_cast<std::size_t>(memory->bytes())));
    mean_cycles(0);
    hit_cycles_ = mean_cycles(0);
    miss_cycles_ = mean_cycles(kMaxL2s);
  }

  /// Share of the lines still in L2 after reading `l2s` times its size.
  double survivors(double l2s) {
    const double cycles = mean_cycles(l2s);
    const double share = (miss_cycles_ - cycles) / (miss_cycles_ - hit_cycles_);
    fmt::print("after reading {} L2: a load takes {:.1f} cycles, {:.2f} % of {} lines are there\n",
               l2s, cycles, 100 * share, lines_);
    return share;
  }

 private:
  static constexpr std::int64_t kMaxL2s = 8;

  double mean_cycles(double l2s_flushed) {
    // Memory is written, then read: dirty lines are harder to evict.
    GPUEXP_CUDA(cudaMemsetAsync(resident_.get(), 0, static_cast<std::size_t>(resident_.bytes()),
                                stream_.get()));
    queue_cache_flush(resident_.get(), resident_.bytes(), sink_.as<unsigned>(), stream_.get());
    const auto bytes =
        static_cast<std::int64_t>(l2s_flushed * static_cast<double>(l2_bytes_)) / 16 * 16;
    if (bytes > 0) queue_cache_flush(flush_.get(), bytes, sink_.as<unsigned>(), stream_.get());
    queue_load_latencies(resident_.get(), lines_, d_cycles_.as<unsigned>(), stream_.get());
    std::vector<unsigned> cycles(static_cast<std::size_t>(lines_));
    GPUEXP_CUDA(cudaMemcpyAsync(cycles.data(), d_cycles_.get(),
                                static_cast<std::size_t>(d_cycles_.bytes()), cudaMemcpyDeviceToHost,
                                stream_.get()));
    stream_.synchronize();
    // Excludes the slowest loads, which waited for address translation.
    std::sort(cycles.begin(), cycles.end());
    cycles.resize(cycles.size() - cycles.size() / 50);
    return std::accumulate(cycles.begin(), cycles.end(), 0.0) / static_cast<double>(cycles.size());
  }

  std::int64_t l2_bytes_;
  std::int64_t lines_;
  CudaStream stream_;
  DeviceMemory resident_;
  DeviceMemory flush_;
  DeviceMemory sink_;
  DeviceMemory d_cycles_;
  double hit_cycles_ = 0;
  double miss_cycles_ = 0;
};

TEST_CASE("a flush evicts a resident buffer completely", "[engine][flush]") {
  ResidentBuffer buffer(query_device(0, {}).spec);
  CHECK(buffer.survivors(0) > 0.95);
  for (const double l2s : {0.5, 1.0, 1.5})
    buffer.survivors(l2s);
  CHECK(buffer.survivors(2) < 0.01);
  CHECK(buffer.survivors(4) < 0.01);
}

}  // namespace
}  // namespace gpuexp::test
