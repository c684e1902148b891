// A variant's section of a source, and the source line of each machine instruction.
#include "analysis/variant_source.hpp"

#include "support/catch.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

const SourceText kTexts[] = {{"kernels/common/pack.cuh", "one\ntwo\nthree\n"},
                             {"kernels/toy.cu",
                              "// toy\n"                    // 1
                              "void helper();\n"            // 2
                              "// ---- first: by itself\n"  // 3
                              "//\n"                        // 4
                              "// It copies.\n"             // 5
                              "\n"                          // 6
                              "__global__ void copy() {\n"  // 7
                              "  y = x;\n"                  // 8
                              "}\n"                         // 9
                              "\n"                          // 10
                              "// ---- inputs\n"            // 11
                              "void inputs();\n"},
                             {"kernels/toy_other.cu", "// ---- first: of another family\nno\n"}};

// The final branch to itself and the NOPs are padding.
constexpr const char* kCode =
    "//kernels/toy.cu\n//kernels/common/pack.cuh\n"
    "#0:7\nMOV R1, R2;0\n@P0 EXIT;0\n"
    "#0:8\nLDG.E.128 R4, desc[UR4][R2.64];0\n@!PT LDS RZ, [RZ];0\n"
    "#1:2<0:8\nSTG.E.128 desc[UR4][R2.64], R4;0\n"
    "#1:3\nFADD R1, R1, R2;0\n"
    "#0:2\nBAR.SYNC.DEFER_BLOCKING 0x0;0\n"
    "#0:9\nEXIT;0\nBRA 0x90;0\nNOP;0\n";

}  // namespace

TEST_CASE("A section starts after its comment and ends before the next", "[variant_source]") {
  const Family family = toy_family();
  const KernelResources none;
  const VariantSources sources(kTexts, std::size(kTexts), none);
  const VariantSource first = sources.of(family, *family.find("first"), nullptr, nullptr);
  CHECK(first.section.file == "kernels/toy.cu");
  REQUIRE(first.section.lines.size() == 3);
  CHECK(first.section.lines.front().number == 7);
  CHECK(first.section.lines.front().text == "__global__ void copy() {");
  CHECK(first.section.lines.back().number == 9);
  CHECK(first.architecture.empty());
  CHECK(sources.of(family, *family.find("second"), nullptr, nullptr).section.lines.empty());
}

TEST_CASE("Each instruction counts for one line", "[variant_source]") {
  const Family family = toy_family();
  const Variant& variant = *family.find("first");
  const auto problem = family.make_problem({std::int64_t{1024}, 0.5, std::string("narrow")});
  const DeviceSpec device = toy_device();
  KernelResource resource;
  resource.host_function = variant.shapes(problem.get(), device).at(0).kernel;
  resource.architecture = 80;
  resource.code = kCode;
  const KernelResources resources(&resource, 1);
  const VariantSources sources(kTexts, std::size(kTexts), resources);
  const VariantSource source = sources.of(family, variant, problem.get(), &device);
  CHECK(source.architecture == "8.0");
  CHECK(source.instructions == 7);
  const auto& lines = source.section.lines;
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].instructions == 2);
  CHECK(lines[1].instructions == 2);  // includes inlined instructions
  CHECK(lines[1].classes == "1 LDG.128, 1 STG.128");
  CHECK(lines[2].instructions == 1);
  REQUIRE(source.others.size() == 2);
  CHECK(source.others[0].file == "kernels/common/pack.cuh");
  REQUIRE(source.others[0].lines.size() == 1);
  CHECK(source.others[0].lines[0].text == "three");
  CHECK(source.others[1].lines[0].number == 2);
  CHECK(source.others[1].lines[0].classes == "1 BAR.SYNC");
  // Library kernels are not looked up.
  CHECK(sources.of(family, *family.find("vendor"), problem.get(), &device).architecture.empty());
}

}  // namespace gpuexp::test
