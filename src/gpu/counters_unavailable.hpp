// Why a machine has no hardware counters.
#pragma once

#include <stdexcept>

namespace gpuexp {

/// There are no counters on this machine. The message says why, and what would change it.
class CountersUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gpuexp
