// Registers that instructions read from the two banks of an SM quarter.
#pragma once

#include <array>
#include <cstdint>

#include "sim/program.hpp"
#include "timing/control.hpp"

namespace gpuexp {

inline constexpr std::size_t kRegisterBanks = 2;  ///< one of even and one of odd registers

/// Number of registers that an instruction reads from each bank.
using BankReads = std::array<std::uint8_t, kRegisterBanks>;

/// Registers that an instruction reads: if its warp also issued the scheduler's previous
/// instruction, and if another warp did, so that no register is kept for reuse.
struct OperandReads {
  BankReads after_own{};
  BankReads after_other{};
};

/// An instruction that marks an operand for reuse keeps its register in a cache with one entry for
/// each operand position and bank. The warp's next instruction that reads this position and bank
/// finds the register there, or replaces it (Huerta et al., Analyzing Modern NVIDIA GPU cores,
/// arXiv:2503.20481; docs/studies/instruction_issue measures it on an H200).
class RegisterReuse {
 public:
  /// The reads of `op`. Call for every instruction, in program order. A register that several
  /// operands name is read once. A wide product, IMAD.WIDE or IMAD.HI, adds a pair of registers,
  /// and reads its operands once for each half of the result.
  OperandReads reads(const sim::Op& op, const Control& control, bool is_wide_product);

 private:
  static constexpr std::size_t kOperands = 3;
  static constexpr int kNone = -1;
  std::array<std::array<int, kRegisterBanks>, kOperands> kept_{
      {{kNone, kNone}, {kNone, kNone}, {kNone, kNone}}};
};

/// The read ports of the banks of one SM quarter, each of which delivers one register of a warp per
/// cycle. An instruction delays the next issue if a bank has not delivered its registers two cycles
/// after its issue, or after as many cycles as it reads registers from this bank
/// (docs/studies/instruction_issue).
class RegisterPorts {
 public:
  /// Reads the registers of an instruction that issues at `now`. Returns by how many cycles it
  /// delays the next issue.
  double read(const BankReads& reads, double now);

 private:
  std::array<double, kRegisterBanks> free_{};
};

}  // namespace gpuexp
