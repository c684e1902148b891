#include "report/json.hpp"
#include "report/json_fields.hpp"
#include "report/json_values.hpp"
#include "report/output.hpp"

namespace gpuexp {

namespace {

using Json = nlohmann::ordered_json;

// Writes optional members into an object, null where they are empty.
auto writer_into(Json& object) {
  return [&object](const char* name, const auto& member) {
    object[name] = member ? Json(*member) : Json(nullptr);
  };
}

Json json_of_provenance(const Provenance& provenance) {
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

Json json_with_samples(const Report& report, std::size_t row) {
  Json json = json_of_row(report.table, row);
  Json& samples = json[kSamplesMember] = Json::array();
  if (row < report.samples_us.size()) samples = report.samples_us[row];
  return json;
}

}  // namespace

std::string to_json(const Report& report) {
  constexpr int kIndent = 2;
  Json head = Json::object();
  head["schema_version"] = kReportSchemaVersion;
  head["provenance"] = json_of_provenance(report.provenance);
  head["complete"] = report.complete;
  std::string text = text_of(head, kIndent);
  text.resize(text.size() - 2);  // "\n}" comes last
  text += ",\n  " + json_lines("columns", report.table.columns.size(),
                               [&](std::size_t i) { return json_of(report.table.columns[i]); });
  text += ",\n  " + json_lines("rows", report.table.rows.size(),
                               [&](std::size_t i) { return json_with_samples(report, i); });
  return text + "\n}\n";
}

void write_json(const Report& report, const std::string& path) {
  write_file_atomically(path, to_json(report));
}

}  // namespace gpuexp
