// One unit for several times: of a column that is sorted, of an axis.
#pragma once

#include <string_view>
#include <vector>

namespace gpuexp {

struct TimeUnit {
  double us = 1;                 ///< that one of it takes
  std::string_view name = "µs";  ///< "ns", "µs", "ms" or "s"
};

/// The largest unit in which the smallest of the times is 1 or more; nanoseconds where none is.
/// Times of 0 and below are passed over.
TimeUnit time_unit_for(const std::vector<double>& times_us);

}  // namespace gpuexp
