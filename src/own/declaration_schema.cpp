#include "own/declaration_schema.hpp"

#include <map>
#include <string_view>

#include "base/json.hpp"
#include "base/json_schema_parts.hpp"
#include "own/json_declaration.hpp"

namespace gpuexp::own {

namespace {

Json type_of(std::string_view name) {
  return {{"type", name}};
}

/// The schema itself, or a list of at least one item with it.
Json one_or_list(const Json& item) {
  return {{"anyOf", Json::array({item, json_schema::list_of(item, 1)})}};
}

/// An object whose keys are names of the declaration.
Json named(const Json& value) {
  return {{"type", "object"},
          {"propertyNames", {{"pattern", "^[A-Za-z_][A-Za-z0-9_]*$"}}},
          {"additionalProperties", value}};
}

}  // namespace

std::string declaration_schema() {
  const Json text = type_of("string");
  const Json number_or_text = {{"type", Json::array({"number", "string"})}};
  const Json values = one_or_list(number_or_text);
  const Json typed =
      json_schema::object({{"type", json_schema::described(kTypedParameterKeys[0].doc, text)},
                           {"values", json_schema::described(kTypedParameterKeys[1].doc, values)}},
                          {"type", "values"}, json_schema::OtherMembers::refused);
  const std::map<std::string_view, Json> schemas{
      {"$schema", text},
      {"source", {{"type", "string"}, {"pattern", "\\.(cuh?|ptx|cubin)$"}}},
      {"include", one_or_list(text)},
      {"define", {{"anyOf", Json::array({named(one_or_list(number_or_text)), one_or_list(text)})}}},
      {"option", one_or_list(text)},
      {"parameters", named({{"anyOf", Json::array({values, typed})}})},
      {"require", one_or_list(text)},
      {"buffers", named({{"type", "string"}, {"pattern", "\\["}})},
      {"variants", named({{"type", "string"}, {"pattern", "<<<"}})},
      {"check", one_or_list(text)},
      {"reference", text},
      {"tolerance", number_or_text},
      {"work", one_or_list(text)},
  };
  Json properties = Json::object();
  for (const Key& key : kDeclarationKeys)
    properties[key.name] = json_schema::described(key.doc, schemas.at(key.name));
  Json schema = json_schema::document("Declaration of the kernels of a source file for gpuexp");
  schema.update(json_schema::object(properties, {"source"}, json_schema::OtherMembers::refused));
  return schema.dump(2) + "\n";
}

}  // namespace gpuexp::own
