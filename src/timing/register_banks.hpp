// Registers lie in two banks, by their numbers. Each bank delivers two operands per clock, so that
// an instruction whose three operands lie in one bank takes a clock more (Jia et al., Dissecting
// the NVIDIA Volta GPU Architecture via Microbenchmarking, 2018, section 3.2.1).
#pragma once

#include <array>
#include <cstdint>

#include "sim/program.hpp"
#include "timing/control.hpp"

namespace gpuexp {

class RegisterBanks {
 public:
  /// Clocks more than one in which the operands of the next instruction are read. Those that the
  /// instruction before has kept for reuse at the same place are not read again.
  double clocks(const sim::Op& op, const Control& control);

 private:
  static constexpr std::size_t kOperands = 3;
  std::array<int, kOperands> kept_{-1, -1, -1};
};

}  // namespace gpuexp
