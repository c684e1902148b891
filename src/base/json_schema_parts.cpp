#include "base/json_schema_parts.hpp"

#include "base/json.hpp"

namespace gpuexp::json_schema {

Json document(std::string_view title) {
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", title}};
}

Json described(std::string_view doc, const Json& schema) {
  Json out = Json::object();
  if (!doc.empty()) out["description"] = doc;
  out.update(schema);
  return out;
}

Json reference(std::string_view definition) {
  return {{"$ref", "#/$defs/" + std::string(definition)}};
}

Json list_of(const Json& items, int at_least) {
  Json out = {{"type", "array"}};
  if (at_least > 0) out["minItems"] = at_least;
  out["items"] = items;
  return out;
}

Json object(const Json& properties, const std::vector<std::string>& required, OtherMembers others) {
  Json out = {{"type", "object"}};
  if (others == OtherMembers::refused) out["additionalProperties"] = false;
  out["properties"] = properties;
  if (!required.empty()) out["required"] = required;
  return out;
}

}  // namespace gpuexp::json_schema
