// Main function of tests that start this program as the process in which NVRTC runs.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "compile/nvrtc.hpp"
#include "compile/nvrtc_compiler.hpp"
#include "support/skip.hpp"

namespace {

int compile(const std::vector<std::string>& arguments) {
  try {
    const std::string errors = gpuexp::run_nvrtc(arguments.at(0), arguments.at(1), arguments.at(2),
                                                 {arguments.begin() + 3, arguments.end()});
    std::fputs(errors.c_str(), stderr);
    return errors.empty() ? 0 : 2;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == gpuexp::kNvrtcCommand)
    return compile({argv + 2, argv + argc});
  return gpuexp::test::run_tests(argc, argv);
}
