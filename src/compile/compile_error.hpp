#pragma once

#include <string>

#include "base/input_error.hpp"

namespace gpuexp {

/// A file that nvcc, NVRTC or ptxas does not accept. The message has the tool's errors with file
/// and line.
class CompileError : public InputError {
 public:
  /// Without `first_error`, the message is the first error.
  explicit CompileError(const std::string& message, const std::string& first_error = "")
      : InputError(message), first_error_(first_error.empty() ? message : first_error) {}
  /// The first of the tool's errors: "sgemm.cu(12): error: static assertion failed".
  const std::string& first_error() const { return first_error_; }

 private:
  std::string first_error_;
};

}  // namespace gpuexp
