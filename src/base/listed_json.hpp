// Compact JSON that only this program reads: a structure is a list of its members.
#pragma once

#include <cmath>
#include <limits>
#include <tuple>

#include "base/json.hpp"
#include "base/types.hpp"

namespace gpuexp {

/// Specialized as a std::tuple of pointers to T's members, in the order of the list.
template <class T>
inline constexpr auto kListedMembers = nullptr;

template <class T>
concept IsNumberOrText = std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;
template <class T>
concept IsOptional = requires(const T& value) {
  value.has_value();
};
template <class T>
concept IsSequence = requires(T& value) {
  value.emplace_back();
};
template <class T>
concept IsPair = requires(const T& value) {
  value.second;
};

template <class T>
Json listed_json(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    // JSON has no infinity and no NaN, which results of wrong kernels may contain.
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  } else if constexpr (IsNumberOrText<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, Value>) {
    return std::visit([](const auto& of_type) { return Json(of_type); }, value);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (IsOptional<T>) {
    return value ? listed_json(*value) : Json();
  } else if constexpr (IsPair<T>) {
    return Json::array({listed_json(value.first), listed_json(value.second)});
  } else {
    Json list = Json::array();
    if constexpr (IsSequence<T>) {
      for (const auto& item : value)
        list.push_back(listed_json(item));
    } else {
      std::apply([&](auto... member) { (list.push_back(listed_json(value.*member)), ...); },
                 kListedMembers<T>);
    }
    return list;
  }
}

/// Throws JsonError if a value is missing or has another kind than T or its member.
template <class T>
T from_listed(const Json& json) {
  if constexpr (std::is_same_v<T, double>) {
    if (!json.is_string()) return json.get<double>();
    const auto text = json.get<std::string>();
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "inf") return kInfinity;
    return text == "-inf" ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return static_cast<T>(json.get<std::uint64_t>());
  } else if constexpr (IsNumberOrText<T>) {
    return json.get<T>();
  } else if constexpr (std::is_same_v<T, Value>) {
    if (json.is_string()) return json.get<std::string>();
    return json.is_integer() ? Value(json.get<std::int64_t>()) : Value(json.get<double>());
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(json.get<int>());
  } else if constexpr (IsOptional<T>) {
    return json.is_null() ? T() : T(from_listed<typename T::value_type>(json));
  } else if constexpr (IsPair<T>) {
    return {from_listed<typename T::first_type>(json.at(0)),
            from_listed<typename T::second_type>(json.at(1))};
  } else {
    T value{};
    if constexpr (IsSequence<T>) {
      for (const Json& item : json)
        value.push_back(from_listed<typename T::value_type>(item));
    } else {
      std::size_t place = 0;
      const auto read = [&](auto& of) {
        of = from_listed<std::remove_reference_t<decltype(of)>>(json.at(place++));
      };
      std::apply([&](auto... member) { (read(value.*member), ...); }, kListedMembers<T>);
    }
    return value;
  }
}

}  // namespace gpuexp
