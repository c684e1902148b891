// Instructions that exist only for compute capability 10.0 and 12.0.
#include <bit>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "support/execution.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;

const std::string kLaneNumber = "S2R R1, SR_LANEID;0\n";

std::uint32_t pattern_of(float x) {
  return std::bit_cast<std::uint32_t>(x);
}

/// {R7, R6} after the instruction, with {R3, R2} = -2 and {R5, R4} = 3.
std::uint64_t wide_result(const std::string& instruction) {
  const auto half = [&](unsigned reg) {
    return result_of(
        "MOV R2, 0xfffffffe;0\nMOV R3, -0x1;0\nMOV R4, 0x3;0\nMOV R5, RZ;0\n"
        "ISETP.EQ.AND P0, PT, RZ, RZ, PT;0\n" +
        instruction + fmt::format(";0\nMOV R0, R{};0\n", reg));
  };
  return half(6) | std::uint64_t{half(7)} << 32;
}

TEST_CASE("64-bit integer instructions", "[sim]") {
  constexpr auto kMinus = ~std::uint64_t{0};
  CHECK(wide_result("IADD.64 R6, R2, R4") == 1);
  CHECK(wide_result("IADD.64 R6, R4, -R2") == 5);
  CHECK(wide_result("IADD.64 R6, R4, -0x5") == kMinus - 1);
  CHECK(wide_result("IADD.64.X R6, R2, R4, P0") == 2);
  CHECK(wide_result("IADD.64.X R6, ~R2, R4, !P0") == 4);
  CHECK(wide_result("MOV.64 R6, R2") == kMinus - 1);
  CHECK(wide_result("SEL.64 R6, R2, R4, !P0") == 3);
  CHECK(wide_result("IMNMX.S64 PT, PT, R6, R2, R4, PT, !PT") == kMinus - 1);
  CHECK(wide_result("IMNMX.U64 PT, PT, R6, R2, R4, PT, !PT") == 3);
  CHECK(wide_result("IMNMX.S64 PT, PT, R6, R2, R4, !PT, !PT") == 3);
  // P1 carries from one sum to the next.
  CHECK(wide_result("IADD.64 RZ, P1, R2, R4;0\nIADD.64.X R6, R4, R4, P1") == 7);
  CHECK(wide_result("IADD.64 RZ, P1, R4, R4;0\nIADD.64.X R6, R4, R4, P1") == 6);
  CHECK(wide_result("IADD.64 RZ, P1, R4, -R4;0\nIADD.64.X R6, R4, R4, P1") == 7);
  CHECK_THROWS_WITH(wide_result("IMNMX.S64 P1, PT, R6, R2, R4, PT, !PT"),
                    contains_text("this form is not executed"));
}

TEST_CASE("a warp's predicates are packed into bits", "[sim]") {
  const auto packed = [](const char* mask) {
    return wide_result(
        fmt::format("UISETP.EQ.AND UP1, UPT, URZ, URZ, UPT;0\n"
                    "UISETP.NE.AND UP2, UPT, URZ, URZ, UPT;0\n"
                    "UP2UR UR4, UPR, URZ, {};0\nMOV R6, UR4;0\nMOV R7, RZ",
                    mask));
  };
  CHECK(packed("0x2") == 2);
  CHECK(packed("0x4") == 0);
  CHECK(packed("0x6") == 2);
}

TEST_CASE("64-bit comparisons are signed or unsigned", "[sim]") {
  const auto holds = [](const char* comparison) {
    return wide_result(
               fmt::format("ISETP.{}.AND P1, PT, R2, R4, PT;0\nSEL R6, R4, RZ, P1;0\nMOV R7, RZ",
                           comparison)) != 0;
  };
  CHECK(holds("LT.S64"));
  CHECK_FALSE(holds("LT.U64"));
  CHECK(holds("GE.U64"));
  CHECK_FALSE(holds("GT.S64"));
  CHECK(holds("NE.S64"));
  CHECK_FALSE(holds("EQ.U64"));
}

TEST_CASE("an unknown modifier is an error", "[sim]") {
  for (const char* instruction :
       {"MOV.32 R0, R1", "SEL.S64.X R0, R1, R2, P0", "ISETP.GE.S128.AND P0, PT, R0, R1, PT",
        "CREDUX.MAX.F32 UR4, R1", "VIADD.S32 R0, R1, R2", "VIMNMX R0, P1, PT, R1, R2, PT",
        "FMNMX3.XORSIGN R0, R1, R2, R3, PT"}) {
    INFO(instruction);
    CHECK_THROWS_AS(result_of(fmt::format("{};0\n", instruction)), std::runtime_error);
  }
}

TEST_CASE("minimum and maximum of three values, of bytes, and of lanes", "[sim]") {
  const auto of_three = [](const char* form) {
    return result_of("MOV R2, 0x40000000;0\nMOV R3, 0xc0800000;0\nMOV R4, 0x3f800000;0\n" +
                     fmt::format("{};0\n", form));
  };
  CHECK(of_three("FMNMX3 R0, R2, R3, R4, !PT") == pattern_of(2));
  CHECK(of_three("FMNMX3 R0, R2, R3, R4, PT") == pattern_of(-4));
  CHECK(of_three("FMNMX3 R0, R2, |R3|, R4, !PT") == pattern_of(4));
  const std::string bytes = "MOV R2, 0x01ff7f80;0\nMOV R3, 0x02fe8001;0\n";
  CHECK(result_of(bytes + "VIMNMX.U8x4 R0, R2, R3, PT;0\n") == 0x01fe7f01);
  CHECK(result_of(bytes + "VIMNMX.U8x4 R0, R2, R3, !PT;0\n") == 0x02ff8080);
  CHECK(result_of(bytes + "VIADD.U8x4 R0, R2, -R3;0\n") == 0xff01ff7f);
  CHECK(result_of(bytes + "VIMNMX R0, PT, PT, R2, R3, !PT;0\n") == 0x02fe8001);
  CHECK(result_of(kLaneNumber +
                  "VIADD R2, R1, -0x5;0\nCREDUX.MIN.S32 UR79, R2;0\nMOV R0, UR79;0\n") ==
        static_cast<std::uint32_t>(-5));
}

TEST_CASE("saturating 32-bit sums", "[sim]") {
  const auto sum = [](const char* form) {
    return result_of("MOV R2, 0x7fffffff;0\nMOV R3, 0x80000000;0\n" + fmt::format("{};0\n", form));
  };
  CHECK(sum("VIADD.S32.ISAT R0, R2, 0x1") == 0x7fffffff);
  CHECK(sum("VIADD.S32.ISAT R0, R3, -0x1") == 0x80000000);
  CHECK(sum("VIADD.S32.ISAT R0, -R3, 0x0") == 0x7fffffff);
  CHECK(sum("VIADD.S32.ISAT R0, R2, R3") == ~0u);
}

TEST_CASE("branches and values of the whole warp", "[sim]") {
  const auto taken = [](const char* predicate) {
    return result_of(
        fmt::format("UISETP.EQ.AND UP0, UPT, URZ, URZ, UPT;0\nMOV R0, 0x1;0\n"
                    "BRA.U {}, 0x40;0\nMOV R0, 0x2;0\nNOP;0\n",
                    predicate));
  };
  CHECK(taken("UP0") == 1);
  CHECK(taken("!UP0") == 2);
  CHECK(result_of("UMOV UR4, 0x40000000;0\nUFFMA UR4, UR4, UR4, -1;0\nUFADD UR4, UR4, 1;0\n"
                  "UFMUL UR4, UR4, 0.5;0\nMOV R0, UR4;0\n") == pattern_of(2));
  CHECK(result_of("UMOV UR4, 0x7;0\nUI2F.U32.RP UR4, UR4;0\nMOV R0, UR4;0\n") == pattern_of(7));
}

TEST_CASE("a compare-and-swap in shared memory reports success", "[sim]") {
  const auto done = [](const char* expected) {
    return result_of(
        fmt::format("STS [RZ], RZ;0\nMOV R2, {};0\nMOV R3, 0x7;0\n"
                    "ATOMS.CAST.SPIN P0, [RZ], R2, R3;0\nSEL R0, R3, RZ, P0;0\n",
                    expected));
  };
  CHECK(done("0x0") == 7);
  CHECK(done("0x1") == 0);
}

}  // namespace
}  // namespace gpuexp::test
