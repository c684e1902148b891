#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace gpuexp {

enum class Status {
  passed,      ///< all elements were compared and pass
  sampled,     ///< all compared elements pass, but not all elements were compared
  unverified,  ///< ran, and no element is known to be wrong, but an output has no expected values
  incorrect,   ///< ran, but did not pass verification
  failed,      ///< the device refused the launch or reported a fault
  skipped,     ///< cannot run here; the reason says why
  timeout,     ///< did not finish in time
  not_run,     ///< the run ended before the cell
};
inline constexpr std::array kStatuses{Status::passed,    Status::sampled, Status::unverified,
                                      Status::incorrect, Status::failed,  Status::skipped,
                                      Status::timeout,   Status::not_run};
std::string_view name_of(Status status);
/// Whether the results are known to be correct.
constexpr bool has_passed(std::optional<Status> status) {
  return status == Status::passed || status == Status::sampled;
}

/// Whether the row's times, counters and throughput are reported.
constexpr bool has_values(std::optional<Status> status) {
  return has_passed(status) || status == Status::unverified;
}

enum class StopReason {
  none,         ///< sampling has not started or not ended
  converged,    ///< the interval of the median reached its target
  max_samples,  ///< max_samples was reached first
  max_seconds,  ///< max_seconds was reached first
  interrupted,  ///< the run ended first
};
inline constexpr std::array kStopReasons{StopReason::none, StopReason::converged,
                                         StopReason::max_samples, StopReason::max_seconds,
                                         StopReason::interrupted};
std::string_view name_of(StopReason reason);

enum class Implementation {
  kernel,   ///< written in this program
  library,  ///< from a vendor's library
};
inline constexpr std::array kImplementations{Implementation::kernel, Implementation::library};
std::string_view name_of(Implementation implementation);

}  // namespace gpuexp
