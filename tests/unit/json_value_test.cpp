#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("only a list of texts with values becomes an object") {
  CHECK(Json{{"a", 1}, {"b", "x"}}.dump() == R"({"a":1,"b":"x"})");
  CHECK(Json{{"a", 1}, {2, "x"}}.dump() == R"([["a",1],[2,"x"]])");
  CHECK(Json::array({"a", 1}).dump() == R"(["a",1])");
  CHECK(Json::object().dump() == "{}");
  CHECK(Json(std::vector<std::pair<std::string, double>>{{"a", 0.5}}).dump() == R"([["a",0.5]])");
  CHECK(Json(std::map<std::string, int>{{"a", 1}}).dump() == R"({"a":1})");
}

TEST_CASE("values keep their type, and pointers are rejected") {
  CHECK(Json(true).is_boolean());
  CHECK(Json(1).is_integer());
  CHECK(Json(1u).is_unsigned());
  CHECK(Json(1.0).is_real());
  CHECK(Json("a").is_string());
  CHECK(Json(std::optional<int>()).is_null());
  CHECK(Json(std::optional<int>(2)).get<int>() == 2);
  CHECK_FALSE(std::is_constructible_v<Json, const int*>);
}

TEST_CASE("a missing value or a wrong type is an error that shows the value") {
  const Json json{{"a", 1}};
  CHECK_THROWS_WITH(json.at("b"), R"(expected a member 'b', found {"a":1})");
  CHECK_THROWS_WITH(json.at("a").get<std::string>(), "expected a text, found 1");
  CHECK_THROWS_WITH(Json::array({1}).at(1), "expected an item 1, found [1]");
  CHECK_THROWS_AS(Json::parse("{"), JsonError);
}

TEST_CASE("members are added, replaced and kept in order") {
  Json json;
  json["b"] = 1;
  json["a"].push_back(2);
  json["b"] = 3;
  json.update({{"c", nullptr}, {"a", 4}});
  CHECK(json.dump() == R"({"b":3,"a":4,"c":null})");
}

TEST_CASE("texts equal those of nlohmann::json") {
  const std::string text =
      R"({"z":[1,-2,3.5,1000.0,18446744073709551615,1e-07],"a":{"t":true,"n":null},"é":"é\n","e":[],"o":{}})";
  for (const int indent : {-1, 2})
    CHECK(Json::parse(text).dump(indent) == nlohmann::ordered_json::parse(text).dump(indent));
  CHECK(Json("\xFF").dump() == "\"\xEF\xBF\xBD\"");
  CHECK(Json(std::numeric_limits<double>::quiet_NaN()).dump() == "null");
}

}  // namespace
}  // namespace gpuexp::test
