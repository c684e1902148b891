#define CATCH_CONFIG_RUNNER  // Catch2 2.x: its implementation lives in this file; 3.x links it
#include "support/skip.hpp"

int main(int argc, char** argv) {
  return gpuexp::test::exit_code(Catch::Session().run(argc, argv));
}
