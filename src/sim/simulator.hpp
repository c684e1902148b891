// Executes the steps of a launch on the CPU: kernels from their machine code, fills and copies.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "family/step.hpp"
#include "sass/kernel_resource.hpp"
#include "sim/grid_run.hpp"
#include "sim/idle_ops.hpp"
#include "sim/module_memory.hpp"

namespace gpuexp::sim {

/// Returns the machine code of a kernel for `compute_capability`, given the kernel's resources on
/// another architecture. Throws std::runtime_error with the reason if there is none.
using FindCode =
    std::function<const KernelResource&(const KernelResource& of_other, int compute_capability)>;

class Simulator {
 public:
  /// `compute_capability` selects the machine code to execute: 90 for 9.0.
  Simulator(const KernelResources& kernels, int compute_capability);

  void set_checks(const Checks& checks) { checks_ = checks; }

  /// Sets the records that later launches keep in addition to sums; by default, none.
  void observe(const Observation& observation) { observation_ = observation; }

  /// Memory that kernels may access. Copies and fills may access all memory of this process.
  GlobalMemory& memory() { return memory_; }
  /// Removes all buffers, and the variables of all modules.
  void clear_memory();
  /// Gives the variables of modules their initial contents, except for those that steps have copied
  /// to or from. Variables keep their contents from launch to launch otherwise.
  void restore_variables();

  /// Why the steps cannot be executed; empty if they can. Reasons include library calls, missing
  /// machine code, kernels that launch kernels and unknown instructions. With `uses_host_loops`,
  /// kernels with a host loop need no machine code.
  std::string refusal(const Steps& steps);
  /// Why the steps cannot be sampled: blocks need results of other blocks. Empty if they can.
  std::string sampling_refusal(const Steps& steps);

  /// State that the blocks of a kernel share, for callers that execute single blocks. It refers to
  /// the simulator and to the step's tensor maps. Throws std::runtime_error with the refusal().
  LaunchState launch_of(const KernelStep& step);
  /// Like launch_of(), for callers that need only branches and addresses: blocks do not check
  /// memory or count accesses, and skip values that affect no branch or address. `keeps_global`:
  /// whether other kernels load what this kernel stores to global memory.
  LaunchState approximate_launch_of(const KernelStep& step, bool keeps_global);
  /// Whether branches or addresses of the kernel depend on values loaded from global memory.
  bool is_decided_by_global(const KernelStep& step);
  /// Whether numbers of iterations depend on such values.
  bool has_loops_decided_by_global(const KernelStep& step);

  /// Executes the steps in order; with `sampling`, only some blocks of their kernel. Throws the
  /// Fault of the first faulty block, with the kernel's name, or std::runtime_error with the
  /// refusal().
  std::vector<KernelExecution> run(const Steps& steps,
                                   const std::optional<BlockSampling>& sampling = std::nullopt);

  /// Executes steps that fill buffers. Each element must depend only on its index, or on buffers to
  /// which no kernel stores. With `uses_host_loops`, buffers of kernels with a HostLoop are filled
  /// on first access, by the loop or by the kernel's blocks.
  void fill(const Steps& steps);

  /// Called by several host threads, between blocks and within blocks that run for long. If it
  /// returns true, the run throws Stopped.
  std::function<bool()> stop = [] { return false; };
  /// Receives the text that executed kernels print, from several host threads.
  std::function<void(std::string_view text)> print = [](std::string_view) {};
  unsigned threads;
  /// Called for kernels that lack machine code for the compute capability. If empty, such kernels
  /// are refused.
  FindCode find_code;
  bool uses_host_loops = false;

 private:
  void copy_rows(const CopyStep& copy);
  struct Kernel {
    KernelResource resource;
    Program program;
    bool has_fixed_clusters = false;
    bool uses_group_memory = false;
    /// Index: keeps_global; empty until first needed.
    std::array<std::optional<IdleOps>, 2> idle{};
  };
  KernelResource resource_of(const void* stub) const;
  /// The module's variables, which are placed in memory on the first call; null if unknown.
  ModuleMemory* module_of(const KernelResource& resource);
  /// The memory of a variable of `bytes` bytes, if the address is that of a LoadedVariable;
  /// otherwise the address.
  void* memory_at(void* address, std::int64_t bytes);
  Kernel& kernel_of(const void* stub);
  const IdleOps& idle_of(const KernelStep& step, bool keeps_global);
  KernelExecution run(const KernelStep& step, const std::optional<BlockSampling>& sampling);
  void run_on_host(const HostLoop& loop);
  /// False if the kernel must be executed immediately.
  bool fills_later(const KernelStep& kernel);
  HostLoop loop_of_blocks(const KernelStep& step);

  const KernelResources& kernels_;
  int compute_capability_;
  GlobalMemory memory_;
  Checks checks_;
  std::optional<Observation> observation_;
  std::map<const void*, std::unique_ptr<Kernel>> decoded_;
  std::map<const ModuleData*, std::unique_ptr<ModuleMemory>> modules_;
};

}  // namespace gpuexp::sim
