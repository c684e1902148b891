#include "base/json_reader.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "support/catch.hpp"

namespace gpuexp {

namespace {

std::string error_of(const std::string& text) {
  try {
    read_json(text, "x.json");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

std::string repeat(const std::string& part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i)
    out += part;
  return out;
}

}  // namespace

TEST_CASE("read_json keeps values, kinds and the order of members", "[json]") {
  const Json json =
      read_json(R"({"z": [1, -2, 3.5, 1e3], "a": {"t": true, "n": null}, "é": "\u00e9"})", "x");
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.members())
    keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"z", "a", "é"});
  CHECK(json.dump() == R"({"z":[1,-2,3.5,1000.0],"a":{"t":true,"n":null},"é":"é"})");
  CHECK(json.at("z").at(0).is_integer());
  CHECK(json.at("z").at(3).is_real());
  CHECK(read_json("18446744073709551615", "x").get<std::uint64_t>() == 18446744073709551615u);
  CHECK(read_json("-9223372036854775808", "x").get<std::int64_t>() == INT64_MIN);
}

TEST_CASE("read_json names the place of errors", "[json]") {
  struct Case {
    std::string text;
    std::string error;  // the whole message
  };
  for (const Case& c : std::vector<Case>{
           {"", "x.json: is empty; expected a JSON object"},
           {" \n\t", "x.json: is empty; expected a JSON object"},
           {"\xEF\xBB\xBF{}",
            "x.json: starts with a byte order mark; save it as UTF-8 without one"},
           {std::string("{}\0{", 4), "x.json:1:3: contains a NUL byte"},
           {"{\n  \"a\": 1\n  \"b\": 2\n}", "x.json:3:3: expected ',' or '}', found '\"'"},
           {"{\"a\": 1,}", "x.json:1:9: expected a member's name, found '}'"},
           {"[1, 2", "x.json:1:6: expected ',' or ']', found the end of the text"},
           {"{\"a\" 1}", "x.json:1:6: expected ':', found '1'"},
           {"{} {}", "x.json:1:4: expected nothing after the value, found '{'"},
           {"{\"a\": NaN}", "x.json:1:7: expected a value, found 'N'"},
           {"[Infinity]", "x.json:1:2: expected a value, found 'I'"},
           {"[01]", "x.json:1:3: expected ',' or ']', found '1'"},
           {"[1.]", "x.json:1:4: expected a digit, found ']'"},
           {"// no\n{}", "x.json:1:1: expected a value, found '/'"},
           {"{\"a\": \"\xff\"}", "x.json:1:8: byte 0xFF is not UTF-8"},
           {"\xff\xfe{", "x.json:1:1: expected a value, found byte 0xFF"},
           {"[\"\\ud800\"]", "x.json:1:3: unpaired surrogate"},
           {"[\"a\nb\"]", "x.json:1:4: byte 0x0A in a string must be escaped"},
           {"[\"unexpected string\x01", "x.json:1:20: byte 0x01 in a string must be escaped"},
           {"[1e999]", "x.json:1:2: 1e999 is beyond the range of a double"},
           {"[\n-1e999]", "x.json:2:1: -1e999 is beyond the range of a double"},
           {"[1, 18446744073709551616]",
            "x.json:1:5: 18446744073709551616 does not fit in 64 bits"},
           {"[-9223372036854775809 ]", "x.json:1:2: -9223372036854775809 does not fit in 64 bits"},
           {"{\"a\": 1, \"a\": 2}", "x.json:1:12: $: key \"a\" is given twice"},
           {"{\"a\": [0, {\"b c\": {\"n\": 1,\n\"n\": 2}}]}",
            "x.json:2:3: $.a[1][\"b c\"]: key \"n\" is given twice"},
           {"{\"a\": 1, \"\\u0061\": 2}", "x.json:1:17: $: key \"a\" is given twice"},
           {repeat("[", 65) + repeat("]", 65), "x.json:1:65: nested more than 64 levels deep"},
           {repeat("{\"a\":", 65) + "1" + repeat("}", 65),
            "x.json:1:321: nested more than 64 levels deep"},
           {repeat("[", 1'000'000), "x.json:1:65: nested more than 64 levels deep"},
           {std::string(kMaxJsonBytes + 1, ' '), "x.json: is larger than 16 MiB"}}) {
    CAPTURE(c.text.substr(0, 100));
    CHECK(error_of(c.text) == c.error);
  }
}

TEST_CASE("read_json accepts the maximum depth and size", "[json]") {
  CHECK(error_of(repeat("[", 64) + repeat("]", 64)) == "no error");
  CHECK(error_of("{}" + std::string(kMaxJsonBytes - 2, ' ')) == "no error");
}

TEST_CASE("read_json shortens long or unusual input in errors", "[json]") {
  CHECK(error_of("[\"" + std::string(100'000, 'a')).size() < 200);
  CHECK(error_of(fmt::format("[{}]", std::string(100'000, '9'))).size() < 200);
  const std::string key = fmt::format("{}\\u001b", std::string(100'000, 'k'));
  const std::string twice = error_of("{\"" + key + "\": 1, \"" + key + "\": 2}");
  CHECK(twice.size() < 200);
  CHECK(error_of("{\"\\u001b[2J\": 1, \"\\u001b[2J\": 2}") ==
        "x.json:1:28: $: key \"\\u001b[2J\" is given twice");
}

TEST_CASE("read_json is linear in the number of members", "[json]") {
  std::string text = "{\"k\": 0";
  for (int i = 0; i < 200'000; ++i)
    text += ",\"" + std::to_string(i) + "\":0";
  const auto start = std::chrono::steady_clock::now();
  CHECK(read_json(text + "}", "x").size() == 200'001);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("read_text_file reports why a file cannot be read", "[json]") {
  namespace fs = std::filesystem;
  const fs::path directory =
      fs::temp_directory_path() / ("gpuexp_json_" + std::to_string(getpid()));
  fs::create_directories(directory);
  const auto error = [](const fs::path& path) -> std::string {
    try {
      read_text_file(path);
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "no error";
  };
  const fs::path file = directory / "a.json";
  CHECK(error(file) == file.string() + ": no such file");
  CHECK(error(directory) == directory.string() + ": is a directory; expected a JSON file");
  CHECK(error(file / "below.json") == (file / "below.json").string() + ": no such file");
  std::ofstream(file, std::ios::binary) << "{\r\n}\n";
  CHECK(error(file / "below.json") == (file / "below.json").string() + ": no such file");
  CHECK(read_text_file(file) == "{\r\n}\n");
  if (geteuid() != 0) {  // root can read all files
    fs::permissions(file, fs::perms::none);
    CHECK(error(file) == file.string() + ": cannot be read: Permission denied");
  }
  CHECK(read_text_file("/dev/zero").size() == kMaxJsonBytes + 1);
  fs::remove_all(directory);
}

}  // namespace gpuexp
