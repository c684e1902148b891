#include "device/device_spec.hpp"

#include <map>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace gpuexp {

SmLimits sm_limits(int cc_major, int cc_minor) {
  constexpr std::int64_t kKiB = 1024;
  constexpr int kRegisters = 64 * 1024;  // the same on every architecture listed
  // threads, blocks, registers, shared per SM, shared per block, reserved by the runtime per block
  static const std::map<std::pair<int, int>, SmLimits> kLimits{
      {{7, 0}, {2048, 32, kRegisters, 96 * kKiB, 96 * kKiB, 0}},
      {{7, 5}, {1024, 16, kRegisters, 64 * kKiB, 64 * kKiB, 0}},
      {{8, 0}, {2048, 32, kRegisters, 164 * kKiB, 163 * kKiB, kKiB}},
      {{8, 6}, {1536, 16, kRegisters, 100 * kKiB, 99 * kKiB, kKiB}},
      {{8, 7}, {1536, 16, kRegisters, 164 * kKiB, 163 * kKiB, kKiB}},
      {{8, 9}, {1536, 24, kRegisters, 100 * kKiB, 99 * kKiB, kKiB}},
      {{9, 0}, {2048, 32, kRegisters, 228 * kKiB, 227 * kKiB, kKiB}},
      {{10, 0}, {2048, 32, kRegisters, 228 * kKiB, 227 * kKiB, kKiB}},
      {{10, 3}, {2048, 32, kRegisters, 228 * kKiB, 227 * kKiB, kKiB}},
      {{12, 0}, {1536, 24, kRegisters, 100 * kKiB, 99 * kKiB, kKiB}},
      {{12, 1}, {1536, 24, kRegisters, 100 * kKiB, 99 * kKiB, kKiB}},
  };
  const auto it = kLimits.find({cc_major, cc_minor});
  if (it != kLimits.end()) return it->second;
  std::string known;
  for (const auto& [cc, limits] : kLimits)
    known += fmt::format(" {}.{}", cc.first, cc.second);
  throw std::out_of_range(
      fmt::format("compute capability {}.{} is unknown; known:{}", cc_major, cc_minor, known));
}

}  // namespace gpuexp
