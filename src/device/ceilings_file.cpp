#include "device/ceilings_file.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/json_node.hpp"

namespace gpuexp {

namespace {

constexpr int kSchemaVersion = 1;

const CeilingTerm& term_of(const std::string& id, const Node& node) {
  if (const CeilingTerm* term = find_ceiling_term(id)) return *term;
  node.fail(unknown_ceiling(id));
}

MeasuredCeiling read_measured(const Node& node, const CeilingTerm& term) {
  constexpr double kLargest = 1e9;
  const Bounds positive{0, kLargest, true};
  if (const auto unit = node.find("unit")) unit->one_of({term.unit}, "unit");
  const MeasuredCeiling m{node.require("value").real(positive), node.require("low").real(positive),
                          node.require("high").real(positive), node.require("from").text()};
  if (!(m.low <= m.value && m.value <= m.high))
    node.fail(fmt::format("{} is not within {} to {}", m.value, m.low, m.high));
  return m;
}

}  // namespace

Ceilings CeilingsFile::ceilings() const {
  Ceilings ceilings;
  for (const CeilingTerm& term : ceiling_terms()) {
    if (const auto found = measured.find(term.id); found != measured.end())
      term.of(ceilings) = found->second.value * term.scale;
  }
  return ceilings;
}

void add_links(MeasuredCeilings& measured, const CeilingsFile& links) {
  for (const auto& [id, ceiling] : links.measured) {
    if (!is_link_term(*find_ceiling_term(id))) continue;
    const auto [kept, is_new] = measured.try_emplace(id, ceiling);
    if (is_new) continue;
    const bool is_worse = is_time(*find_ceiling_term(id)) ? ceiling.value > kept->second.value
                                                          : ceiling.value < kept->second.value;
    if (is_worse) kept->second = ceiling;
  }
}

std::string to_json(const CeilingsFile& file) {
  Json json = {{"schema_version", kSchemaVersion},
               {"device", file.device},
               {"uuid", file.conditions.uuid},
               {"driver_version", file.conditions.driver_version},
               {"cuda_toolkit", file.conditions.cuda_toolkit},
               {"git_commit", file.git_commit},
               {"utc", file.utc},
               {"ceilings", Json::object()}};
  if (!file.links_to.empty()) json["links_to"] = file.links_to;
  for (const CeilingTerm& term : ceiling_terms()) {
    const auto found = file.measured.find(term.id);
    if (found == file.measured.end()) continue;
    const MeasuredCeiling& m = found->second;
    json["ceilings"][term.id] = {{"value", m.value},
                                 {"low", m.low},
                                 {"high", m.high},
                                 {"unit", term.unit},
                                 {"from", m.from}};
  }
  return json.dump(2) + "\n";
}

CeilingsFile read_ceilings_file(const std::filesystem::path& path) {
  const std::string source = path.string();
  const Json json = read_json(read_text_file(path), source);
  const Node root(json, source, "$");
  root.require("schema_version").integer({1, kSchemaVersion});
  CeilingsFile file;
  file.device = root.require("device").text();
  file.conditions = {root.require("uuid").text(), root.require("driver_version").text(),
                     root.require("cuda_toolkit").text()};
  if (const auto links_to = root.find("links_to")) file.links_to = links_to->text();
  file.git_commit = root.require("git_commit").text();
  file.utc = root.require("utc").text();
  for (const auto& [id, node] : root.require("ceilings").members("an object of ceilings"))
    file.measured.emplace(id, read_measured(node, term_of(id, node)));
  return file;
}

}  // namespace gpuexp
