#include "config/config_schema.hpp"

#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "config/config_keys.hpp"
#include "support/catch.hpp"
#include "support/fake_family.hpp"

namespace gpuexp {

namespace {

using LibraryJson = nlohmann::ordered_json;

LibraryJson schema() {
  return LibraryJson::parse(config_schema(fake::registry()));
}

template <class Visit>
void for_each_schema(const LibraryJson& json, const Visit& visit) {
  if (!json.is_structured()) return;
  if (json.is_object()) visit(json);
  for (const LibraryJson& child : json)
    for_each_schema(child, visit);
}

std::vector<std::string> keys_of(const LibraryJson& object) {
  std::vector<std::string> keys;
  for (const auto& item : object.items())
    keys.push_back(item.key());
  return keys;
}

std::vector<std::string> constants(const LibraryJson& any_of) {
  std::vector<std::string> names;
  for (const LibraryJson& option : any_of) {
    if (option.contains("const")) names.push_back(option["const"].get<std::string>());
  }
  return names;
}

}  // namespace

TEST_CASE("the schema is consistent", "[schema]") {
  const LibraryJson root = schema();
  CHECK(root["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  for_each_schema(root, [&](const LibraryJson& json) {
    CAPTURE(json.dump());
    if (json.contains("$ref") && json["$ref"].is_string()) {
      const std::string target = json["$ref"];
      REQUIRE(target.substr(0, 8) == "#/$defs/");
      CHECK(root["$defs"].contains(target.substr(8)));
    }
    if (json.contains("required") && json.contains("additionalProperties")) {
      for (const LibraryJson& key : json["required"])
        CHECK(json["properties"].contains(key.get<std::string>()));
    }
    if (json.contains("type") && json["type"] == "object" && json.contains("properties"))
      CHECK(json["additionalProperties"] == false);
  });
}

TEST_CASE("every definition of the schema is used", "[schema]") {
  const LibraryJson root = schema();
  std::set<std::string> used;
  for_each_schema(root, [&](const LibraryJson& json) {
    if (json.contains("$ref")) used.insert(json["$ref"].get<std::string>());
  });
  for (const std::string& name : keys_of(root["$defs"]))
    CHECK(used.count("#/$defs/" + name) == 1);
}

TEST_CASE("the schema has the keys that the reader accepts, with their descriptions", "[schema]") {
  const LibraryJson root = schema();
  const LibraryJson& definitions = root["$defs"];
  CHECK(keys_of(root["properties"]) == names_of(kConfigKeys));
  CHECK(keys_of(definitions["experiment"]["properties"]) == names_of(kExperimentKeys));
  CHECK(keys_of(definitions["measure"]["properties"]) == names_of(kMeasureKeys));
  CHECK(root["required"] == LibraryJson({"name", "experiments"}));
  CHECK(definitions["experiment"]["required"] == LibraryJson::array({"family"}));
  for (const LibraryJson* properties :
       {&root["properties"], &definitions["experiment"]["properties"],
        &definitions["measure"]["properties"]}) {
    for (const LibraryJson& property : *properties)
      CHECK_FALSE(property["description"].get<std::string>().empty());
  }
}

TEST_CASE("the schema has every family with its variants and parameters", "[schema]") {
  const LibraryJson root = schema();
  const LibraryJson& definitions = root["$defs"];
  const LibraryJson& experiment = definitions["experiment"];
  CHECK(constants(experiment["properties"]["family"]["anyOf"]) ==
        names_of(fake::registry().families()));
  CHECK(experiment["allOf"].size() == fake::registry().families().size());
  for (const Family& family : fake::registry().families()) {
    CAPTURE(family.id);
    const LibraryJson& rules = definitions["family." + family.id]["properties"];
    const std::string variant = "variant." + family.id;
    CHECK(constants(definitions[variant]["anyOf"]) == names_of(family.variants));
    CHECK(rules["baseline"]["$ref"] == "#/$defs/" + variant);
    CHECK(rules["variants"]["items"]["anyOf"].front()["$ref"] == "#/$defs/" + variant);
    CHECK(rules["variants"]["items"]["anyOf"].size() == 2);
    CHECK(rules["variants"]["items"]["anyOf"].back()["pattern"] == "[*?\\[]");
    CHECK(keys_of(rules["axes"]["properties"]) == names_of(family.parameters));
    CHECK(rules["axes"]["additionalProperties"] == false);
  }
}

TEST_CASE("the schema has the range and the default of every parameter", "[schema]") {
  const LibraryJson definitions = schema()["$defs"];
  const LibraryJson& axes = definitions["family.scale"]["properties"]["axes"]["properties"];
  CHECK(axes["stride"]["default"] == 1);
  CHECK(axes["stride"]["description"] == "distance of elements read (elements)");
  CHECK(axes["alpha"]["default"] == 2.0);
  CHECK(axes["type"]["default"] == "fp32");

  const LibraryJson& stride = definitions["value.scale.stride"]["anyOf"];
  CHECK(stride[0].dump() == R"({"type":"integer","minimum":1,"maximum":32})");
  CHECK(stride.size() == 4);
  CHECK(stride[3]["properties"].contains("wave_edges"));
  const LibraryJson& alpha = definitions["value.scale.alpha"]["anyOf"];
  CHECK(alpha[0].dump() == R"({"type":"number","minimum":-1000,"maximum":1000})");
  CHECK(alpha.size() == 3);  // waves are whole numbers
  CHECK(definitions["value.scale.type"].dump() == R"({"enum":["fp32","tf32"]})");
}

}  // namespace gpuexp
