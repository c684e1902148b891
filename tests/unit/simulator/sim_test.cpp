// Parts of the simulator: operands, divergence, small floats, instructions.
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "sim/small_floats.hpp"
#include "support/catch.hpp"
#include "support/execution.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;
using Kind = Operand::Kind;

TEST_CASE("operands of machine code are read", "[sim]") {
  const auto operands =
      read_operands("R4, desc[UR6][R2.64+UR8+-0x10], !P1, |R9|.reuse, -c[0x0][0x210]");
  REQUIRE(operands.size() == 5);
  CHECK(operands[0].kind == Kind::reg);
  CHECK(operands[0].index == 4);
  const Operand& at = operands[1];
  CHECK(at.kind == Kind::memory);
  CHECK(at.descriptor == 6);
  CHECK(at.index == 2);
  CHECK(at.wide);
  CHECK(at.uniform_index == 8);
  CHECK(at.value == -16);
  CHECK(operands[2].kind == Kind::predicate);
  CHECK(operands[2].inverted);
  CHECK(operands[3].absolute);
  CHECK(operands[4].kind == Kind::constant);
  CHECK(operands[4].negated);
  CHECK(operands[4].value == 0x210);
  CHECK(read_operands("RZ, URZ, PT, UPT, B3, SR_TID.X, -0x7fffffff, 0.5, -INF, gsb0").size() == 10);
  CHECK(read_operands("R6 -0x410").size() == 2);
  CHECK(read_operands("R2.H1_H1").front().half == Operand::Half::high);
  CHECK(read_operands("-INF ").front().number == -INFINITY);
  CHECK(read_operands("gdesc[UR8].negA.tnspB").front().kind == Kind::matrices);
  CHECK(read_operands("gdesc[UR8].negA.tnspB").front().index == 8);
  CHECK(read_operands("desc[UR10]").front().descriptor == 10);
  CHECK(read_operands("UR79").front().index == 79);  // for compute capability 10.0 and later
  CHECK_THROWS_AS(read_operands("gdesc[UR8].tnspC"), std::runtime_error);
  CHECK_THROWS_AS(read_operands("R300"), std::runtime_error);
  CHECK_THROWS_AS(read_operands("[R2+"), std::runtime_error);
  // Invalid indices: R255 is RZ, and so on.
  for (const char* beyond :
       {"R255", "UR255", "P7", "UP7", "B16", "desc[UR255][R2.64]", "gdesc[UR255]"})
    CHECK_THROWS_AS(read_operands(beyond), std::runtime_error);
  CHECK_THROWS_AS(read_guard("@R3"), std::runtime_error);
  CHECK_THROWS_AS(read_operands("1.5x"), std::runtime_error);
}

TEST_CASE("lanes that diverge at a branch reconverge at their barrier", "[sim]") {
  Divergence lanes(kAllLanes);
  lanes.go_to(1);
  lanes.set_barrier(0);
  lanes.branch(0xffff, 10);  // half of the lanes
  CHECK(lanes.lanes() == 0xffff0000);
  CHECK(lanes.next() == 1);
  lanes.go_to(20);
  lanes.wait_at(0, lanes.lanes());
  CHECK(lanes.lanes() == 0xffff);
  CHECK(lanes.next() == 10);
  SECTION("all lanes") {
    lanes.go_to(20);
    lanes.wait_at(0, lanes.lanes());
    CHECK(lanes.lanes() == kAllLanes);
    CHECK(lanes.next() == 20);
  }
  SECTION("except lanes that exit the kernel") {
    lanes.exit(0xff);
    CHECK(lanes.lanes() == 0xff00);
    lanes.go_to(20);
    lanes.wait_at(0, lanes.lanes());
    CHECK(lanes.lanes() == 0xffffff00);
  }
  SECTION("except lanes that leave the barrier") {
    lanes.leave_barrier(0, 0xff);
    lanes.branch(0xff, 30);
    CHECK(lanes.lanes() == 0xff00);
    lanes.go_to(20);
    lanes.wait_at(0, lanes.lanes());
    const LaneMask first = lanes.lanes();
    CHECK((first == 0xffffff00 || first == 0xff));
    CHECK(lanes.next() == (first == 0xff ? 30u : 20u));
  }
}

TEST_CASE("a warp ends with its last lane", "[sim]") {
  Divergence lanes(0xf);
  lanes.leave_out(~LaneMask{0xf});
  lanes.exit(0x3);
  CHECK(!lanes.has_exited());
  lanes.exit(0xc);
  CHECK(lanes.has_exited());
  CHECK(!lanes.is_running());
}

TEST_CASE("fp16 and bf16 follow their standards", "[sim]") {
  CHECK(round_to<kFp16>(1.0) == 0x3c00);
  CHECK(round_to<kFp16>(65504.0) == 0x7bff);
  CHECK(round_to<kFp16>(65519.0) == 0x7bff);
  CHECK(round_to<kFp16>(65520.0) == 0x7c00);
  CHECK(round_to<kFp16>(std::ldexp(1.0, -24)) == 1);
  CHECK(round_to<kFp16>(std::ldexp(1.0, -25)) == 0);
  CHECK(round_to<kFp16>(std::ldexp(1.5, -25)) == 1);
  CHECK(round_to<kFp16>(-0.0) == 0x8000);
  CHECK(round_to<kFp16>(std::ldexp(1.0, -1074)) == 0);
  CHECK(round_to<kFp16>(std::nan("")) == 0x7fff);
  CHECK(round_to<kFp16>(1 + std::ldexp(1.0, -11)) == 0x3c00);  // a tie rounds to even
  CHECK(round_to<kFp16>(1 + std::ldexp(3.0, -11)) == 0x3c02);
  CHECK(round_to<kBf16>(1.0) == 0x3f80);
  CHECK(round_to<kBf16>(std::numeric_limits<float>::max()) == 0x7f80);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float half = value_of<kFp16>(bits);
    const float brain = value_of<kBf16>(bits);
    if (half == half && round_to<kFp16>(half) != bits) FAIL("fp16 " << bits);
    if (brain == brain && round_to<kBf16>(brain) != bits) FAIL("bf16 " << bits);
  }
  CHECK(value_of<kFp16>(0x7c00) == INFINITY);
  CHECK(std::isnan(value_of<kFp16>(0x7c01)));
}

TEST_CASE("the maximum of fp8 with 4 exponent bits is 448", "[sim]") {
  CHECK(round_to_e4m3(1.0) == 0x38);
  CHECK(round_to_e4m3(-1.125) == 0xb9);
  CHECK(round_to_e4m3(240) == 0x77);
  CHECK(round_to_e4m3(247) == 0x77);
  CHECK(round_to_e4m3(248) == 0x78);  // a tie rounds to even
  CHECK(round_to_e4m3(448) == 0x7e);
  CHECK(round_to_e4m3(1e9) == 0x7e);
  CHECK(round_to_e4m3(-INFINITY) == 0xfe);
  CHECK(round_to_e4m3(std::nan("")) == 0x7f);
  CHECK(round_to_e4m3(std::ldexp(1.0, -9)) == 1);
  CHECK(round_to_e4m3(std::ldexp(1.0, -10)) == 0);
}

TEST_CASE("a sum rounded to odd can be rounded again without error", "[sim]") {
  CHECK(sum_to_odd(1, 2) == 3);
  const double tiny = std::ldexp(1.0, -80);
  CHECK(sum_to_odd(1, tiny) > 1);
  CHECK(sum_to_odd(1, -tiny) < 1);
  CHECK(sum_to_odd(-1, tiny) > -1);
  CHECK(sum_to_odd(INFINITY, 1) == INFINITY);
  // Halfway between two fp16 values, plus a little.
  CHECK(round_to<kFp16>(sum_to_odd(1 + std::ldexp(1.0, -11), tiny)) == 0x3c01);
}

TEST_CASE("integer instructions", "[sim]") {
  CHECK(result_of("MOV R1, 0x5;0\nIADD3 R0, R1, -0x7, R1;0\n") == 3);
  CHECK(result_of("MOV R1, 0x3;0\nIMAD R0, R1, 0x4, R1;0\n") == 15);
  CHECK(result_of("MOV R1, 0x80000000;0\nIMAD.WIDE.U32 R2, R1, 0x4, RZ;0\nMOV R0, R3;0\n") == 2);
  CHECK(result_of("MOV R1, 0x80000000;0\nIMAD.WIDE R2, R1, 0x4, RZ;0\nMOV R0, R3;0\n") == ~1u);
  CHECK(result_of("MOV R1, 0x1;0\nLEA R0, R1, 0x10, 0x3;0\n") == 0x18);
  CHECK(result_of("MOV R1, 0xf0;0\nLOP3.LUT R0, R1, 0x3c, RZ, 0x3c, !PT;0\n") == 0xcc);
  CHECK(result_of("MOV R1, 0x80000000;0\nSHF.R.S32.HI R0, RZ, 0x1f, R1;0\n") == ~0u);
  CHECK(result_of("MOV R1, 0x80000000;0\nSHF.R.U32.HI R0, RZ, 0x1f, R1;0\n") == 1);
  CHECK(result_of("MOV R1, 0x1;0\nMOV R2, 0x28;0\nSHF.L.U32 R0, R1, R2, RZ;0\n") == 0);
  CHECK(result_of("MOV R1, 0x1;0\nMOV R2, 0x28;0\nSHF.L.W.U32 R0, R1, R2, RZ;0\n") == 0x100);
  CHECK(result_of("MOV R1, 0x44332211;0\nPRMT R0, R1, 0x9876, RZ;0\n") == 0x00000000);
  CHECK(result_of("MOV R1, 0x44332211;0\nPRMT R0, R1, 0x3210, RZ;0\n") == 0x44332211);
  CHECK(result_of("MOV R1, 0xffffff80;0\nPRMT R0, R1, 0x8880, RZ;0\n") == 0xffffff80);
  CHECK(result_of("MOV R1, 0xfffffffe;0\nVIMNMX R0, R1, 0x3, PT;0\n") == 0xfffffffe);
  CHECK(result_of("MOV R1, 0xfffffffe;0\nVIMNMX.U32 R0, R1, 0x3, PT;0\n") == 3);
}

TEST_CASE("carries pass between the halves of a sum", "[sim]") {
  // 0x1_00000000 - 1
  CHECK(result_of("MOV R2, 0x0;0\nMOV R3, 0x1;0\nIADD3 R4, P0, R2, -0x1, RZ;0\n"
                  "IADD3.X R0, R3, -0x1, RZ, P0, !PT;0\n") == 0);
  // Three addends carry twice.
  CHECK(result_of("MOV R2, 0xffffffff;0\nIADD3 R4, P0, P1, R2, R2, R2;0\n"
                  "IADD3.X R0, RZ, RZ, RZ, P0, P1;0\n") == 2);
}

TEST_CASE("wide integer comparisons use both halves", "[sim]") {
  const auto less = [](const char* low_a, const char* high_a, const char* low_b,
                       const char* high_b) {
    Execution e(
        fmt::format("MOV R2, {};0\nMOV R3, {};0\nMOV R4, {};0\nMOV R5, {};0\n"
                    "ISETP.LT.U32.AND P0, PT, R2, R4, PT;0\n"
                    "ISETP.LT.AND.EX P1, PT, R3, R5, PT, P0;0\n",
                    low_a, high_a, low_b, high_b));
    e.run();
    return e.predicate(1) == kAllLanes;
  };
  CHECK(less("0x5", "0x1", "0x6", "0x1"));
  CHECK(!less("0x6", "0x1", "0x5", "0x1"));
  CHECK(less("0x6", "-0x1", "0x5", "0x0"));
  CHECK(!less("0x5", "0x0", "0x6", "-0x1"));
}

TEST_CASE("floating-point instructions", "[sim]") {
  const auto number = [](const std::string& code) { return std::bit_cast<float>(result_of(code)); };
  CHECK(number("MOV R1, 0x40000000;0\nFFMA R0, R1, 1.5, -R1;0\n") == 1);
  CHECK(number("MOV R1, 0xc0000000;0\nFADD R0, |R1|, 1;0\n") == 3);
  CHECK(result_of("MOV R1, 0x7f800000;0\nFADD R0, R1, -R1;0\n") == 0x7fffffff);
  CHECK(number("HFMA2.MMA R0, -RZ, RZ, 1.875, 0;0\n") == 1);
  CHECK(number("MOV R1, 0x7fc00000;0\nFMNMX R0, R1, 2, PT;0\n") == 2);
  CHECK(result_of("MOV R1, 0xbf800000;0\nF2I.FTZ.U32.TRUNC.NTZ R0, R1;0\n") == 0);
  CHECK(result_of("MOV R1, 0x4f800000;0\nF2I.FTZ.U32.TRUNC.NTZ R0, R1;0\n") == ~0u);
  CHECK(result_of("MOV R1, 0x7fc00000;0\nF2I.TRUNC.NTZ R0, R1;0\n") == 0);
  CHECK(result_of("MOV R1, 0x7fc00000;0\nF2I.U64.TRUNC R0, R1;0\n", 1) == 0x80000000);
  CHECK(number("MOV R1, 0x1000001;0\nI2F.RP R0, R1;0\n") == 16777218.0f);
  CHECK(number("MOV R1, 0x40400000;0\nMUFU.EX2 R0, R1;0\n") == 8);
  CHECK(result_of(
            "MOV R1, 0x3f800000;0\nMOV R2, 0x40000000;0\nF2FP.BF16.F32.PACK_AB R0, R2, R1;0\n") ==
        0x40003f80);
}

TEST_CASE("lanes of a warp exchange values", "[sim]") {
  const std::string lanes = "S2R R1, SR_LANEID;0\n";
  CHECK(result_of(lanes + "SHFL.DOWN PT, R0, R1, 0x4, 0x1f;0\n", 0, 3) == 7);
  CHECK(result_of(lanes + "SHFL.DOWN PT, R0, R1, 0x4, 0x1f;0\n", 0, 30) == 30);
  CHECK(result_of(lanes + "SHFL.BFLY PT, R0, R1, 0x1, 0x1f;0\n", 0, 6) == 7);
  CHECK(result_of(lanes + "SHFL.IDX PT, R0, R1, 0x5, 0x1f;0\n", 0, 20) == 5);
  CHECK(result_of(lanes + "SHFL.UP PT, R0, R1, 0x2, RZ;0\n", 0, 5) == 3);
  CHECK(result_of(lanes + "SHFL.UP PT, R0, R1, 0x2, RZ;0\n", 0, 1) == 1);
}

TEST_CASE("an access to missing memory is a fault with its address", "[sim]") {
  std::vector<std::uint32_t> data(kLanes, 7);
  Execution e(
      fmt::format("S2R R4, SR_LANEID;0\nMOV R2, {:#x};0\nMOV R3, {:#x};0\n"
                  "IMAD.WIDE.U32 R2, R4, 0x4, R2;0\nLDG.E R0, desc[UR4][R2.64];0\n"
                  "STG.E desc[UR4][R2.64+0x4], R0;0\n",
                  reinterpret_cast<std::uint64_t>(data.data()) & 0xffffffff,
                  reinterpret_cast<std::uint64_t>(data.data()) >> 32));
  e.memory().add(data.data(), data.size() * sizeof data[0]);
  CHECK_THROWS_WITH(e.run(),
                    contains_text("4 bytes at ") && contains_text("are outside of every buffer"));
  CHECK(e.reg(0, 31) == 7);
  CHECK(e.block().memory.load_requests == 1);
  CHECK(e.block().memory.load_sectors >= 4);
  CHECK(e.block().memory.load_sectors <= 5);
  Execution unaligned("MOV R2, 0x2;0\nLDS R0, [R2];0\n");
  CHECK_THROWS_WITH(unaligned.run(), contains_text("not aligned"));
  Execution beyond("MOV R2, 0x1000;0\nSTS [R2], R0;0\n");
  CHECK_THROWS_WITH(beyond.run(), contains_text("outside of the block's 4096 bytes"));
}

TEST_CASE("code stores constants and instructions as text", "[sim]") {
  const std::string text =
      "c[0x2];00000410\nLDC R0, c[0x2][RZ];0000000000000001\n@!P1 EXIT;000fea0003800000\n";
  const KernelCode code = read_code_text(text);
  CHECK(to_text(code) == text);
  CHECK(code.constants == ConstantBanks{{kKernelBank, {0x410}}});
  REQUIRE(code.instructions.size() == 2);
  CHECK(code.instructions[1].address == 16);
  CHECK(code.instructions[1].guard == "@!P1");
  CHECK(code.instructions[1].opcode == "EXIT");
  CHECK(code.instructions[1].schedule == 0x000fea0003800000);
  CHECK_THROWS_AS(read_code_text("EXIT\n"), std::runtime_error);
  CHECK_THROWS_AS(read_code_text("EXIT;xyz\n"), std::runtime_error);
  const auto constants = read_constants(
      "arch = sm_90a\n\n.nv.constant2._Z1kv\n0x00000b40 0x00000410\n0x1\n\n"
      ".nv.constant0._Z1kv\n0x2\n\n.nv.constant3\n0x3 0x4\n");
  REQUIRE(constants.size() == 2);
  CHECK(constants.at({"sm_90a", ""}) == std::vector<std::uint32_t>{3, 4});
  CHECK(constants.at({"sm_90a", "_Z1kv"}) == std::vector<std::uint32_t>{0xb40, 0x410, 1});
  CHECK(result_of("c[0x2];00000007\nc[0x2];00000009\nMOV R1, 0x4;0\nLDC R0, c[0x2][R1];0\n") == 9);
  CHECK(result_of("c[0x3];00000007\nc[0x3];00000009\nMOV R1, 0x4;0\nLDC R0, c[0x3][R1];0\n") == 9);
  CHECK_THROWS_WITH(result_of("c[0x3];00000007\nMOV R1, 0x4;0\nLDC R0, c[0x3][R1];0\n"),
                    contains_text("outside of constant bank 3"));
}

TEST_CASE("unsupported instructions are named", "[sim]") {
  CHECK_THROWS_WITH(Execution("NEW R0, R1;0\n"),
                    contains_text("NEW R0, R1 at 0x0: the simulator does not execute"));
  CHECK_THROWS_WITH(Execution("TEX R0, R1;0\n"),
                    contains_text("TEX R0, R1 at 0x0: fetches of textures and surfaces are not "
                                  "simulated; load through a pointer instead"));
  CHECK_THROWS_WITH(Execution("HADD2.BF16_V2.FTZ R0, R1, R2;0\n"),
                    contains_text("this form is not executed"));
}

TEST_CASE("a vote at a barrier covers the barrier's threads", "[sim]") {
  Execution e(
      "S2R R1, SR_LANEID;0\nISETP.EQ.AND P0, PT, R1, 0x3, PT;0\n"
      "BAR.RED.OR.DEFER_BLOCKING 0x0, P0;0\nB2R.RESULT RZ, P1;0\n"
      "BAR.RED.OR.DEFER_BLOCKING 0x0, !PT;0\nB2R.RESULT RZ, P2;0\n");
  e.run();
  CHECK(e.predicate(1) == kAllLanes);
  CHECK(e.predicate(2) == 0);
}

TEST_CASE("instructions are counted per warp and per lane", "[sim]") {
  Execution e("S2R R1, SR_LANEID;0\nISETP.LT.AND P0, PT, R1, 0x8, PT;0\n@P0 MOV R0, 0x1;0\n");
  e.run();
  const auto& counts = e.block().counts;
  CHECK(counts[2].warps == 1);
  CHECK(counts[2].lanes == 32);
  CHECK(counts[2].predicated_lanes == 8);
}

}  // namespace
}  // namespace gpuexp::test
