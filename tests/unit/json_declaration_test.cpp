// Declarations in JSON files.
#include "own/json_declaration.hpp"

#include "base/config_error.hpp"
#include "own/declaration_reader.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

const std::string kFile = "folder/k.gpuexp.json";

JsonDeclaration read(const std::string& text) {
  return read_json_declaration(kFile, text);
}
/// The declaration with these members besides the source.
Declaration declared(const std::string& members) {
  return read("{\"source\": \"k.cu\", " + members + "}").declaration;
}
/// The error without the file's name.
std::string error_of_text(const std::string& text) {
  std::string what;
  try {
    read(text);
  } catch (const ConfigError& error) {
    what = error.what();
  } catch (const DeclarationError& error) {
    what = error.what();
  }
  if (what.empty()) return "";
  CHECK(what.starts_with(kFile + ": "));
  return what.substr(kFile.size() + 2);
}
std::string error_of(const std::string& members) {
  return error_of_text("{\"source\": \"k.cu\", " + members + "}");
}

TEST_CASE("a JSON declaration has the statements of comment lines", "[json_declaration]") {
  const JsonDeclaration read_one = read(R"json({
    "$schema": "declaration.schema.json",
    "source": "src/10_kernel.cuh",
    "include": ["include", "../common"], "define": {"TILE": 32, "NAME": "x"}, "option": "-std=c++20",
    "parameters": { "M": 4096, "alpha": 0.5, "BM": [64, 128], "n": "2^4..2^6", "k": [2, "2^5"] },
    "require": ["M % BM == 0", "n > 4"],
    "buffers": { "A": "in [M][n]", "B": "in [M] = normal", "C": "in_out [M][n]", "D": "[n]",
                 "E": "in[M] = e.npy" },
    "variants": { "tile": "gemm<<<(M/BM, n), 256, 4*n>>>(A, B, C)", "two": "gemm<<<1, 2>>> vs tile" },
    "check": ["C[i][j] = A[i][j] + before(C[i][j])", "D = d.npy"],
    "reference": "naive<<<1, 1>>>", "tolerance": 1e-3, "work": ["fp32 = 2*M", "tile fp32 = M"]
  })json");
  CHECK(read_one.source == "folder/src/10_kernel.cuh");
  const Declaration& d = read_one.declaration;
  CHECK(d.file == kFile);
  REQUIRE(d.parameters.size() == 5);
  CHECK(d.parameters[0].values == std::vector<Value>{std::int64_t{4096}});
  CHECK(d.parameters[1].values == std::vector<Value>{0.5});
  CHECK(d.parameters[2].values == std::vector<Value>{std::int64_t{64}, std::int64_t{128}});
  CHECK(d.parameters[3].values.size() == 3);
  CHECK(d.parameters[4].values == std::vector<Value>{std::int64_t{2}, std::int64_t{32}});
  CHECK(d.parameters[1].place.entry->path == "$.parameters.alpha");
  REQUIRE(d.buffers.size() == 5);
  CHECK(d.buffers[0].name == "A");
  CHECK(d.buffers[0].role == BufferRole::input);
  CHECK(d.buffers[0].extents.size() == 2);
  CHECK(d.buffers[0].extents[1].place.column == 8);
  CHECK(d.buffers[1].fill->kind == FillKind::normal);
  CHECK(d.buffers[2].role == BufferRole::in_out);
  CHECK(!d.buffers[3].role);
  CHECK(d.buffers[4].array->file == "e.npy");
  CHECK(d.buffers[4].role == BufferRole::input);
  REQUIRE(d.variants.size() == 2);
  CHECK(d.variants[0].id == "tile");
  CHECK(d.variants[1].compare_to == "tile");
  REQUIRE(d.checks.size() == 1);
  CHECK(d.checks[0].check.output() == "C");
  CHECK(d.expected_files.at(0).output == "D");
  CHECK(d.requirements.size() == 2);
  CHECK(d.reference->launch.id == "naive");
  CHECK(d.tolerance == 1e-3);
  REQUIRE(d.work.size() == 2);
  CHECK(d.work[1].variant == "tile");
  REQUIRE(d.options.size() == 5);
  CHECK(d.options[0].starts_with("-I/"));
  CHECK(d.options[0].ends_with("/folder/include"));
  CHECK(d.options[1].ends_with("/folder/../common"));
  CHECK(d.options[2] == "-DTILE=32");
  CHECK(d.options[3] == "-DNAME=x");
  CHECK(d.options[4] == "-std=c++20");
}

TEST_CASE("folders are relative to a file in the current folder", "[json_declaration]") {
  const JsonDeclaration read_one =
      read_json_declaration("k.gpuexp.json", R"({"source": "k.cu", "include": "common"})");
  CHECK(read_one.source == "k.cu");
  CHECK(read_one.declaration.options.at(0) ==
        "-I" + (std::filesystem::current_path() / "common").string());
  const JsonDeclaration absolute =
      read_json_declaration("k.gpuexp.json", R"({"source": "k.cu", "include": "/opt/common"})");
  CHECK(absolute.declaration.options.at(0) == "-I/opt/common");
}

TEST_CASE("the reference is a launch or the first variant", "[json_declaration]") {
  const std::string variants = "\"variants\": {\"b\": \"f<<<1, 1>>>\", \"a\": \"g<<<1, 1>>>\"}, ";
  const Declaration first = declared(variants + "\"reference\": \"first\"");
  CHECK(first.reference->is_first);
  CHECK(first.variants.front().id == "b");
  CHECK(first.reference->place.entry->path == "$.reference");
  CHECK(error_of(variants + "\"reference\": [\"first\", \"f<<<1, 1>>>\"]") ==
        "$.reference[1]: the reference is declared twice, first in $.reference[0]");
}

TEST_CASE("macros are an object or a list", "[json_declaration]") {
  CHECK(declared("\"define\": [\"TILE=32\", \"FAST\"]").options ==
        std::vector<std::string>{"-DTILE=32", "-DFAST"});
  CHECK(declared("\"define\": \"FAST\"").options == std::vector<std::string>{"-DFAST"});
  const Declaration axis = declared("\"define\": {\"TILE\": [16, 32]}");
  REQUIRE(axis.parameters.size() == 1);
  CHECK(axis.parameters[0].is_macro);
  CHECK(axis.parameters[0].values == std::vector<Value>{std::int64_t{16}, std::int64_t{32}});
  CHECK(error_of("\"define\": {\"A\": \"1 -I/etc\"}") ==
        "$.define.A: expected a number or text without blanks, found '1 -I/etc'");
  CHECK(error_of("\"define\": {\"A B\": 1}") ==
        "$.define[\"A B\"]: 'A B' is not the name of a macro; expected letters, digits and '_'");
  CHECK_THAT(error_of("\"define\": {\"A\": \"$(id)\"}"),
             Catch::Matchers::StartsWith("$.define.A: "));
}

TEST_CASE("a parameter may have a type", "[json_declaration]") {
  const Declaration d = declared(R"json("parameters": {
    "a": {"type": "float", "values": [1, "2^3"]}, "n": {"type": "unsigned int", "values": "2^3..2^4"}})json");
  REQUIRE(d.parameters.size() == 2);
  CHECK(d.parameters[0].type->element == CElement::fp32);
  CHECK(d.parameters[0].values == std::vector<Value>{1.0, 8.0});
  CHECK(d.parameters[1].type->element == CElement::uint32);
  CHECK(d.parameters[1].values == std::vector<Value>{std::int64_t{8}, std::int64_t{16}});
  const auto error = [](const std::string& parameter) {
    return error_of("\"parameters\": {\"a\": " + parameter + "}");
  };
  CHECK(error(R"({"type": "flaot", "values": 1})")
            .starts_with("$.parameters.a.type: 'flaot' is not the type of a number that a launch "
                         "can pass; did you mean 'float'? allowed: bool, "));
  CHECK(
      error(R"({"type": "float4", "values": 1})").starts_with("$.parameters.a.type: 'float4' is"));
  CHECK(error(R"({"type": "int", "values": 0.5})") ==
        "$.parameters.a.values: a number of type int cannot be 0.5; expected a whole number");
  CHECK(error(R"({"type": "int"})") == "$.parameters.a: missing key 'values'");
  CHECK(error(R"({"type": "int", "value": 1})")
            .starts_with("$.parameters.a.value: unknown key; did you mean 'values'?"));
}

TEST_CASE("errors name the entry, its value and the column in it", "[json_declaration]") {
  CHECK(error_of("\"parameters\": {\"n\": \"2^\"}") ==
        "$.parameters.n: '2^': column 3: expected a number, a name, a function call or '(', found "
        "the end");
  CHECK(error_of("\"buffers\": {\"A\": \"in [n\"}") ==
        "$.buffers.A: 'in [n': column 6: expected ']' after the extent, found the end of the "
        "value");
  CHECK(error_of("\"buffers\": {\"A\": \"[n] = unifrom\"}")
            .starts_with("$.buffers.A: '[n] = unifrom': column 7: unknown fill 'unifrom'; did you "
                         "mean 'uniform'?"));
  CHECK(error_of("\"variants\": {\"a\": \"f<<<n, 32\"}") ==
        "$.variants.a: 'f<<<n, 32': column 10: expected '>>>' after the launch's grid, block and "
        "bytes of shared memory, found the end of the value");
  CHECK(error_of("\"variants\": {\"a\": \"f<<<n, 32>>> vs b\"}") ==
        "$.variants.a: 'f<<<n, 32>>> vs b': column 17: 'b' is not a variant declared above");
  CHECK(error_of("\"check\": [\"z[i] = 1\", \"z[i] = \"]").starts_with("$.check[1]: 'z[i] = '"));
  CHECK(error_of("\"check\": \"z[i] = q +\"").starts_with("$.check: 'z[i] = q +': column 11: "));
  CHECK(error_of("\"tolerance\": 2").starts_with("$.tolerance: '2': column 1: the tolerance is 2"));
  CHECK(error_of("\"parameters\": {\"n\": 1}, \"buffers\": {\"n\": \"[4]\"}") ==
        "$.buffers.n: buffer 'n' has the name of the parameter in $.parameters.n; rename one of "
        "them");
}

TEST_CASE("entries of another kind and unknown keys are refused", "[json_declaration]") {
  CHECK(error_of("\"buffer\": {}").starts_with("$.buffer: unknown key; did you mean 'buffers'? "));
  CHECK(error_of_text("{}") == "$: missing key 'source'");
  CHECK(error_of_text("[]") == "$: expected an object, found an empty list");
  CHECK(error_of_text("{\"source\": \"k.txt\"}") ==
        "$.source: 'k.txt' is not a file with kernels; expected a name that ends in .cu, .cuh, "
        ".ptx or .cubin");
  CHECK(error_of("\"parameters\": {\"n\": true}") ==
        "$.parameters.n: expected a number or text such as \"2^20..2^26\", found true");
  CHECK(error_of("\"parameters\": {\"n\": \"f<<<1, 32>>>\"}") ==
        "$.parameters.n: expected a number or text such as \"2^20..2^26\", found 'f<<<1, 32>>>'");
  CHECK(error_of("\"parameters\": {\"2n\": 1}") ==
        "$.parameters.2n: '2n' is not the name of a parameter; expected letters, digits and '_'");
  CHECK(error_of("\"variants\": {\"a\": \"4\"}") ==
        "$.variants.a: expected a launch such as \"kernel<<<n/256, 256>>>\", found '4'");
  CHECK(error_of("\"buffers\": {\"a\": \"in\"}") ==
        "$.buffers.a: expected extents such as \"[n]\", found 'in'");
  CHECK(error_of("\"variants\": [\"f<<<1, 32>>>\"]") ==
        "$.variants: expected an object with a member for each variant, found a list");
}

}  // namespace
}  // namespace gpuexp::own
