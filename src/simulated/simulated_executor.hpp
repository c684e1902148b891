// Executor that executes the kernels' machine code on the CPU. It cannot time launches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "compile/ptx_compiler.hpp"
#include "device/device_spec.hpp"
#include "run/executor.hpp"
#include "sass/kernel_resource.hpp"
#include "sim/simulator.hpp"

namespace gpuexp {

struct ExecutedBlocks {
  /// All blocks of a small launch, a sample of the blocks of a large launch.
  static constexpr std::int64_t kAsNeeded = 0;
  static constexpr std::int64_t kAll = -1;
  /// kAsNeeded, kAll or an approximate number of blocks per grid.
  std::int64_t count = kAsNeeded;
};

/// Selects the blocks of the variant's launch to execute; empty: all blocks.
std::optional<sim::BlockSampling> sampling_of(const Variant& variant, const void* problem,
                                              ExecutedBlocks blocks, std::uint64_t seed);

/// The same, but all blocks if a sample cannot be executed and the launch is large only because of
/// the operations of a kernel file's check, of which the kernel may need few: a histogram adds once
/// for each input, its check compares all inputs for each bin.
std::optional<sim::BlockSampling> executable_sampling(const Variant& variant, const void* problem,
                                                      ExecutedBlocks blocks, std::uint64_t seed,
                                                      sim::Simulator& simulator,
                                                      const DeviceSpec& device);

struct SimulatedOptions {
  double launch_timeout_s = 30;
  ExecutedBlocks blocks = {};
  sim::FindCode find_code = compiled_from_ptx;
  /// Called by several threads while kernels run. If it returns true, the launch ends.
  std::function<bool()> interrupted = [] { return false; };
  /// Receives the text that kernels print, from several threads.
  std::function<void(std::string_view text)> print = [](std::string_view) {};
};

/// `device` is the GPU that the kernels see and whose machine code is executed. `device` and
/// `kernels` must outlive the executor.
std::unique_ptr<Executor> make_simulated_executor(const DeviceSpec& device,
                                                  const KernelResources& kernels,
                                                  const SimulatedOptions& options);

class SimulationLimits {
 public:
  SimulationLimits(const DeviceSpec& device, const KernelResources& kernels,
                   const SimulatedOptions& options);
  ~SimulationLimits();
  /// Why the CPU cannot execute a launch, such as a library call, missing code, a kernel that
  /// launches kernels, an unknown instruction, or too many operations in blocks that depend on each
  /// other's results; otherwise an empty string.
  std::string refusal(const Variant& variant, const void* problem);
  /// Why the CPU cannot execute the kernels of the variant's reference, whose results are not
  /// sampled; empty if it can, or if host code computes the reference.
  std::string reference_refusal(const Family& family, const Variant& variant, const void* problem);
  /// Whether another GPU is needed to execute the launch: this binary has neither machine code of
  /// its kernels for the compute capability of `device` nor PTX from which tools could make it.
  bool lacks_code_of_gpu(const Variant& variant, const void* problem) const;

 private:
  Steps steps_of(const Variant& variant, const void* problem) const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuexp
