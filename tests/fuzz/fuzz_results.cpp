#include <algorithm>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/compressed.hpp"
#include "base/json_reader.hpp"
#include "base/json_scanner.hpp"
#include "fuzz/promises.hpp"
#include "results/json_read.hpp"

namespace gpuexp::fuzz {

namespace {

// Decompressed contents of a file with these bytes.
std::optional<std::string> text_of(std::string_view bytes) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  if (!is_compressed(bytes)) return std::string(bytes);
  try {
    std::string text = decompressed(bytes, "fuzz.json", kMaxBytes);
    require(text.size() <= kMaxBytes, "decompressed text is bounded");
    return text;
  } catch (const ReportError& e) {
    check_message(e, "fuzz.json");
  }
  return std::nullopt;
}

std::optional<Report> report_of(std::string_view text) {
  try {
    return parse_report(text, "fuzz.json");
  } catch (const ReportError& e) {
    check_message(e, "fuzz.json");
  }
  return std::nullopt;
}

bool scans(std::string_view text) {
  try {
    JsonScanner scanner(text);
    scanner.skip();
    scanner.end();
  } catch (const JsonSyntaxError& e) {
    require(e.offset() <= text.size(), "a syntax error lies in the text");
    return false;
  }
  return true;
}

// Compares with another parser, which stops at a NUL and skips a byte order mark.
void check_syntax(std::string_view text) {
  const bool is_json = nlohmann::json::accept(text);
  const bool is_strict =
      text.find('\0') == std::string_view::npos && text.substr(0, 1) != "\xEF" &&
      std::count(text.begin(), text.end(), '[') + std::count(text.begin(), text.end(), '{') <=
          std::ptrdiff_t{kMaxJsonDepth};
  if (scans(text)) {
    require(is_json, "what scans is JSON");
  } else {
    require(!is_json || !is_strict, "JSON scans");
  }
}

}  // namespace

void fuzz_results(std::string_view bytes) {
  const auto text = text_of(bytes);
  if (!text) return;
  check_syntax(*text);
  const auto report = report_of(*text);
  if (report) check_sinks(*report);
}

}  // namespace gpuexp::fuzz
