// The JSON Schema of configs, for editors and for users without the source, generated from the
// reader's declarations. The reader also checks rules that JSON Schema cannot express, such as
// unique names of experiments, equal lengths of zipped axes, and 4096 instead of 4096.0.
#include "config/config_schema.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/json_schema_parts.hpp"
#include "base/names.hpp"
#include "config/config_keys.hpp"
#include "family/counters.hpp"

namespace gpuexp {

namespace {

using json_schema::described;
using json_schema::list_of;
using json_schema::reference;

constexpr double kExactIntegers = 0x1p53;  // doubles represent all integers up to 2^53 exactly

Json number(double value) {
  if (std::abs(value) <= kExactIntegers && value == std::floor(value))
    return static_cast<std::int64_t>(value);
  return value;
}

Json set_of(const Json& items, int at_least = 1) {
  Json list = list_of(items, at_least);
  list["uniqueItems"] = true;
  return list;
}

Json constant(std::string_view name, std::string_view doc) {
  return described(doc, {{"const", name}});
}

// An object that has only these keys. `schemas` maps key names to schemas.
Json object(std::span<const Key> keys, const std::map<std::string_view, Json>& schemas,
            const std::vector<std::string>& required) {
  Json properties = Json::object();
  for (const Key& key : keys)
    properties[std::string(key.name)] = described(key.doc, schemas.at(key.name));
  return json_schema::object(properties, required, json_schema::OtherMembers::refused);
}

Json name() {
  return {{"type", "string"},
          {"pattern", "^[A-Za-z0-9_-][A-Za-z0-9._-]*$"},
          {"maxLength", kMaxNameLength}};
}

Json measure() {
  const MeasureSettings defaults;
  std::vector<Key> keys;
  std::map<std::string_view, Json> schemas;
  for (const MeasureKey& key : kMeasureKeys) {
    Json& schema = schemas[key.name];
    const auto* whole = std::get_if<int MeasureSettings::*>(&key.member);
    schema["type"] = whole ? "integer" : "number";
    schema[key.range.above_min ? "exclusiveMinimum" : "minimum"] = number(key.range.min);
    schema["maximum"] = number(key.range.max);
    if (whole) {
      schema["default"] = defaults.*(*whole);
    } else {
      schema["default"] = number(defaults.*std::get<double MeasureSettings::*>(key.member));
    }
    keys.push_back(key);
  }
  return object(keys, schemas, {});
}

Json counters() {
  Json forms = Json::array();
  for (const std::string& name : counter_names()) {
    const Counter* counter = find_counter(name);
    forms.push_back(counter ? constant(name, counter->doc) : Json{{"const", name}});
  }
  forms.push_back(
      described("A metric of Nsight Compute.", {{"type", "string"}, {"pattern", "^[^_]+__.+\\."}}));
  return {{"anyOf", forms}};
}

Json number_item(const Parameter& parameter) {
  const bool whole = std::holds_alternative<std::int64_t>(parameter.default_value);
  const Json value = {{"type", whole ? "integer" : "number"},
                      {"minimum", number(parameter.min)},
                      {"maximum", number(parameter.max)}};
  const double longest = parameter.max - parameter.min;
  const Json step = {{"type", whole ? "integer" : "number"},
                     {"exclusiveMinimum", 0},
                     {"maximum", number(whole ? std::max(1.0, longest) : longest)}};
  Json power = value;
  power["type"] = "integer";
  power["minimum"] = number(std::max(1.0, parameter.min));
  Json powers = list_of(power, 2);
  powers["maxItems"] = 2;
  Json forms = Json::array(
      {value,
       object(kRangeKeys, {{"from", value}, {"to", value}, {"step", step}}, names_of(kRangeKeys)),
       object(kPow2Keys, {{"pow2", powers}}, names_of(kPow2Keys))});
  if (whole) {
    const Json edges = object(kWaveEdgesRangeKeys, {{"from", value}, {"to", value}},
                              names_of(kWaveEdgesRangeKeys));
    forms.push_back(object(kWaveEdgesKeys, {{"wave_edges", edges}}, names_of(kWaveEdgesKeys)));
  }
  return {{"anyOf", forms}};
}

// Pattern for texts with this ending, ignoring case.
std::string pattern_of_ending(const std::string& ending) {
  std::string pattern;
  for (const char c : ending)
    pattern += c == '.' ? "\\." : fmt::format("[{}{}]", c, static_cast<char>(std::toupper(c)));
  return pattern + "$";
}

Json axis_item(const Parameter& parameter) {
  if (parameter.choices.empty()) return number_item(parameter);
  Json forms = Json::array({Json{{"enum", parameter.choices}}});
  for (const std::string& choice : parameter.choices) {
    if (is_glob(choice))
      forms.push_back(Json{{"type", "string"}, {"pattern", pattern_of_ending(choice.substr(1))}});
  }
  return forms.size() == 1 ? forms.at(0) : Json{{"anyOf", forms}};
}

std::string doc_of(const Parameter& parameter) {
  return parameter.unit.empty() ? parameter.doc : parameter.doc + " (" + parameter.unit + ")";
}

Json default_of(const Parameter& parameter) {
  return std::visit([](const auto& value) -> Json { return value; }, parameter.default_value);
}

// Rules for an experiment of this family, except for its key "family".
Json family_rules(const Family& family, Json& definitions) {
  Json variants = Json::array();
  for (const Variant& variant : family.variants)
    variants.push_back(constant(variant.id, variant.why));
  const std::string variant = "variant." + family.id;
  definitions[variant] = {{"anyOf", variants}};
  const Json glob = described("A glob.", {{"type", "string"}, {"pattern", "[*?\\[]"}});

  Json axes = Json::object();
  for (const Parameter& parameter : family.parameters) {
    const std::string item = "value." + family.id + "." + parameter.name;
    definitions[item] = axis_item(parameter);
    Json axis = {{"default", default_of(parameter)},
                 {"anyOf", Json::array({reference(item), list_of(reference(item), 1)})}};
    axes[parameter.name] = described(doc_of(parameter), axis);
  }
  const Json axis_name = {{"enum", names_of(family.parameters)}};
  return {{"properties",
           {{"variants", {{"items", {{"anyOf", Json::array({reference(variant), glob})}}}}},
            {"baseline", reference(variant)},
            {"axes", {{"additionalProperties", false}, {"properties", axes}}},
            {"zip", {{"items", {{"items", axis_name}}}}}}}};
}

Json experiment(const Registry& registry, Json& definitions) {
  Json families = Json::array();
  Json rules = Json::array();
  for (const Family& family : registry.families()) {
    const Json is_family = {{"properties", {{"family", {{"const", family.id}}}}},
                            {"required", Json::array({"family"})}};
    const std::string definition = "family." + family.id;
    families.push_back(constant(family.id, family.question));
    definitions[definition] = family_rules(family, definitions);
    rules.push_back({{"if", is_family}, {"then", reference(definition)}});
  }
  Json modes = Json::array();
  for (const ModeKey& mode : kModes)
    modes.push_back(constant(mode.name, mode.doc));
  const Json text = {{"type", "string"}};
  Json out = object(kExperimentKeys,
                    {{"family", {{"anyOf", families}}},
                     {"name", reference("name")},
                     {"variants", set_of(text)},
                     {"baseline", text},
                     {"axes", {{"type", "object"}}},
                     {"zip", list_of(set_of(text, 2), 1)},
                     {"modes", set_of({{"anyOf", modes}})},
                     {"counters", set_of(counters())},
                     {"measure", reference("measure")}},
                    {"family"});
  out["allOf"] = rules;
  return out;
}

// ---- published figures

Json claimed_rows() {
  const Json text = {{"type", "string"}};
  const Json value = {{"type", Json::array({"string", "number"})}};
  const Json row = object(
      kClaimedRowKeys,
      {{"experiment", reference("name")},
       {"variant", text},
       {"mode", {{"enum", names_of(kModes)}}},
       {"at", {{"type", "object"}, {"additionalProperties", value}}},
       {"times", {{"type", "integer"}, {"minimum", 1}, {"maximum", kMaxTimes}, {"default", 1}}}},
      {"experiment", "variant"});
  return {{"anyOf", Json::array({row, list_of(row, 1)})}};
}

Json claim() {
  const Json text = {{"type", "string"}, {"minLength", 1}};
  const Json positive = {{"type", "number"}, {"exclusiveMinimum", 0}};
  const Json columns = {{"anyOf", Json::array({text, list_of(text, 1)})}};
  Json band = list_of(positive, 2);
  band["maxItems"] = 2;
  return object(kClaimKeys,
                {{"name", text},
                 {"published", positive},
                 {"unit", {{"type", "string"}}},
                 {"column", columns},
                 {"over_column", columns},
                 {"rows", reference("claimed_rows")},
                 {"over", reference("claimed_rows")},
                 {"band", band},
                 {"because", text},
                 {"expectation", {{"type", "string"}}}},
                {"name", "published", "unit", "column", "rows", "band", "because"});
}

Json figure() {
  const Json text = {{"type", "string"}, {"minLength", 1}};
  const Json source = object(kSourceKeys,
                             {{"author", text},
                              {"title", text},
                              {"year", {{"type", "integer"}, {"minimum", 1900}, {"maximum", 2100}}},
                              {"address", text},
                              {"place", text}},
                             names_of(kSourceKeys));
  return object(kFigureKeys,
                {{"title", text},
                 {"source", source},
                 {"published_on", text},
                 {"device", text},
                 {"claims", list_of(reference("claim"), 1)}},
                {"title", "source", "published_on", "claims"});
}

}  // namespace

std::string config_schema(const Registry& registry) {
  Json definitions = {{"name", name()},
                      {"measure", measure()},
                      {"claimed_rows", claimed_rows()},
                      {"claim", claim()},
                      {"figure", figure()}};
  definitions["experiment"] = experiment(registry, definitions);
  Json schema = json_schema::document("gpuexp experiment config");
  const Json seed = {{"type", "integer"},
                     {"minimum", 0},
                     {"maximum", std::numeric_limits<std::uint64_t>::max()},
                     {"default", Config{}.seed}};
  schema.update(object(kConfigKeys,
                       {{"$schema", {{"type", "string"}}},
                        {"name", reference("name")},
                        {"description", {{"type", "string"}}},
                        {"seed", seed},
                        {"experiments", list_of(reference("experiment"), 1)},
                        {"figures", list_of(reference("figure"), 1)}},
                       {"name", "experiments"}));
  schema["$defs"] = definitions;
  return schema.dump(2);
}

}  // namespace gpuexp
