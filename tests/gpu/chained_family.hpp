// A family whose references use results: two dependent operations, either of which can be wrong.
#pragma once

#include "family/family.hpp"

namespace gpuexp::test {

/// y = 2·x and z = y² over n elements. `right` computes both, `wrong_first` a wrong y and its
/// square, `wrong_second` a right y and a wrong z. `unwritten_first` leaves one element of y
/// unwritten.
Family chained_family();

}  // namespace gpuexp::test
