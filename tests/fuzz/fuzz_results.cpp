#include <algorithm>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/json_reader.hpp"
#include "core/json_scanner.hpp"
#include "fuzz/fuzz.hpp"
#include "report/csv.hpp"
#include "report/json.hpp"
#include "report/markdown.hpp"
#include "report/terminal.hpp"

namespace gpuexp::fuzz {

namespace {

void require(bool holds, const char* promise) {
  if (!holds) throw Finding(promise);
}

std::optional<Report> report_of(std::string_view text) {
  constexpr std::size_t kLongestMessage = 4096;
  try {
    return parse_report(text, "fuzz.json");
  } catch (const ReportError& e) {
    require(std::string_view(e.what()).substr(0, 9) == "fuzz.json", "an error names the file");
    require(std::string_view(e.what()).size() <= kLongestMessage, "an error can be read");
  }
  return std::nullopt;
}

bool is_plain(const std::string& text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte >= 0x7F) return false;
  }
  return true;
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

// Another parser's opinion, which takes a NUL for the end and passes over a byte order mark.
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

void fuzz_results(std::string_view text) {
  check_syntax(text);
  const auto report = report_of(text);
  if (!report) return;
  require(parse_report(to_json(*report), "again.json") == *report, "JSON gives the report back");
  Report without = parse_report(to_json(*report, {false}), "again.json");
  require(without.samples_us.empty(), "samples are left out");
  without.samples_us = report->samples_us;
  require(without == *report, "without samples, everything else is there");
  to_csv(report->table);
  render_markdown(*report);
  render_terminal(*report, {100, true, true});
  require(is_plain(render_terminal(*report, {0, false, false})), "a plain terminal gets ASCII");
}

}  // namespace gpuexp::fuzz
