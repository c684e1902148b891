// Compiling the program's PTX for another GPU, and the errors.
#include "compile/ptx_compiler.hpp"

#include <bit>
#include <filesystem>
#include <set>

#include "sass/code_listing.hpp"
#include "sim/execution.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "timing/control.hpp"

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

TEST_CASE("a kernel's PTX is compiled to machine code for another GPU", "[ptx]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const KernelResource& known = kernel_named("naive_kernel");
  SECTION("for the given architecture, once") {
    const KernelResource& made = compiled_from_ptx(known, 86);
    CHECK(made.architecture == 86);
    CHECK(std::string(made.lowered_name) == known.lowered_name);
    CHECK(made.registers > 0);
    CHECK(!made.code.empty());
    CHECK(&compiled_from_ptx(known, 86) == &made);
  }
  SECTION("not for an architecture older than the PTX") {
    CHECK_THROWS_WITH(compiled_from_ptx(known, 75),
                      "this binary holds no machine code of the kernel for compute capability 7.5, "
                      "and no PTX that this GPU runs");
  }
  SECTION("not for an architecture that ptxas does not support") {
    CHECK_THROWS_WITH(compiled_from_ptx(known, 81),
                      contains_text("for compute capability 8.1, and its PTX was not compiled: ") &&
                          contains_text("ptxas failed: "));
  }
}

/// "R4" of "R4, desc[UR4][R2.64]".
std::string_view first_operand(const ListedInstruction& listed) {
  return listed.operands.substr(0, listed.operands.find(','));
}

bool names(std::string_view operands, std::string_view reg) {
  for (std::size_t at = 0; (at = operands.find(reg, at)) != operands.npos; at += reg.size()) {
    const char next = at + reg.size() < operands.size() ? operands[at + reg.size()] : ' ';
    const bool is_start = at == 0 || !std::isalnum(static_cast<unsigned char>(operands[at - 1]));
    if (is_start && !std::isdigit(static_cast<unsigned char>(next))) return true;
  }
  return false;
}

/// Checks that the first reader of each load in straight-line code waits for it; returns their
/// number.
int check_readers_of_loads(const KernelCode& code) {
  int readers = 0;
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    const ListedInstruction& load = code.instructions[i];
    const Control control = control_of(load.schedule);
    if (!load.opcode.starts_with("LDG")) continue;
    INFO(load.opcode << " " << load.operands << " at " << load.address);
    REQUIRE(control.writes != Control::kNoScoreboard);
    bool waited = false;
    for (std::size_t j = i + 1; j < code.instructions.size(); ++j) {
      const ListedInstruction& later = code.instructions[j];
      waited |= (control_of(later.schedule).waits >> control.writes & 1) != 0;
      if (later.opcode.starts_with("B") || later.opcode.starts_with("EXIT")) break;
      if (!names(later.operands, first_operand(load))) continue;
      CHECK(waited);
      ++readers;
      break;
    }
  }
  return readers;
}

// The positions of control bits were published for Volta, not for later GPUs. The disassembler
// confirms only the reuse flags.
TEST_CASE("scheduling control bits have the same position on all GPUs", "[ptx]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const KernelResource& known = kernel_named("copy_kernelIfLi8E");
  for (const int compute_capability : {86, 100, 120}) {
    INFO(compute_capability);
    const KernelCode code =
        read_code_text(compiled_from_ptx(known, compute_capability).code.text());
    int reused = 0;
    for (const ListedInstruction& listed : code.instructions) {
      constexpr std::string_view kReuse = ".reuse";
      int marks = 0;
      for (std::size_t at = 0; (at = listed.operands.find(kReuse, at)) != listed.operands.npos;
           at += kReuse.size())
        ++marks;
      INFO(listed.opcode << " " << listed.operands);
      CHECK(std::popcount(control_of(listed.schedule).reuse) == marks);
      reused += marks;
    }
    CHECK(reused > 0);
    CHECK(check_readers_of_loads(code) > 0);
  }
}

TEST_CASE("PTX is not compiled without the toolkit's tools", "[ptx]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  PtxCompiler compiler(this_program(), ToolkitTools({}), 80);
  setenv("PATH", path.c_str(), 1);
  CHECK_THROWS_WITH(compiler.code_of(kernel_named("naive_kernel")),
                    "this binary holds no machine code of the kernel for compute capability 8.0, "
                    "and its PTX was not compiled: there is no cuobjdump of the CUDA Toolkit; "
                    "searched: PATH. Install the toolkit, or the Python package "
                    "nvidia-cuda-cuobjdump and set CUDA_HOME to its folder that contains "
                    "bin/cuobjdump (the packages of all tools: nvidia-cuda-nvcc, "
                    "nvidia-cuda-cuobjdump, nvidia-cuda-nvdisasm; instead of nvcc, the library "
                    "NVRTC of nvidia-cuda-nvrtc can compile)");
}

}  // namespace
}  // namespace gpuexp::test
