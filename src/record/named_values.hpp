// Values of columns that fixed_columns() does not declare: parameters, metrics, counters, and
// unknown columns of a file.
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

class NameList {
 public:
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
  /// The value; empty if the name is unknown or the value is missing.
  Field field(std::string_view name) const;
  /// The value if it is a finite number.
  std::optional<double> number(std::string_view name) const;
  /// The value as text; "" if it is missing.
  std::string text(std::string_view name) const;
  /// Sets the value; ignores a name that is not in names().
  void set(std::string_view name, Field value);

  const Field& at(std::size_t place) const { return values_.at(place); }
  Field& at(std::size_t place) { return values_.at(place); }

  bool operator==(const NamedValues& other) const;

 private:
  const Field* find(std::string_view name) const;

  std::shared_ptr<const NameList> names_;
  std::vector<Field> values_;
};

}  // namespace gpuexp
