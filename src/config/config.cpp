#include "config/config.hpp"

namespace gpuexp {

std::vector<std::string> Config::counters() const {
  std::vector<std::string> names;
  for (const Experiment& experiment : experiments)
    names.insert(names.end(), experiment.counters.begin(), experiment.counters.end());
  return names;
}

}  // namespace gpuexp
