#include "model/resource_terms.hpp"

#include <algorithm>

namespace gpuexp {

std::vector<Term> longest_first(const std::map<std::string, double>& times_us) {
  std::vector<Term> terms;
  for (const auto& [name, time_us] : times_us)
    terms.push_back({name, time_us});
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return a.time_us > b.time_us; });
  return terms;
}

}  // namespace gpuexp
