// In which order kernels that are compiled while the program runs are requested.
#include "sass/loaded_kernels.hpp"

#include <stdexcept>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// A kernel that notes its calls in `log`, in a group with an address.
const void* logged_kernel(const std::string& name, const void* group, std::string& log) {
  LoadedKernel kernel;
  kernel.name = name;
  kernel.code = [name, &log](int) -> LoadedCode {
    log += name + " ";
    throw std::runtime_error("does not compile");
  };
  kernel.expect = [name, &log](int capability) {
    log += "expect " + name + std::to_string(capability) + " ";
  };
  kernel.compiled_with = [group](int) { return group; };
  return LoadedKernels::global().add(std::move(kernel));
}

TEST_CASE("kernels are announced before the first is compiled, and groups begin early",
          "[loaded_kernels]") {
  std::string log;
  const int a = 0;
  const int b = 0;
  const void* const a1 = logged_kernel("a1", &a, log);
  const void* const a2 = logged_kernel("a2", &a, log);
  const void* const a3 = logged_kernel("a3", &a, log);
  const void* const b1 = logged_kernel("b1", &b, log);
  const void* const b2 = logged_kernel("b2", &b, log);
  const int other = 0;  // no loaded kernel
  compile_loaded({a1, a2, &other, a1, a3, b1, b2}, 90, 1);
  CHECK(log == "expect a190 expect a290 expect a390 expect b190 expect b290 a1 b1 a2 b2 a3 ");
}

}  // namespace
}  // namespace gpuexp::test
