#include "base/json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace gpuexp {

namespace {

using Library = nlohmann::ordered_json;

Library to_library(const Json& json) {
  if (json.is_object()) {
    Library out = Library::object();
    auto& members = out.get_ref<Library::object_t&>();
    for (const auto& [key, value] : json.members())
      members.emplace_back(key, to_library(value));
    return out;
  }
  if (json.is_array()) {
    Library out = Library::array();
    for (const Json& item : json.items())
      out.push_back(to_library(item));
    return out;
  }
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_unsigned()) return json.get<std::uint64_t>();
  if (json.is_integer()) return json.get<std::int64_t>();
  if (json.is_real()) return json.get<double>();
  return nullptr;
}

}  // namespace

Json::Json(std::initializer_list<Json> items) {
  const auto is_member = [](const Json& item) {
    return item.is_array() && item.size() == 2 && item.items()[0].is_string();
  };
  if (!std::all_of(items.begin(), items.end(), is_member)) {
    value_ = Array(items);
    return;
  }
  Object& object = value_.emplace<Object>();
  for (const Json& item : items)
    object.emplace_back(item.items()[0].get<std::string>(), item.items()[1]);
}

Json Json::object() {
  Json json;
  json.value_.emplace<Object>();
  return json;
}

void Json::mismatch(const char* wanted) const {
  throw JsonError(std::string("expected ") + wanted + ", found " + dump());
}

template <>
bool Json::get<bool>() const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  mismatch("true or false");
}
template <>
std::int64_t Json::get<std::int64_t>() const {
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<std::uint64_t>(&value_))
    return static_cast<std::int64_t>(*value);
  if (const auto* value = std::get_if<double>(&value_)) return static_cast<std::int64_t>(*value);
  mismatch("a number");
}
template <>
std::uint64_t Json::get<std::uint64_t>() const {
  return static_cast<std::uint64_t>(get<std::int64_t>());
}
template <>
int Json::get<int>() const {
  return static_cast<int>(get<std::int64_t>());
}
template <>
double Json::get<double>() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::uint64_t>(&value_)) return static_cast<double>(*value);
  mismatch("a number");
}
template <>
std::string Json::get<std::string>() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  mismatch("a text");
}
template <>
std::vector<double> Json::get<std::vector<double>>() const {
  std::vector<double> values;
  for (const Json& item : items())
    values.push_back(item.get<double>());
  return values;
}
template <>
std::vector<std::string> Json::get<std::vector<std::string>>() const {
  std::vector<std::string> values;
  for (const Json& item : items())
    values.push_back(item.get<std::string>());
  return values;
}

std::size_t Json::size() const {
  if (is_null()) return 0;
  if (const auto* array = std::get_if<Array>(&value_)) return array->size();
  if (const auto* object = std::get_if<Object>(&value_)) return object->size();
  return 1;
}

const Json::Array& Json::items() const {
  if (const auto* array = std::get_if<Array>(&value_)) return *array;
  mismatch("a list");
}
Json::Array& Json::items() {
  if (auto* array = std::get_if<Array>(&value_)) return *array;
  mismatch("a list");
}
const Json::Object& Json::members() const {
  if (const auto* object = std::get_if<Object>(&value_)) return *object;
  mismatch("an object");
}
Json::Object& Json::members() {
  if (auto* object = std::get_if<Object>(&value_)) return *object;
  mismatch("an object");
}

const Json* Json::find(std::string_view key) const {
  const auto* object = std::get_if<Object>(&value_);
  if (!object) return nullptr;
  const auto it = std::find_if(object->begin(), object->end(),
                               [&](const auto& member) { return member.first == key; });
  return it == object->end() ? nullptr : &it->second;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* found = find(key)) return *found;
  mismatch(("a member '" + std::string(key) + "'").c_str());
}

const Json& Json::at(std::size_t index) const {
  const Array& array = items();
  if (index < array.size()) return array[index];
  mismatch(("an item " + std::to_string(index)).c_str());
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_.emplace<Object>();
  if (const Json* found = find(key)) return const_cast<Json&>(*found);
  return members().emplace_back(std::string(key), nullptr).second;
}

void Json::push_back(Json item) {
  if (is_null()) value_.emplace<Array>();
  items().push_back(std::move(item));
}

void Json::update(const Json& other) {
  for (const auto& [key, value] : other.members())
    (*this)[key] = value;
}

std::string Json::dump(int indent) const {
  return to_library(*this).dump(indent, ' ', false, Library::error_handler_t::replace);
}

}  // namespace gpuexp
