#include "cli/annotated_execution.hpp"

#include <algorithm>
#include <set>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "cli/progress.hpp"
#include "compile/ptx_compiler.hpp"
#include "sass/loaded_kernels.hpp"
#include "simulated/code_prediction.hpp"
#include "simulated/simulated_executor.hpp"
#include "timing/sm_time.hpp"

namespace gpuexp::cli {

namespace {

std::string name_of_cell(const NamedVariant& named) {
  return fmt::format("{}/{}", named.family.id, named.variant.id);
}

/// Halves all extents together until the CPU can execute the variant, and returns the extents as
/// --set options. If no size fits, returns "" and sets `refusal` to the last reason.
std::string fitting_sets(const NamedVariant& named, Values values, const DeviceSpec& device,
                         SimulationLimits& limits, std::string& refusal) {
  constexpr int kMaxHalvings = 24;
  for (int halvings = 0; halvings < kMaxHalvings; ++halvings) {
    std::string sets;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Parameter& p = named.family.parameters[i];
      auto* const extent = std::get_if<std::int64_t>(&values[i]);
      if (!extent || !p.is_extent) continue;
      *extent = std::max(static_cast<std::int64_t>(p.min), *extent / 2);
      sets += fmt::format("{}--set {}={}", sets.empty() ? "" : " ", p.name, *extent);
    }
    const auto problem = named.family.make_problem(values);
    const auto& unsupported = named.variant.unsupported;
    if (unsupported && unsupported(problem.get(), device)) continue;
    refusal = limits.refusal(named.variant, problem.get());
    if (refusal.empty()) return sets;
  }
  return "";
}

void check_is_executed(const NamedVariant& named, const Plan& plan,
                       const KernelResources& resources) {
  if (plan.groups.size() != 1)
    throw ConfigError(fmt::format("{}: --set selects {} problems; annotate expects one",
                                  name_of_cell(named), plan.groups.size()));
  const Group& group = plan.groups.front();
  const Cell& cell = group.cells.front();
  if (!cell.skip_reason.empty())
    throw ConfigError(fmt::format("{}: {}", name_of_cell(named), cell.skip_reason));
  SimulationLimits limits(plan.device, resources, SimulatedOptions{});
  const std::string refusal = limits.refusal(named.variant, group.problem.get());
  if (refusal.empty()) return;
  std::string left = refusal;
  const std::string fits = fitting_sets(named, group.values, plan.device, limits, left);
  throw ConfigError(fmt::format("{}: {}", name_of_cell(named),
                                fits.empty() ? left : fmt::format("{} ({} fits)", refusal, fits)));
}

std::string name_of_kind(const Step& step) {
  struct Name {
    const char* operator()(const KernelStep&) const { return "kernels without blocks"; }
    const char* operator()(const MemsetStep&) const { return "fills"; }
    const char* operator()(const CopyStep&) const { return "copies"; }
    const char* operator()(const OpaqueStep&) const { return "library calls"; }
    const char* operator()(const PrefetchStep&) const { return "prefetches of managed memory"; }
    const char* operator()(const AdviseStep&) const { return "advice on managed memory"; }
    const char* operator()(const HostReadStep&) const { return "reads by the host"; }
  };
  return std::visit(Name{}, step.action);
}

}  // namespace

Config annotation_config(const NamedVariant& named, const std::vector<std::string>& given,
                         Mode mode) {
  std::vector<std::string> sets;
  for (const auto& [name, value] : named.variant.shown_at) {
    const std::string key = name + "=";
    const bool is_given =
        std::ranges::any_of(given, [&](const std::string& set) { return set.starts_with(key); });
    if (!is_given) sets.push_back(key + to_string(value));
  }
  sets.insert(sets.end(), given.begin(), given.end());
  return single_experiment(named.family, {&named.variant}, mode, sets);
}

std::vector<Shape> annotated_shapes(const NamedVariant& named, const Plan& plan,
                                    const KernelResources& resources) {
  check_is_executed(named, plan, resources);
  const Steps steps = named.variant.launch(
      plan.groups.front().problem.get(), named.variant.unbound_data.get(), {plan.device, nullptr});
  std::vector<Shape> shapes = steps.shapes();
  std::erase_if(shapes, [](const Shape& shape) { return shape.grid.count() == 0; });
  if (!shapes.empty()) return shapes;
  std::set<std::string> kinds;
  for (const Step& step : steps.all())
    kinds.insert(name_of_kind(step));
  throw ConfigError(fmt::format(
      "{}: launches no kernel on the first GPU, so there is no code to annotate; a "
      "launch consists of {}",
      name_of_cell(named), kinds.empty() ? "no steps" : fmt::format("{}", fmt::join(kinds, ", "))));
}

namespace {

sim::Simulator simulator_of(const Context& context, const Plan& plan,
                            const sim::Observation& observation) {
  sim::Simulator simulator(context.resources, plan.device.compute_capability());
  simulator.stop = interrupted;
  simulator.uses_host_loops = true;
  simulator.find_code = compiled_from_ptx;
  // Eight times as many as the prediction of a time allows, so that an endless loop ends in
  // seconds.
  sim::Checks checks;
  checks.max_instructions = 8 * kMaxInstructionsPerWarp;
  simulator.set_checks(checks);
  sim::Observation with_places = observation;
  with_places.places = true;
  simulator.observe(with_places);
  return simulator;
}

}  // namespace

AnnotatedExecution::AnnotatedExecution(const Context& context, const NamedVariant& named,
                                       const Plan& plan, std::vector<Shape> shapes,
                                       double launch_timeout_s, const sim::Observation& observation)
    : context_(context),
      named_(named),
      plan_(plan),
      shapes_(std::move(shapes)),
      simulator_(simulator_of(context, plan, observation)),
      problem_(named.family, group().values, plan.config->seed, plan.device, simulator_) {
  problem_.set_sampling(executable_sampling(named.variant, problem_.problem(), {},
                                            plan.config->seed, simulator_, plan.device));
  simulator_.stop = [this] { return interrupted() || deadline_.is_late(); };
  const WorkOnTerminal shown(fmt::format("executing {} on the CPU", name_of_cell(named)));
  deadline_ = LaunchDeadline(launch_timeout_s);
  try {
    executions_ = problem_.launch(named.variant);
  } catch (const sim::Stopped& stopped) {
    if (interrupted()) throw;
    throw DeviceError(deadline_.text(stopped), DeviceFault::timed_out);
  }
  deadline_ = LaunchDeadline();
}

std::pair<std::string, std::uint64_t> AnnotatedExecution::buffer_of(std::uint64_t address) {
  const sim::GlobalBuffer* const buffer = simulator_.memory().find(address, 1);
  if (!buffer) return {"memory", 0};
  return {buffer->name().empty() ? "memory" : buffer->name(), buffer->begin()};
}

AnnotatedLaunch AnnotatedExecution::annotated(const std::vector<CountedInstruction>& counted) {
  const WorkOnTerminal shown(fmt::format("predicting the time of {}", name_of_cell(named_)));
  AnnotatedLaunch launch;
  launch.family = &named_.family;
  launch.variant = &named_.variant;
  launch.values = group().values;
  launch.device = plan_.device;
  launch.mode = group().mode;
  launch.code_time = predict_from_code(
      launch_to_time(problem_, named_.variant, simulator_, launch.device, context_.resources),
      simulator_, launch.mode, launch.device, plan_.ceiling_source.ceilings);
  launch.annotation = annotate(executions_, shapes_, launch.code_time.kernels, counted,
                               [this](std::uint64_t address) { return buffer_of(address).first; });
  for (const sim::KernelExecution& execution : executions_) {
    launch.blocks += execution.blocks;
    launch.blocks_executed += execution.executed_blocks;
  }
  return launch;
}

SourceFiles AnnotatedExecution::sources() const {
  std::size_t count = 0;
  const SourceText* const table = kernel_source_table(count);
  SourceFiles files(table, count);
  for (const Shape& shape : shapes_) {
    const LoadedKernel* const loaded = LoadedKernels::global().find(shape.kernel);
    if (!loaded) continue;
    for (const SourceText& source : loaded->code(plan_.device.compute_capability()).sources)
      files.add(source);
  }
  return files;
}

}  // namespace gpuexp::cli
