// Undocumented results of an H200 at the limits of formats, found by random programs
// (sim/random_programs_test.cpp).
#include <fmt/format.h>

#include "sass/code_listing.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "support/execution.hpp"

namespace gpuexp::test {
namespace {

std::uint32_t of_words(std::uint32_t a, std::uint32_t b, const std::string& code) {
  return result_of(fmt::format("MOV R1, {:#x};0\nMOV R2, {:#x};0\n{};0\n", a, b, code));
}

/// The fp64 result in R8 for fp64 values in R2, R4 and R6.
std::uint64_t of_doubles(std::uint64_t a, std::uint64_t b, std::uint64_t c,
                         const std::string& code) {
  std::string text;
  const std::uint64_t values[] = {a, b, c};
  for (unsigned i = 0; i < 3; ++i)
    text += fmt::format("MOV R{}, {:#x};0\nMOV R{}, {:#x};0\n", 2 + 2 * i,
                        static_cast<std::uint32_t>(values[i]), 3 + 2 * i, values[i] >> 32);
  Execution e(text + code + ";0\n");
  e.run();
  return e.reg(8) | std::uint64_t{e.reg(9)} << 32;
}

constexpr std::uint64_t kOne = 0x3ff0000000000000;
constexpr std::uint64_t kSignalling = 0xfff0000000000123;
constexpr std::uint64_t kQuiet = 0xfff8000000000123;
constexpr std::uint64_t kOther = 0x7ff8000000000456;

}  // namespace

TEST_CASE("fp64 propagates NaN", "[sim]") {
  CHECK(of_doubles(kSignalling, kOne, kOne, "DADD R8, R2, R4") == kQuiet);
  CHECK(of_doubles(kOne, kSignalling, kOne, "DADD R8, R2, -R4") == kQuiet);
  CHECK(of_doubles(kSignalling, kOther, kOne, "DMUL R8, R2, R4") == kOther);
  CHECK(of_doubles(kSignalling, kOne, kOther, "DFMA R8, R2, R4, R6") == kOther);
  CHECK(of_doubles(0x7ff0000000000000, 0, kOne, "DMUL R8, R2, R4") == 0xfff8000000000000);
  CHECK(of_doubles(kSignalling, 0, 0, "FRND.F64 R8, R2") == kQuiet);
  CHECK(of_doubles(0xff800001, 0, 0, "F2F.F64.F32 R8, R2") == 0xfff8000020000000);
  CHECK(static_cast<std::uint32_t>(of_doubles(0x7ff2946000000000, 0, 0, "F2F.F32.F64 R8, R2")) ==
        0x7fd4a300);
  CHECK(static_cast<std::uint32_t>(of_doubles(0x7ff2946000000000, 0, 0, "F2F.F16.F64 R8, R2")) ==
        0x7ea5);
}

TEST_CASE("the fp64 minimum of -0 and +0 is -0", "[sim]") {
  const auto first = [](std::uint64_t a, std::uint64_t b, const std::string& code) {
    Execution e(fmt::format(
        "MOV R2, RZ;0\nMOV R3, {:#x};0\nMOV R4, RZ;0\nMOV R5, {:#x};0\n{} P0, P1, R2, R4, PT;0\n",
        a >> 32, b >> 32, code));
    e.run();
    return e.predicate(0) != 0;
  };
  constexpr std::uint64_t kMinus = 0x8000000000000000;
  CHECK(first(kMinus, 0, "DSETP.MIN.AND"));
  CHECK(!first(0, kMinus, "DSETP.MIN.AND"));
  CHECK(!first(kMinus, 0, "DSETP.MAX.AND"));
  CHECK(first(0, kMinus, "DSETP.MAX.AND"));
}

TEST_CASE("FTZ flushes results that become normal only by rounding", "[sim]") {
  // (1 - 2^-24) 2^-126 needs 24 bits; a subnormal has 23.
  CHECK(of_words(0x00ffffff, 0, "FMUL.FTZ R0, R1, 0.5") == 0);
  CHECK(of_words(0x3f7fffff, 0x00800000, "FMUL.FTZ R0, R1, R2") == 0);
  CHECK(of_words(0x3f7fffff, 0x00800001, "FMUL.FTZ R0, R1, R2") == 0x00800000);
  CHECK(of_words(0x3f7fffff, 0x00800000, "FMUL R0, R1, R2") == 0x00800000);
  CHECK(of_words(0x8400, 0x8d42, "HFMA2.FTZ R0, R1.H0_H0, R2.H0_H0, R1.H0_H0") == 0x80008000);
  CHECK(of_words(0x8400, 0x8400, "HFMA2.FTZ R0, R1.H0_H0, R2.H0_H0, R1.H0_H0") == 0x84008400);
}

TEST_CASE("RELU returns no -0", "[sim]") {
  CHECK(of_words(0x80008000, 0x3c003c00, "HFMA2.RELU R0, R1, R2, R1") == 0);
  CHECK(of_words(0x80000000, 0xbf800000, "F2FP.RELU.F16.F32.PACK_AB R0, R1, R2") == 0);
}

TEST_CASE("fma.oob returns zero for elements outside a tensor", "[sim]") {
  CHECK(of_words(0x7ff73f80, 0x3f80fff7, "HFMA2.BF16_V2.OOB R0, R1, R2, R2") == 0);
  CHECK(of_words(0x7fff3f80, 0x3f803f80, "HFMA2.BF16_V2.OOB R0, R1, R2, R2") == 0x7fff4000);
  CHECK(of_words(0x7ff73f80, 0x3f803f80, "HFMA2.BF16_V2 R0, R1, R2, R2") == 0x7fff4000);
}

TEST_CASE("functions at the ends of their ranges", "[sim]") {
  CHECK(of_words(0x3e800000, 0, "MUFU.SIN R0, R1") == 0x3f800000);  // a quarter of a period
  CHECK(of_words(0x3f000000, 0, "MUFU.COS R0, R1") == 0xbf800000);
  CHECK(of_words(0x00400000, 0, "MUFU.TANH R0, R1") == 0x00400000);
  CHECK(of_words(0x00400000, 0, "MUFU.RCP R0, R1") == 0x7f800000);
  CHECK(of_words(0x000fffff, 0, "MUFU.RCP64H R0, R1") == 0x7ff00000);
  CHECK(of_words(0x800fffff, 0, "MUFU.RSQ64H R0, R1") == 0xfff00000);
  CHECK(of_words(0x7fe00000, 0, "MUFU.RCP64H R0, R1") == 0);
  CHECK(of_words(0xcbfe, 0, "MUFU.EX2.F16 R0, R1") == 0x0102);
  CHECK(of_words(0xc300, 0, "MUFU.EX2.BF16 R0, R1") == 0);
}

TEST_CASE("NaN immediates keep their bits", "[sim]") {
  const auto text_of = [](const std::string& instruction, const std::string& encoding) {
    return to_text(read_code("\tcode for sm_90a\n\t\tFunction : _Z1kv\n        /*0000*/   " +
                             instruction + " ;   /* " + encoding +
                             " */\n   /* 0x000fe20000000000 */\n")
                       .front());
  };
  CHECK(text_of("FSEL R0, R1, +QNAN , P0", "0x7fefffff01007808") ==
        "FSEL R0, R1, 0x7fefffff, P0;000fe20000000000\n");
  CHECK(text_of("HADD2 R0, R1, -QNAN , 1", "0xfe013c0001007430") ==
        "HADD2 R0, R1, 0xfe013c00;000fe20000000000\n");
  CHECK(text_of("FSEL R0, R1, 1 , P0", "0x3f80000001007808") ==
        "FSEL R0, R1, 1 , P0;000fe20000000000\n");
  CHECK(result_of("FSEL R0, RZ, 0x7fefffff, !PT;0\n") == 0x7fefffff);
  CHECK(of_doubles(kOne, 0, 0, "DADD R8, R2, 0xfff00001") == 0xfff8000100000000);
}

TEST_CASE("operands in upper halves and addresses in uniform registers", "[sim]") {
  CHECK(of_words(0x3c400000, 0, "F2FP.F16.E5M2.UNPACK_B R0, R1.H1") == 0x3c004000);
  CHECK(result_of("c[0x2];00000007\nc[0x2];00000009\nUMOV UR4, 0x4;0\n"
                  "ULDC UR5, c[0x2][UR4];0\nMOV R0, UR5;0\n") == 9);
}

TEST_CASE("a partial copy fills the other bytes with zeros", "[sim]") {
  std::uint32_t word = 0xaabbccdd;
  const auto at = reinterpret_cast<std::uintptr_t>(&word);
  Execution e(
      fmt::format("MOV R1, 0x40;0\nMOV R2, 0x11223344;0\nSTS [R1], R2;0\nMOV R4, {:#x};0\n"
                  "MOV R5, {:#x};0\nLDGSTS.E.ZFILL [R1], desc[UR4][R4.64+0x1];0\nLDGDEPBAR;0\n"
                  "DEPBAR.LE SB0, 0x0;0\nLDS R0, [R1];0\n",
                  static_cast<std::uint32_t>(at), at >> 32));
  e.memory().add(&word, sizeof word, "word");
  e.run();
  CHECK(e.reg(0) == 0x00bbccdd);
}

// For very large arguments, sinf reads the digits of 2/π from a global variable.
TEST_CASE("the address of a global variable is a fault only when read", "[sim]") {
  const std::string reads = "@P0 IMAD.WIDE.U32 R2, R4, R5, c[0x4][0x8];0\n";
  Execution apart("ISETP.EQ.AND P0, PT, RZ, 0x1, PT;0\n" + reads);
  CHECK_NOTHROW(apart.run());
  Execution taken("ISETP.EQ.AND P0, PT, RZ, RZ, PT;0\n" + reads);
  CHECK_THROWS_AS(taken.run(), sim::Fault);
}

}  // namespace gpuexp::test
