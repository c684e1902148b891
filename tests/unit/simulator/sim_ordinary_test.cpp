// Simulated instructions of common kernels: block barriers, votes, atomics, local memory, bit
// fields.
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/small_floats.hpp"
#include "support/catch.hpp"
#include "support/execution.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;

const std::string kLane = "S2R R1, SR_LANEID;0\n";

TEST_CASE("a named barrier waits for the given number of threads", "[sim]") {
  // Warps 0 and 1 exchange stored values through barrier 1; warp 2 exits.
  const auto run = [](const char* threads) {
    Execution e(
        fmt::format("S2R R1, SR_TID.X;0\nSHF.L.U32 R2, R1, 0x2, RZ;0\n"
                    "ISETP.GE.AND P0, PT, R1, 0x40, PT;0\n@P0 EXIT;0\nSTS [R2], R1;0\n"
                    "BAR.SYNC.DEFER_BLOCKING 0x1, {};0\nLOP3.LUT R2, R2, 0x80, RZ, 0x3c, !PT;0\n"
                    "LDS R0, [R2];0\n",
                    threads),
        3);
    e.run();
    return std::pair(e.reg(0, 5, 0), e.reg(0, 5, 1));
  };
  CHECK(run("0x40") == std::pair(37u, 5u));
  CHECK_THROWS_WITH(run("0x60"), contains_text("never reached"));
  CHECK_THROWS_WITH(run("0x20"), contains_text("with no barrier since"));  // no thread waits
}

TEST_CASE("a thread that only arrives at a barrier does not wait", "[sim]") {
  const auto run = [](const char* arrives) {
    Execution e(fmt::format("S2R R1, SR_TID.X;0\nISETP.GE.AND P0, PT, R1, 0x20, PT;0\n"
                            "@P0 BRA 0x60;0\nBAR.SYNC.DEFER_BLOCKING 0x2, 0x40;0\nLDS R0, [RZ];0\n"
                            "EXIT;0\nMOV R3, 0x7;0\nSTS [RZ], R3;0\n{};0\n",
                            arrives),
                2);
    e.run();
    return e.reg(0);
  };
  CHECK(run("BAR.ARV 0x2, 0x40") == 7);
  CHECK_THROWS_WITH(run("NOP"), contains_text("never reached"));
}

TEST_CASE("a completed barrier starts counting again", "[sim]") {
  // Warp 0 waits twice at barrier 2; warp 1 arrives there twice without waiting.
  const auto run = [](const char* again) {
    Execution e(fmt::format("S2R R1, SR_TID.X;0\nISETP.GE.AND P0, PT, R1, 0x20, PT;0\n"
                            "@P0 BRA 0x60;0\nBAR.SYNC.DEFER_BLOCKING 0x2, 0x40;0\n"
                            "BAR.SYNC.DEFER_BLOCKING 0x2, 0x40;0\nEXIT;0\nBAR.ARV 0x2, 0x40;0\n"
                            "{};0\n",
                            again),
                2);
    e.run();
  };
  CHECK_NOTHROW(run("BAR.ARV 0x2, 0x40"));
  CHECK_THROWS_WITH(run("NOP"), contains_text("never reached"));
}

TEST_CASE("barriers count votes", "[sim]") {
  Execution e(
      "S2R R1, SR_TID.X;0\nISETP.LT.AND P0, PT, R1, 0x23, PT;0\n"
      "BAR.RED.POPC.DEFER_BLOCKING 0x0, P0;0\nB2R.RESULT R2;0\n"
      "BAR.RED.AND.DEFER_BLOCKING 0x0, P0;0\nB2R.RESULT RZ, P1;0\n"
      "BAR.RED.AND.DEFER_BLOCKING 0x0, PT;0\nB2R.RESULT RZ, P2;0\n",
      2);
  e.run();
  CHECK(e.reg(2, 0, 1) == 35);
  CHECK(e.predicate(1) == 0);
  CHECK(e.predicate(2) == kAllLanes);
}

TEST_CASE("lanes reduce, match and vote", "[sim]") {
  const std::string negative = kLane + "VIADD R2, R1, -0x5;0\n";
  const auto reduced = [&](const char* how) {
    return result_of(negative + fmt::format("REDUX{} UR4, R2;0\nMOV R0, UR4;0\n", how));
  };
  CHECK(reduced(".SUM") == 31 * 16 - 5 * 32);
  CHECK(reduced(".MIN.S32") == static_cast<std::uint32_t>(-5));
  CHECK(reduced(".MIN") == 0);
  CHECK(reduced(".MAX.S32") == 26);
  CHECK(reduced(".MAX") == ~0u);
  CHECK(reduced("") == 0);
  CHECK(reduced(".OR") == ~0u);
  const std::string fours = kLane + "SHF.R.U32.HI R2, RZ, 0x2, R1;0\nMOV R3, RZ;0\n";
  CHECK(result_of(fours + "MATCH.ANY R0, R2;0\n", 0, 9) == 0xf00);
  CHECK(result_of(fours + "MATCH.ANY.U64 R0, R2;0\n", 0, 9) == 0xf00);
  CHECK(result_of(fours + "MATCH.ALL P0, R0, R2;0\n", 0, 9) == 0);
  CHECK(result_of(fours + "MATCH.ALL P0, R0, R3;0\n", 0, 9) == kAllLanes);
  Execution votes(kLane +
                  "ISETP.LT.AND P0, PT, R1, 0x4, PT;0\nVOTE.ALL P1, P0;0\n"
                  "VOTE.ANY P2, P0;0\nVOTE.ANY R2, PT, P0;0\n");
  votes.run();
  CHECK(votes.predicate(1) == 0);
  CHECK(votes.predicate(2) == kAllLanes);
  CHECK(votes.reg(2) == 0xf);
}

TEST_CASE("atomics in shared memory return the old value", "[sim]") {
  const auto run = [](const std::string& code, unsigned reg = 0, unsigned lane = 0) {
    return result_of(kLane + "MOV R2, 0x5;0\nMOV R3, RZ;0\nSTS [RZ+0x10], R2;0\n" + code +
                         "LDS R9, [RZ+0x10];0\n",
                     reg, lane);
  };
  CHECK(run("ATOMS.ADD R0, [RZ+0x10], R1;0\n", 9) == 5 + 31 * 16);
  CHECK(run("ATOMS.ADD R0, [RZ+0x10], R1;0\n", 0, 3) == 5 + 0 + 1 + 2);
  CHECK(run("MOV R1, 0xfffffffe;0\nATOMS.MIN.S32 R0, [RZ+0x10], R1;0\n", 9) == 0xfffffffe);
  CHECK(run("MOV R1, 0xfffffffe;0\nATOMS.MIN R0, [RZ+0x10], R1;0\n", 9) == 5);
  CHECK(run("MOV R1, 0xfffffffe;0\nATOMS.MAX.S32 R0, [RZ+0x10], R1;0\n", 9) == 5);
  CHECK(run("ATOMS.POPC.INC.32 RZ, [RZ+0x10];0\n", 9) == 37);
  CHECK(run("MOV R1, 0x6;0\nATOMS.INC R0, [RZ+0x10], R1;0\n", 9) == (5 + 32) % 7);
  CHECK(run("MOV R1, 0x6;0\nATOMS.DEC R0, [RZ+0x10], R1;0\n", 9) == 1);  // 32 steps of 7 values
  CHECK(run("ATOMS.EXCH R0, [RZ+0x10], R1;0\n", 9) == 31);
  CHECK(run("ATOMS.CAS R0, [RZ+0x10], R2, R1;0\n", 9) == 0);  // lane 0 reads 5, no other lane does
  CHECK(run("ATOMS.CAS R0, [RZ+0x10], R2, R1;0\n", 0, 0) == 5);
  CHECK(run("ATOMS.CAST.SPIN R0, [RZ+0x10], R2, R1;0\n", 0, 0) == 1);
  CHECK(run("ATOMS.CAST.SPIN R0, [RZ+0x10], R2, R1;0\n", 0, 1) == 0);
  CHECK(run("STS [RZ+0x14], RZ;0\nATOMS.CAS.64 R0, [RZ+0x10], R2, R4;0\n", 9) == 0);
}

TEST_CASE("atomics in global memory add floating-point numbers", "[sim]") {
  const auto run = [](const std::string& type, std::uint64_t begin, std::uint32_t low,
                      std::uint32_t high = 0) {
    alignas(8) std::uint64_t cell = begin;
    const auto address = reinterpret_cast<std::uint64_t>(&cell);
    Execution e(
        fmt::format("MOV R2, {:#x};0\nMOV R3, {:#x};0\nMOV R4, {:#x};0\nMOV R5, {:#x};0\n"
                    "ATOMG.E.ADD.{}STRONG.GPU PT, R6, desc[UR4][R2.64], R4;0\n"
                    "REDG.E.ADD.{}STRONG.GPU desc[UR4][R2.64], R4;0\n",
                    address & 0xffffffff, address >> 32, low, high, type, type));
    e.memory().add(&cell, sizeof cell);
    e.run();
    return cell;
  };
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  CHECK(run("F32.FTZ.RN.", bits(1), bits(0.5f)) == bits(33));
  CHECK(run("F32.FTZ.RN.", 1, 1) == 0);  // flushed as subnormal
  CHECK(run("F32.RN.", 1, 1) == 65);
  CHECK(run("F16x2.RN.", 0x3c003c00, 0x3c000000) ==
        (round_to<kFp16>(65) << 16 | round_to<kFp16>(1)));
  CHECK(run("BF16x2.RN.", 0, 0x3f80) == round_to<kBf16>(64));
  const auto half = std::bit_cast<std::uint64_t>(0.5);
  CHECK(run("F64.RN.", half, static_cast<std::uint32_t>(half),
            static_cast<std::uint32_t>(half >> 32)) == std::bit_cast<std::uint64_t>(32.5));
  CHECK(run("64.", 0xffffffff, 1) == 0xffffffffull + 64);
  CHECK_THROWS_WITH(Execution("ATOMG.E.MIN.F32.STRONG.GPU PT, R6, desc[UR4][R2.64], R4;0\n"),
                    contains_text("this form is not executed"));
}

TEST_CASE("each lane has its own local memory", "[sim]") {
  const std::string stack = fmt::format("MOV R2, {:#x};0\n", kLocalBytes) + kLane;
  CHECK(result_of(stack + "STL [R2+-0x10], R1;0\nSTL [R2+-0x800], R2;0\nLDL R0, [R2+-0x10];0\n", 0,
                  7) == 7);
  CHECK(result_of(stack + "STL [R2+-0x10], R1;0\nVIADD R4, R2, -0x10;0\nMOV R5, 0x6000000;0\n"
                          "LD.E R0, desc[UR4][R4.64];0\n",
                  0, 9) == 9);
  CHECK_THROWS_WITH(result_of(stack + "STL [R2], R1;0\n"), contains_text("outside of a thread's"));
  CHECK_THROWS_WITH(result_of(stack + "STL.64 [R2+-0xc], R4;0\n"), contains_text("not aligned"));
}

TEST_CASE("unwritten local memory may be copied, but not used", "[sim]") {
  const auto run = [](const std::string& code) {
    return result_of(fmt::format("MOV R2, {:#x};0\n", kLocalBytes) + kLane + code);
  };
  const std::string use = "IADD3 R0, R4, 0x1, RZ;0\n";
  CHECK_NOTHROW(run("LDL R4, [R2+-0x10];0\n"));
  CHECK_THROWS_WITH(run("LDL R4, [R2+-0x10];0\n" + use),
                    contains_text("4 bytes of local memory at 0x7fff0 are read before anything"));
  CHECK(run("STL [R2+-0x10], R1;0\nLDL R4, [R2+-0x10];0\n" + use) == 1);
  // Half of the read bytes were written; one lane wrote them, another did not.
  CHECK_THROWS_WITH(run("STL.U8 [R2+-0x10], R1;0\nLDL R4, [R2+-0x10];0\n" + use),
                    contains_text("before anything wrote them"));
  CHECK_THROWS_WITH(run("ISETP.NE.AND P0, PT, R1, 0x9, PT;0\n@P0 STL [R2+-0x10], R1;0\n"
                        "LDL R4, [R2+-0x10];0\n" +
                        use),
                    contains_text("thread (9, 0, 0)"));
  const std::string copied =
      "STL [R2+-0x10], R1;0\nLDL.64 R4, [R2+-0x10];0\nSTL.64 [R2+-0x20], R4;0\n";
  CHECK_NOTHROW(run(copied));
  CHECK_THROWS_WITH(run(copied + "LDL R4, [R2+-0x1c];0\n" + use),
                    contains_text("4 bytes of local memory at 0x7ffe4 are read before anything"));
  // Also through generic addresses.
  CHECK_THROWS_WITH(
      run("VIADD R4, R2, -0x10;0\nMOV R5, 0x6000000;0\nLD.E R4, desc[UR4][R4.64];0\n" + use),
      contains_text("4 bytes of local memory at 0x7fff0"));
}

TEST_CASE("bit fields and byte fields", "[sim]") {
  const auto run = [](std::uint32_t a, std::uint32_t b, const std::string& code) {
    return result_of(fmt::format("MOV R1, {:#x};0\nMOV R2, {:#x};0\n{};0\n", a, b, code));
  };
  CHECK(run(0xf0f1, 0, "POPC R0, R1") == 9);
  CHECK(run(0xf0f1, 0, "POPC R0, ~R1") == 23);
  CHECK(run(0x1, 0, "BREV R0, R1") == 0x80000000);
  CHECK(run(0x0000f000, 0, "FLO.U32 R0, R1") == 15);
  CHECK(run(0x0000f000, 0, "FLO.U32.SH R0, R1") == 16);
  CHECK(run(0, 0, "FLO.U32.SH R0, R1") == ~0u);
  CHECK(run(4, 8, "BMSK R0, R1, R2") == 0xff0);
  CHECK(run(4, 40, "BMSK R0, R1, R2") == 0xfffffff0);
  CHECK(run(36, 8, "BMSK R0, R1, R2") == 0);
  CHECK(run(36, 8, "BMSK.W R0, R1, R2") == 0xff0);
  CHECK(run(0x1f0, 8, "SGXT R0, R1, R2") == 0xfffffff0);
  CHECK(run(0x1f0, 8, "SGXT.U32 R0, R1, R2") == 0xf0);
  CHECK(run(0x1f0, 0, "SGXT R0, R1, R2") == 0);
  CHECK(run(0xff020304, 0x02020202, "IDP.4A.S8.S8 R0, R1, R2, R1") == 0xff020304 + 2 * 8);
  CHECK(run(0xff020304, 0x02020202, "IDP.4A.U8.U8 R0, R1, R2, RZ") == 2 * (255 + 9));
  CHECK(run(0xffff0003, 0x05040201, "IDP.2A.LO.S16.U8 R0, R1, R2, RZ") == 3 * 1 - 2);
  CHECK(run(0xffff0003, 0x05040201, "IDP.2A.HI.S16.U8 R0, R1, R2, RZ") == 3 * 4 - 5);
  CHECK(run(0xffffffff, 2, "VABSDIFF R0, R1, R2, R2") == 5);
  CHECK(run(0xffffffff, 2, "VABSDIFF.U32 R0, R1, R2, RZ") == 0xfffffffd);
  CHECK(run(0x01ff0305, 0x02010106, "VABSDIFF4.U8 R0, R1, R2, RZ") == 0x01fe0201);
}

TEST_CASE("pairs of fp16 and bf16", "[sim]") {
  const auto halves = [](double high, double low) {
    return round_to<kFp16>(high) << 16 | round_to<kFp16>(low);
  };
  const auto brains = [](double high, double low) {
    return round_to<kBf16>(high) << 16 | round_to<kBf16>(low);
  };
  const auto run = [](std::uint32_t a, std::uint32_t b, const std::string& code) {
    return result_of(fmt::format("MOV R1, {:#x};0\nMOV R2, {:#x};0\n{};0\n", a, b, code));
  };
  const std::uint32_t a = halves(3, -1.5);
  const std::uint32_t b = halves(0.5, 2);
  CHECK(run(a, b, "HADD2 R0, R1, R2") == halves(3.5, 0.5));
  CHECK(run(a, b, "HADD2 R0, |R1|, -R2.H0_H0") == halves(1, -0.5));
  CHECK(run(a, b, "HMUL2 R0, R1, R2") == halves(1.5, -3));
  CHECK(run(a, b, "HFMA2 R0, R1, R2, R1") == halves(4.5, -4.5));
  CHECK(run(a, b, "HFMA2.RELU R0, R1, R2, R1") == halves(4.5, 0));
  CHECK(run(a, b, "HFMA2.MMA.SAT R0, R1, 1, 1, R2") == halves(1, 0.5));
  CHECK(run(a, b, "HMNMX2 R0, R1, R2, PT") == halves(0.5, -1.5));
  CHECK(run(a, b, "HMNMX2 R0, R1, R2, !PT") == halves(3, 2));
  CHECK(run(halves(std::nan(""), 1), b, "HMNMX2 R0, R1, R2, PT") == halves(0.5, 1));
  CHECK(run(a, b, "HSET2.BF.GT.AND R0, R1, R2, PT") == halves(1, 0));
  CHECK(run(a, b, "HSET2.LT.AND R0, R1, R2, PT") == 0x0000ffff);
  CHECK(run(brains(3, -1.5), brains(0.5, 2), "HADD2.BF16_V2 R0, R1, R2") == brains(3.5, 0.5));
  CHECK(run(brains(3, -1.5), brains(0.5, 2), "HFMA2.MMA.BF16_V2 R0, R1, 1, 1, R2") ==
        brains(3.5, 0.5));
  CHECK(run(brains(3, -1.5), brains(0.5, 2), "HMUL2.BF16_V2 R0, R1, R2") == brains(1.5, -3));
  Execution e(
      fmt::format("MOV R1, {:#x};0\nMOV R2, {:#x};0\nHSETP2.GT.AND P0, P1, R1, R2, PT;0\n"
                  "HSETP2.GEU.AND P2, P3, R1, R3.H0_H0, PT;0\n",
                  halves(3, std::nan("")), b));
  e.run();
  CHECK(e.predicate(0) == 0);
  CHECK(e.predicate(1) == kAllLanes);
  CHECK(e.predicate(2) == kAllLanes);
  CHECK_THROWS_WITH(Execution("HADD2.BF16_V2.FTZ R0, R1, R2;0\n"),
                    contains_text("form is not executed"));
}

TEST_CASE("divisions near the end of the range take the slow path", "[sim]") {
  const auto scales = [](float a, float b) {
    Execution e(fmt::format("MOV R1, {:#x};0\nMOV R2, {:#x};0\nFCHK P0, R1, R2;0\n",
                            std::bit_cast<std::uint32_t>(a), std::bit_cast<std::uint32_t>(b)));
    e.run();
    return e.predicate(0) == kAllLanes;
  };
  CHECK(!scales(1, 3));
  CHECK(!scales(-1e10f, 1e-10f));
  CHECK(scales(1, 0));
  CHECK(scales(1e30f, 1e-30f));
  CHECK(scales(1e-36f, 2));
  CHECK(scales(1, INFINITY));
  CHECK(scales(std::nanf(""), 1));
}

TEST_CASE("minimum and maximum of fp64 ignore NaN", "[sim]") {
  const auto run = [](const char* how, double a, double b) {
    const auto words = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    Execution e(fmt::format(
        "MOV R2, {:#x};0\nMOV R3, {:#x};0\nMOV R4, {:#x};0\nMOV R5, {:#x};0\n"
        "DSETP.{}.AND P0, P1, R2, R4, PT;0\n",
        words(a) & 0xffffffff, words(a) >> 32, words(b) & 0xffffffff, words(b) >> 32, how));
    e.run();
    return std::pair(e.predicate(0) != 0, e.predicate(1) != 0);
  };
  const double nan = std::nan("");
  CHECK(run("MIN", 1, 2) == std::pair(true, false));
  CHECK(run("MIN", 2, 1) == std::pair(false, false));
  CHECK(run("MAX", 2, 1) == std::pair(true, false));
  CHECK(run("MAX", 1, nan) == std::pair(true, false));
  CHECK(run("MAX", nan, 1) == std::pair(false, false));
  CHECK(run("MIN", nan, nan) == std::pair(false, true));
}

TEST_CASE("a warp's register count must be valid", "[sim]") {
  CHECK_NOTHROW(Execution("USETMAXREG.DEALLOC.CTAPOOL 0x28;0\n").run());
  Execution e("USETMAXREG.TRY_ALLOC.CTAPOOL P1, 0xe8;0\nACQBULK;0\nPREEXIT;0\n");
  e.run();
  CHECK(e.predicate(1) == kAllLanes);
  CHECK_THROWS_WITH(Execution("USETMAXREG.DEALLOC.CTAPOOL 0x29;0\n"),
                    contains_text("24 to 256 registers"));
}

TEST_CASE("diverged lanes are collected for collective instructions", "[sim]") {
  // nvcc's code for x > 3 ? x + __shfl_xor_sync(~0u, x, 3) : x - __shfl_xor_sync(~0u, x, 3): both
  // branches exchange with all lanes.
  const auto run = [](int least) {
    Execution e(kLane +
                fmt::format("BSSY B0, 0xd0;0\nISETP.GE.AND P0, PT, R1, {:#x}, PT;0\n"
                            "UMOV UR6, 0xffffffff;0\n@P0 BRA 0x90;0\n"
                            "BRA.DIV UR6, 0xf0;0\nSHFL.BFLY PT, R5, R1, 0x3, 0x1f;0\n"
                            "IADD3 R5, R1, -R5, RZ;0\nBRA 0xc0;0\n"
                            "BRA.DIV UR6, 0x160;0\nSHFL.BFLY PT, R5, R1, 0x3, 0x1f;0\n"
                            "IADD3 R5, R1, R5, RZ;0\n"
                            "BSYNC B0;0\nMOV R8, 0x1;0\nEXIT;0\n"
                            // 0xf0
                            "MOV R7, 0x3;0\nMOV R9, 0x1f;0\nMOV R4, 0xffffffff;0\n"
                            "WARPSYNC.COLLECTIVE R4, 0x150;0\nSHFL.BFLY P0, R5, R1, R7, R9;0\n"
                            "ENDCOLLECTIVE;0\nBRA 0x70;0\n"
                            // 0x160
                            "MOV R7, 0x3;0\nMOV R9, 0x1f;0\nWARPSYNC.COLLECTIVE.ALL 0x1b0;0\n"
                            "SHFL.BFLY P0, R5, R1, R7, R9;0\nENDCOLLECTIVE;0\nBRA 0xb0;0\n",
                            least));
    e.run();
    CHECK(e.reg(8) == 1);
    return std::pair(static_cast<int>(e.reg(5, 2)), static_cast<int>(e.reg(5, 20)));
  };
  CHECK(run(0) == std::pair(2 + 1, 20 + 23));  // no divergence
  CHECK(run(32) == std::pair(2 - 1, 20 - 23));
  CHECK(run(18) == std::pair(2 - 1, 20 + 23));
  CHECK(run(2) == std::pair(2 + 1, 20 + 23));
}

TEST_CASE("converged lanes skip the reconvergence code", "[sim]") {
  // nvcc's code for __ballot_sync(~0u, ...) at compute capability 8.0.
  const auto run = [](int least) {
    Execution e(kLane + fmt::format("ISETP.GE.AND P0, PT, R1, {:#x}, PT;0\nBSSY B0, 0x90;0\n"
                                    "@P0 BRA 0x50;0\nMOV R5, 0x1;0\n"
                                    "BRA.CONV ~URZ, 0x80;0\nMOV R6, 0x1;0\nWARPSYNC.ALL;0\n"
                                    "BSYNC B0;0\nEXIT;0\n",
                                    least));
    e.run();
    return static_cast<int>(e.reg(6, 31));
  };
  CHECK(run(0) == 0);
  CHECK(run(32) == 0);
  CHECK(run(16) == 1);
}

TEST_CASE("lanes are collected by their own mask", "[sim]") {
  // nvcc's code for __reduce_add_sync(__match_any_sync(~0u, x), y): one group per value of x; a
  // single group takes the direct path.
  const auto run = [](const char* key) {
    Execution e(kLane + fmt::format("LOP3.LUT R2, R1, {}, RZ, 0xc0, !PT;0\n"
                                    "MATCH.ANY R3, R2;0\nREDUX.OR UR4, R3;0\nR2UR P0, URZ, R3;0\n"
                                    "@!P0 BRA.DIV UR4, 0x90;0\nREDUX.SUM UR4, R1;0\n"
                                    "MOV R5, UR4;0\nEXIT;0\n"
                                    // 0x90
                                    "BSSY B0, 0xe0;0\nWARPSYNC.COLLECTIVE R3, 0xe0;0\n"
                                    "REDUX.SUM UR62, R1;0\nMOV R5, UR62;0\nENDCOLLECTIVE;0\n"
                                    "BSYNC B0;0\nREDUX.SUM UR4, R5;0\nMOV R6, UR4;0\nEXIT;0\n",
                                    key));
    e.run();
    return e;
  };
  Execution one = run("0x0");
  CHECK(one.reg(5, 2) == 31 * 32 / 2);
  Execution even_and_odd = run("0x1");
  CHECK(even_and_odd.reg(5, 2) == 30 * 16 / 2);
  CHECK(even_and_odd.reg(5, 3) == 32 * 16 / 2);
  // They reconverge.
  CHECK(even_and_odd.reg(6, 3) == 16 * (30 * 16 / 2 + 32 * 16 / 2));
  // The same without a direct path.
  Execution exclusive(kLane +
                      "BSSY B0, 0x70;0\nLOP3.LUT R2, R1, 0x3, RZ, 0xc0, !PT;0\n"
                      "MATCH.ANY R3, R2;0\nWARPSYNC.EXCLUSIVE R3;0\nREDUX.SUM UR4, R1;0\n"
                      "MOV R5, UR4;0\nBSYNC B0;0\nREDUX.MAX UR4, R5;0\nMOV R6, UR4;0\n");
  exclusive.run();
  CHECK(exclusive.reg(5, 4) == 4 * 28);
  CHECK(exclusive.reg(5, 7) == 4 * 28 + 3 * 8);
  CHECK(exclusive.reg(6, 4) == 4 * 28 + 3 * 8);
}

TEST_CASE("lanes that wait for each other resume at their own instruction", "[sim]") {
  Divergence lanes(kAllLanes);
  lanes.go_to(1);
  lanes.branch(0xffff, 10);
  lanes.wait_for(kAllLanes);
  CHECK(lanes.lanes() == 0xffff);
  lanes.wait_for(kAllLanes);
  CHECK(lanes.is_running());
  const LaneGroup one{lanes.lanes(), lanes.next()};
  lanes.yield();
  const LaneGroup other{lanes.lanes(), lanes.next()};
  CHECK((one.lanes | other.lanes) == kAllLanes);
  CHECK(one.next == (one.lanes == 0xffff ? 10u : 1u));
  CHECK(other.next == (other.lanes == 0xffff ? 10u : 1u));
}

TEST_CASE("lanes exit by the guard and by the operand", "[sim]") {
  const auto last_of = [](const char* exit, unsigned lane) {
    Execution e(kLane +
                fmt::format("MOV R3, 0x7;0\nISETP.GE.AND P0, PT, R1, 0x8, PT;0\n"
                            "ISETP.LT.AND P1, PT, R1, 0x14, PT;0\n{};0\nMOV R3, 0x9;0\nEXIT;0\n",
                            exit));
    e.run();
    return e.reg(3, lane);
  };
  CHECK(last_of("@P0 EXIT P1", 2) == 9);
  CHECK(last_of("@P0 EXIT P1", 10) == 7);
  CHECK(last_of("@P0 EXIT P1", 25) == 9);
  CHECK(last_of("@P0 EXIT !P1", 10) == 9);
  CHECK(last_of("@P0 EXIT !P1", 25) == 7);
  CHECK(last_of("EXIT !P0", 2) == 7);
  CHECK(last_of("EXIT !P0", 10) == 9);
  CHECK(last_of("EXIT !PT", 10) == 9);
  CHECK(last_of("EXIT", 10) == 7);
}

TEST_CASE("a convergence barrier is saved and restored", "[sim]") {
  Execution e(kLane +
              "BSSY B6, 0x90;0\nBMOV.32.CLEAR R18, B6;0\nISETP.LT.AND P0, PT, R1, 0x8, PT;0\n"
              "BSSY B6, 0x70;0\n@P0 BRA 0x70;0\nNOP;0\nBSYNC B6;0\nBMOV.32 B6, R18;0\nBSYNC B6;0\n"
              "VOTE.ANY R2, PT, PT;0\n");
  e.run();
  CHECK(e.reg(18) == kAllLanes);
  CHECK(e.reg(2) == kAllLanes);
}

}  // namespace
}  // namespace gpuexp::test
