// Executes the steps of a launch on the CPU: kernels by their machine code, fills and copies.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "family/step.hpp"
#include "sass/kernel_resource.hpp"
#include "sim/block.hpp"

namespace gpuexp::sim {

/// What one kernel of a launch did.
struct KernelExecution {
  const Program* program = nullptr;
  std::vector<OpCount> counts;  ///< by place in the program, over all blocks
  MemoryCounts memory;
  std::vector<PlaceCounts> places = {};  ///< by place in the program; empty: not asked for
  std::optional<WarpTrace> trace = {};   ///< of the traced warp, if the kernel has it
};

/// The run was ended by Simulator::stop.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Simulator {
 public:
  /// The kernels, and the compute capability (90 for 9.0) whose code is executed.
  Simulator(const KernelResources& kernels, int compute_capability);

  /// What kernels are held against from now on; at first all of it.
  void set_checks(const Checks& checks) { checks_ = checks; }

  /// What launches keep from now on besides sums; at first nothing.
  void observe(const Observation& observation) { observation_ = observation; }

  /// Memory that kernels may reach. Copies and fills may reach all that this process can.
  GlobalMemory& memory() { return memory_; }

  /// Why the steps cannot be executed: a library's call, a kernel whose code the binary lacks or
  /// that has an instruction which the simulator does not know. Empty where they can.
  std::string refusal(const Steps& steps);

  /// Executes the steps, one after the other. Throws Fault with the kernel, of several blocks that
  /// have one the first block's, and std::runtime_error with the refusal().
  std::vector<KernelExecution> run(const Steps& steps);

  /// Asked between blocks, by several threads; true ends the run with Stopped.
  std::function<bool()> stop = [] { return false; };
  /// Host threads that execute blocks.
  unsigned threads;

 private:
  struct Kernel {
    KernelResource resource;
    Program program;
  };
  const Kernel& kernel_of(const void* stub);
  KernelExecution run(const KernelStep& step);
  void run_blocks(const LaunchState& launch, KernelExecution& execution);

  const KernelResources& kernels_;
  int compute_capability_;
  GlobalMemory memory_;
  Checks checks_;
  std::optional<Observation> observation_;
  std::map<const void*, std::unique_ptr<Kernel>> decoded_;
};

}  // namespace gpuexp::sim
