// Executes the steps of a launch on the CPU: kernels by their machine code, fills and copies.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "family/step.hpp"
#include "sass/kernel_resource.hpp"
#include "sim/grid_run.hpp"
#include "sim/idle_ops.hpp"

namespace gpuexp::sim {

/// Machine code of the kernel of which another architecture's is given. Throws std::runtime_error
/// with the reason where there is none.
using FindCode =
    std::function<const KernelResource&(const KernelResource& of_other, int compute_capability)>;

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

  /// Why the steps cannot be executed: a library's call, a kernel whose code the binary lacks, that
  /// launches kernels or that has an instruction which the simulator does not know. Empty where
  /// they can.
  std::string refusal(const Steps& steps);
  /// Why they cannot by some of their blocks alone: blocks that need what others leave.
  std::string sampling_refusal(const Steps& steps);

  /// What blocks of a kernel have in common, for whoever executes them block by block. Throws
  /// std::runtime_error with the refusal(). Refers to the simulator, and to the step's
  /// tensor maps.
  LaunchState launch_of(const KernelStep& step);
  /// Likewise for whoever asks for branches and addresses alone: nothing is checked or counted, and
  /// values that decide neither are not computed. `keeps_global`: what it stores to global memory
  /// decides, in other kernels.
  LaunchState rough_launch_of(const KernelStep& step, bool keeps_global);
  /// Whether values that it loads from global memory decide where it goes or what it reaches.
  bool is_decided_by_global(const KernelStep& step);

  /// Executes the steps, one after the other; with `sampling`, some of the blocks of their kernel.
  /// Throws Fault with the kernel, of several blocks that have one the first block's, and
  /// std::runtime_error with the refusal().
  std::vector<KernelExecution> run(const Steps& steps,
                                   const std::optional<BlockSampling>& sampling = std::nullopt);

  /// Executes steps that fill buffers, each element of which its kernel makes from the element's
  /// index, or from buffers that no kernel stores to: kernels that have a HostLoop with a place
  /// fill it where others touch it, by the loop or by their blocks.
  void fill(const Steps& steps);

  /// Asked between blocks, by several threads; true ends the run with Stopped.
  std::function<bool()> stop = [] { return false; };
  /// Host threads that execute blocks.
  unsigned threads;
  /// Asked for kernels without machine code for the compute capability; none: they are refused.
  FindCode find_code;
  /// Whether kernels that have a HostLoop are not executed, but computed by it.
  bool takes_host_loops = false;

 private:
  void copy_rows(const CopyStep& copy);
  struct Kernel {
    KernelResource resource;
    Program program;
    bool has_fixed_clusters = false;  ///< it is compiled for clusters of one size
    std::array<std::optional<IdleOps>, 2> idle{};  ///< by keeps_global, where they were asked for
  };
  KernelResource resource_of(const void* stub) const;
  Kernel& kernel_of(const void* stub);
  const IdleOps& idle_of(const KernelStep& step, bool keeps_global);
  KernelExecution run(const KernelStep& step, const std::optional<BlockSampling>& sampling);
  void run_on_host(const HostLoop& loop);
  /// False where it has to be executed at once.
  bool fills_later(const KernelStep& kernel);
  HostLoop loop_of_blocks(const KernelStep& step);

  const KernelResources& kernels_;
  int compute_capability_;
  GlobalMemory memory_;
  Checks checks_;
  std::optional<Observation> observation_;
  std::map<const void*, std::unique_ptr<Kernel>> decoded_;
};

}  // namespace gpuexp::sim
