// Faults of the simulator: kinds, places and words.
#include <optional>
#include <string>

#include <fmt/format.h>

#include "sim/block.hpp"
#include "sim/decoder.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;

/// The fault of a block of 64 threads by default.
std::optional<Fault> fault_of(const std::string& code, std::int64_t threads = 64,
                              const Checks& checks = {}, std::size_t system_bytes = 0) {
  const std::string text = code + "EXIT;0\n";
  const Program program = decode(read_code_text(text));
  GlobalMemory memory;
  LaunchState launch;
  launch.program = &program;
  launch.global = &memory;
  launch.block = {threads, 1, 1};
  launch.shared_bytes = 4096;
  launch.system_shared_bytes = system_bytes;
  launch.constants.resize(0x400);
  launch.checks = checks;
  Block block(launch, Extent{1, 0, 0});
  try {
    block.run();
  } catch (const Fault& fault) {
    return fault;
  }
  return std::nullopt;
}

const std::string kThreadInR1 = "//a.cu\n#0:1\nS2R R1, SR_TID.X;0\nSHF.L.U32 R2, R1, 0x2, RZ;0\n";

TEST_CASE("a fault has its line, block, thread and address", "[sim]") {
  const auto fault = fault_of(kThreadInR1 +
                              "#0:2\nSTS [R2], R1;0\n#0:3\nLOP3.LUT R3, R2, 0x7c, RZ, 0xc0, !PT;0\n"
                              "#0:4\nLDS R4, [R3];0\n");
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::race);
  CHECK(fault->place == "a.cu:4");
  CHECK(fault->block == Extent{1, 0, 0});
  CHECK(fault->thread == Extent{32, 0, 0});
  CHECK(fault->address == 0u);
  CHECK(std::string(fault->what()) ==
        "a.cu:4, block (1, 0, 0), thread (32, 0, 0): 4 bytes of shared memory at 0x0 are read with "
        "no barrier since thread (0, 0, 0) at a.cu:2 wrote them");
}

TEST_CASE("faults name offsets in the kernel's own shared memory, without the system's", "[sim]") {
  constexpr std::size_t kSystemBytes = 1024;
  const auto words_of = [](const std::string& address, const std::string& access) {
    const auto fault =
        fault_of("//a.cu\n#0:1\nMOV R2, " + address + ";0\n" + access, 32, {}, kSystemBytes);
    REQUIRE(fault);
    return fault->words;
  };
  CHECK(words_of("0x1000", "STS [R2], R1;0\n") ==
        "4 bytes at 0xc00 are outside of the block's 3072 bytes of shared memory");
  CHECK(words_of("0x402", "STS [R2], R1;0\n") ==
        "4 bytes of shared memory at 0x2 are not aligned: expected a multiple of 4");
  const std::string used = "LDS R4, [R2];0\nIADD3 R5, R4, 0x1, RZ;0\n";
  CHECK_THAT(words_of("0x480", used),
             contains_text("4 bytes of shared memory at 0x80 are read before anything wrote them"));
  CHECK_THAT(words_of("0x3f8", used),
             contains_text("shared memory at 0x8 before the start are read"));
}

TEST_CASE("unwritten values may be loaded, but not used", "[sim]") {
  const std::string load = kThreadInR1 + "#0:2\nLDS R4, [R2];0\n";
  CHECK(!fault_of(load));
  const auto used = fault_of(load + "#0:3\nIADD3 R5, R4, 0x1, RZ;0\n");
  REQUIRE(used);
  CHECK(used->kind == FaultKind::unwritten);
  CHECK(used->place == "a.cu:2");
  CHECK(used->address == 0u);
  CHECK_THAT(used->words, contains_text("and used at a.cu:3"));
  CHECK(fault_of(load + "STS [R4], R1;0\n"));
  // An overwritten register is valid.
  CHECK(!fault_of(load + "MOV R4, 0x1;0\nIADD3 R5, R4, 0x1, RZ;0\n"));
  CHECK(!fault_of(load + "MOV R3, 0x1;0\nIADD3 R5, R3, 0x1, RZ;0\n"));
  CHECK(fault_of(load + "MOV R3, 0x1;0\nIADD3 R5, R4, 0x1, RZ;0\n"));
}

TEST_CASE("a read before another thread's write lacks a barrier", "[sim]") {
  const std::string read =
      kThreadInR1 + "#0:2\nLDS R4, [R2+0x80];0\n#0:3\nIADD3 R5, R4, 0x1, RZ;0\n";
  const std::string barrier = "BAR.SYNC.DEFER_BLOCKING 0x0;0\n";
  const auto early = fault_of(read + "#0:4\nSTS [R2], R1;0\n");
  REQUIRE(early);
  CHECK(early->kind == FaultKind::race);
  CHECK(early->thread == Extent{0, 0, 0});
  CHECK(early->place == "a.cu:2");
  CHECK(early->words ==
        "4 bytes of shared memory at 0x80 are read before thread (32, 0, 0) at a.cu:4 writes them, "
        "and used at a.cu:3; no barrier separates this write from the read: one is missing between "
        "them, such as __syncthreads()");
  CHECK_THAT(early->what(), contains_text("(0, 0, 0): 4 bytes of shared memory at 0x80"));
  const std::string unwritten =
      "4 bytes of shared memory at 0x80 are read before anything wrote them, and used at a.cu:3";
  for (const std::string& later : {
           std::string("STS [R2+0x200], R1;0\n"),  // other bytes
           std::string("STS [R2+0x80], R1;0\n"),   // the bytes that the same thread has read
           barrier + "STS [R2], R1;0\n",           // after a barrier: the read is too early
           std::string("BPT.TRAP 0x1;0\nSTS [R2], R1;0\n"),
       }) {
    CAPTURE(later);
    const auto fault = fault_of(read + "#0:4\n" + later);
    REQUIRE(fault);
    CHECK(fault->kind == FaultKind::unwritten);
    CHECK(fault->words == unwritten);
  }
  // An atomic operation reads, too.
  const auto added = fault_of(kThreadInR1 +
                              "#0:2\nATOMS.ADD RZ, [R2+0x80], R1;0\n"
                              "#0:3\nSTS [R2], R1;0\n");
  REQUIRE(added);
  CHECK_THAT(added->words, contains_text("are changed by an atomic operation before thread (32, 0, "
                                         "0) at a.cu:3 writes them"));
}

TEST_CASE("a barrier that some threads never reach lists the waiting threads", "[sim]") {
  // The lower half of each warp waits for the block, the upper half for the lower half.
  const auto fault = fault_of(kThreadInR1 +
                              "#0:2\nLOP3.LUT R3, R1, 0x10, RZ, 0xc0, !PT;0\n"
                              "ISETP.NE.AND P0, PT, R3, RZ, PT;0\nBSSY B0, 0x70;0\n"
                              "@P0 BRA 0x70;0\n#0:3\nBAR.SYNC.DEFER_BLOCKING 0x0;0\n"
                              "#0:4\nBSYNC B0;0\n");
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::barrier);
  CHECK(fault->place == "a.cu:3");
  CHECK_THAT(fault->words, contains_text("threads waiting there: 32 at a.cu:3; threads waiting "
                                         "for other lanes of their warps: 32 at a.cu:4; exited "
                                         "threads: 0"));
  CHECK(!fault_of("BAR.SYNC.DEFER_BLOCKING 0x0;0\n"));
  // A barrier does not wait for exited threads.
  CHECK(!fault_of(kThreadInR1 + "ISETP.LT.AND P0, PT, R1, 0x20, PT;0\n@P0 EXIT;0\n"
                                "BAR.SYNC.DEFER_BLOCKING 0x0;0\n"));
  const auto some = fault_of(kThreadInR1 +
                             "ISETP.LT.AND P0, PT, R1, 0x8, PT;0\n"
                             "@P0 BAR.SYNC.DEFER_BLOCKING 0x0;0\n");
  REQUIRE(some);
  CHECK(some->kind == FaultKind::barrier);
  CHECK_THAT(some->words, contains_text("8 threads of a warp wait at a barrier that 24 others"));
}

TEST_CASE("lanes that wait for absent lanes of their mask are named", "[sim]") {
  // The lower half of each warp waits for lanes of a mask, the upper half for the lower half.
  const auto words_with = [](const std::string& mask) {
    const auto fault = fault_of(kThreadInR1 +
                                "#0:2\nLOP3.LUT R3, R1, 0x10, RZ, 0xc0, !PT;0\n"
                                "ISETP.NE.AND P0, PT, R3, RZ, PT;0\nBSSY B0, 0x70;0\n"
                                "@P0 BRA 0x70;0\n#0:3\nWARPSYNC " +
                                mask + ";0\n#0:4\nBSYNC B0;0\n");
    if (!fault) return std::string();
    CHECK(fault->kind == FaultKind::barrier);
    CHECK(fault->place == "a.cu:3");
    return fault->words;
  };
  CHECK(words_with("0xffffffff") ==
        "threads waiting for other lanes of their warps: 32 at a.cu:3, 32 at a.cu:4; lanes 0 to "
        "15 of warp 0 wait at a.cu:3 for lanes 16 to 31 of the mask, which never arrive; so do "
        "lanes of 1 other warp; exited threads: 0");
  CHECK_THAT(words_with("0x2001ffff"), contains_text("for lanes 16, 29 of the mask, which never "));
  CHECK_THAT(words_with("0x8000ffff"),
             contains_text("for lane 31 of the mask, which never arrives; so do"));
  CHECK(words_with("0xffff").empty());
}

TEST_CASE("a warp in an endless loop is stopped", "[sim]") {
  Checks checks;
  checks.max_instructions = 1000;
  const auto loop = [](int turns) {
    return fmt::format(
        "//a.cu\n#0:1\nMOV R1, RZ;0\n#0:2\nIADD3 R1, R1, 0x1, RZ;0\n#0:3\n"
        "ISETP.LT.AND P0, PT, R1, {:#x}, PT;0\n@P0 BRA 0x10;0\n#0:4\n",
        turns);
  };
  CHECK(!fault_of(loop(300), 64, checks));
  const auto fault = fault_of(loop(100'000), 64, checks);
  REQUIRE(fault);
  CHECK(fault->kind == FaultKind::endless);
  CHECK(fault->place == "a.cu:2");
  CHECK(!fault->thread);
}

TEST_CASE("each kind of access is checked before it executes", "[sim]") {
  const auto kind_of = [](const std::string& code) {
    const auto fault = fault_of(kThreadInR1 + code);
    return fault ? std::optional(fault->kind) : std::nullopt;
  };
  CHECK(kind_of("STS [R2+0xff0], R1;0\n") == FaultKind::out_of_bounds);
  CHECK(kind_of("STS [R2+0x1], R1;0\n") == FaultKind::misaligned);
  CHECK(kind_of("MOV R4, 0x10;0\nMOV R5, RZ;0\nLDG.E R6, desc[UR4][R4.64];0\n") ==
        FaultKind::out_of_bounds);
  CHECK(kind_of("MOV R4, 0x11;0\nMOV R5, RZ;0\nLDG.E R6, desc[UR4][R4.64];0\n") ==
        FaultKind::misaligned);
  CHECK(kind_of("BPT.TRAP 0x1;0\n") == FaultKind::other);
  CHECK(!kind_of("STS [R2], R1;0\n"));
}

}  // namespace
}  // namespace gpuexp::test
