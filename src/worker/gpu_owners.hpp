// Which rank has which GPU.
#pragma once

#include <map>
#include <string>

namespace gpuexp {

/// GPUs are told apart by UUID: ordinals mean different GPUs to processes that see different ones.
class GpuOwners {
 public:
  /// Throws DeviceError that names both ranks where another one has this GPU.
  void take(int rank, const std::string& uuid);

 private:
  std::map<std::string, int> ranks_;
};

}  // namespace gpuexp
