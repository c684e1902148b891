#include "model/resource_terms.hpp"

#include <algorithm>

namespace gpuexp {

const std::vector<std::string>& resource_names() {
  static const std::vector<std::string> kNames{
      "dram",        "l2",      "l1",     "shared", "blocks",
      "issue",       "fma",     "alu",    "fp64",   "xu",
      "tensor",      "latency", "launch", "host",   "copy_to_device",
      "copy_to_host",
      "links"};
  return kNames;
}

std::vector<Term> longest_first(const std::map<std::string, double>& times_us) {
  std::vector<Term> terms;
  for (const auto& [name, time_us] : times_us)
    terms.push_back({name, time_us});
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return a.time_us > b.time_us; });
  return terms;
}

}  // namespace gpuexp
