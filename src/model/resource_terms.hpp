// Time that a launch needs for each resource by itself.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gpuexp {

struct Term {
  std::string resource;  ///< one of resource_names() (device/resource_names.hpp)
  double time_us = 0;
};

std::vector<Term> longest_first(const std::map<std::string, double>& times_us);

}  // namespace gpuexp
