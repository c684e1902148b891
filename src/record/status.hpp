// What became of a cell, why its sampling ended, and whose code it runs.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace gpuexp {

enum class Status {
  passed,     ///< verified before and after timing
  sampled,    ///< every element that was computed and compared passes; there are others
  incorrect,  ///< ran, and an element or a guard was wrong
  failed,     ///< the device refused the launch or reported a fault
  skipped,    ///< cannot run here; the reason says why
  timeout,    ///< did not finish in time
  not_run,    ///< the run ended before its turn
};
inline constexpr std::array kStatuses{Status::passed, Status::sampled, Status::incorrect,
                                      Status::failed, Status::skipped, Status::timeout,
                                      Status::not_run};
std::string_view name_of(Status status);
/// Nothing was wrong.
constexpr bool has_passed(std::optional<Status> status) {
  return status == Status::passed || status == Status::sampled;
}

/// Why sampling ended.
enum class StopReason {
  none,         ///< it has not ended, or never began
  converged,    ///< the interval of the median reached its target
  max_samples,  ///< that cap came first
  max_seconds,  ///< likewise
  interrupted,  ///< the run ended
};
inline constexpr std::array kStopReasons{StopReason::none, StopReason::converged,
                                         StopReason::max_samples, StopReason::max_seconds,
                                         StopReason::interrupted};
std::string_view name_of(StopReason reason);

/// Whose code a variant runs.
enum class Implementation {
  kernel,   ///< this program's
  library,  ///< the vendor's
};
inline constexpr std::array kImplementations{Implementation::kernel, Implementation::library};
std::string_view name_of(Implementation implementation);

}  // namespace gpuexp
