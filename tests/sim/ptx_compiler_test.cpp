// Machine code made from this program's PTX, and why there may be none.
#include "simulated/ptx_compiler.hpp"

#include <filesystem>

#include "sim/execution.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

using Catch::Matchers::Contains;

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

const KernelResource& kernel_named(const std::string& part) {
  std::size_t count = 0;
  const KernelResource* table = kernel_resource_table(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (std::string(table[i].lowered_name).find(part) != std::string::npos) return table[i];
  }
  throw std::runtime_error("no kernel has " + part + " in its name");
}

TEST_CASE("a kernel's machine code for another GPU is made from its PTX", "[ptx]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const KernelResource& known = kernel_named("naive_kernel");
  SECTION("with the architecture that was asked for, once") {
    const KernelResource& made = compiled_from_ptx(known, 86);
    CHECK(made.architecture == 86);
    CHECK(std::string(made.lowered_name) == known.lowered_name);
    CHECK(made.registers > 0);
    CHECK(!made.code.empty());
    CHECK(&compiled_from_ptx(known, 86) == &made);
  }
  SECTION("not for one that is older than the PTX") {
    CHECK_THROWS_WITH(compiled_from_ptx(known, 75),
                      "this binary holds no machine code of the kernel for compute capability 7.5, "
                      "and no PTX that this GPU runs");
  }
  SECTION("not for one that ptxas does not know") {
    CHECK_THROWS_WITH(compiled_from_ptx(known, 81),
                      Contains("for compute capability 8.1, and its PTX was not compiled: ") &&
                          Contains("ptxas failed: "));
  }
}

TEST_CASE("without the toolkit's tools, PTX is not compiled", "[ptx]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  PtxCompiler compiler(this_program(), ToolkitTools({}), 80);
  setenv("PATH", path.c_str(), 1);
  CHECK_THROWS_WITH(compiler.code_of(kernel_named("naive_kernel")),
                    "this binary holds no machine code of the kernel for compute capability 8.0, "
                    "and its PTX was not compiled: there is no cuobjdump of the CUDA Toolkit in "
                    "PATH (ptxas, cuobjdump and nvdisasm are needed)");
}

}  // namespace
}  // namespace gpuexp::test
