#include "family/expected_change.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace gpuexp {

std::string_view name_of(Direction direction) {
  static constexpr std::array<std::string_view, 3> kNames{"decreases", "increases", "unchanged"};
  return kNames.at(static_cast<std::size_t>(direction));
}

void add_expected_change(std::vector<ExpectedChange>& changes, ExpectedChange change) {
  changes.push_back(std::move(change));
}

bool operator==(const ExpectedChange& a, const ExpectedChange& b) {
  return a.counter == b.counter && a.direction == b.direction && a.factor == b.factor;
}

bool matches_expectation(const ExpectedChange& expected, double from, double to) {
  const double factor = expected.factor;
  switch (expected.direction) {
    case Direction::decreases: return from > 0 && to * factor <= from;
    case Direction::increases: return to > 0 && to >= from * factor;
    case Direction::unchanged: return to <= from * factor && from <= to * factor;
  }
  return false;
}

std::vector<ExpectedChange> expected_changes_at(const std::vector<ExpectedChange>& changes,
                                                const void* problem) {
  std::vector<ExpectedChange> promised;
  for (const ExpectedChange& expected : changes) {
    if (!expected.where || expected.where(problem))
      promised.push_back({expected.counter, expected.direction, expected.factor});
  }
  return promised;
}

std::string text_of(const std::vector<ExpectedChange>& changes) {
  std::vector<std::string> texts;
  texts.reserve(changes.size());
  for (const ExpectedChange& expected : changes)
    texts.push_back(
        fmt::format("{} {} {}", expected.counter, name_of(expected.direction), expected.factor));
  return fmt::format("{}", fmt::join(texts, ";"));
}

namespace {

// Removes and returns the text up to the separator, and removes the separator.
std::string_view next_part(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return part;
}

std::optional<ExpectedChange> change_in(std::string_view text) {
  const std::string counter(next_part(text, ' '));
  const std::string_view direction = next_part(text, ' ');
  const auto factor = parsed<double>(text);
  if (!factor || !(*factor >= 1) || !std::isfinite(*factor)) return std::nullopt;
  for (const Direction known : kDirections) {
    if (direction == name_of(known)) return ExpectedChange{counter, known, *factor, {}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<ExpectedChange>> expected_changes_in(std::string_view text) {
  std::vector<ExpectedChange> changes;
  while (!text.empty()) {
    const std::string_view part = next_part(text, ';');
    if (part.empty()) continue;
    auto change = change_in(part);
    if (!change) return std::nullopt;
    changes.push_back(std::move(*change));
  }
  return changes;
}

}  // namespace gpuexp
