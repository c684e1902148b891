#include "support/skip.hpp"

int main(int argc, char** argv) {
  return gpuexp::test::run_tests(argc, argv);
}
