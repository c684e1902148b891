#include "fuzz/promises.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "render/html_report.hpp"
#include "render/markdown.hpp"
#include "render/terminal.hpp"
#include "results/csv_write.hpp"
#include "results/json_read.hpp"
#include "results/json_write.hpp"

namespace gpuexp::fuzz {

namespace {

bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7F); });
}

// One script, the page's own, and every coordinate a number.
void check_html(const Report& report) {
  const Registry nothing;
  std::string html;
  write_html({report, nothing, device_rates(report)}, [&](std::string_view part) { html += part; });
  const auto script = html.find("<script");
  require(script != std::string::npos && html.find("<script", script + 1) == std::string::npos,
          "a page has one script");
  for (const char* no_number : {"\"nan", "\"inf", "\"-inf"})
    require(html.find(no_number) == std::string::npos, "a figure's coordinates are numbers");
  // In paths alone: a text may have any word, but no quotation marks.
  constexpr std::string_view kPath = " d=\"";
  for (std::size_t at = html.find(kPath); at != std::string::npos; at = html.find(kPath, at)) {
    at += kPath.size();
    const std::string path = html.substr(at, html.find('"', at) - at);
    require(path.find("nan") == std::string::npos && path.find("inf") == std::string::npos,
            "a path's coordinates are numbers");
  }
}

}  // namespace

void check_message(const std::exception& error, std::string_view file) {
  constexpr std::size_t kLongestMessage = 4096;
  const std::string_view message = error.what();
  require(message.substr(0, file.size()) == file, "an error names the file");
  require(message.size() <= kLongestMessage, "an error can be read");
}

void check_sinks(const Report& report) {
  require(parse_report(to_json(report), "again.json") == report, "JSON gives the report back");
  Report without = parse_report(to_json(report, {false}), "again.json");
  require(without.samples_us.empty(), "samples are left out");
  without.samples_us = report.samples_us;
  require(without == report, "without samples, everything else is there");
  to_csv(report.table);
  render_markdown(report);
  check_html(report);
  render_terminal(report, {100, true, true});
  require(is_plain(render_terminal(report, {0, false, false})), "a plain terminal gets ASCII");
}

}  // namespace gpuexp::fuzz
