// Time that a launch needs for each resource by itself.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gpuexp {

/// The time of a launch that is bound by one resource only.
struct Term {
  std::string resource;  ///< one of resource_names() (device/resource_names.hpp)
  double time_us = 0;
};

/// Terms of `times_us`, which maps resources to microseconds, longest first.
std::vector<Term> longest_first(const std::map<std::string, double>& times_us);

}  // namespace gpuexp
