#include "record/status.hpp"

namespace gpuexp {

std::string_view name_of(Status status) {
  switch (status) {
    case Status::passed: return "passed";
    case Status::sampled: return "sampled";
    case Status::unverified: return "unverified";
    case Status::incorrect: return "incorrect";
    case Status::failed: return "failed";
    case Status::skipped: return "skipped";
    case Status::timeout: return "timeout";
    case Status::not_run: return "not_run";
  }
  return "unknown";
}

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::none: return "";
    case StopReason::converged: return "converged";
    case StopReason::max_samples: return "max_samples";
    case StopReason::max_seconds: return "max_seconds";
    case StopReason::interrupted: return "interrupted";
  }
  return "unknown";
}

std::string_view name_of(Implementation implementation) {
  switch (implementation) {
    case Implementation::kernel: return "kernel";
    case Implementation::library: return "library";
  }
  return "unknown";
}

}  // namespace gpuexp
