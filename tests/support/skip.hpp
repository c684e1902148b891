// Tests that need an ability of the machine or build. Without it, a test is shown as skipped with
// the reason; if its tier is required, it fails.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>

#include "support/catch.hpp"

namespace gpuexp::test {

inline constexpr int kSkipped = 4;  // the SKIP_RETURN_CODE in tests/CMakeLists.txt

/// Ability that a test needs, and the variable that requires it if set to 1.
enum class Tier {
  gpu,           ///< GPUEXP_REQUIRE_GPU: a GPU, and its hardware counters
  machine_code,  ///< GPUEXP_REQUIRE_MACHINE_CODE: a build with cuobjdump and nvdisasm
  cupti,         ///< GPUEXP_REQUIRE_CUPTI: CUPTI's library
  nvrtc,         ///< GPUEXP_REQUIRE_NVRTC: NVRTC's library, next to the toolkit's others
  hardware,      ///< an ability of the device; no variable requires it
  foreign,       ///< other people's kernels, in the folder GPUEXP_FOREIGN_KERNELS
};

inline bool is_required(Tier tier) {
  const char* name = tier == Tier::gpu            ? "GPUEXP_REQUIRE_GPU"
                     : tier == Tier::machine_code ? "GPUEXP_REQUIRE_MACHINE_CODE"
                     : tier == Tier::cupti        ? "GPUEXP_REQUIRE_CUPTI"
                     : tier == Tier::nvrtc        ? "GPUEXP_REQUIRE_NVRTC"
                                                  : "";
  const char* value = std::getenv(name);
  return value && std::string(value) == "1";
}

namespace detail {
inline int skipped_tests = 0;
}

/// Marks the test as skipped, or failed if required. The test then returns; earlier assertions
/// remain valid.
inline void skip(Tier tier, const std::string& reason) {
  if (is_required(tier)) FAIL("required here: " << reason);
  ++detail::skipped_tests;
  std::cout << "skipped: " << reason << "\n";
}

/// Exit status of main: 1 if a test failed, kSkipped if one was skipped. Catch2's status is the
/// number of failures, which may equal kSkipped.
inline int exit_code(int failed) {
  if (failed != 0) return 1;
  return detail::skipped_tests > 0 ? kSkipped : 0;
}

/// Runs the tests that the arguments select. Returns the exit status of main.
int run_tests(int argc, char** argv);

}  // namespace gpuexp::test
