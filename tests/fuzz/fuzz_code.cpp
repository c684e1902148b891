#include <stdexcept>

#include "fuzz/promises.hpp"
#include "sass/code_listing.hpp"
#include "sass/line_table.hpp"
#include "sim/block.hpp"
#include "sim/decoder.hpp"

namespace gpuexp::fuzz {

namespace {

/// Allows a refusal, or a fault of the executed code.
template <class Function>
void refusing(const Function& function) {
  try {
    function();
  } catch (const std::runtime_error&) {
  }
}

// One warp executes the program, with shared memory and without global memory.
void execute(const sim::Program& program) {
  sim::GlobalMemory memory;
  sim::LaunchState launch;
  launch.program = &program;
  launch.global = &memory;
  launch.grid = {1, 1, 1};
  launch.block = {sim::kLanes, 1, 1};
  launch.shared_bytes = 1024;
  launch.constants.resize(0x300);
  launch.checks.max_instructions = 64;
  sim::Block(launch, {}).run();
}

// Checks each instruction by itself, so a refused one does not hide others.
void check_instructions(const KernelCode& code) {
  static constexpr std::string_view kExit = "EXIT";
  for (const ListedInstruction& instruction : code.instructions) {
    refusing([&] {
      KernelCode one;
      one.constants = code.constants;
      one.instructions = {instruction, instruction};
      one.instructions[1].guard = {};
      one.instructions[1].opcode = kExit;
      one.instructions[1].operands = {};
      const sim::Program program = sim::decode(one);
      for (const sim::Op& op : program.ops)
        require(op.run != nullptr, "what is decoded can be executed");
      execute(program);
    });
  }
}

}  // namespace

void fuzz_code(std::string_view text) {
  refusing([&] {
    const KernelCode code = read_code_text(text);
    const std::string again = to_text(code);
    require(to_text(read_code_text(again)) == again, "code that was read is kept as it is");
    check_instructions(code);
  });
  refusing([&] {
    for (const KernelCode& code : read_code(text))
      check_instructions(code);
  });
  refusing([&] { read_constants(text); });
  refusing([&] { read_relocations(text); });
  refusing([&] { read_lines(text, "/home/me/gpuexp"); });
}

}  // namespace gpuexp::fuzz
