#include "results/json_schema.hpp"

#include "base/json.hpp"
#include "base/json_schema_parts.hpp"
#include "record/fixed_columns.hpp"
#include "results/json_fields.hpp"
#include "results/json_figures.hpp"
#include "results/report.hpp"

namespace gpuexp {

namespace {

using json_schema::described;
using json_schema::list_of;
using json_schema::object;
using json_schema::reference;

constexpr const char* kSchemaDoc =
    "Results that gpuexp run, verify and report write. Missing numbers are null. Results may "
    "contain members and columns that this schema does not name: readers must ignore them.";
constexpr const char* kVersionDoc =
    "Version of the format, raised when a reader of the previous version would misread a report: "
    "when a member or column is removed, or its meaning, unit or type changes. Members, columns "
    "and enumeration values may be added without raising it.";

// ---- provenance

Json ceilings() {
  const Json ceiling = object(schemas_of_members<CeilingProvenance>(), {});
  return object(
      {{"source", described("Source of the ceilings, as text for readers.", {{"type", "string"}})},
       {"values", described("Ceilings by the names that gpuexp info --measure prints.",
                            {{"type", "object"}, {"additionalProperties", ceiling}})}},
      {"source", "values"});
}

Json provenance() {
  const Json config = object(schemas_of_members<ConfigProvenance>(), {});
  const Json device = object(schemas_of_members<DeviceProvenance>(), {});
  const Json part = object(schemas_of_members<PartProvenance>(), {});
  const Json rank = object(schemas_of_members<RankProvenance>(), {});
  const Json input = object(schemas_of_members<InputProvenance>(), {});
  Json properties = schemas_of_members<Provenance>();
  properties["argv"] = described("The command line, program first.", list_of({{"type", "string"}}));
  properties["config"] = described("The config that was run.", config);
  properties["settings"] =
      described("Settings in force after defaults, config and command line.",
                {{"type", "object"},
                 {"additionalProperties", {{"type", Json::array({"string", "number", "null"})}}}});
  properties["device"] = described("The GPU as the driver reports it.", device);
  properties[kCeilingsMember] =
      described("Ceilings of the GPU, which limits and predictions use.", ceilings());
  properties[kPartsMember] = described(
      "The runs that were merged; all other provenance is common to them.", list_of(part));
  properties[kRanksMember] =
      described("Machine and GPU of each rank; absent if no problem spans GPUs.", list_of(rank));
  properties[kInputsMember] = described(
      "Files that inputs or kernels were read from; absent if all inputs were generated and all "
      "kernels are built in.",
      list_of(input));
  return object(properties, {"argv", "config", "settings", "device"});
}

// ---- columns and rows

Json text() {
  return {{"type", "string"}};
}

Json column() {
  Json types = Json::array();
  for (const FieldType type : {FieldType::text, FieldType::integer, FieldType::real})
    types.push_back(name_of(type));
  return object({{"name", described("Name of the member in every row.", text())},
                 {"unit", described("Unit; empty for counts and texts.", text())},
                 {"type", {{"enum", types}}},
                 {"doc", text()}},
                {"name", "unit", "type", "doc"});
}

const char* type_of(FieldType type) {
  switch (type) {
    case FieldType::text: return "string";
    case FieldType::integer: return "integer";
    case FieldType::real: return "number";
  }
  return "null";
}

Json value_of(const FixedColumn& column) {
  const bool is_optional = column.presence != Presence::all;
  if (column.values.empty()) {
    const char* type = type_of(column.type);
    return {{"type", is_optional ? Json::array({type, "null"}) : Json(type)}};
  }
  Json values = column.values;
  if (is_optional) values.push_back(nullptr);
  return {{"enum", values}};
}

Json counter() {
  return described("A hardware counter.", {{"type", Json::array({"number", "null"})}});
}

Json row() {
  Json properties = Json::object();
  Json of_passed_rows = Json::object();
  std::vector<std::string> required;
  for (const FixedColumn& column : fixed_columns()) {
    const std::string unit = column.unit.empty() ? "" : " (" + column.unit + ")";
    properties[column.name] = described(column.doc + unit, value_of(column));
    if (column.presence == Presence::all) required.push_back(column.name);
    if (column.presence == Presence::passed) of_passed_rows[column.name] = {{"type", "null"}};
  }
  properties[std::string(kSamplesMember)] = described(
      "Time of every launch (us), in the order measured; absent if samples were left out.",
      list_of({{"type", "number"}}));
  Json out = object(properties, required);
  out["patternProperties"] = {
      {"^param\\.", described("A parameter of the row's family; null in rows of other families.",
                              {{"type", Json::array({"string", "number", "null"})}})},
      {"^metric\\.",
       described("A metric of the row's variant.", {{"type", Json::array({"number", "null"})}})},
      {"^counter\\.", counter()}};
  out["if"] = {{"properties",
                {{"status",
                  {{"enum", Json::array({std::string(name_of(Status::passed)),
                                         std::string(name_of(Status::sampled)),
                                         std::string(name_of(Status::unverified))})}}}}}};
  out["else"] = {{"properties", of_passed_rows}};
  return out;
}

Json times() {
  return object(schemas_of_members<RunTimes>(), {});
}

Json group() {
  Json properties = schemas_of_members<GroupTimes>();
  properties[kTimesMember] = described("Seconds spent on the group, by purpose.", times());
  return object(properties, {"experiment", "parameters", "mode", "began_s", kTimesMember});
}

Json kernel() {
  Json out = object(
      {{"key", described("Key of the row whose launch includes the kernel.", text())},
       {"kernel",
        described("Position of the kernel in the launch, counted from 0.", {{"type", "integer"}})},
       {"name", described("Name and template arguments of the kernel; null if unknown.",
                          {{"type", Json::array({"string", "null"})}})}},
      {"key", "kernel", "name"});
  out["patternProperties"] = {{"^counter\\.", counter()}};
  return out;
}

}  // namespace

std::string report_schema() {
  Json schema = json_schema::document("gpuexp results");
  schema["description"] = kSchemaDoc;
  schema.update(object(
      {{"schema_version", described(kVersionDoc, {{"const", kReportSchemaVersion}})},
       {"provenance", reference("provenance")},
       {"complete", described("Whether every planned row is present; false after an interruption.",
                              {{"type", "boolean"}})},
       {"columns", described("Columns: one per member of every row, in order, except raw samples.",
                             list_of(reference("column")))},
       {"rows", list_of(reference("row"))},
       {std::string(kKernelColumnsMember),
        described("Columns: one per member of every kernel, in order; absent if no hardware "
                  "counters were requested.",
                  list_of(reference("column")))},
       {std::string(kKernelsMember),
        described("Kernels of every row's launch, with the hardware counters of each.",
                  list_of(reference("kernel")))},
       {kTimesMember,
        described(
            "Seconds that the run took, by purpose, including those before it was resumed; for a "
            "run that was killed, the sum over its groups. Absent if they were not recorded.",
            times())},
       {kGroupTimesMember,
        described("Seconds spent on each group: the cells of an experiment with the same problem "
                  "and mode. Absent if they were not recorded.",
                  list_of(group()))},
       {std::string(kFiguresMember),
        described("Published figures that the config compares rows with; absent if it has none.",
                  list_of(reference("figure")))}},
      {"schema_version", "provenance", "complete", "columns", "rows"}));
  schema["$defs"] = {{"provenance", provenance()},
                     {"column", column()},
                     {"row", row()},
                     {"kernel", kernel()},
                     {"figure", figure_schema()}};
  return schema.dump(2) + "\n";
}

}  // namespace gpuexp
