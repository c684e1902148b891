#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// A counter's value with unit: "1.07 GB", "99 %"; sectors as a number.
std::string counter_fragment(std::string_view counter, double value);

/// "4 sectors per load request instead of 32".
std::string change_fragment(const CounterChange& change);

std::string changes_fragment(const std::vector<CounterChange>& changes);

/// "4 sectors per load request".
std::string kept_fragment(const CounterChange& kept);

}  // namespace gpuexp
