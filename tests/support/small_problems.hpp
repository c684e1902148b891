// Problems for tests of every family, derived from its parameters: extents of 1, odd, prime and
// tail sizes, all combinations of choices, and the ends and default of other numbers.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "family/family.hpp"

namespace gpuexp::test {

inline constexpr std::array<std::int64_t, 11> kExtents{1, 2, 3, 17, 31, 64, 97, 127, 129, 132, 257};

/// The family's default problem with the parameters in `changed` replaced.
inline Values values_with(const Family& family, const std::map<std::string, Value>& changed = {}) {
  Values values = family.defaults();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto found = changed.find(family.parameters[i].name);
    if (found != changed.end()) values[i] = found->second;
  }
  return values;
}

/// All combinations of the family's choices, except files; other parameters keep their defaults.
inline std::vector<Values> choice_combinations(const Family& family) {
  std::vector<Values> combinations{values_with(family)};
  for (std::size_t i = 0; i < family.parameters.size(); ++i) {
    if (family.parameters[i].choices.empty()) continue;
    std::vector<Values> expanded;
    for (const Values& base : combinations) {
      for (const std::string& choice : family.parameters[i].choices) {
        if (is_glob(choice)) continue;
        expanded.push_back(base);
        expanded.back()[i] = choice;
      }
    }
    combinations = std::move(expanded);
  }
  return combinations;
}

/// Cycles through the parameter's default, lowest and highest value. A range of more than three
/// powers of ten (steps, cost) ends at ten times its default, to keep tests fast.
inline Value number_at(const Parameter& p, std::size_t turn) {
  const auto pick = [&](double lowest, double middle, double highest) {
    return turn % 3 == 0 ? middle : turn % 3 == 1 ? lowest : highest;
  };
  if (const auto* i = std::get_if<std::int64_t>(&p.default_value)) {
    const double middle = static_cast<double>(*i);
    const double highest = p.max > 1000.0 * (p.min + 1) ? std::min(p.max, 10.0 * middle) : p.max;
    return static_cast<std::int64_t>(pick(p.min, middle, highest));
  }
  return pick(p.min, std::get<double>(p.default_value), p.max);
}

/// Problems with equal extents, and with different extents.
inline std::vector<Values> small_problems(const Family& family) {
  std::vector<Values> problems;
  for (const Values& base : choice_combinations(family)) {
    for (std::size_t turn = 0; turn < 2 * kExtents.size(); ++turn) {
      Values values = base;
      std::size_t position = turn;
      for (std::size_t i = 0; i < family.parameters.size(); ++i) {
        const Parameter& p = family.parameters[i];
        if (!p.choices.empty()) continue;
        if (!p.is_extent) {
          values[i] = number_at(p, turn);
          continue;
        }
        const auto allowed = static_cast<std::int64_t>(p.max);
        values[i] = std::min(kExtents[position % kExtents.size()], allowed);
        if (turn >= kExtents.size()) position += 3;
      }
      problems.push_back(std::move(values));
    }
  }
  return problems;
}

/// Limits numbers of steps and passes to 21 for speed: all iterations execute the same loop body.
inline Values with_short_loops(const Family& family, Values values) {
  constexpr std::int64_t kMaxIterations = 21;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Parameter& p = family.parameters[i];
    auto* const number = std::get_if<std::int64_t>(&values[i]);
    if (number && !p.is_extent && p.min == 1) *number = std::min(*number, kMaxIterations);
  }
  return values;
}

/// Whether the variant is no vendor's and supports the problem on the device.
inline bool runs_on(const DeviceSpec& device, const Family& family, const Variant& variant,
                    const void* problem) {
  if (variant.is_vendor || device.compute_capability() < variant.min_compute_capability)
    return false;
  if (family.unsupported && family.unsupported(problem, device)) return false;
  return !(variant.unsupported && variant.unsupported(problem, device));
}

/// "m=1,n=17", for messages.
inline std::string describe(const Family& family, const Values& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text += (i ? "," : "") + family.parameters[i].name + "=" + to_string(values[i]);
  }
  return text;
}

}  // namespace gpuexp::test
