#pragma once

#include <stdexcept>

namespace gpuexp {

/// An input data file that cannot be used. The message names the file, the line if known, the value
/// found and the values allowed.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gpuexp
