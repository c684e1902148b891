// When somebody who waits can go on.
#pragma once

namespace gpuexp {

/// When a result is there, and when it would be if its warp had the SM for itself.
struct Release {
  double when = 0;
  double alone = 0;
};

}  // namespace gpuexp
