#include "simulated/launch_deadline.hpp"

#include <ctime>

#include <fmt/format.h>

#include "base/steady_clock.hpp"

namespace gpuexp {

namespace {

double processor_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

}  // namespace

LaunchDeadline::LaunchDeadline(double limit_s)
    : limit_s_(limit_s), started_s_(steady_seconds()), started_processor_s_(processor_seconds()) {}

bool LaunchDeadline::is_late() const {
  return steady_seconds() - started_s_ > limit_s_ &&
         processor_seconds() - started_processor_s_ > limit_s_;
}

std::string LaunchDeadline::text(const sim::Stopped& stopped) const {
  std::string text =
      fmt::format("did not end within {:g} s of simulation (--launch-timeout)", limit_s_);
  if (!stopped.place.empty()) text += fmt::format("; a warp was at {}", stopped.place);
  if (stopped.may_await_later_block) text += sim::kAwaitsLaterBlock;
  return text;
}

}  // namespace gpuexp
