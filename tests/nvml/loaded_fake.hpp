// The library that replaces NVML, loaded into this process.
#pragma once

#include <dlfcn.h>

#include "nvml/fake_nvml.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

/// The library's answers. It has NVML's name, so the loader returns it for later loads of NVML.
inline FakeNvml& fake() {
  static void* const library = dlopen(GPUEXP_FAKE_NVML, RTLD_NOW);
  REQUIRE(library != nullptr);
  auto* answers = reinterpret_cast<FakeNvmlAnswers*>(dlsym(library, "fake_nvml"));
  REQUIRE(answers != nullptr);
  return *answers();
}

}  // namespace gpuexp::test
