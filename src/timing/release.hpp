// Time at which a waiting warp can continue.
#pragma once

namespace gpuexp {

/// When a result is available, and when it would be if its warp had the SM to itself.
struct Release {
  double when = 0;
  double alone = 0;
};

}  // namespace gpuexp
