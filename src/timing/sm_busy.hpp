// Busy cycles of an SM's units, and of its share of L2 and DRAM.
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
  l1,      ///< L1's tags or its data stage, whichever is busier, unless `shared` applies
  shared,  ///< the data stage, if busier than L1's tags and used mostly by shared memory accesses
  l2,
  dram,
  latency,  ///< instructions of each block's longest warp, if that warp had the SM to itself
};
inline constexpr std::size_t kSmParts = 11;

constexpr std::string_view name_of(SmPart part) {
  constexpr std::array<std::string_view, kSmParts> kNames{
      "issue", "fma", "alu", "fp64", "xu", "tensor", "l1", "shared", "l2", "dram", "latency"};
  return kNames[static_cast<std::size_t>(part)];
}

struct SmBusy {
  std::array<double, kSmParts> of{};

  double& operator[](SmPart part) { return of[static_cast<std::size_t>(part)]; }
  double operator[](SmPart part) const { return of[static_cast<std::size_t>(part)]; }
};

}  // namespace gpuexp
