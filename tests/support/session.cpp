// The implementation of Catch2 2.x compiles slowly: all test programs share this object. Catch2 3.x
// is a library.
#define CATCH_CONFIG_RUNNER
#include "support/skip.hpp"

namespace gpuexp::test {

int run_tests(int argc, char** argv) {
  return exit_code(Catch::Session().run(argc, argv));
}

}  // namespace gpuexp::test
