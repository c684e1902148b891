// Errors of declarations that name what the user most likely means.
#include <string>

#include "own/declaration_reader.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

/// The error of a statement, without file, line and column; "" if it is right.
std::string hint_for(const std::string& statement) {
  try {
    read_declaration("k.cu", "// gpuexp: " + statement + "\n");
  } catch (const DeclarationError& error) {
    const std::string text = error.what();
    return text.substr(text.find(": ") + 2);
  }
  return "";
}

TEST_CASE("a quotient of whole numbers is written with a decimal point", "[declaration]") {
  const std::string reason =
      "1 / 50 leaves the remainder 1; use ceil_div(1, 50), or floor_div for the whole part; "
      "numbers without a decimal point are integers: for 0.02, write ";
  CHECK(hint_for("scale = 1/50") == reason + "1.0/50");
  CHECK(hint_for("float scale = 1/50") == reason + "1.0/50");
  CHECK(hint_for("scale = 3 + 1/50")
            .ends_with("for 3.02, write one of the numbers with a decimal point, such as 1.0"));
  CHECK(hint_for("scale = 1.0/50").empty());
  CHECK(hint_for("float scale = 0.02").empty());
  CHECK(hint_for("n = 100/50").empty());
  // Errors that a decimal point does not mend.
  CHECK_THAT(hint_for("n = 1/0"), !contains_text("decimal point"));
  CHECK_THAT(hint_for("n = 2^64"), !contains_text("decimal point"));
  CHECK_THAT(hint_for("n = 0.5..4"), !contains_text("decimal point"));
}

TEST_CASE("an unknown type names the nearest one of C", "[declaration]") {
  const std::string expected =
      "? expected float, double, __half, __nv_bfloat16, bool or an integer of 8 to 64 bits";
  const auto refused = [&](const std::string& type, const std::string& nearest) {
    return "'" + type + "' is not a type; did you mean '" + nearest + "'" + expected;
  };
  CHECK(hint_for("in float64 x[n]") == refused("float64", "double x[n]"));
  CHECK(hint_for("float64 x[n]") == refused("float64", "double x[n]"));
  CHECK(hint_for("out fp16 y[n] z[n]") == refused("fp16", "__half y[n] z[n]"));
  CHECK(hint_for("in flaot x[n] = zeros") == refused("flaot", "float x[n] = zeros"));
  CHECK(hint_for("uint32 n = 4") == refused("uint32", "unsigned int n = 4"));
  CHECK(hint_for("in double x[n]").empty());
  // A word that resembles no type is a buffer without an extent.
  CHECK(hint_for("in x y[n]") == "expected the extent of x, such as x[n], found 'y[n]'");
  CHECK(hint_for("in weights y[n]") ==
        "expected the extent of weights, such as weights[n], found 'y[n]'");
  CHECK(hint_for("in float64[n]").empty());
}

TEST_CASE("a word for a role names the keyword", "[declaration]") {
  CHECK(hint_for("input x[n]") == "'input x[n]' is not a statement; did you mean 'in x[n]'?");
  CHECK(hint_for("output float y[n]") ==
        "'output float y[n]' is not a statement; did you mean 'out float y[n]'?");
  CHECK(hint_for("inout c[n] = zeros") ==
        "'inout c[n] = zeros' is not a statement; did you mean 'in_out c[n] = zeros'?");
  CHECK(hint_for("scratch t[n]") ==
        "'scratch t[n]' is not a statement; did you mean 'workspace t[n]'?");
  // These words may also be names.
  CHECK(hint_for("input[n]").empty());
  CHECK(hint_for("output[n] input[n]").empty());
  CHECK(hint_for("input = 4").empty());
}

}  // namespace
}  // namespace gpuexp::own
