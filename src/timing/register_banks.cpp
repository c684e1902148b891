#include "timing/register_banks.hpp"

#include <algorithm>

namespace gpuexp {

double RegisterBanks::clocks(const sim::Op& op, const Control& control) {
  constexpr std::size_t kBanks = 2;
  std::array<std::array<int, kOperands>, kBanks> read{};
  std::array<std::size_t, kBanks> count{};
  std::array<int, kOperands> kept{-1, -1, -1};
  for (std::size_t i = 0; i < kOperands; ++i) {
    const sim::Source& from = op.from[i];
    if (from.kind != sim::Operand::Kind::reg || from.index == sim::kZeroRegister) continue;
    const int index = from.index;
    if ((control.reuse >> i & 1) != 0) kept[i] = index;
    if (kept_[i] == index) continue;
    auto& registers = read[from.index % kBanks];
    auto& used = count[from.index % kBanks];
    if (std::find(registers.begin(), registers.begin() + used, index) == registers.begin() + used)
      registers[used++] = index;
  }
  kept_ = kept;
  return *std::max_element(count.begin(), count.end()) > 2 ? 1 : 0;
}

}  // namespace gpuexp
