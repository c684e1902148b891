// For how long the parts of an SM work, and what it has of those that all SMs share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuexp {

enum class SmPart : std::uint8_t {
  issue,
  fma,
  alu,
  fp64,
  xu,
  tensor,
  l1,      ///< its tags, or the data stage where global memory asks for more of it
  shared,  ///< the data stage where shared memory does
  l2,
  dram,
  latency,  ///< of the instructions of a warp that has the SM for itself
};
inline constexpr std::size_t kSmParts = 11;

/// One of resource_names() (device/resource_names.hpp).
constexpr std::string_view name_of(SmPart part) {
  constexpr std::array<std::string_view, kSmParts> kNames{
      "issue", "fma", "alu", "fp64", "xu", "tensor", "l1", "shared", "l2", "dram", "latency"};
  return kNames[static_cast<std::size_t>(part)];
}

/// Clocks.
struct SmBusy {
  std::array<double, kSmParts> of{};

  double& operator[](SmPart part) { return of[static_cast<std::size_t>(part)]; }
  double operator[](SmPart part) const { return of[static_cast<std::size_t>(part)]; }
};

}  // namespace gpuexp
