#include <algorithm>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/figure_models.hpp"
#include "cli/number_checks.hpp"
#include "cli/run.hpp"
#include "cli/tuning_ranking.hpp"

namespace gpuexp::cli {

namespace {

struct TuneArguments {
  RunArguments run;
  std::string gpu;
  std::size_t best = 10;
};

class Tune {
 public:
  Tune(const Context& context, const TuneArguments& options)
      : context_(context), options_(options) {
    const std::vector<std::string>& files = options.run.config.configs;
    if (files.size() != 1 || !is_kernel_file(files.front()))
      throw ConfigError(fmt::format("tune {}: expected one kernel file, such as sgemm.cu",
                                    fmt::join(files, " ")));
  }

  ExitCode run() { return options_.gpu.empty() ? execute() : predict(); }

 private:
  ExitCode predict() {
    compile_first_for(context_, options_.gpu);
    const Config config = options_.run.config.read_as_one(context_.registry);
    const auto specs = device_specs();
    const DeviceSpec& gpu = find_device_spec(specs, options_.gpu).spec;
    Plan plan = make_plan(config, gpu, context_.resources, gpu.memory_bytes);
    plan.ceiling_source = ceiling_source_of(gpu, gpu.id);
    catch_interrupts();
    rank(plan);
    if (interrupted()) return ExitCode::interrupted;
    fmt::print("{}\n\n{}", heading(plan), ranking_->text(options_.best, nullptr));
    fmt::print(
        "predicted only: no point was verified or measured; with --simulate {} instead of --gpu, "
        "the best points are verified\n",
        options_.gpu);
    return has_points() ? ExitCode::ok : ExitCode::failed;
  }

  ExitCode execute() {
    RunArguments run = options_.run;
    run.select = [this](Plan& plan) {
      rank(plan);
      ranking_->keep_best(plan, options_.best);
      heading_ = heading(plan);
    };
    run.print = [this](const Report& report) {
      fmt::print("{}\n\n{}", heading_, ranking_->text(options_.best, &report));
      if (report.provenance.device.is_simulated())
        fmt::print("executed in the simulator: {}, no point was measured\n",
                   ranking_->verified_text(options_.best, report));
    };
    return start_run(context_, run);
  }

  void rank(const Plan& plan) {
    const Family& family = *plan.config->experiments.front().family;
    ranking_.emplace(plan, context_.kernel_files.tuning_parameters(family), context_.resources,
                     code_predictor_options(host_threads()));
  }

  static std::string heading(const Plan& plan) {
    return fmt::format("tuning of {} for {}: {}; predictions from {}",
                       plan.config->experiments.front().family->id, plan.device.name,
                       counted(plan.cell_count(), "point"), plan.ceiling_source.source);
  }

  bool has_points() const {
    return std::ranges::any_of(
        ranking_->problems(), [](const TuningProblem& problem) { return !problem.ranked.empty(); });
  }

  const Context& context_;
  const TuneArguments& options_;
  std::optional<TuningRanking> ranking_;
  std::string heading_;
};

}  // namespace

void add_tune(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "tune", "rank a kernel file's template arguments, macros and blocks by predicted time");
  auto options = std::make_shared<TuneArguments>();
  options->run.config.add_to(*command);
  command->get_option("config")->description("one kernel file, such as sgemm.cu")->expected(1);
  Option* gpu = command->add_option(
      "--gpu", options->gpu,
      "rank by predicted time for this GPU (gpuexp list), and execute nothing; without it, the "
      "best points are verified and timed on this machine's GPU");
  command
      ->add_option("--best", options->best,
                   "number of points per problem that are printed and executed (default: 10)")
      ->check(at_least_one());
  command
      ->add_option("--out", options->run.out,
                   "folder for the results of the executed points, as for run (default: "
                   "results/NAME-UTC)")
      ->excludes(gpu);
  add_device_options(*command, options->run);
  gpu->excludes("--simulate")->excludes("--device");
  command->footer(
      "example: gpuexp tune docs/examples/sgemm.cu --gpu h200 --set m=4096 --set n=4096 --set "
      "k=4096\n"
      "exit codes: the same as for run (gpuexp run --help)");
  on_chosen(*command, context, [&context, options] { return Tune(context, *options).run(); });
}

}  // namespace gpuexp::cli
