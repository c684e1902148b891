#include "sass/kernel_table.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include "base/compressed.hpp"
#include "sass/code_listing.hpp"
#include "sass/kernel_resource.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

// The tools' output for an object with the kernel `name`, one addition, one architecture.
ObjectDump object(const std::string& file, const std::string& name, const std::string& architecture,
                  int registers) {
  return {file, fmt::format("0000000000000010 T {0}\n0000000000000000 V _ZTI1a\n", name),
          fmt::format("Fatbin elf code:\n================\narch = {0}\ncode version = [1,8]\n\n"
                      "Resource usage:\n Common:\n  GLOBAL:0\n Function {1}:\n"
                      "  REG:{2} STACK:8 SHARED:1536 LOCAL:0 CONSTANT[0]:568 TEXTURE:0\n",
                      architecture, name, registers),
          fmt::format("\tcode for {}\n\t\tFunction : {}\n        /*0000*/  FADD R1, R2, R3 ;\n"
                      "        /*0010*/  EXIT ;\n        /*0020*/  BRA 0x20;\n",
                      architecture, name),
          ""};
}

// A part of the table, read back from its file.
KernelPart part(const ObjectDump& dump) {
  return read_part(to_text(make_part(dump, "")));
}

TEST_CASE("the table's source declares each kernel once and has a row per architecture") {
  KernelTable table;
  const KernelPart b = part(object("b.o", "_Z1kv", "sm_90a", 12));
  const KernelPart a = part(object("a.o", "_Z1kv", "sm_80", 10));
  table.add(b);
  table.add(a);
  CHECK(table.code() == b.frame + a.frame);
  const std::string frames =
      fmt::format("  {{kernel_code + 0, {}}},\n  {{kernel_code + {}, {}}},\n", b.frame.size(),
                  b.frame.size(), a.frame.size());
  CHECK(table.source("k.code") == R"x(#include "sass/kernel_resource.hpp"

extern "C" const char kernel_code[] __asm__("gpuexp_kernel_code");
__asm__(".pushsection .rodata\n.global gpuexp_kernel_code\ngpuexp_kernel_code:\n"
        ".incbin \"k.code\"\n.byte 0\n.popsection\n");
static const gpuexp::CodeFrame frames[] = {
)x" + frames + R"x(};
extern "C" void kernel_0() __asm__("_Z1kv");

namespace gpuexp {

const KernelResource* kernel_resource_table(std::size_t& count) {
  count = 2;
  static const KernelResource table[] = {
    {reinterpret_cast<const void*>(&kernel_0), "a", "_Z1kv", 80, 10, 1536, 0, 8, false, "1 EXIT\n1 FADD\n", {frames[1], 0, 81}},
    {reinterpret_cast<const void*>(&kernel_0), "b", "_Z1kv", 90, 12, 512, 0, 8, false, "1 EXIT\n1 FADD\n", {frames[0], 0, 81}},
  };
  return table;
}

const SourceText* kernel_source_table(std::size_t& count) {
  count = 0;
  return nullptr;
}

}  // namespace gpuexp
)x");
}

TEST_CASE("a table without kernels is empty") {
  CHECK_THAT(KernelTable().source("k.code"), contains_text("  count = 0;\n  return nullptr;\n"));
}

TEST_CASE("sources are stored after the code") {
  KernelTable table;
  table.add(part(object("a.o", "_Z1kv", "sm_80", 10)));
  const std::size_t code_bytes = table.code().size();
  table.add_source("kernels/a.cu", "1234");
  table.add_source("kernels/b.cuh", "56");
  CHECK(table.code().substr(code_bytes) == "123456");
  CHECK_THAT(table.source("k.code"),
             contains_text(fmt::format("const SourceText* kernel_source_table(std::size_t& count) "
                                       "{{\n  count = 2;\n"
                                       "  static const SourceText table[] = {{\n"
                                       "    {{\"kernels/a.cu\", {{kernel_code + {}, 4}}}},\n"
                                       "    {{\"kernels/b.cuh\", {{kernel_code + {}, 2}}}},\n",
                                       code_bytes, code_bytes + 4)));
}

TEST_CASE("a kernel without a listing has a row without instructions") {
  ObjectDump dump = object("a.o", "_Z1kv", "sm_80", 10);
  dump.sass.clear();
  KernelTable table;
  table.add(part(dump));
  CHECK_THAT(table.source("k.code"),
             contains_text("\"_Z1kv\", 80, 10, 1536, 0, 8, false, \"\", {frames[0], 0, 0}}"));
}

TEST_CASE("a template in two objects has one row if both are equal") {
  KernelTable table;
  table.add(part(object("a.o", "_Z1kv", "sm_80", 10)));
  table.add(part(object("b.o", "_Z1kv", "sm_80", 10)));
  CHECK_THAT(table.source("k.code"), contains_text("  count = 1;\n"));
  CHECK_THROWS_WITH(table.add(part(object("c.o", "_Z1kv", "sm_80", 11))),
                    contains_text("the kernel _Z1kv differs between a.o and c.o"));
}

TEST_CASE("code for sm_90a replaces code for sm_90") {
  for (const bool specific_first : {false, true}) {
    KernelTable table;
    table.add(part(
        object("a.o", "_Z1kv", specific_first ? "sm_90a" : "sm_90", specific_first ? 12 : 10)));
    table.add(part(
        object("a.o", "_Z1kv", specific_first ? "sm_90" : "sm_90a", specific_first ? 10 : 12)));
    CHECK_THAT(table.source("k.code"), contains_text("  count = 1;\n"));
    CHECK_THAT(table.source("k.code"), contains_text("\"_Z1kv\", 90, 12,"));
  }
}

TEST_CASE("a kernel that cannot be looked up fails the build, except a library's") {
  ObjectDump dump = object("a.o", "_ZL1kv", "sm_80", 10);
  dump.symbols = "0000000000000000 V _ZL1kv\n";
  CHECK_THROWS_WITH(part(dump),
                    contains_text("the kernel _ZL1kv in a.o has no host symbol of its name"));
  ObjectDump of_cub = object("a.o", "_ZN3cub6kernelEv", "sm_80", 10);
  of_cub.symbols.clear();
  KernelTable table;
  table.add(part(of_cub));
  CHECK_THAT(table.source("k.code"), contains_text("  count = 0;\n"));
}

// cuobjdump's output for an image linked with the device runtime, including the runtime's functions
// and kernels.
ObjectDump linked(const std::string& called, const std::string& section) {
  ObjectDump dump = object("d.linked.o", "_Z1kv", "sm_90a", 28);
  dump.resource_usage +=
      " Function __cudaCDP2LaunchDeviceV2:\n  REG:24 STACK:0 SHARED:0 LOCAL:0 TEXTURE:0\n"
      " Function "
      "__nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0__Z16memset_3d_devicev:\n"
      "  REG:12 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:608 TEXTURE:0\n";
  dump.sass =
      "\tcode for sm_90a\n\t\tFunction : _Z1kv\n        /*0000*/  MOV R4, 0x0 ;\n"
      "        /*0010*/  CALL.ABS.NOINC 0x0 ;\n        /*0020*/  EXIT ;\n"
      "\t\tFunction : __cudaCDP2LaunchDeviceV2\n        /*0000*/  RET.ABS R20 0x0 ;\n"
      "\t\tFunction : __nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0__Z16memset_3d_"
      "devicev\n        /*0000*/  EXIT ;\n";
  dump.elf = "arch = sm_90a\n.section " + section +
             ".text._Z1kv\tREL\n"
             "0x0    _Z1kv    R_CUDA_ABS32_LO_32    0x20\n"
             "0x10    " +
             called +
             "    R_CUDA_ABS55_16_34    0x0\n\n.section .debug_str\n"
             "0x20    other    R_CUDA_ABS55_16_34    0x0\n";
  return dump;
}

TEST_CASE("in an image linked for the device, kernels have rows and calls have function names") {
  const std::string launch = "__cudaCDP2LaunchDeviceV2";
  const std::string section = GENERATE(as<std::string>(), ".rela", ".rel");
  for (const std::string& called : {launch, std::string("__cuda_sm20_rem_s64")}) {
    KernelTable table;
    const KernelPart made = part(linked(called, section));
    table.add(made);
    CHECK_THAT(table.source("k.code"), contains_text("  count = 1;\n"));
    CHECK_THAT(table.source("k.code"), contains_text("\"d\", \"_Z1kv\", 90, 28,"));
    const std::string code(decompressed(made.frame, "frame"));
    CHECK_THAT(code, contains_text(fmt::format("CALL.ABS.NOINC {};", called)));
    CHECK_THAT(code, contains_text("MOV R4, 0x0;"));
    CHECK_THAT(table.source("k.code"),
               contains_text(fmt::format("28, 512, 0, 8, {}, \"", called == launch)));
  }
}

TEST_CASE("a frame of machine code is decompressed when one of its kernels is read") {
  const KernelPart made = part(object("a.o", "_Z1kv", "sm_80", 10));
  const CodeFrame frame(made.frame.data(), made.frame.size());
  const CodeText code(frame, made.rows.at(0).code_begin, made.rows.at(0).code_size);
  CHECK(!code.empty());
  CHECK(read_code_text(code.text()).instructions.size() == 3);
  CHECK(CodeText(frame, 0, 0).empty());
  const CodeFrame damaged(made.frame.data(), made.frame.size() / 2);
  CHECK_THROWS_WITH(CodeText(damaged, 0, 4).text(), contains_text("the program's machine code"));
}

TEST_CASE("an invalid part fails the build") {
  const std::string text = to_text(part(object("a.o", "_Z1kv", "sm_80", 10)));
  CHECK_THROWS_WITH(read_part("kernels\n" + text), contains_text("'kernels' is not a line"));
  CHECK_THROWS_WITH(read_part(text.substr(0, text.find("frame"))), contains_text("has no code"));
  CHECK_THROWS_WITH(read_part("kernel _Z1kv x sm_80\n"), contains_text("'x' is not a number"));
}

TEST_CASE("invalid tool output fails the build") {
  ObjectDump other_listing = object("a.o", "_Z1kv", "sm_80", 10);
  other_listing.sass = "\tcode for sm_90\n\t\tFunction : _Z1kv\n";
  CHECK_THROWS_WITH(part(other_listing),
                    contains_text("cuobjdump -sass of a.o lists no kernel _Z1kv for sm_80"));
  ObjectDump no_registers = object("a.o", "_Z1kv", "sm_80", 10);
  no_registers.resource_usage = "arch = sm_80\n Function _Z1kv:\n  STACK:0 SHARED:0 LOCAL:0\n";
  CHECK_THROWS_WITH(part(no_registers), contains_text("no number after REG:"));
  CHECK_THROWS_WITH(part(object("a.o", "_Z1kv", "gfx90a", 10)),
                    contains_text("'gfx90a' is not an architecture"));
}

}  // namespace
}  // namespace gpuexp::test
