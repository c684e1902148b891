// Problems that the simulator verifies in a fraction of a second.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "device/device_spec.hpp"
#include "family/family.hpp"

namespace gpuexp {

/// Halves the largest integer among the values, repeatedly, until executing one launch of each
/// variant and its reference takes about a tenth of a second. A value below 64 stays, as do those
/// of the parameters in `fixed`. A value is not halved if the family or a variant then cannot run
/// the problem, because a quotient of a launch has a remainder, for example. The variants must be
/// able to run the given problem.
Values small_values(const Family& family, const std::vector<const Variant*>& variants,
                    Values values, const std::set<std::string>& fixed, const DeviceSpec& device);

}  // namespace gpuexp
