// The executor that runs cells on the CPU, by the kernels' own machine code. It has no clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "device/device_spec.hpp"
#include "run/executor.hpp"
#include "sass/kernel_resource.hpp"
#include "sim/simulator.hpp"
#include "simulated/ptx_compiler.hpp"

namespace gpuexp {

/// Of each grid, how many blocks are executed.
struct ExecutedBlocks {
  static constexpr std::int64_t kAsNeeded = 0;  ///< all of a small launch, of others a sample
  static constexpr std::int64_t kAll = -1;
  /// Or about so many.
  std::int64_t count = kAsNeeded;
};

/// Which blocks of the variant's launch are executed; none: all of them.
std::optional<sim::BlockSampling> sampling_of(const Variant& variant, const void* problem,
                                              ExecutedBlocks blocks, std::uint64_t seed);

struct SimulatedOptions {
  double launch_timeout_s = 30;
  ExecutedBlocks blocks = {};
  sim::FindCode find_code = compiled_from_ptx;  ///< as Simulator::find_code
  /// Asked while kernels run, by several threads; true ends the launch.
  std::function<bool()> interrupted = [] { return false; };
};

/// `device` is what the kernels find, and whose code is executed; it and `kernels` outlive the
/// executor.
std::unique_ptr<Executor> make_simulated_executor(const DeviceSpec& device,
                                                  const KernelResources& kernels,
                                                  const SimulatedOptions& options);

/// Why the variant's launch is not executed on the CPU: a library's call, code that the binary
/// lacks, a kernel that launches kernels, an instruction that is not known, or too many operations
/// in blocks that need each other's results. Empty where it is.
class SimulationLimits {
 public:
  SimulationLimits(const DeviceSpec& device, const KernelResources& kernels,
                   const SimulatedOptions& options);
  ~SimulationLimits();
  std::string refusal(const Variant& variant, const void* problem);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuexp
