#include "timing/register_banks.hpp"

#include <algorithm>
#include <vector>

namespace gpuexp {

OperandReads RegisterReuse::reads(const sim::Op& op, const Control& control,
                                  bool is_wide_product) {
  const std::uint8_t passes = is_wide_product ? 2 : 1;
  OperandReads reads;
  std::vector<int> seen;
  const auto read = [&](std::size_t operand, int index) {
    const auto bank = static_cast<std::size_t>(index) % kRegisterBanks;
    int& kept = kept_[operand][bank];
    const bool is_kept = kept == index;
    kept = (control.reuse >> operand & 1) != 0 ? index : kNone;
    if (std::find(seen.begin(), seen.end(), index) != seen.end()) return;
    reads.after_other[bank] += passes;
    if (is_kept) return;  // another operand position does not find the register
    seen.push_back(index);
    reads.after_own[bank] += passes;
  };
  for (std::size_t i = 0; i < kOperands; ++i) {
    const sim::Source& from = op.from[i];
    if (from.kind != sim::Operand::Kind::reg || from.index == sim::kZeroRegister) continue;
    read(i, from.index);
    if (i == 2 && is_wide_product) read(i, from.index + 1);
  }
  return reads;
}

double RegisterPorts::read(const BankReads& reads, double now) {
  constexpr std::uint8_t kWindow = 2;
  double delay = 0;
  for (std::size_t bank = 0; bank < kRegisterBanks; ++bank) {
    if (reads[bank] == 0) continue;
    free_[bank] = std::max(free_[bank], now) + reads[bank];
    delay = std::max(delay, free_[bank] - (now + std::max(kWindow, reads[bank])));
  }
  return delay;
}

}  // namespace gpuexp
