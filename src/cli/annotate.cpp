#include <algorithm>
#include <functional>
#include <new>
#include <stdexcept>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/annotation.hpp"
#include "analysis/warp_picture.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "cli/annotated_execution.hpp"
#include "cli/app.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/command_copy.hpp"
#include "cli/simulation.hpp"
#include "cli/source_counting.hpp"
#include "config/config_keys.hpp"
#include "plan/plan.hpp"
#include "render/annotation_json.hpp"
#include "render/annotation_text.hpp"
#include "render/warp_picture_text.hpp"

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
  double launch_timeout_s = 300;  ///< large problems of variants take minutes
  bool json = false;
};

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

Mode mode_of(const std::string& name) {
  return std::ranges::find(kModes, name, &ModeKey::name)->mode;
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
        config_(annotation_config(named_, options.sets, mode_of(options.mode))) {
    if (options.counters) {
      plan_on_this_gpu();
    } else {
      const auto specs = device_specs();
      const DeviceSpec& device = find_device_spec(specs, options.gpu).spec;
      plan_ = make_plan(config_, device, context.resources, device.memory_bytes);
      plan_.ceiling_source = ceiling_source_of(device, device.id);
    }
    shapes_ = annotated_shapes(named_, plan_, context.resources);
    if (options.warp.empty() && !options.line.empty())
      throw ConfigError("--line: needs --warp; without it no accesses are drawn");
    if (!options.warp.empty()) requested_ = requested_warp(options, shapes_);
  }

  void run() {
    sim::Observation observation;
    if (requested_)
      observation.warp = {requested_->block, requested_->warp, requested_->execution - 1};
    AnnotatedExecution execution(context_, named_, plan_, shapes_, options_.launch_timeout_s,
                                 observation);
    const SourceCounting counting = counted(execution);
    AnnotatedLaunch launch = execution.annotated(counting.instructions);
    launch.why_not_counted = counting.unavailable;
    if (gpu_ && counting.unavailable.empty()) launch.counted_on = gpu_->info.spec.name;
    std::optional<WarpPicture> picture;
    if (requested_) {
      const auto& executions = execution.executions();
      const SourceLine line =
          chosen_line(options_, *requested_, traced_lines(launch.annotation, executions));
      picture = picture_of(launch.annotation, executions, *requested_, line,
                           [&](std::uint64_t address) { return execution.buffer_of(address); });
    }
    print(launch, execution.sources(), picture ? &*picture : nullptr);
  }

 private:
  void plan_on_this_gpu() {
    DeviceOptions device;
    device.device = options_.device;
    use_kernel_files(device, context_.kernel_files);
    std::string no_device;
    gpu_ = open_device(device, no_device);
    if (!gpu_) throw NoGpu(no_device);
    plan_ = make_plan(config_, gpu_->info.spec, context_.resources, gpu_->info.free_bytes);
    plan_.ceiling_source = ceiling_source_of(gpu_->info);
  }

  SourceCounting counted(const AnnotatedExecution& execution) {
    if (!gpu_) return {};
    const CountedLaunch launch{&named_.family, plan_.groups.front().values, &named_.variant,
                               Mode::warm};
    return count_source(*gpu_->executor, launch, config_.seed, execution.executions());
  }

  void print(const AnnotatedLaunch& launch, const SourceFiles& sources,
             const WarpPicture* picture) const {
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
};

ExitCode run(const Context& context, const AnnotateArguments& options) {
  if (names_kernel_file(options.variant)) {
    if (const auto code = exit_code_of_copy()) return *code;
  }
  catch_interrupts();
  try {
    if (options.counters) {
      compile_first_for_device(context, options.device);
    } else {
      compile_first_for(context, options.gpu);
    }
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
  command
      ->add_option("variant", options->variant,
                   "FAMILY/VARIANT (gpuexp list), or FILE.cu:VARIANT of a kernel file")
      ->required();
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
  add_launch_timeout(*command, options->launch_timeout_s, "the command ends with exit code 4");
  command->add_flag("--json", options->json, "machine-readable, with every instruction");
  command->footer(
      "time %: the line's share of the time predicted from the machine code, by the cycles that "
      "warps\n"
      "spend until they issue its instructions; then the warp state with the most of these cycles, "
      "by\n"
      "its name in Nsight Compute.\n"
      "example: gpuexp annotate matmul/naive --set m=256 --set n=256 --set k=256\n"
      "         gpuexp annotate coalescing/read_strided --set n=4096 --warp 0,0\n"
      "         gpuexp annotate docs/examples/transpose.cu:tile --gpu rtx_4090");
  on_chosen(*command, context, [&context, options] { return run(context, *options); });
}

}  // namespace gpuexp::cli
