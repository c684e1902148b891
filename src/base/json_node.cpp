#include "base/json_node.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/names.hpp"

namespace gpuexp {

namespace {

// Integers within the range of int64 are written without an exponent.
constexpr double kPlainNumbers = 0x1p63;

std::string number(double value) {
  return std::abs(value) <= kPlainNumbers && value == std::floor(value)
             ? fmt::format("{:.0f}", value)
             : fmt::format("{}", value);
}

std::string parenthesized(const std::string& about) {
  return about.empty() ? "" : fmt::format(" ({})", about);
}

}  // namespace

std::string to_string(const Bounds& bounds) {
  const std::string min = number(bounds.min);
  const std::string max = number(bounds.max);
  return bounds.above_min ? fmt::format("above {}, at most {}", min, max)
                          : fmt::format("{} to {}", min, max);
}

void Node::fail(std::string_view message) const {
  throw ConfigError(path_.empty() ? fmt::format("{}: {}", source_, message)
                                  : fmt::format("{}: {}: {}", source_, path_, message));
}

void Node::expected(std::string_view what) const {
  fail(fmt::format("expected {}, found {}", what, describe(*json_)));
}

void Node::check_keys(std::span<const Key> allowed) const {
  if (!json_->is_object()) expected("an object");
  for (const auto& [key, value] : json_->members()) {
    const auto is_it = [&key = key](const Key& k) { return k.name == key; };
    if (std::any_of(allowed.begin(), allowed.end(), is_it)) continue;
    std::vector<std::string> names;
    for (const Key& k : allowed)
      names.emplace_back(k.name);
    std::sort(names.begin(), names.end());
    Node(value, source_, member_path(path_, key)).fail("unknown key" + allowed_names(key, names));
  }
}

std::optional<Node> Node::find(std::string_view key) const {
  const Json* const found = json_->find(key);
  if (!found) return std::nullopt;
  return Node(*found, source_, member_path(path_, key));
}

Node Node::require(std::string_view key) const {
  const std::optional<Node> found = find(key);
  if (!found) fail(fmt::format("missing key '{}'", key));
  return *found;
}

std::vector<std::pair<std::string, Node>> Node::members(std::string_view what) const {
  if (!json_->is_object()) expected(what);
  std::vector<std::pair<std::string, Node>> members;
  for (const auto& [key, value] : json_->members())
    members.emplace_back(key, Node(value, source_, member_path(path_, key)));
  return members;
}

std::vector<Node> Node::items(std::string_view what) const {
  if (!json_->is_array() || json_->empty()) expected(what);
  std::vector<Node> items;
  items.reserve(json_->size());
  for (const Json& item : *json_)
    items.emplace_back(item, source_, item_path(path_, items.size()));
  return items;
}

std::string Node::text() const {
  if (!json_->is_string()) expected("a string");
  return json_->get<std::string>();
}

std::string Node::one_of(const std::vector<std::string>& names, std::string_view what) const {
  std::string name = json_->is_string() ? text() : "";
  if (!is_one_of(name, names)) {
    const std::string found = json_->is_string()
                                  ? fmt::format("unknown {} {}", what, describe(*json_))
                                  : fmt::format("expected a string, found {}", describe(*json_));
    fail(found + allowed_names(name, names));
  }
  return name;
}

void Node::check_bounds(double value, const Bounds& bounds) const {
  // False for NaN.
  const bool inside =
      (bounds.above_min ? value > bounds.min : value >= bounds.min) && value <= bounds.max;
  if (!inside) {
    fail(fmt::format("{} is out of range; allowed: {}{}", describe(*json_), to_string(bounds),
                     parenthesized(bounds.about)));
  }
}

std::int64_t Node::integer(const Bounds& bounds) const {
  if (json_->is_real())
    expected("an integer without point or exponent" + parenthesized(bounds.about));
  if (!json_->is_number()) expected("an integer" + parenthesized(bounds.about));
  const bool fits = !json_->is_unsigned() ||
                    json_->get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
  check_bounds(fits ? json_->get<double>() : std::numeric_limits<double>::infinity(), bounds);
  return json_->get<std::int64_t>();
}

std::uint64_t Node::unsigned_integer() const {
  if (!json_->is_unsigned()) expected("an integer from 0 to 18446744073709551615");
  return json_->get<std::uint64_t>();
}

double Node::real(const Bounds& bounds) const {
  if (!json_->is_number()) expected("a number" + parenthesized(bounds.about));
  const double value = json_->get<double>();
  check_bounds(value, bounds);
  return value;
}

}  // namespace gpuexp
