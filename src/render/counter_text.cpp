#include "render/counter_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/sentence_fragments.hpp"
#include "base/text.hpp"
#include "family/counters.hpp"

namespace gpuexp {

namespace {

constexpr int kCounterDigits = 3;

// The counter, or a counter named by its id if a later version added it.
Counter counter_named(std::string_view id) {
  const Counter* known = find_counter(id);
  return known ? *known : Counter{id, "", "", "", id, ""};
}

std::string value_fragment(const Counter& counter, double value) {
  if (counter.bytes_each > 0) return quantity_fragment(counter.bytes_each * value, "B");
  if (counter.unit == "%") return percent_fragment(value) + " %";
  if (!counter.denominator.empty()) return significant(value, kCounterDigits);
  return quantity_fragment(value, counter.unit);
}

std::string value_or_none(const Counter& counter, double value, const char* none) {
  return value == 0 ? none : value_fragment(counter, value);
}

}  // namespace

std::string counter_fragment(std::string_view counter, double value) {
  Counter counted = counter_named(counter);
  counted.bytes_each = 0;
  return value_fragment(counted, value);
}

std::string change_fragment(const CounterChange& change) {
  Counter counter = counter_named(change.counter);
  // Avoids "33.6 Mcycles cycles of".
  if (!counter.unit.empty() && counter.fragment.starts_with(counter.unit)) counter.unit = "";
  return fmt::format("{} {} instead of {}", value_or_none(counter, change.to, "no"),
                     counter.fragment, value_or_none(counter, change.from, "none"));
}

std::string changes_fragment(const std::vector<CounterChange>& changes) {
  constexpr std::size_t kMaxShown = 4;
  std::vector<std::string> fragments;
  for (const CounterChange& change : changes) {
    if (fragments.size() < kMaxShown) fragments.push_back(change_fragment(change));
  }
  return fmt::format("{}", fmt::join(fragments, ", "));
}

std::string kept_fragment(const CounterChange& kept) {
  const Counter counter = counter_named(kept.counter);
  return fmt::format("{} {}", value_or_none(counter, kept.to, "no"), counter.fragment);
}

}  // namespace gpuexp
