#pragma once

#include <stdexcept>

namespace gpuexp {

/// Hardware counters cannot be read on this machine. The message has the reason and the remedy.
class CountersUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gpuexp
