#pragma once

#include <stdexcept>

namespace gpuexp {

/// A file of input data that cannot be used. The message names the file, the line if there is one,
/// what was found and what is allowed.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gpuexp
