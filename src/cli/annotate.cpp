#include <algorithm>
#include <functional>
#include <new>
#include <set>
#include <stdexcept>
#include <variant>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/annotation.hpp"
#include "analysis/warp_picture.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/simulation.hpp"
#include "cli/source_counting.hpp"
#include "config/config_keys.hpp"
#include "plan/plan.hpp"
#include "render/annotation_json.hpp"
#include "render/annotation_text.hpp"
#include "render/warp_picture_text.hpp"
#include "simulated/code_prediction.hpp"
#include "simulated/host_problem.hpp"
#include "compile/ptx_compiler.hpp"
#include "simulated/simulated_executor.hpp"

namespace gpuexp::cli {

namespace {

struct AnnotateArguments {
  std::string variant;
  std::vector<std::string> sets;
  std::string gpu = kDefaultGpu;
  std::string mode = "cold";
  std::string warp;
  std::string line;
  int execution = 1;
  bool counters = false;
  int device = 0;
  bool json = false;
};

// The config of one variant at its `shown_at` values, changed by --set.
Config config_of(const NamedVariant& named, const AnnotateArguments& options) {
  std::vector<std::string> sets;
  for (const auto& [name, value] : named.variant.shown_at) {
    const std::string key = name + "=";
    const bool is_given = std::ranges::any_of(
        options.sets, [&](const std::string& set) { return set.starts_with(key); });
    if (!is_given) sets.push_back(key + to_string(value));
  }
  sets.insert(sets.end(), options.sets.begin(), options.sets.end());
  const auto mode = std::ranges::find(kModes, options.mode, &ModeKey::name);
  return single_experiment(named.family, {&named.variant}, mode->mode, sets);
}

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

// The launch shapes of the kernels whose code a launch executes. Throws ConfigError if there are
// none: copies and fills have no source lines.
std::vector<Shape> executed_shapes(const NamedVariant& named, const Plan& plan) {
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

std::int64_t number_of(const std::string& option, const std::string& text) {
  const auto number = parsed<std::int64_t>(text);
  if (number.value_or(-1) < 0)
    throw ConfigError(
        fmt::format("{}: expected an integer of at least 0, found '{}'", option, shorten(text)));
  return *number;
}

// Parses --warp, "B,W" or "X,Y,Z,W", and checks it against the grids of the launch.
AskedWarp requested_warp(const AnnotateArguments& options, const std::vector<Shape>& shapes) {
  const std::string option = "--warp " + shorten(options.warp);
  const std::vector<std::string> parts = split(options.warp, ',');
  if (parts.size() != 2 && parts.size() != 4)
    throw ConfigError(
        fmt::format("{}: expected a block and one of its warps, as B,W or X,Y,Z,W", option));
  if (options.execution < 1)
    throw ConfigError(
        fmt::format("--execution {}: expected an integer of at least 1", options.execution));
  std::vector<std::int64_t> numbers;
  for (const std::string& part : parts)
    numbers.push_back(number_of(option, part));
  AskedWarp requested;
  requested.warp = static_cast<unsigned>(std::min<std::int64_t>(numbers.back(), ~0u));
  requested.execution = static_cast<std::uint64_t>(options.execution);
  std::string why;
  for (const Shape& shape : shapes) {
    const Extent& grid = shape.grid;
    const std::int64_t warps = ceil_div(shape.block.count(), sim::kLanes);
    const bool has_block = numbers.size() == 2
                               ? numbers[0] < grid.count()
                               : numbers[0] < grid.x && numbers[1] < grid.y && numbers[2] < grid.z;
    requested.block =
        numbers.size() == 2 ? numbers[0] : numbers[0] + grid.x * (numbers[1] + grid.y * numbers[2]);
    if (has_block && numbers.back() < warps) return requested;
    if (why.empty())
      why = fmt::format("the grid has {} × {} × {} blocks, numbered 0 to {}, with warps 0 to {}",
                        grid.x, grid.y, grid.z, grid.count() - 1, warps - 1);
  }
  throw ConfigError(fmt::format("{}: {}", option, why));
}

bool is_requested(const SourceLine& line, const std::string& requested) {
  return requested == fmt::format("{}", line.line) || requested == to_text(line);
}

SourceLine chosen_line(const AnnotateArguments& options, const AskedWarp& requested,
                       const std::vector<TracedLine>& lines) {
  std::vector<std::string> names;
  std::vector<SourceLine> found;
  for (const TracedLine& line : lines) {
    names.push_back(fmt::format("\n  {}: {}", to_text(line.line), line.accesses));
    if (options.line.empty() || is_requested(line.line, options.line)) found.push_back(line.line);
  }
  const std::string of = fmt::format("warp {} of block {}", requested.warp, requested.block);
  if (lines.empty()) throw ConfigError(fmt::format("--warp: {} accesses no memory", of));
  if (found.size() == 1) return found.front();
  const std::string what =
      !options.line.empty() && found.empty()
          ? fmt::format("--line {}: {} accesses no memory on this line, but on",
                        shorten(options.line), of)
          : fmt::format(
                "--warp: {} accesses memory on several lines; choose one with --line N or --line "
                "FILE:N",
                of);
  throw ConfigError(fmt::format("{}:{}", what, fmt::join(names, "")));
}

struct NoGpu : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class AnnotateRun {
 public:
  AnnotateRun(const Context& context, const AnnotateArguments& options)
      : context_(context),
        options_(options),
        named_(find_variant(context.registry, options.variant)),
        config_(config_of(named_, options)) {
    if (options.counters) {
      plan_on_this_gpu();
    } else {
      const auto specs = device_specs();
      const DeviceSpec& device = find_device_spec(specs, options.gpu).spec;
      plan_ = make_plan(config_, device, context.resources, device.memory_bytes);
      plan_.ceiling_source = ceiling_source_of(device, device.id);
    }
    check_is_executed(named_, plan_, context.resources);
    shapes_ = executed_shapes(named_, plan_);
    if (options.warp.empty() && !options.line.empty())
      throw ConfigError("--line: needs --warp; without it no accesses are drawn");
    if (!options.warp.empty()) requested_ = requested_warp(options, shapes_);
  }

  void run() {
    sim::Simulator simulator(context_.resources, plan_.device.compute_capability());
    simulator.stop = interrupted;
    simulator.uses_host_loops = true;
    simulator.find_code = compiled_from_ptx;
    HostProblem problem(named_.family, group().values, config_.seed, plan_.device, simulator);
    sim::Observation observation;
    observation.places = true;
    if (requested_)
      observation.warp = {requested_->block, requested_->warp, requested_->execution - 1};
    simulator.observe(observation);
    problem.set_sampling(sampling_of(named_.variant, problem.problem(), {}, config_.seed));
    const auto executions = problem.launch(named_.variant);
    const auto buffer_of = [&](std::uint64_t address) -> std::pair<std::string, std::uint64_t> {
      const sim::GlobalBuffer* const buffer = simulator.memory().find(address, 1);
      if (!buffer) return {"memory", 0};
      return {buffer->name().empty() ? "memory" : buffer->name(), buffer->begin()};
    };
    AnnotatedLaunch launch = predicted(problem, simulator);
    count(executions, launch);
    annotate_with(executions, launch,
                  [&](std::uint64_t address) { return buffer_of(address).first; });
    std::optional<WarpPicture> picture;
    if (requested_) {
      const SourceLine line =
          chosen_line(options_, *requested_, traced_lines(launch.annotation, executions));
      picture = picture_of(launch.annotation, executions, *requested_, line, buffer_of);
    }
    print(launch, picture ? &*picture : nullptr);
  }

 private:
  const Group& group() const { return plan_.groups.front(); }

  void plan_on_this_gpu() {
    DeviceOptions device;
    device.device = options_.device;
    std::string no_device;
    gpu_ = open_device(device, no_device);
    if (!gpu_) throw NoGpu(no_device);
    plan_ = make_plan(config_, gpu_->info.spec, context_.resources, gpu_->info.free_bytes);
    plan_.ceiling_source = ceiling_source_of(gpu_->info);
  }

  void count(const std::vector<sim::KernelExecution>& executions, AnnotatedLaunch& launch) {
    if (!gpu_) return;
    const CountedLaunch counted{&named_.family, group().values, &named_.variant, Mode::warm};
    SourceCounting counting = count_source(*gpu_->executor, counted, config_.seed, executions);
    launch.why_not_counted = counting.unavailable;
    if (counting.unavailable.empty()) launch.counted_on = gpu_->info.spec.name;
    counted_ = std::move(counting.instructions);
  }

  AnnotatedLaunch predicted(HostProblem& problem, sim::Simulator& simulator) const {
    AnnotatedLaunch launch;
    launch.family = &named_.family;
    launch.variant = &named_.variant;
    launch.values = group().values;
    launch.device = plan_.device;
    launch.mode = group().mode;
    launch.code_time = predict_from_code(
        launch_to_time(problem, named_.variant, simulator, launch.device, context_.resources),
        simulator, launch.mode, launch.device, plan_.ceiling_source.ceilings);
    return launch;
  }

  void annotate_with(const std::vector<sim::KernelExecution>& executions, AnnotatedLaunch& launch,
                     const BufferName& name_of) const {
    launch.annotation = annotate(executions, shapes_, launch.code_time.kernels, counted_, name_of);
    for (const sim::KernelExecution& execution : executions) {
      launch.blocks += execution.blocks;
      launch.blocks_executed += execution.executed_blocks;
    }
  }

  void print(const AnnotatedLaunch& launch, const WarpPicture* picture) const {
    std::size_t count = 0;
    const SourceText* const table = kernel_source_table(count);
    const SourceFiles sources(table, count);
    const TerminalOptions terminal = terminal_options(stdout);
    if (options_.json) {
      fmt::print("{}", annotation_json(launch, sources, picture));
    } else if (picture) {
      fmt::print("{}", warp_picture_text(*picture, sources, terminal));
    } else {
      fmt::print("{}{}", annotation_head(launch, terminal),
                 annotation_text(launch, sources, terminal));
    }
  }

  const Context& context_;
  const AnnotateArguments& options_;
  NamedVariant named_;
  Config config_;
  Plan plan_;
  std::vector<Shape> shapes_;
  std::optional<AskedWarp> requested_;
  std::optional<OpenDevice> gpu_;  ///< the GPU that counts executions; only with --counters
  std::vector<CountedInstruction> counted_;
};

ExitCode run(const Context& context, const AnnotateArguments& options) {
  catch_interrupts();
  try {
    AnnotateRun(context, options).run();
    return ExitCode::ok;
  } catch (const NoGpu& reason) {
    fmt::print(stderr,
               "gpuexp: no GPU: {}\n"
               "gpuexp: without --counters, annotate runs on the CPU only\n",
               reason.what());
    return ExitCode::no_device;
  } catch (const DeviceError& error) {
    if (interrupted()) return ExitCode::interrupted;
    fmt::print(stderr, "gpuexp: {}: {}\n", options.variant, error.what());
  } catch (const sim::Stopped&) {
    return ExitCode::interrupted;
  } catch (const sim::Fault& fault) {
    fmt::print(stderr, "gpuexp: {}: {}\n", options.variant, fault.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "gpuexp: {}: not enough host memory\n", options.variant);
  }
  return ExitCode::failed;
}

}  // namespace

void add_annotate(Command& app, Context& context) {
  Command* command = app.add_subcommand("annotate",
                                        "source of a variant with the instructions and memory "
                                        "accesses of each line; executed on the CPU");
  auto options = std::make_shared<AnnotateArguments>();
  command->add_option("variant", options->variant, "FAMILY/VARIANT (gpuexp list)")->required();
  command->add_option("--set", options->sets, "value of a parameter, instead of its default")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_option(
      "--gpu", options->gpu,
      fmt::format("GPU to simulate: id, name or alias (gpuexp list; default: {})", kDefaultGpu));
  Option* const counters = command->add_flag("--counters", options->counters,
                                             "simulate the GPU of this machine, and also show the "
                                             "GPU's own counts for each line (CUPTI SASS metrics)");
  counters->excludes("--gpu");
  command
      ->add_option("--device", options->device,
                   "with --counters: ordinal of the GPU (gpuexp info; default: 0)")
      ->needs(counters);
  command
      ->add_option(
          "--mode", options->mode,
          "cache state when the predicted launch begins: cold, warm or graph (default: cold)")
      ->check(CLI::IsMember({"cold", "warm", "graph"}));
  command
      ->add_option("--warp", options->warp,
                   "draw only the accesses of warp W of block B (counted x first, or X,Y,Z) at one "
                   "line: lanes, sectors, banks")
      ->type_name("B,W");
  Option* const line = command->add_option(
      "--line", options->line,
      "with --warp: line to draw, N or FILE:N; required if several lines access memory");
  command
      ->add_option("--execution", options->execution,
                   "execution of the line to draw, counted from 1 (default: 1)")
      ->needs(line);
  command->add_flag("--json", options->json, "machine-readable, with every instruction");
  command->footer(
      "time %: the line's share of the time predicted from the machine code, by the cycles that "
      "warps\n"
      "spend until they issue its instructions; then the warp state with the most of these cycles, "
      "by\n"
      "its name in Nsight Compute.\n"
      "example: gpuexp annotate matmul/naive --set m=256 --set n=256 --set k=256\n"
      "         gpuexp annotate coalescing/read_strided --set n=4096 --warp 0,0");
  on_chosen(*command, context, [&context, options] { return run(context, *options); });
}

}  // namespace gpuexp::cli
