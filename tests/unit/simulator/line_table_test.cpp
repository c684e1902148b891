#include "sass/line_table.hpp"

#include <stdexcept>
#include <string>

#include "sass/code_listing.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

// Output of cuobjdump -elf: two kernels, the second with an inlined function of a header.
const std::string kDump =
    "arch = sm_90a\n"
    ".section .debug_line\n"
    "  Length:                         408\n"
    "The Directory Table:\n"
    " /home/me/gpuexp/kernels\n"
    " /usr/local/cuda/include\n"
    "\n"
    "The File Name Table:\n"
    " Entry   Dir         Time    Size     Name\n"
    "     1     1   1795371817    4643     copy.cu\n"
    "     2     2   1795360077    1118     sm_30_intrinsics.hpp\n"
    "\n"
    "Offset in .debug_str:            0\n"
    "\n"
    "Line Number Statements:\n"
    "  Extended opcode 2: set Address to 0x0\n"
    "  Advance Line by 43 to 44\n"
    "  Copy\n"
    "  Special opcode 230: advance Address by 16 to 0x10 and Line by 1 to 45\n"
    "  Advance Line by -2 to 43\n"
    "  Advance PC by 128 to 0x90\n"
    "  Copy\n"
    "  Advance PC by 240 to 0x180\n"
    "  Extended opcode 1: End of Sequence\n"
    "\n"
    "  Extended opcode 2: set Address to 0x0\n"
    "  Advance Line by 59 to 60\n"
    "  Copy\n"
    "  Set File Name to entry 2 in the File Name Table\n"
    "  Extended opcode 144: Set context to 1 and function offset to 0x0\n"
    "  Advance Line by 9 to 69\n"
    "  Advance PC by 16 to 0x10\n"
    "  Copy\n"
    "  Extended opcode 144: Set context to 0 and function offset to 0x0\n"
    "  Special opcode 230: advance Address by 16 to 0x20 and Line by 1 to 70\n"
    "  Extended opcode 1: End of Sequence\n"
    "\n"
    ".section .rela.debug_line\tRELA\n"
    "0x7b    _Z4copyv    R_CUDA_64    0x0\n"
    "0x98    _Z4sortv    R_CUDA_64    0x0\n"
    "\n"
    ".section .nv_debug_line_sass\n"
    "The File Name Table:\n"
    "  Extended opcode 1: End of Sequence\n";

TEST_CASE("source lines of kernels are read") {
  const LinesByKernel lines = read_lines(kDump, "/home/me/gpuexp/");
  REQUIRE(lines.size() == 2);
  const auto& copy = lines.at({"sm_90a", "_Z4copyv"});
  REQUIRE(copy.size() == 3);
  CHECK(copy[0].address == 0);
  CHECK(copy[0].file == "kernels/copy.cu");
  CHECK(copy[0].line == 44);
  CHECK(copy[1].address == 0x10);
  CHECK(copy[1].line == 45);
  CHECK(copy[2].address == 0x90);
  CHECK(copy[2].line == 43);
}

TEST_CASE("kernels have the lines of their relocations, in any order") {
  // As written by ptxas and NVRTC for compute capability 8.0.
  std::string dump = kDump;
  const std::size_t at = dump.find(".section .rela.debug_line");
  dump.replace(at, dump.find(".section .nv_debug") - at,
               ".section .rel.debug_line\tREL\n"
               "0x98    _Z4sortv    R_CUDA_64\n"
               "0x7b    _Z4copyv    R_CUDA_64\n\n");
  const LinesByKernel lines = read_lines(dump, "/home/me/gpuexp/");
  CHECK(lines.at({"sm_90a", "_Z4copyv"}).front().line == 44);
  CHECK(lines.at({"sm_90a", "_Z4sortv"}).front().line == 60);
}

TEST_CASE("sources with a relative path are named like others") {
  const auto file_from = [](const std::string& folder) {
    const std::string usual = "/home/me/gpuexp/kernels";
    std::string dump = kDump;
    dump.replace(dump.find(usual), usual.size(), folder);
    return read_lines(dump, "/home/me/gpuexp").at({"sm_90a", "_Z4copyv"}).front().file;
  };
  CHECK(file_from("/home/me/gpuexp/build/../kernels") == "kernels/copy.cu");
  CHECK(file_from("/home/me/gpuexp/build/./../kernels/common") == "kernels/common/copy.cu");
  // Not below the root, although its name starts like the root's.
  CHECK(file_from("/home/me/gpuexp/../other/kernels") == "copy.cu");
}

TEST_CASE("inlined code of a header has the line that inlined it, or the header's name") {
  const LinesByKernel lines = read_lines(kDump, "/home/me/gpuexp");
  const auto& sort = lines.at({"sm_90a", "_Z4sortv"});
  REQUIRE(sort.size() == 3);
  CHECK(sort[1].file == "kernels/copy.cu");
  CHECK(sort[1].line == 60);
  CHECK(sort[2].file == "sm_30_intrinsics.hpp");
  CHECK(sort[2].line == 70);
  // A folder whose name starts like the root's.
  const LinesByKernel others = read_lines(kDump, "/home/me/gpu");
  CHECK(others.at({"sm_90a", "_Z4copyv"}).front().file == "copy.cu");
}

TEST_CASE("inlined code has its own line and the kernel's line that led to it") {
  // Row 2 is inlined at row 1, and row 3 at row 2: a function of the kernel's file in another's.
  std::string dump = kDump;
  const std::string context = "Extended opcode 144: Set context to 1 and function offset to 0x0\n";
  const std::size_t at = dump.find("  Set File Name to entry 2");
  dump.replace(at, dump.find("  Extended opcode 1: End", at) - at,
               "  " + context +
                   "  Advance Line by -50 to 10\n  Advance PC by 16 to 0x10\n  Copy\n"
                   "  Set File Name to entry 2 in the File Name Table\n"
                   "  Extended opcode 144: Set context to 2 and function offset to 0x0\n"
                   "  Advance Line by 59 to 69\n  Advance PC by 16 to 0x20\n  Copy\n");
  const auto sort = read_lines(dump, "/home/me/gpuexp").at({"sm_90a", "_Z4sortv"});
  REQUIRE(sort.size() == 3);
  CHECK(sort[0].from_file.empty());
  for (const std::size_t row : {1, 2}) {
    CHECK(sort[row].file == "kernels/copy.cu");
    CHECK(sort[row].line == 10);
    CHECK(sort[row].from_file == "kernels/copy.cu");
    CHECK(sort[row].from_line == 60);
  }
  // Code that belongs to a header itself has only the kernel's line.
  CHECK(read_lines(kDump, "/home/me/gpuexp").at({"sm_90a", "_Z4sortv"})[1].from_file.empty());
}

TEST_CASE("invalid source lines are rejected") {
  CHECK(read_lines("arch = sm_90a\n", "/").empty());
  std::string dump = kDump;
  dump.replace(dump.find("0x98 "), 5, "98   ");
  CHECK_THROWS_WITH(read_lines(dump, "/"), contains_text("of 2 functions, but 1 function names"));
  dump = kDump;
  dump.replace(dump.find("entry 2"), 7, "entry 3");
  CHECK_THROWS_WITH(read_lines(dump, "/"), contains_text("refer to file 3 of 2"));
  dump = kDump;
  dump.replace(dump.find("     2     2"), 12, "     2     7");
  CHECK_THROWS_WITH(read_lines(dump, "/"), contains_text("has an unknown folder"));
}

TEST_CASE("code stores source lines of instructions as text") {
  const std::string text =
      "//kernels/copy.cu\n//kernels/common/pack.cuh\nNOP;0000000000000000\n#0:44\n"
      "MOV R1, R2;0000000000000001\nEXIT;0000000000000002\n#1:7\nNOP;0000000000000003\n"
      "#0:44\nNOP;0000000000000004\n#1:7<0:45\nNOP;0000000000000005\n";
  const KernelCode code = read_code_text(text);
  REQUIRE(code.instructions.size() == 6);
  CHECK(code.instructions[0].file.empty());
  CHECK(code.instructions[1].file == "kernels/copy.cu");
  CHECK(code.instructions[1].line == 44);
  CHECK(code.instructions[2].line == 44);
  CHECK(code.instructions[3].file == "kernels/common/pack.cuh");
  CHECK(code.instructions[3].line == 7);
  CHECK(code.instructions[3].from_file.empty());
  CHECK(code.instructions[5].line == 7);
  CHECK(code.instructions[5].from_file == "kernels/copy.cu");
  CHECK(code.instructions[5].from_line == 45);
  // Files are in order of first use.
  CHECK(to_text(code) == text);
  CHECK_THROWS_AS(read_code_text("#0:x\nNOP;0\n"), std::runtime_error);
}

}  // namespace
}  // namespace gpuexp::test
