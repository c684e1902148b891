// Tests that need something which this machine or build may lack. One that finds it missing says so
// and is shown as skipped; where the tier that it belongs to is required, it fails.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>

#include "support/catch.hpp"

namespace gpuexp::test {

inline constexpr int kSkipped = 4;  // the SKIP_RETURN_CODE in tests/CMakeLists.txt

/// What a test needs, and the variable that requires it when it is 1.
enum class Tier {
  gpu,           ///< GPUEXP_REQUIRE_GPU: a GPU, and its hardware counters
  machine_code,  ///< GPUEXP_REQUIRE_MACHINE_CODE: a build with cuobjdump and nvdisasm
  cupti,         ///< GPUEXP_REQUIRE_CUPTI: CUPTI's library
  nvrtc,         ///< GPUEXP_REQUIRE_NVRTC: NVRTC's library, beside the toolkit's others
  hardware,      ///< an ability of the device, which nobody can require
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

/// The test returns after it; what it has asserted before stands.
inline void skip(Tier tier, const std::string& reason) {
  if (is_required(tier)) FAIL("required here: " << reason);
  ++detail::skipped_tests;
  std::cout << "skipped: " << reason << "\n";
}

/// What main returns: kSkipped where nothing failed, but not everything was asserted. Catch2 counts
/// what failed, and four failures are no skip.
inline int exit_code(int failed) {
  if (failed != 0) return 1;
  return detail::skipped_tests > 0 ? kSkipped : 0;
}

/// Runs the tests that the arguments choose. Returns what main returns.
int run_tests(int argc, char** argv);

}  // namespace gpuexp::test
