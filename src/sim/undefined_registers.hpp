// Registers of a warp that contain data loaded from unwritten memory. A kernel may load unwritten
// shared and local memory if no instruction uses the result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/memory_access.hpp"

namespace gpuexp::sim {

class UndefinedRegisters {
 public:
  struct Origin {
    Space space = Space::shared;
    Lanes64 address;
    std::uint32_t place = 0;
    unsigned width = 0;
  };

  void add(unsigned first, unsigned registers, LaneMask lanes, const Origin& origin);
  /// Call when the registers are overwritten.
  void remove(unsigned first, unsigned registers, LaneMask lanes);

  LaneMask lanes_of(unsigned index) const { return lanes_[index]; }
  const Origin& origin_of(unsigned index) const { return origins_[of_[index]]; }
  bool empty() const;

 private:
  static constexpr unsigned kRegisters = 256;
  std::array<LaneMask, kRegisters> lanes_{};
  std::array<std::size_t, kRegisters> of_{};
  std::vector<Origin> origins_;
};

}  // namespace gpuexp::sim
