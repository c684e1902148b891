// Runs the GPU tests, or exits with kSkipped, which ctest shows as skipped, when no GPU can be used
// here. Under GPUEXP_REQUIRE_GPU=1 a missing GPU is a failure.
#include <cstdlib>
#include <cstring>
#include <iostream>

#define CATCH_CONFIG_RUNNER
#include "gpu/device_query.hpp"
#include "support/catch.hpp"

namespace {
constexpr int kSkipped = 4;  // the SKIP_RETURN_CODE in tests/CMakeLists.txt
}

int main(int argc, char** argv) {
  if (const auto reason = gpuexp::no_device_reason()) {
    const char* required = std::getenv("GPUEXP_REQUIRE_GPU");
    const bool must_run = required && std::strcmp(required, "1") == 0;
    std::cerr << (must_run ? "failed" : "skipped") << ": no GPU: " << *reason << "\n";
    return must_run ? 1 : kSkipped;
  }
  return Catch::Session().run(argc, argv);
}
