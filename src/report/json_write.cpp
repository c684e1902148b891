#include <cmath>

#include <nlohmann/json.hpp>

#include "report/json.hpp"
#include "report/json_fields.hpp"
#include "report/output.hpp"

namespace gpuexp {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Field& field) {
  return std::visit(
      [](const auto& value) -> Json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, double>) {
          return std::isfinite(value) ? Json(value) : Json(nullptr);
        } else {
          return value;
        }
      },
      field);
}

// Writes optional members into an object, null where they are empty.
auto writer_into(Json& object) {
  return [&object](const char* name, const auto& member) {
    object[name] = member ? Json(*member) : Json(nullptr);
  };
}

Json json_of(const Provenance& provenance) {
  Json json = Json::object();
  visit_run(provenance, writer_into(json));
  json["argv"] = provenance.argv;
  Json& config = json["config"] = Json::object();
  visit_config(provenance.config, writer_into(config));
  Json& settings = json["settings"] = Json::object();
  for (const auto& [name, value] : provenance.settings)
    settings[name] = json_of(value);
  Json& device = json["device"] = Json::object();
  visit_device(provenance.device, writer_into(device));
  return json;
}

Json json_of(const ColumnInfo& column) {
  return {{"name", column.name},
          {"unit", column.unit},
          {"type", name_of(column.type)},
          {"doc", column.doc}};
}

Json json_of_row(const Report& report, std::size_t row) {
  Json json = Json::object();
  for (std::size_t c = 0; c < report.table.columns.size(); ++c)
    json[report.table.columns[c].name] = json_of(report.table.rows[row][c]);
  Json& samples = json[kSamplesMember] = Json::array();
  if (row < report.samples_us.size()) samples = report.samples_us[row];
  return json;
}

// A name that is not UTF-8 must not cost the results that it stands beside: its bad bytes become
// U+FFFD.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// A line per element, so that tools which work by lines find a row in one.
template <class Element>
std::string lines(std::size_t count, const Element& element) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "\n    " : ",\n    ") + text_of(element(i), -1);
  return text + "\n  ]";
}

}  // namespace

std::string to_json(const Report& report) {
  constexpr int kIndent = 2;
  Json head = Json::object();
  head["schema_version"] = kReportSchemaVersion;
  head["provenance"] = json_of(report.provenance);
  head["complete"] = report.complete;
  std::string text = text_of(head, kIndent);
  text.resize(text.size() - 2);  // "\n}" comes last
  text += ",\n  \"columns\": [";
  text += lines(report.table.columns.size(),
                [&](std::size_t i) { return json_of(report.table.columns[i]); });
  text += ",\n  \"rows\": [";
  text += lines(report.table.rows.size(), [&](std::size_t i) { return json_of_row(report, i); });
  return text + "\n}\n";
}

void write_json(const Report& report, const std::string& path) {
  write_file_atomically(path, to_json(report));
}

}  // namespace gpuexp
