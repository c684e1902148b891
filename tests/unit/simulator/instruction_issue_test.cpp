// Issue of instructions: encoded schedules, pipes, and registers that instructions read.
#include <string>
#include <vector>

#include "sim/decoder.hpp"
#include "support/catch.hpp"
#include "support/timed_run.hpp"
#include "timing/register_banks.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("the encoding of an instruction determines when it can issue", "[timing]") {
  // nvcc 13's LDG.E R4, desc[UR4][R2.64]: its result releases scoreboard 2.
  const Control load = control_of(0x000ea4000c1e1900);
  CHECK(load.stall == 2);
  CHECK(load.stays);
  CHECK(load.writes == 2);
  CHECK(load.reads == Control::kNoScoreboard);
  CHECK(load.waits == 0);
  CHECK(load.reuse == 0);
}

TEST_CASE("a warp issues by its stall counts, a scheduler once per cycle", "[timing]") {
  const auto clocks_of = [](unsigned stalled, unsigned warps) {
    const std::string multiply = line("FFMA R0, R1, R4, RZ", stall(stalled));
    const std::string nothing = repeated(1, kExit);
    return TimedRun(repeated(100, multiply) + kExit, warps * sim::kLanes).clocks() -
           TimedRun(nothing, warps * sim::kLanes).clocks();
  };
  CHECK(clocks_of(4, 1) == Approx(400).margin(4));
  CHECK(clocks_of(1, 1) == Approx(100).margin(4));
  CHECK(clocks_of(4, 4) == Approx(400).margin(4));   // one for each scheduler
  CHECK(clocks_of(4, 16) == Approx(400).margin(8));  // four per scheduler alternate
  CHECK(clocks_of(1, 16) == Approx(400).margin(8));
  CHECK(clocks_of(4, 32) == Approx(800).margin(8));
}

TEST_CASE("pipes have a rate per cycle", "[timing]") {
  const auto clocks_of = [](const std::string& instruction) {
    return TimedRun(repeated(100, line(instruction, stall(1))) + kExit).clocks() / 100;
  };
  CHECK(clocks_of("FFMA R0, R1, R4, RZ") == Approx(1).margin(0.1));
  CHECK(clocks_of("FFMA R0, R1, R4, R6") == Approx(2).margin(0.1));  // R4 and R6 share a bank
  CHECK(clocks_of("IMAD R0, R1, R4, R6") == Approx(2).margin(0.1));
  CHECK(clocks_of("IMAD.WIDE R8, R1, R4, RZ") == Approx(4).margin(0.1));
  CHECK(clocks_of("VIADD R0, R1, 0x2") == Approx(2).margin(0.1));
  CHECK(clocks_of("HFMA2 R0, R1, R4, RZ") == Approx(2).margin(0.1));
  CHECK(clocks_of("IADD3 R0, R1, R4, R6") == Approx(2).margin(0.1));
  CHECK(clocks_of("MUFU.EX2 R0, R1") == Approx(8).margin(0.2));
  // A warp delayed by a pipe waits for no other reason.
  const SmTime time = TimedRun(repeated(100, line("MUFU.EX2 R0, R1", stall(1))) + kExit).time();
  CHECK(all_of(time).largest() == WarpState::math_pipe_throttle);
  CHECK(all_of(time)[WarpState::not_selected] == 0);
}

TEST_CASE("instructions that use several pipes delay those of each", "[timing]") {
  // Cycles of a pair of instructions on an H200: docs/studies/instruction_issue/issue.csv.
  const auto clocks_of = [](const std::string& first, const std::string& second) {
    const std::string pair = line(first, stall(1)) + line(second, stall(1));
    return TimedRun(repeated(100, pair) + kExit).clocks() / 100;
  };
  const std::string wide = "IMAD.WIDE R8, R1, R4, RZ";
  const std::string half = "HFMA2 R0, R1, R4, RZ";
  const std::string logic = "LOP3.LUT R0, R1, R4, RZ, 0x96, !PT";
  const std::string product = "FFMA R0, R1, R4, RZ";
  CHECK(clocks_of(wide, logic) == Approx(4).margin(0.1));
  CHECK(clocks_of(wide, product) == Approx(4).margin(0.1));
  CHECK(clocks_of("IMAD.WIDE R8, R2, 0x4, R12", product) == Approx(5).margin(0.1));
  CHECK(clocks_of(half, product) == Approx(4).margin(0.1));
  CHECK(clocks_of(half, logic) == Approx(2).margin(0.1));
  CHECK(clocks_of("VIADD R0, R1, 0x2", product) == Approx(2).margin(0.1));
}

TEST_CASE("a ready warp waits as not selected while another issues", "[timing]") {
  const std::string code = repeated(100, line("FFMA R0, R1, R4, R6", stall(1))) + kExit;
  const WarpClocks clocks = all_of(TimedRun(code, 8 * sim::kLanes).time());
  CHECK(clocks[WarpState::not_selected] > 300);
  CHECK(clocks[WarpState::math_pipe_throttle] < 20);
}

/// Registers of an instruction, and the operands that it keeps for reuse (bits 0 to 2).
struct Reading {
  std::string instruction;
  unsigned reuse = 0;
};

std::vector<OperandReads> operand_reads(const std::vector<Reading>& code) {
  std::string text;
  std::vector<Control> controls;
  for (const Reading& reading : code) {
    Control control = stall(1);
    control.reuse = reading.reuse;
    controls.push_back(control);
    text += line(reading.instruction, control);
  }
  const sim::Program program = sim::decode(read_code_text(text));
  RegisterReuse reuse;
  std::vector<OperandReads> reads;
  for (std::size_t i = 0; i < controls.size(); ++i)
    reads.push_back(reuse.reads(program.ops[i], controls[i],
                                code[i].instruction.starts_with("IMAD.WIDE")));
  return reads;
}

TEST_CASE("an instruction reads each register once, except those kept for reuse", "[timing]") {
  const auto last = [](const std::vector<Reading>& code) { return operand_reads(code).back(); };
  CHECK(last({{"FFMA R0, R2, R4, R6"}}).after_own == BankReads{3, 0});
  CHECK(last({{"FFMA R0, R2, R4, R7"}}).after_own == BankReads{2, 1});
  CHECK(last({{"FFMA R0, R2, R2, R6"}}).after_own == BankReads{2, 0});
  CHECK(last({{"FFMA R0, R2, R4, RZ"}}).after_own == BankReads{2, 0});
  // A wide product reads its operands twice, and the pair R4 and R5.
  CHECK(last({{"IMAD.WIDE R0, R2, 0x4, R4"}}).after_own == BankReads{4, 2});
  // A kept register is found in the same operand position, if no other warp issued since.
  const OperandReads kept = last({{"FFMA R1, R2, R5, R7", 1}, {"FFMA R0, R2, R4, R6"}});
  CHECK(kept.after_own == BankReads{2, 0});
  CHECK(kept.after_other == BankReads{3, 0});
  CHECK(last({{"FFMA R1, R5, R2, R7", 2}, {"FFMA R0, R2, R4, R6"}}).after_own == BankReads{3, 0});
  // A register of the other bank does not replace it; a register of its bank does.
  CHECK(last({{"FFMA R1, R2, R5, R7", 1}, {"FFMA R1, R3, R5, R7"}, {"FFMA R0, R2, R4, R6"}})
            .after_own == BankReads{2, 0});
  CHECK(last({{"FFMA R1, R2, R5, R7", 1}, {"FFMA R1, R4, R5, R7"}, {"FFMA R0, R2, R4, R6"}})
            .after_own == BankReads{3, 0});
}

/// Cycles per instruction of a loop of `reads`, if each issues as soon as the ports allow.
double clocks_of_loop(const std::vector<BankReads>& reads) {
  constexpr int kTimes = 1000;
  RegisterPorts ports;
  double now = 0;
  for (int i = 0; i < kTimes; ++i) {
    for (const BankReads& instruction : reads)
      now += 1 + ports.read(instruction, now);
  }
  return now / kTimes / static_cast<double>(reads.size());
}

TEST_CASE("a register bank delivers one register per cycle", "[timing]") {
  const BankReads even{3, 0};
  const BankReads odd{0, 3};
  const BankReads mostly_even{2, 1};
  const BankReads mostly_odd{1, 2};
  // Cycles per instruction on an H200: docs/studies/instruction_issue/issue.csv.
  CHECK(clocks_of_loop({{1, 1}}) == Approx(1));
  CHECK(clocks_of_loop({mostly_even}) == Approx(2).margin(0.01));
  CHECK(clocks_of_loop({even}) == Approx(3).margin(0.01));
  CHECK(clocks_of_loop({mostly_even, mostly_odd}) == Approx(1.5).margin(0.01));
  CHECK(clocks_of_loop({even, odd}) == Approx(1.5).margin(0.01));
  // Reads of a few instructions overlap with those of other banks, but not with those of many.
  CHECK(clocks_of_loop({mostly_even, mostly_even, mostly_even, mostly_even, mostly_odd, mostly_odd,
                        mostly_odd, mostly_odd}) == Approx(1.75).margin(0.01));
  CHECK(clocks_of_loop({even, even, even, even, odd, odd, odd, odd}) == Approx(2.5).margin(0.01));
}

}  // namespace
}  // namespace gpuexp::test
