#pragma once

#include <stdexcept>

namespace gpuexp {

/// An invalid config, or an invalid option that changes a config. The message names the file or
/// option, the path in it, the value found and the values allowed, and suggests the nearest known
/// name for a misspelt name.
class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gpuexp
