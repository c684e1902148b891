// Values of columns that no list declares beforehand: parameters, metrics, counters, and whatever
// else a file has.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/table.hpp"

namespace gpuexp {

/// Names in the order of their columns, with an index.
class NameList {
 public:
  /// Adds a name that is not there yet.
  void add(const std::string& name);
  const std::vector<std::string>& names() const { return names_; }
  std::optional<std::size_t> find(std::string_view name) const;

  bool operator==(const NameList& other) const { return names_ == other.names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

/// One value per name. The rows of a table share their names.
class NamedValues {
 public:
  NamedValues() = default;
  explicit NamedValues(std::shared_ptr<const NameList> names);

  const std::vector<std::string>& names() const;
  /// Empty where the name is unknown or its value missing.
  Field field(std::string_view name) const;
  /// The finite number; empty where there is none.
  std::optional<double> number(std::string_view name) const;
  /// The value as a reader would write it; "" where it is missing.
  std::string text(std::string_view name) const;
  /// Passes over a name that is not among names().
  void set(std::string_view name, Field value);

  /// By its place among names().
  const Field& at(std::size_t place) const { return values_.at(place); }
  Field& at(std::size_t place) { return values_.at(place); }

  /// The same names with the same values.
  bool operator==(const NamedValues& other) const;

 private:
  const Field* find(std::string_view name) const;

  std::shared_ptr<const NameList> names_;
  std::vector<Field> values_;
};

}  // namespace gpuexp
