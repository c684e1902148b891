#include "core/ceilings_file.hpp"

#include <vector>

#include "core/json_node.hpp"

namespace gpuexp {

namespace {

constexpr int kSchemaVersion = 1;

std::vector<std::string> known_ids() {
  std::vector<std::string> ids;
  for (const CeilingTerm& term : ceiling_terms())
    ids.push_back(term.id);
  return ids;
}

MeasuredCeiling read_measured(const Node& node) {
  constexpr double kLargest = 1e9;
  const Bounds positive{0, kLargest, true};
  return {node.require("value").real(positive), node.require("low").real(positive),
          node.require("high").real(positive), node.require("from").text()};
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

std::string to_json(const CeilingsFile& file) {
  nlohmann::ordered_json json = {{"schema_version", kSchemaVersion},
                                 {"device", file.device},
                                 {"uuid", file.uuid},
                                 {"driver_version", file.driver_version},
                                 {"cuda_toolkit", file.cuda_toolkit},
                                 {"git_commit", file.git_commit},
                                 {"utc", file.utc},
                                 {"ceilings", nlohmann::ordered_json::object()}};
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
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

CeilingsFile read_ceilings_file(const std::filesystem::path& path) {
  const std::string source = path.string();
  const Json json = read_json(read_text_file(path), source);
  const Node root(json, source, "$");
  root.require("schema_version").integer({1, kSchemaVersion});
  CeilingsFile file;
  file.device = root.require("device").text();
  file.uuid = root.require("uuid").text();
  file.driver_version = root.require("driver_version").text();
  file.cuda_toolkit = root.require("cuda_toolkit").text();
  file.git_commit = root.require("git_commit").text();
  file.utc = root.require("utc").text();
  const std::vector<std::string> ids = known_ids();
  for (const auto& [id, node] : root.require("ceilings").members("an object of ceilings")) {
    node.find("unit");
    bool is_known = false;
    for (const std::string& known : ids)
      is_known = is_known || known == id;
    if (!is_known) node.fail("unknown ceiling");
    file.measured.emplace(id, read_measured(node));
  }
  return file;
}

}  // namespace gpuexp
