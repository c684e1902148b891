#include "render/viewer.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/sha256.hpp"

namespace gpuexp {

namespace {

// Converts hexadecimal digits to base64 (RFC 4648), the encoding of hashes in content security
// policies.
std::string base64_of_hex(const std::string& hexadecimal) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr std::size_t kHexPerGroup = 6;  // 3 bytes, 4 digits of base 64
  std::string text;
  for (std::size_t i = 0; i < hexadecimal.size(); i += kHexPerGroup) {
    std::string part = hexadecimal.substr(i, kHexPerGroup);
    const std::size_t digits = part.size() / 2 + 1;
    part.resize(kHexPerGroup, '0');
    const unsigned long bits = std::stoul(part, nullptr, 16);
    for (std::size_t d = 0; d < 4; ++d)
      text += d < digits ? kDigits[bits >> (18 - 6 * d) & 63] : '=';
  }
  return text;
}

std::string source_hash(std::string_view text) {
  return fmt::format("'sha256-{}'", base64_of_hex(sha256(text)));
}

// Escapes "<", which occurs only in JSON strings: otherwise a string could end the <script>
// element.
void write_inert(const WritePart& write, std::string_view json) {
  while (!json.empty()) {
    const std::size_t end = std::min(json.find('<'), json.size());
    write(json.substr(0, end));
    if (end < json.size()) write("\\u003c");
    json.remove_prefix(std::min(end + 1, json.size()));
  }
}

void add_texts(Json& json, const char* name, const std::vector<std::string>& texts) {
  if (!texts.empty()) json[name] = texts;
}

bool has_numbers(const ViewRow& row) {
  return row.note.empty() || row.keeps_numbers;
}

Json json_of_column(const ExperimentView& view, std::size_t c) {
  Json cells = Json::array();
  for (const ViewRow& row : view.rows)
    cells.push_back(has_numbers(row) || c < view.first_number ? row.cells.at(c) : "");
  const ViewColumn& column = view.columns[c];
  Json json = {{"heading", column.heading}, {"number", column.is_number}};
  json["cells"] = std::move(cells);  // a list of initializers would copy it
  return json;
}

Json notes_of(const ExperimentView& view) {
  Json notes = Json::array();
  for (std::size_t i = 0; i < view.rows.size(); ++i) {
    const ViewRow& row = view.rows[i];
    if (row.note.empty()) continue;
    Json note = Json::array({i, row.status, row.note});
    if (row.keeps_numbers) note.push_back(true);
    notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace

Json json_of(const ExperimentView& view) {
  Json json = {{"title", view.title}, {"first_number", view.first_number}};
  add_texts(json, "facts", view.facts);
  if (!view.headline.empty()) json["headline"] = view.headline;
  add_texts(json, "footnotes", view.footnotes);
  add_texts(json, "explanations", view.explanations);
  if (view.rows.empty()) return json;
  Json& columns = json["columns"] = Json::array();
  for (std::size_t c = 0; c < view.columns.size(); ++c)
    columns.push_back(json_of_column(view, c));
  json["notes"] = notes_of(view);
  std::vector<std::string> keys;
  for (const ViewRow& row : view.rows)
    keys.push_back(row.key);
  if (std::ranges::any_of(keys, [](const std::string& key) { return !key.empty(); }))
    json["keys"] = keys;
  return json;
}

void write_viewer(const WritePart& write, const std::function<void(const WritePart&)>& write_data) {
  std::string_view rest = kViewerPage;
  const auto write_until = [&](std::string_view mark) {
    const std::size_t at = rest.find(mark);
    write(rest.substr(0, at));
    rest.remove_prefix(at + mark.size());
  };
  write_until("@STYLE_HASH@");
  write(source_hash(kViewerStyle));
  write_until("@SCRIPT_HASH@");
  write(source_hash(kViewerScript));
  write_until("@STYLE@");
  write(kViewerStyle);
  write_until("@DATA@");
  write_data([&](std::string_view json) { write_inert(write, json); });
  write_until("@SCRIPT@");
  write(kViewerScript);
  write(rest);
}

std::string render_html(const Page& page, const std::string& title) {
  Json json = {{"brand", "gpuexp comparison"}, {"title", title}, {"summary", page.summary}};
  add_texts(json, "head", page.head);
  Json& experiments = json["experiments"] = Json::array();
  for (const ExperimentView& view : page.experiments)
    experiments.push_back(json_of(view));
  std::string html;
  write_viewer([&](std::string_view part) { html += part; },
               [&](const WritePart& write_json) { write_json(json.dump()); });
  return html;
}

}  // namespace gpuexp
