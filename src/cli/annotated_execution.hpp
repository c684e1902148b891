// One variant at one problem, executed by the simulator, with counts for each source line.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/annotation.hpp"
#include "cli/app.hpp"
#include "plan/plan.hpp"
#include "sass/source_files.hpp"
#include "sim/simulator.hpp"
#include "simulated/host_problem.hpp"
#include "simulated/launch_deadline.hpp"

namespace gpuexp::cli {

/// A config of one variant and mode, at the values at which the variant is shown, changed by `sets`
/// (--set). Throws ConfigError.
Config annotation_config(const NamedVariant& named, const std::vector<std::string>& sets,
                         Mode mode);

/// The launch shapes of the kernels whose code the plan's only cell executes. Throws ConfigError if
/// the plan has several problems, if the simulator cannot execute the cell, and if the launch has
/// no kernel: copies and fills have no source lines.
std::vector<Shape> annotated_shapes(const NamedVariant& named, const Plan& plan,
                                    const KernelResources& resources);

/// The execution of the plan's only cell.
class AnnotatedExecution {
 public:
  /// The plan must outlive this object. Throws sim::Fault, std::bad_alloc, sim::Stopped if
  /// interrupted() became true, and DeviceError if the launch takes longer than the limit.
  AnnotatedExecution(const Context& context, const NamedVariant& named, const Plan& plan,
                     std::vector<Shape> shapes, double launch_timeout_s,
                     const sim::Observation& observation = {});
  AnnotatedExecution(const AnnotatedExecution&) = delete;
  AnnotatedExecution& operator=(const AnnotatedExecution&) = delete;

  const std::vector<sim::KernelExecution>& executions() const { return executions_; }
  /// Name and first address of the buffer that contains the address.
  std::pair<std::string, std::uint64_t> buffer_of(std::uint64_t address);

  /// Counts and predicted times for each line; `counted` has hardware counts, or is empty.
  AnnotatedLaunch annotated(const std::vector<CountedInstruction>& counted = {});
  /// Source files of the built-in kernels and of the launch.
  SourceFiles sources() const;

 private:
  const Group& group() const { return plan_.groups.front(); }

  const Context& context_;
  NamedVariant named_;
  const Plan& plan_;
  std::vector<Shape> shapes_;
  LaunchDeadline deadline_;
  sim::Simulator simulator_;
  HostProblem problem_;
  std::vector<sim::KernelExecution> executions_;
};

}  // namespace gpuexp::cli
