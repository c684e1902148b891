#include "base/json_scanner.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "base/json_reader.hpp"
#include "support/catch.hpp"

namespace gpuexp {

namespace {

std::string string_of(const std::string& text) {
  JsonScanner scanner(text);
  REQUIRE(scanner.peek() == JsonScanner::Kind::string);
  std::string value(scanner.string());
  scanner.end();
  return value;
}

JsonNumber number_of(const std::string& text) {
  JsonScanner scanner(text);
  REQUIRE(scanner.peek() == JsonScanner::Kind::number);
  const JsonNumber number = scanner.number();
  scanner.end();
  return number;
}

std::string scan_error(const std::string& text) {
  try {
    JsonScanner scanner(text);
    scanner.skip();
    scanner.end();
  } catch (const JsonSyntaxError& e) {
    const TextPlace place = place_at(text, e.offset());
    return fmt::format("{}:{}: {}", place.line, place.column, e.what());
  }
  return "no error";
}

}  // namespace

TEST_CASE("a scanner reads values in text order", "[json]") {
  JsonScanner scanner(" { \"a\" : [ 1 , true , null ] ,\n\"b\":{\"c\":[]}, \"d\":false}\n");
  std::vector<std::string> names;
  std::vector<std::size_t> offsets;
  REQUIRE(scanner.peek() == JsonScanner::Kind::object);
  scanner.object([&](std::string_view name) {
    names.emplace_back(name);
    scanner.peek();
    offsets.push_back(scanner.offset());
    scanner.skip();
  });
  scanner.end();
  CHECK(names == std::vector<std::string>{"a", "b", "d"});

  scanner.seek(offsets[0], 1);
  std::vector<JsonScanner::Kind> kinds;
  scanner.array([&] {
    kinds.push_back(scanner.peek());
    scanner.skip();
  });
  CHECK(kinds == std::vector{JsonScanner::Kind::number, JsonScanner::Kind::boolean,
                             JsonScanner::Kind::null});
  scanner.seek(offsets[2], 1);
  CHECK_FALSE(scanner.boolean());
}

TEST_CASE("a scanner reads strings with every escape", "[json]") {
  CHECK(string_of(R"("plain é漢😀")") == "plain é漢😀");
  CHECK(string_of(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  CHECK(string_of(R"("a\u00e9\u6f22\ud83d\uDE00z")") == "aé漢😀z");
  CHECK(string_of(R"("\u0000")") == std::string(1, '\0'));
  CHECK(string_of("\"\x7F\"") == "\x7F");
  CHECK(string_of(R"("")").empty());
}

TEST_CASE("a scanner reads numbers exactly", "[json]") {
  CHECK(number_of("-9223372036854775808").integer == std::numeric_limits<std::int64_t>::min());
  CHECK(number_of("9223372036854775807").integer == std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(number_of("9223372036854775808").integer);
  CHECK(number_of("9223372036854775808").real == 0x1p63);
  CHECK_FALSE(number_of("1.0").integer);
  CHECK_FALSE(number_of("1e2").integer);
  CHECK(number_of("0.1").real == 0.1);
  CHECK(number_of("-1.5E+3").real == -1500);
  CHECK(std::signbit(number_of("-0.0").real));
  CHECK(number_of("5e-324").real == std::numeric_limits<double>::denorm_min());
  CHECK(number_of("1e-999").real == 0);
  CHECK(number_of("1.7976931348623157e308").real == std::numeric_limits<double>::max());
}

TEST_CASE("invalid JSON is rejected with its place", "[json][error]") {
  CHECK(scan_error("") == "1:1: expected a value, found the end of the text");
  CHECK(scan_error(" \n ,") == "2:2: expected a value, found ','");
  CHECK(scan_error("[1,]") == "1:4: expected a value, found ']'");
  CHECK(scan_error("[1 2]") == "1:4: expected ',' or ']', found '2'");
  CHECK(scan_error("{\"a\":1 \"b\":2}") == "1:8: expected ',' or '}', found '\"'");
  CHECK(scan_error("{\"a\":1,}") == "1:8: expected a member's name, found '}'");
  CHECK(scan_error("{a:1}") == "1:2: expected a member's name, found 'a'");
  CHECK(scan_error("{\"a\" 1}") == "1:6: expected ':', found '1'");
  CHECK(scan_error("nul") == "1:1: expected null");
  CHECK(scan_error("tru") == "1:1: expected true");
  CHECK(scan_error("falsy") == "1:1: expected false");
  CHECK(scan_error("1 2") == "1:3: expected nothing after the value, found '2'");
  CHECK(scan_error("01") == "1:2: expected nothing after the value, found '1'");
  CHECK(scan_error("1.") == "1:3: expected a digit, found the end of the text");
  CHECK(scan_error("-x") == "1:2: expected a digit, found 'x'");
  CHECK(scan_error("1e+") == "1:4: expected a digit, found the end of the text");
  CHECK(scan_error("1e999") == "1:1: 1e999 is beyond the range of a double");
  CHECK(scan_error("NaN") == "1:1: expected a value, found 'N'");
  CHECK(scan_error("\xEF\xBB\xBF{}") == "1:1: expected a value, found byte 0xEF");
  CHECK(scan_error(std::string("1\0", 2)) ==
        "1:2: expected nothing after the value, found byte 0x00");
}

TEST_CASE("invalid strings are rejected with their place", "[json][error]") {
  CHECK(scan_error("\"a") ==
        "1:3: expected the '\"' that ends a string, found the end of the text");
  CHECK(scan_error("\"\n\"") == "1:2: byte 0x0A in a string must be escaped");
  CHECK(scan_error("\"a\xFF\"") == "1:3: byte 0xFF is not UTF-8");
  CHECK(scan_error("\"\xED\xA0\x80\"") == "1:2: byte 0xED is not UTF-8");
  CHECK(scan_error(R"("\x")") == "1:3: expected one of \" \\ / b f n r t u after '\\', found 'x'");
  CHECK(scan_error(R"("\u12")") == "1:4: expected four hexadecimal digits after '\\u'");
  CHECK(scan_error(R"("\ud800")") == "1:2: unpaired surrogate");
  CHECK(scan_error(R"("\ud800\u0041")") == "1:2: unpaired surrogate");
  CHECK(scan_error(R"("\udc00")") == "1:2: unpaired surrogate");
}

TEST_CASE("depth is bounded for any length", "[json][error]") {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(scan_error(nested(kMaxJsonDepth)) == "no error");
  CHECK(scan_error(nested(kMaxJsonDepth + 1)) == "1:65: nested more than 64 levels deep");
  CHECK(scan_error(std::string(1 << 20, '[')) == "1:65: nested more than 64 levels deep");
}

}  // namespace gpuexp
