#pragma once

namespace gpuexp {

/// Time at which a result is available, and time at which it would be if the warp had the SM to
/// itself.
struct Release {
  double when = 0;
  double alone = 0;
};

}  // namespace gpuexp
