// Reasons for variants, read from comments in their family's file.
#include "family/variant_comments.hpp"

#include "family/registry.hpp"
#include "support/catch.hpp"
#include "support/fake_family.hpp"

namespace gpuexp {
namespace {

TEST_CASE("the comment over a variant gives its reason", "[variant_comments]") {
  const auto comments = variant_comments(
      "// family: what it is about\n"
      "//\n"
      "// The question.\n"
      "\n"
      "// ---- what the kernels share\n"
      "\n"
      "// Of the kernel, not of the variant.\n"
      "// ---- naive: one thread per element\n"
      "//\n"
      "// One thread per element of C: a warp reads\n"
      "// 32 rows, `k` long.\n"
      "//\n"
      "//   It costs nothing.\n"
      "\n"
      "// Of the kernel alone.\n"
      "__global__ void naive_kernel() {}  // ---- inside: of a line\n"
      "// ---- tiled\n"
      "// In shared memory.\n"
      "// ---- next: without a text\n"
      "Variant tiled() {\n"
      "  // ---- inner: of a function\n"
      "  // is none\n"
      "// ---- last\n"
      "// ends with the file");
  REQUIRE(comments.size() == 3);
  CHECK(comments[0].variant == "naive");
  CHECK(comments[0].why ==
        "One thread per element of C: a warp reads 32 rows, `k` long. It costs nothing.");
  CHECK(comments[1].variant == "tiled");
  CHECK(comments[1].why == "In shared memory.");
  CHECK(comments[2].variant == "last");
  CHECK(comments[2].why == "ends with the file");
  CHECK(variant_comments("").empty());
}

Family family_of(const std::string& first_why, const std::string& second_why) {
  Family f = *fake::registry().find("matmul");
  f.id = "planted";
  f.variants.resize(1);
  f.variants.push_back(f.variants[0]);
  f.variants[0].id = "first";
  f.variants[0].why = first_why;
  f.variants[1].id = "second";
  f.variants[1].why = second_why;
  return f;
}

const std::string kSource = "// ---- first: a title\n//\n// Of the\n// first.\n\nint a;\n";

TEST_CASE("a family's source may be added before or after the family", "[variant_comments]") {
  const bool is_before = GENERATE(true, false);
  Registry registry;
  if (is_before) registry.add_source("planted", kSource);
  registry.add_source("other", "// ---- second\n// Of another family.\n");
  registry.add(family_of("", "computed"));
  if (!is_before) {
    CHECK(registry.errors().size() == 1);
    registry.add_source("planted", kSource);
  }
  CHECK(registry.errors().empty());
  const Family* const f = registry.find("planted");
  REQUIRE(f);
  CHECK(f->find("first")->why == "Of the first.");
  CHECK(f->find("second")->why == "computed");
}

TEST_CASE("a family may have several files", "[variant_comments]") {
  Registry registry;
  registry.add_source("planted", kSource);
  registry.add(family_of("", ""));
  CHECK(registry.errors().size() == 1);
  const std::string further = "// ---- second\n//\n// Of the second.\n\nint b;\n";
  registry.add_source("planted", further);
  CHECK(registry.errors().empty());
  CHECK(registry.find("planted")->find("first")->why == "Of the first.");
  CHECK(registry.find("planted")->find("second")->why == "Of the second.");
  CHECK(registry.source_of("planted") == kSource + further);
  registry.add_source("planted", further);
  CHECK(registry.errors() == std::vector<std::string>{"kernels/planted.cu has both a comment and a "
                                                      "`why` for variant 'second'"});
}

TEST_CASE("each variant has one reason, and each comment a variant", "[variant_comments]") {
  const auto errors = [](const Family& f, const std::string& source) {
    Registry registry;
    registry.add_source("planted", source);
    registry.add(f);
    return registry.errors();
  };
  using Errors = std::vector<std::string>;
  CHECK(errors(family_of("", "computed"), kSource).empty());
  CHECK(errors(family_of("", ""), kSource) ==
        Errors{"family 'planted' does not explain variant 'second': kernels/planted.cu has no "
               "comment '// ---- second' above it, and it has no `why`"});
  CHECK(errors(family_of("computed", "computed"), kSource) ==
        Errors{"kernels/planted.cu has both a comment and a `why` for variant 'first'"});
  CHECK(errors(family_of("", "computed"), kSource + kSource) ==
        Errors{"kernels/planted.cu has two comments above variant 'first'"});
  CHECK(errors(family_of("", "computed"), kSource + "// ---- third\n// Of a third.\n") ==
        Errors{"kernels/planted.cu has a comment under a heading that names no variant: 'third'"});
}

}  // namespace
}  // namespace gpuexp
