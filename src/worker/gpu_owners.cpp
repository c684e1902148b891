#include "worker/gpu_owners.hpp"

#include <fmt/format.h>

#include "device/device_error.hpp"

namespace gpuexp {

void GpuOwners::take(int rank, const std::string& uuid) {
  const auto [owner, is_new] = ranks_.try_emplace(uuid, rank);
  if (is_new || owner->second == rank) return;
  throw DeviceError(
      fmt::format("its GPU, {}, is rank {}'s, too: each rank needs its own", uuid, owner->second),
      DeviceFault::refused);
}

}  // namespace gpuexp
