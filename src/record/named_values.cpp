#include "record/named_values.hpp"

#include <utility>

namespace gpuexp {

void NameList::add(const std::string& name) {
  places_.emplace(name, names_.size());
  names_.push_back(name);
}

std::optional<std::size_t> NameList::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

NamedValues::NamedValues(std::shared_ptr<const NameList> names)
    : names_(std::move(names)), values_(names_->names().size()) {}

const std::vector<std::string>& NamedValues::names() const {
  static const std::vector<std::string> kNone;
  return names_ ? names_->names() : kNone;
}

const Field* NamedValues::find(std::string_view name) const {
  const auto place = names_ ? names_->find(name) : std::nullopt;
  return place ? &values_[*place] : nullptr;
}

Field NamedValues::field(std::string_view name) const {
  const Field* found = find(name);
  return found ? *found : Field{};
}

std::optional<double> NamedValues::number(std::string_view name) const {
  const Field* found = find(name);
  return found ? number_in(*found) : std::nullopt;
}

std::string NamedValues::text(std::string_view name) const {
  const Field* found = find(name);
  return found ? text_of(*found) : "";
}

void NamedValues::set(std::string_view name, Field value) {
  if (const auto place = names_ ? names_->find(name) : std::nullopt)
    values_[*place] = std::move(value);
}

bool NamedValues::operator==(const NamedValues& other) const {
  return values_ == other.values_ && (names_ == other.names_ || names() == other.names());
}

}  // namespace gpuexp
