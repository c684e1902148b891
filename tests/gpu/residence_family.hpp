// Families whose buffers live elsewhere than in device memory.
#pragma once

#include "family/family.hpp"

namespace gpuexp::test {

/// x lives in one residence, y and z in the other. Variants: `copies` (y = x) and `adds` (z += x, a
/// kernel), which are right; `copies_less`, `copies_beyond` and `changes_x`, which are not.
Family residence_family(Residence x, Residence y_and_z);

}  // namespace gpuexp::test
