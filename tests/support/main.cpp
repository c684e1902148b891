#define CATCH_CONFIG_RUNNER  // Catch2 2.x: its implementation lives in this file; 3.x links it
#include "support/catch.hpp"

int main(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}
