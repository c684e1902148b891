#include "timing/warp_state.hpp"

#include <algorithm>
#include <numeric>

namespace gpuexp {

std::string_view name_of(WarpState state) {
  constexpr std::array<std::string_view, kWarpStates> kNames{
      "selected",        "not_selected",     "wait",
      "long_scoreboard", "short_scoreboard", "math_pipe_throttle",
      "mio_throttle",    "lg_throttle",      "dispatch_stall",
      "barrier",         "membar",           "gmma"};
  return kNames[static_cast<std::size_t>(state)];
}

WarpClocks& WarpClocks::operator+=(const WarpClocks& more) {
  for (std::size_t i = 0; i < kWarpStates; ++i)
    in[i] += more.in[i];
  return *this;
}

WarpClocks& WarpClocks::operator*=(double factor) {
  for (double& clocks : in)
    clocks *= factor;
  return *this;
}

double WarpClocks::sum() const {
  return std::accumulate(in.begin(), in.end(), 0.0);
}

WarpState WarpClocks::largest() const {
  return static_cast<WarpState>(std::max_element(in.begin(), in.end()) - in.begin());
}

}  // namespace gpuexp
