#pragma once

#include <stdexcept>

namespace gpuexp {

/// A report that cannot be written or read. The message names the file and the location in it.
class ReportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gpuexp
