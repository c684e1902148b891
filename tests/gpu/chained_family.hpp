// A family whose references refer to results: two operations one after the other, either of them
// wrong on purpose.
#pragma once

#include "family/family.hpp"

namespace gpuexp::test {

/// y = 2·x and z = y² over n elements. `right` computes both; `wrong_first` a wrong y, of which z
/// is the square; `wrong_second` a right y and a wrong z; `unwritten_first` leaves an element of y.
Family chained_family();

}  // namespace gpuexp::test
