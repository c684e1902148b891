#include "sass/module_data.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

// Shortened output of cuobjdump -elf for code of compute capability 9.0.
constexpr const char* kModuleDump = R"(
64-bit ELF: type=ET_EXEC, ABI=8, sm=90a, toolkit=13.0, flags=0x6005a04
Sections:
Index Offset   Size ES Align                      Type    Flags Link     Info Name
    3    5f8    348 18  8                       SYMTAB        0    2       23 .symtab
   11    e08     10  0  8                     PROGBITS        2    0        0 .nv.constant4
   12    e50      c  0  4                     PROGBITS        2    0        0 .nv.constant3
   16   1f00     13  0  8                     PROGBITS        3    0        0 .nv.global.init
   18   1f4c    4b0  0  4                       NOBITS        3    0        0 .nv.global
.section .strtab
.section .symtab
 index           value           size      info    other  shndx    name
   0               0               0        0        0      0     (null)
 0x6               0               0      0x3        0   0x16     .nv.global.init
 0x7             0x8             0x8      0x1        0   0x16     counter
 0x8               0             0x8      0x1        0   0x16     where
 0x9            0x10             0x3      0x1        0   0x16     _ZN5space5bytesE
 0xb               0           0x4b0      0x1        0   0x18     zeros
 0xe             0x4             0x8      0x1        0   0x12     limits
0x1f               0           0x580     0x12     0x10   0x15     _Z1fPfi
.nv.constant4
0x00000000 0x00000000 0x00000000 0x00000000

.section .rela.nv.constant4	RELA
0x8    vprintf    R_CUDA_64    0x0
0x0    counter    R_CUDA_64    0x4
.nv.constant3
0x00000000 0x00000003 0x00000004
.nv.global.init
0x00000000 0x00000000 0x00000007 0x00000009
0x01 0x02 0x03
.section .rela.nv.global.init	RELA
0x0    counter    R_CUDA_G64    0x0
.nv.shared.reserved.0
   No data to be dumped.
)";

std::vector<std::byte> module_bytes(std::initializer_list<int> values) {
  std::vector<std::byte> all;
  for (const int value : values)
    all.push_back(static_cast<std::byte>(value));
  return all;
}

TEST_CASE("a module's variables have their sizes and initial contents", "[module_data]") {
  const ModuleData data = read_module_data(kModuleDump);
  REQUIRE(data.variables.size() == 5);
  const ModuleVariable* const counter = data.find("counter");
  REQUIRE(counter);
  CHECK(!counter->is_constant);
  CHECK(counter->contents == module_bytes({7, 0, 0, 0, 9, 0, 0, 0}));
  CHECK(data.find("_ZN5space5bytesE")->contents == module_bytes({1, 2, 3}));
  CHECK(data.find("zeros")->bytes == 0x4b0);
  CHECK(data.find("zeros")->contents.empty());
  const ModuleVariable* const limits = data.find("limits");
  REQUIRE(limits);
  CHECK(limits->is_constant);
  CHECK(limits->bank_offset == 4);
  CHECK(limits->contents == module_bytes({3, 0, 0, 0, 4, 0, 0, 0}));
  CHECK(data.constants.size() == 12);
  CHECK(!data.find("_Z1fPfi"));
  CHECK(!data.find("vprintf"));
}

TEST_CASE("a module's addresses name variables, not functions", "[module_data]") {
  const ModuleData data = read_module_data(kModuleDump);
  CHECK(data.address_bank_bytes == 0x10);
  REQUIRE(data.addresses.size() == 1);
  CHECK(data.variables[data.addresses[0].variable].lowered_name == "counter");
  CHECK(data.addresses[0].offset == 0);
  CHECK(data.addresses[0].addend == 4);
  const ModuleVariable* const where = data.find("where");
  REQUIRE(where);
  REQUIRE(where->addresses.size() == 1);
  CHECK(where->addresses[0].offset == 0);
  CHECK(data.variables[where->addresses[0].variable].lowered_name == "counter");
}

TEST_CASE("a section without addends holds them", "[module_data]") {
  std::string dump = kModuleDump;
  const auto replace = [&](std::string_view what, std::string_view by) {
    REQUIRE(dump.find(what) != dump.npos);
    dump.replace(dump.find(what), what.size(), by);
  };
  replace(".rela.nv.constant4	RELA", ".rel.nv.constant4	REL");
  replace("R_CUDA_64    0x0", "R_CUDA_64");
  replace("R_CUDA_64    0x4", "R_CUDA_64");
  replace("0x00000000 0x00000000 0x00000000 0x00000000", "0x00000006 0x00000000 0x00000000 0x0");
  CHECK(read_module_data(dump).addresses.at(0).addend == 6);
}

TEST_CASE("damaged text of a module is refused", "[module_data]") {
  CHECK(read_module_data("").variables.empty());
  CHECK(read_module_data("fatal: no ELF\n").variables.empty());
  std::string dump = kModuleDump;
  dump.replace(dump.find("0x8      0x1        0   0x12"), 3, "0x9");
  CHECK_THROWS_WITH(read_module_data(dump), "9 bytes at 0x4 are outside of a section of 12 bytes");
  dump.replace(dump.find("0x9      0x1        0   0x12"), 3, "0xg");
  CHECK_THROWS_WITH(read_module_data(dump), "'g' is not a hexadecimal number");
}

}  // namespace
}  // namespace gpuexp::test
