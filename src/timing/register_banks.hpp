// Conflicts on register banks. Two banks each deliver two operands per cycle, so an instruction
// whose three operands are in one bank takes one more cycle (Jia et al., Dissecting the NVIDIA
// Volta GPU Architecture via Microbenchmarking, 2018, section 3.2.1).
#pragma once

#include <array>
#include <cstdint>

#include "sim/program.hpp"
#include "timing/control.hpp"

namespace gpuexp {

class RegisterBanks {
 public:
  /// Additional cycles in which `op` reads its operands, 0 or 1. Call for every instruction, in
  /// program order. Operands that the previous instruction kept for reuse at the same position are
  /// not read again.
  double clocks(const sim::Op& op, const Control& control);

 private:
  static constexpr std::size_t kOperands = 3;
  std::array<int, kOperands> kept_{-1, -1, -1};
};

}  // namespace gpuexp
