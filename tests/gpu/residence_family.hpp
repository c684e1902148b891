// A family with buffers outside of device memory.
#pragma once

#include "family/family.hpp"

namespace gpuexp::test {

/// x has one residence, y and z the other. `copies` (y = x) and `adds` (z += x, by a kernel) are
/// correct; `copies_less`, `copies_beyond` and `changes_x` are wrong.
Family residence_family(Residence x, Residence y_and_z);

}  // namespace gpuexp::test
