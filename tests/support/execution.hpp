// Executes listings on the CPU.
#pragma once

#include <memory>
#include <string>

#include "sim/block.hpp"
#include "sim/constant_bank.hpp"
#include "sim/decoder.hpp"

namespace gpuexp::test {

/// Executes instructions, then EXIT, in one block of `warps` warps.
class Execution {
 public:
  explicit Execution(const std::string& code, unsigned warps = 1) : text_(code + "EXIT;0\n") {
    program_ = sim::decode(read_code_text(text_));
    launch_.program = &program_;
    launch_.global = &memory_;
    launch_.grid = {1, 1, 1};
    launch_.block = {sim::kLanes * warps, 1, 1};
    launch_.shared_bytes = kSharedBytes;
    launch_.constants.resize(0x400);
    if (program_.has_constant_operands) launch_.ops = sim::with_constants(launch_);
    block_ = std::make_unique<sim::Block>(launch_, Extent{});
  }
  void run() { block_->run(); }
  std::uint32_t reg(unsigned index, unsigned lane = 0, unsigned warp = 0) const {
    return block_->warps()[warp]->registers[index][lane];
  }
  sim::LaneMask predicate(unsigned index, unsigned warp = 0) const {
    return block_->warps()[warp]->predicates[index];
  }
  sim::Block& block() { return *block_; }
  sim::GlobalMemory& memory() { return memory_; }
  sim::LaunchState& launch() { return launch_; }

 private:
  static constexpr std::size_t kSharedBytes = 4096;

  std::string text_;
  sim::Program program_;
  sim::GlobalMemory memory_;
  sim::LaunchState launch_;
  std::unique_ptr<sim::Block> block_;
};

inline std::uint32_t result_of(const std::string& code, unsigned reg = 0, unsigned lane = 0) {
  Execution execution(code);
  execution.run();
  return execution.reg(reg, lane);
}

}  // namespace gpuexp::test
