#include "cli/source_comparison.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/line_comparison.hpp"
#include "cli/annotated_execution.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/kernel_files.hpp"
#include "cli/simulation.hpp"
#include "cli/small_verification.hpp"
#include "cli/source_measurement.hpp"
#include "config/config_keys.hpp"
#include "family/function_text.hpp"
#include "gpu/device_query.hpp"
#include "plan/plan.hpp"
#include "render/line_comparison_text.hpp"
#include "sim/fault.hpp"

namespace gpuexp::cli {

namespace {

constexpr double kLaunchTimeoutS = 30;

using VariantPair = std::pair<NamedVariant, NamedVariant>;

std::vector<VariantPair> pairs_of(const Registry& before, const Registry& after,
                                  const SourceComparisonOptions& options) {
  const auto is_file = [](const std::string& name) { return is_kernel_file(name); };
  if (!is_file(options.before) || !is_file(options.after))
    return {{find_variant(before, options.before), find_variant(after, options.after)}};
  const Family& a = find_family(before, options.before);
  const Family& b = find_family(after, options.after);
  if (a.variants.size() == 1 && b.variants.size() == 1)
    return {{{a, a.variants.front()}, {b, b.variants.front()}}};
  std::vector<VariantPair> pairs;
  for (const Variant& variant : a.variants) {
    if (const Variant* const other = b.find(variant.id))
      pairs.push_back({{a, variant}, {b, *other}});
  }
  if (pairs.empty())
    throw ConfigError(fmt::format(
        "compare: {} and {} have no variant of the same name; choose one of each, as FILE:VARIANT: "
        "{}; and {}",
        options.before, options.after, fmt::join(names_of(a.variants), ", "),
        fmt::join(names_of(b.variants), ", ")));
  return pairs;
}

/// One variant's plan and execution.
class Version {
 public:
  Version(const Context& context, const NamedVariant& named, const SourceComparisonOptions& options,
          const DeviceSpec& device)
      : config_(annotation_config(named, options.sets, Mode::cold)),
        plan_(planned(context, device)),
        execution_(context, named, plan_, annotated_shapes(named, plan_, context.resources),
                   kLaunchTimeoutS),
        launch_(execution_.annotated()),
        sources_(execution_.sources()) {}

  AnnotatedVersion annotated() const { return {launch_, sources_}; }

  /// "is incorrect: …" if the variant fails a verification on the CPU, at small sizes; else "".
  /// `context` has the registry and the kernel files of the version.
  std::string failure(const Context& context) const {
    const DeviceInfo device = simulated_device(plan_.device.id);
    const auto executor = simulated_executor(context, device, kLaunchTimeoutS, {});
    SmallVerification verification(context, plan_);
    verification.run(*executor);
    const Group& group = plan_.groups.front();
    const Row* const row = verification.row_of(group, group.cells.front());
    const bool fails = row && !has_values(row->status) && row->status != Status::skipped &&
                       row->status != Status::not_run;
    if (!fails) return "";
    const std::string sizes = verification.other_sizes(group);
    return fmt::format("{}{}: {}", row->status == Status::incorrect ? "is incorrect" : "fails",
                       sizes.empty() ? "" : " at " + sizes, row->reason);
  }
  /// Band of the predicted time; empty if the GPU's ceilings are scaled from another model's.
  std::optional<PredictionBand> band() const {
    const CodeTime& time = launch_.code_time;
    if (!plan_.ceiling_source.is_measured || !time.refusal.empty()) return std::nullopt;
    const auto band = prediction_band(time.total_us, time.terms, false);
    return band && is_kernel_file(launch_.family->id) ? band_of_own_kernel(*band) : band;
  }
  MeasuredVariant measured() const { return {*launch_.family, *launch_.variant, launch_.values}; }

 private:
  Plan planned(const Context& context, const DeviceSpec& device) const {
    Plan plan = make_plan(config_, device, context.resources, device.memory_bytes);
    plan.ceiling_source = ceiling_source_of(device, device.id);
    return plan;
  }

  Config config_;
  Plan plan_;
  AnnotatedExecution execution_;
  AnnotatedLaunch launch_;
  SourceFiles sources_;
};

/// "n=1024"; both problems if they differ.
std::string problem_text(const AnnotatedLaunch& before, const AnnotatedLaunch& after) {
  const std::string of_before = values_text(*before.family, before.values);
  const std::string of_after = values_text(*after.family, after.values);
  if (of_before == of_after) return of_after;
  return fmt::format("different problems, {} and {} (--set gives both the same values)", of_before,
                     of_after);
}

/// FILE:VARIANT; `given` is FILE, or FILE:VARIANT. Ids of families are the same for two versions.
std::string name_of_version(const std::string& given, const NamedVariant& named) {
  return is_kernel_file(given) ? fmt::format("{}:{}", given, named.variant.id) : given;
}

/// `context_after` has the kernel file of the second version. `workers` is null if nothing is
/// measured.
void compare_pair(const Context& context, const Context& context_after, const VariantPair& pair,
                  const SourceComparisonOptions& options, const DeviceSpec& device,
                  SourceWorkers* workers) {
  const auto& [before, after] = pair;
  const Version a(context, before, options, device);
  const Version b(context, after, options, device);
  for (const Version* const version : {&a, &b}) {
    const AnnotatedLaunch& launch = version->annotated().launch;
    if (launch.code_time.refusal.empty()) continue;
    throw ConfigError(fmt::format("compare: no time is predicted for {}/{}: {}", launch.family->id,
                                  launch.variant->id, launch.code_time.refusal));
  }
  std::optional<SideBySide> measured;
  std::vector<std::pair<std::string, std::string>> failures;  // by name of the version
  if (workers) {  // a measurement verifies both versions itself
    measured = workers->measure({a.measured(), b.measured()});
  } else {
    failures = {{name_of_version(options.before, before), a.failure(context)},
                {name_of_version(options.after, after), b.failure(context_after)}};
  }
  const TerminalOptions terminal = terminal_options(stdout);
  fmt::print("{}\n", terminal.styled(terminal.text(fmt::format(
                                         "{}, {}; simulated and predicted{}",
                                         problem_text(a.annotated().launch, b.annotated().launch),
                                         device.name, measured ? "" : ", not measured")),
                                     Style::bold));
  for (const auto& [name, failure] : failures) {
    if (failure.empty()) continue;
    const std::string line = fmt::format("{} {}", name, failure);
    fmt::print("{}\n", terminal.styled(terminal.text(line), Style::wrong));
  }
  fmt::print("{}\n",
             line_comparison_text(compare_lines(a.annotated(), b.annotated()),
                                  {{fmt::format("{}:{}", before.family.id, before.variant.id),
                                    a.band()},
                                   {fmt::format("{}:{}", after.family.id, after.variant.id),
                                    b.band()}},
                                  measured, options.all, terminal));
}

}  // namespace

ExitCode compare_sources(const Context& context, const SourceComparisonOptions& options) {
  // Versions of a file have the same name, which a registry can have only once.
  Registry of_after;
  own::OwnFiles files_after(of_after, kernel_compiler());
  of_after.set_kernel_files(files_after.callbacks());
  const Context context_after{of_after, files_after, context.resources, {}, {}};
  catch_interrupts();
  try {
    const auto specs = device_specs();
    const bool measures = options.gpu.empty() && !no_device_reason();
    const DeviceSpec device =
        measures ? query_device(options.device, specs).spec
                 : find_device_spec(specs, options.gpu.empty() ? kDefaultGpu : options.gpu).spec;
    const auto capability = [&] { return std::vector<int>{device.compute_capability()}; };
    context.kernel_files.compile_first_for(capability);
    files_after.compile_first_for(capability);
    const std::vector<VariantPair> pairs = pairs_of(context.registry, of_after, options);
    std::optional<SourceWorkers> workers;
    if (measures)
      workers.emplace(std::array<const own::OwnFiles*, 2>{&context.kernel_files, &files_after},
                      options.device);
    for (const VariantPair& pair : pairs)
      compare_pair(context, context_after, pair, options, device, workers ? &*workers : nullptr);
    return interrupted() ? ExitCode::interrupted : ExitCode::ok;
  } catch (const sim::Stopped&) {
    return ExitCode::interrupted;
  } catch (const sim::Fault& fault) {
    fmt::print(stderr, "gpuexp: compare: {}\n", fault.what());
  } catch (const DeviceError& error) {
    fmt::print(stderr, "gpuexp: compare: {}\n", error.what());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "gpuexp: compare: not enough host memory\n");
  }
  return ExitCode::failed;
}

}  // namespace gpuexp::cli
