// The figures of Traffic by name, each beside the counters that count it.
#pragma once

#include <string_view>
#include <vector>

#include "family/counters.hpp"
#include "family/traffic.hpp"

namespace gpuexp {

/// How close a declared figure is to what hardware counts.
enum class Exactness {
  exact,     ///< follows from the program
  compiled,  ///< depends on the compiler's choices as well
  cached,    ///< depends on what caches hold, and so on the order in which blocks run
  hashed,    ///< depends on where a hash that is not documented puts lines
};

/// Largest |ln(declared / counted)| of a figure: 2 %, 15 %, and factors of 1.5 and 2.
double tolerance_of(Exactness exactness);

struct TrafficTerm {
  std::string_view id;
  Exactness exactness;
  double (*of)(const Traffic&);
  /// Of kCounters; what they count adds up to the figure. Empty: nothing counts it.
  std::vector<std::string_view> counters;
  /// Counts below are start-up and noise, and are not held against it.
  double least = 0;
};

const std::vector<TrafficTerm>& traffic_terms();

/// Of all kernels of a launch, each as often as it is launched.
double total(const TrafficTerm& term, const std::vector<Traffic>& traffic);

/// What was counted of the term; empty where a counter is missing.
std::optional<double> counted(const TrafficTerm& term, const LaunchCounts& counts);

}  // namespace gpuexp
