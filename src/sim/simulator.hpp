// Executes the steps of a launch on the CPU: kernels by their machine code, fills and copies.
#pragma once

#include <map>
#include <memory>
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
};

class Simulator {
 public:
  /// The kernels, and the compute capability (90 for 9.0) whose code is executed.
  Simulator(const KernelResources& kernels, int compute_capability);

  /// What kernels are held against from now on; at first all of it.
  void set_checks(const Checks& checks) { checks_ = checks; }

  /// Memory that kernels may reach. Copies and fills may reach all that this process can.
  GlobalMemory& memory() { return memory_; }

  /// Executes the steps, one after the other. Throws Fault with the kernel, and std::runtime_error
  /// with the reason for what the simulator does not execute.
  std::vector<KernelExecution> run(const Steps& steps);

 private:
  struct Kernel {
    KernelResource resource;
    Program program;
  };
  const Kernel& kernel_of(const void* stub);
  KernelExecution run(const KernelStep& step);

  const KernelResources& kernels_;
  int compute_capability_;
  GlobalMemory memory_;
  Checks checks_;
  std::map<const void*, std::unique_ptr<Kernel>> decoded_;
};

}  // namespace gpuexp::sim
