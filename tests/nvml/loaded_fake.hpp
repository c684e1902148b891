// The library that answers in NVML's place, in this process.
#pragma once

#include <dlfcn.h>

#include "nvml/fake_nvml.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

/// Its answers. Loaded under NVML's own name, the loader takes it for the one that is asked for
/// later.
inline FakeNvml& fake() {
  static void* const library = dlopen(GPUEXP_FAKE_NVML, RTLD_NOW);
  REQUIRE(library != nullptr);
  auto* answers = reinterpret_cast<FakeNvmlAnswers*>(dlsym(library, "fake_nvml"));
  REQUIRE(answers != nullptr);
  return *answers();
}

}  // namespace gpuexp::test
