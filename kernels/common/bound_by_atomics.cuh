// Variants that wait for atomic operations more than for anything that the time model knows.
#pragma once

namespace gpuexp {

/// The variant, without a predicted time.
template <class Variant>
Variant bound_by_atomics(Variant v) {
  v.without_time = "the time model has no rate of atomic operations";
  return v;
}

}  // namespace gpuexp
