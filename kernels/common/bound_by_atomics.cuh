// Variants whose time depends on atomic operations, which the time model does not include.
#pragma once

namespace gpuexp {

template <class Variant>
Variant bound_by_atomics(Variant v) {
  v.without_time = "the time model has no rate of atomic operations";
  return v;
}

}  // namespace gpuexp
