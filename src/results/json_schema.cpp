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
    "What gpuexp run, verify and report write. Numbers that are missing are null. Members and "
    "columns that this schema does not name may be there, now and in later versions: whoever reads "
    "results ignores what it does not know.";
constexpr const char* kVersionDoc =
    "Raised when a reader of the version before would misread a report: a member or column is "
    "gone, or its meaning, unit or type is another. Members, columns and texts of an enumeration "
    "are added without raising it.";

// ---- provenance

Json ceilings() {
  const Json ceiling = object(schemas_of_members<CeilingProvenance>(), {});
  return object({{"source", described("Where they are from, for people.", {{"type", "string"}})},
                 {"values", described("By the names that gpuexp info --measure shows.",
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
      described("What was in force after defaults, config and command line.",
                {{"type", "object"},
                 {"additionalProperties", {{"type", Json::array({"string", "number", "null"})}}}});
  properties["device"] = described("What the driver said of the GPU.", device);
  properties[kCeilingsMember] = described(
      "What the GPU can do at most, from which limits and predictions were made.", ceilings());
  properties[kPartsMember] =
      described("The runs that merged results are of, which have in common what else stands here.",
                list_of(part));
  properties[kRanksMember] = described(
      "Where the ranks of problems ran that span GPUs; absent where none did.", list_of(rank));
  properties[kInputsMember] = described(
      "Files that inputs were read from; absent where all were generated.", list_of(input));
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
  return object({{"name", described("Of the member in every row.", text())},
                 {"unit", described("Empty for counts and texts.", text())},
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
      "Time of every launch (us), in the order taken; absent where samples were left out.",
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
                                         std::string(name_of(Status::sampled))})}}}}}};
  out["else"] = {{"properties", of_passed_rows}};
  return out;
}

Json times() {
  return object(schemas_of_members<RunTimes>(), {});
}

Json group() {
  Json properties = schemas_of_members<GroupTimes>();
  properties[kTimesMember] = described("Seconds that were spent on it, by what for.", times());
  return object(properties, {"experiment", "parameters", "mode", "began_s", kTimesMember});
}

Json kernel() {
  Json out =
      object({{"key", described("Of the row whose launch it is part of.", text())},
              {"kernel", described("Its place in the launch, from 0.", {{"type", "integer"}})},
              {"name", described("Its name and template arguments; null where not known.",
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
       {"complete", described("Every planned row is there; false after an interruption.",
                              {{"type", "boolean"}})},
       {"columns", described("One per member of every row, in order, raw samples aside.",
                             list_of(reference("column")))},
       {"rows", list_of(reference("row"))},
       {std::string(kKernelColumnsMember),
        described("One per member of every kernel, in order; absent where no hardware "
                  "counters were asked for.",
                  list_of(reference("column")))},
       {std::string(kKernelsMember),
        described("The kernels of every row's launch, with what the GPU counted in each.",
                  list_of(reference("kernel")))},
       {kTimesMember,
        described(
            "Seconds that the run took, by what for, with those before it was resumed. Of a "
            "run that was killed, the sum of its groups. Absent where they were not recorded.",
            times())},
       {kGroupTimesMember,
        described("Of these, what was spent on the cells of an experiment that share a "
                  "problem and a mode; absent where it was not recorded.",
                  list_of(group()))},
       {std::string(kFiguresMember),
        described("Published figures that the config holds rows against; absent where it "
                  "has none.",
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
