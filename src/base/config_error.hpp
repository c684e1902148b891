#pragma once

#include <stdexcept>

namespace gpuexp {

/// A config, or an option that changes one, that cannot be used. The message names the file or the
/// option, the place in it, what was found, what is allowed and, for names, the nearest known one.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gpuexp
