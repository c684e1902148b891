// A JSON value with the semantics of nlohmann::ordered_json but without its templates, which
// would add two to three seconds of compile time to each of thirty units. Only json.cpp uses that
// library, to write text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace gpuexp {

class JsonError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json(std::nullptr_t = nullptr) {}
  Json(std::string text) : value_(std::move(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(const char* text) : value_(std::string(text)) {}
  /// From bool, an integer or a real. Pointers, which would convert to true, are excluded.
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Json(T value) {
    if constexpr (std::is_same_v<T, bool>)
      value_ = value;
    else if constexpr (std::is_floating_point_v<T>)
      value_ = static_cast<double>(value);
    else if constexpr (std::is_unsigned_v<T>)
      value_ = static_cast<std::uint64_t>(value);
    else
      value_ = static_cast<std::int64_t>(value);
  }
  template <class T>
  Json(const std::optional<T>& value) {
    if (value) *this = Json(*value);
  }
  template <class A, class B>
  Json(const std::pair<A, B>& pair) : value_(Array{Json(pair.first), Json(pair.second)}) {}
  template <class T>
  Json(const std::vector<T>& items) {
    Array& array = value_.emplace<Array>();
    array.reserve(items.size());
    for (const T& item : items)
      array.emplace_back(item);
  }
  template <class T>
  Json(const std::map<std::string, T>& members) {
    Object& object = value_.emplace<Object>();
    for (const auto& [key, value] : members)
      object.emplace_back(key, value);
  }
  Json(Array items) : value_(std::move(items)) {}
  /// An object if every item is a pair of a string and a value, otherwise a list.
  Json(std::initializer_list<Json> items);

  static Json array(std::initializer_list<Json> items = {}) { return Json(Array(items)); }
  static Json object();
  /// Throws JsonError.
  static Json parse(std::string_view text);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_boolean() const { return std::holds_alternative<bool>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool is_number() const { return is_integer() || is_real(); }
  bool is_integer() const { return is_unsigned() || std::holds_alternative<std::int64_t>(value_); }
  bool is_unsigned() const {
    return std::holds_alternative<std::uint64_t>(value_);
  }  ///< values of unsigned types, and parsed non-negative integers
  bool is_real() const { return std::holds_alternative<double>(value_); }

  /// T is bool, std::int64_t, std::uint64_t, int, double, std::string or a vector of double or of
  /// std::string. Numbers convert to each other. Throws JsonError if the value has another kind.
  template <class T>
  T get() const;

  /// Number of items or members; 0 for null, 1 for other values.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  const Array& items() const;
  Array& items();
  const Object& members() const;
  Object& members();
  Array::const_iterator begin() const { return items().begin(); }
  Array::const_iterator end() const { return items().end(); }

  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Json& at(std::string_view key) const;
  const Json& at(std::size_t index) const;
  /// Returns the member, and adds it if it is missing. A null value becomes an object.
  Json& operator[](std::string_view key);

  void push_back(Json item);
  void update(const Json& other);

  /// JSON text. Bytes that are not UTF-8 become U+FFFD, so that an invalid name does not prevent
  /// writing results. Non-finite numbers become null. A negative `indent` writes one line.
  std::string dump(int indent = -1) const;

 private:
  [[noreturn]] void mismatch(const char* wanted) const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

template <>
bool Json::get<bool>() const;
template <>
std::int64_t Json::get<std::int64_t>() const;
template <>
std::uint64_t Json::get<std::uint64_t>() const;
template <>
int Json::get<int>() const;
template <>
double Json::get<double>() const;
template <>
std::string Json::get<std::string>() const;
template <>
std::vector<double> Json::get<std::vector<double>>() const;
template <>
std::vector<std::string> Json::get<std::vector<std::string>>() const;

}  // namespace gpuexp
