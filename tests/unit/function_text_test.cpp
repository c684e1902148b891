// Functions from a family's source, as shown on pages.
#include "family/function_text.hpp"

#include "support/catch.hpp"

namespace gpuexp {
namespace {

const std::string kSource =
    "namespace pairs {\n"
    "\n"
    "// Of the pair.\n"
    "template <class T>\n"
    "__global__ void __launch_bounds__(256, 2)\n"
    "    pair_kernel(const T* in,\n"
    "                T* out) {\n"
    "  if (in) {\n"
    "    out[0] = first(in);\n"
    "  }\n"
    "\n"
    "  second(out);\n"
    "}\n"
    "\n"
    "int declared(int a);\n"
    "int first(const int* in) { return in[0]; }\n"
    "struct Holder {\n"
    "  int member(int a) { return a; }\n"
    "};\n"
    "constexpr int kTable[] = {1, 2};\n"
    "int declared(int a) {\n"
    "  return a;\n"
    "}";

TEST_CASE("a function extends from its template header to its closing brace", "[function_text]") {
  CHECK(function_text(kSource, "pair_kernel") ==
        "template <class T>\n"
        "__global__ void __launch_bounds__(256, 2)\n"
        "    pair_kernel(const T* in,\n"
        "                T* out) {\n"
        "  if (in) {\n"
        "    out[0] = first(in);\n"
        "  }\n"
        "\n"
        "  second(out);\n"
        "}\n");
  CHECK(function_text(kSource, "first") == "int first(const int* in) { return in[0]; }\n");
  // A declaration is not a definition.
  CHECK(function_text(kSource, "declared") == "int declared(int a) {\n  return a;\n}\n");
}

TEST_CASE("calls and other uses of a name are not functions", "[function_text]") {
  for (const char* name : {"second", "pair", "kernel", "kTable", "Holder", "member", "none"}) {
    INFO(name);
    CHECK(function_text(kSource, name).empty());
  }
  CHECK(function_text("", "first").empty());
}

}  // namespace
}  // namespace gpuexp
