#include "sim/undefined_registers.hpp"

#include <algorithm>

namespace gpuexp::sim {

void UndefinedRegisters::add(unsigned first, unsigned registers, LaneMask lanes,
                             const Origin& origin) {
  if (first == kZeroRegister) return;
  origins_.push_back(origin);
  for (unsigned i = first; i < std::min(first + registers, kRegisters); ++i) {
    lanes_[i] |= lanes;
    of_[i] = origins_.size() - 1;
  }
}

void UndefinedRegisters::remove(unsigned first, unsigned registers, LaneMask lanes) {
  for (unsigned i = first; i < std::min(first + registers, kRegisters); ++i)
    lanes_[i] &= ~lanes;
}

bool UndefinedRegisters::empty() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](LaneMask lanes) { return lanes == 0; });
}

}  // namespace gpuexp::sim
