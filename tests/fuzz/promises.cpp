#include "fuzz/promises.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "render/markdown.hpp"
#include "render/page.hpp"
#include "render/report_document.hpp"
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

// A page has two scripts: its data, which are JSON, and its code.
void check_html(const Report& report) {
  const Registry nothing;
  std::string html;
  write_html({report, nothing, device_rates(report)}, [&](std::string_view part) { html += part; });
  const auto find = [&](std::string_view part, std::size_t from) { return html.find(part, from); };
  const auto data = find("<script type=\"application/json\" id=\"data\">", 0);
  const auto script = data == std::string::npos ? data : find("<script", data + 1);
  require(script != std::string::npos && find("<script", script + 1) == std::string::npos,
          "a page has two scripts");
  const auto begin = find(">", data) + 1;
  const auto end = find("</script>", begin);
  require(end < script, "data end before the script");
  Json::parse(std::string_view(html).substr(begin, end - begin));
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
  const Page page = page_of(report);
  render_markdown(page);
  check_html(report);
  render_terminal(page, {100, true, true});
  require(is_plain(render_terminal(page, {0, false, false})), "a plain terminal gets ASCII");
}

}  // namespace gpuexp::fuzz
