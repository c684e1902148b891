#include "cli/run.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/run_comparison.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/figure_models.hpp"
#include "cli/provenance.hpp"
#include "cli/recorder.hpp"
#include "cli/results_file.hpp"
#include "cli/resume.hpp"
#include "cli/simulation.hpp"
#include "gpu/nvml_sampler.hpp"
#include "gpu/nvtx_tracer.hpp"
#include "plan/runnable.hpp"
#include "plan/shard.hpp"
#include "render/page.hpp"
#include "render/terminal.hpp"
#include "results/csv_write.hpp"
#include "results/json_write.hpp"
#include "run/compared_elements.hpp"
#include "run/kernel_file_checks.hpp"
#include "run/runner.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

std::unique_ptr<Output> open_output(const std::string& path) {
  if (path == "-") return std::make_unique<Output>(stdout, "standard output");
  return std::make_unique<Output>(path);
}

/// Empty for a verification, which writes no results.
fs::path results_dir(const RunArguments& options, const Config& config, std::time_t started) {
  if (options.verify_only) return {};
  if (!options.resume.empty()) return options.resume;
  return claimed_folder(options.out, config.name, started);
}

class Run {
 public:
  Run(const Context& context, const RunArguments& options, JobRanks* others)
      : context_(context), options_(options), others_(others) {
    if (!options.shard.empty()) shard_ = parse_shard(options.shard);
    if (options.simulate.empty()) {
      compile_first_for_device(context, options.device.device);
    } else {
      compile_first_for(context, options.simulate);
    }
    if (options.resume.empty()) {
      config_ = options.config.read_as_one(context.registry);
    } else {
      resumed_ = read_resumable(options.resume, context.registry, shard_);
      const DeviceProvenance& original_device = resumed_->log.report.provenance.device;
      if (options.simulate.empty() && original_device.is_simulated())
        throw ConfigError(fmt::format("--resume {}: that run was simulated; add --simulate {}",
                                      options.resume,
                                      shell_word(original_device.name.value_or(kDefaultGpu))));
      config_ = resumed_->config;
      shard_ = resumed_->log.origin.shard;
    }
    if (is_profile()) {
      for (Experiment& experiment : config_.experiments)
        experiment.modes = {Mode::profile};
    }
    // Published figures refer to times, which neither a profile nor a verification measures.
    if (is_profile() || options.verify_only) config_.figures.clear();
    check_outputs();
    if (options.need_libraries) check_libraries();
    if (!options.blocks.empty()) {
      if (options.simulate.empty())
        throw ConfigError("--blocks: needs --simulate; a GPU executes all blocks");
      blocks_ = read_blocks(options.blocks);
    }
    if (!options.against.empty()) {
      against_ = read_results(options.against);
      check_measured(options.against, *against_);
    }
  }

  ExitCode run() {
    std::string no_device;
    auto opened = options_.simulate.empty()
                      ? open_device(device_options(), no_device)
                      : OpenDevice{simulated_device(options_.simulate), nullptr};
    if (!opened) {
      fmt::print(stderr,
                 "gpuexp: no GPU: {}\n"
                 "gpuexp: --simulate {} executes the kernels on the CPU\n",
                 no_device, kDefaultGpu);
      return ExitCode::no_device;
    }
    device_ = std::move(*opened);
    plan_ = make_plan(config_, device_.info.spec, context_.resources, device_.info.free_bytes);
    without_code_ = without_code(plan_);
    whole_plan_ = sharded_cells(plan_, shard_.value_or(Shard{}).count);
    if (shard_) keep_shard(*shard_, plan_);
    plan_.ceiling_source = ceiling_source_of(device_.info);
    if (device_.info.spec.simulated) {
      skip_unsimulated_cells(plan_, context_.resources, blocks_);
      device_.executor =
          simulated_executor(context_, device_.info, options_.device.launch_timeout_s, blocks_);
    }
    if (options_.verify_only) check_references(plan_);
    if (options_.select) options_.select(plan_);
    if (resumed_) check_resumable(*resumed_, plan_, whole_plan_, device_.info);
    if (against_) keep_planned(*against_, plan_);
    if (!is_profile() && !options_.verify_only) check_counters();
    const std::time_t started = std::time(nullptr);
    const fs::path dir = results_dir(options_, config_, started);
    catch_interrupts();
    model_figures(config_, device_.info.spec, plan_.ceiling_source, context_, predicting_threads());
    ProfilerControl* const profiler = is_profile() ? device_.executor->profiler() : nullptr;
    if (profiler) profiler->start_profiler();
    const ExitCode code = measure(started, dir);
    if (profiler) profiler->stop_profiler();
    return code;
  }

 private:
  DeviceOptions device_options() {
    DeviceOptions device = options_.device;
    device.others = others_;
    use_kernel_files(device, context_.kernel_files);
    const bool spans_gpus = std::ranges::any_of(
        config_.experiments, [](const Experiment& e) { return static_cast<bool>(e.family->gpus); });
    device.isolated = !options_.no_isolate && (!options_.profile || spans_gpus);
    device.gated = device.isolated && !options_.no_gate && !options_.profile;
    device.joined = [this](const RankProvenance& rank) { join(rank); };
    adapt_to_attached_tool(device, spans_gpus, options_.quiet);
    return device;
  }

  /// Rank 0 joins before the recorder exists, so it is recorded when rank 1 joins. Without other
  /// ranks it is not recorded, because the provenance has its GPU.
  void join(const RankProvenance& rank) {
    if (rank.rank == 0) {
      first_rank_ = rank;
      return;
    }
    if (rank.rank == 1) recorder_->rank_joined(first_rank_);
    recorder_->rank_joined(rank);
  }

  bool is_profile() const { return options_.profile || (resumed_ && resumed_->log.origin.profile); }

  /// Throws before measuring if an output file cannot be written.
  void check_outputs() const {
    for (const std::string& target : {options_.csv, options_.json}) {
      if (!target.empty() && target != "-") check_writable(target);
    }
    if (options_.csv == "-" && options_.json == "-")
      throw ConfigError("--csv - --json -: only one of them can be written to standard output");
    if (!options_.csv.empty() && options_.csv != "-" && options_.csv == options_.json)
      throw ConfigError(
          fmt::format("--csv and --json both name {}; expected two files", options_.csv));
  }

  void check_libraries() const {
    const std::vector<std::string> missing = missing_libraries(config_);
    if (!missing.empty())
      throw ConfigError(fmt::format("--need-libraries: {}", fmt::join(missing, "; ")));
  }

  /// A verification of outputs without a reference would say nothing.
  void check_references(const Plan& plan) const {
    std::string only;  // compared with its own results; empty once another cell is planned
    bool has_other = false;
    for (const Group& group : plan.groups) {
      const Family& family = *plan.experiment(group).family;
      for (const Cell& cell : group.cells) {
        if (!cell.skip_reason.empty()) continue;
        if (has_only_own_results(&context_.registry.kernel_files(), family, *cell.variant))
          only = family.id + "/" + cell.variant->id;
        else
          has_other = true;
        const auto unverified = unverified_outputs(family, *cell.variant);
        if (unverified.empty()) continue;
        throw ConfigError(fmt::format(
            "{}/{}: nothing to verify {} with; declare the expected values, such as '// gpuexp: "
            "check {}[i] = …' with an index for each extent, or let gpuexp run report the variant "
            "as unverified; if the kernel only reads {}, declare it as 'in {}'",
            family.id, cell.variant->id, fmt::join(unverified, ", "), unverified.front(),
            unverified.front(), unverified.front()));
      }
    }
    if (only.empty() || has_other) return;
    throw ConfigError(
        fmt::format("{}: nothing to verify it with, because its expected values come from a "
                    "launch of the same kernels; select another variant too, or declare a check",
                    only));
  }

  /// Removes the earlier run's rows of cells that the plan lacks; such rows would count as missing.
  void keep_planned(Report& earlier, const Plan& plan) {
    std::set<std::string> planned;
    for (const Group& group : plan.groups) {
      for (const Cell& cell : group.cells)
        planned.insert(cell_key(plan, group, cell));
    }
    const std::size_t rows = earlier.table.rows.size();
    keep_keys(earlier, planned);
    left_out_ = rows - earlier.table.rows.size();
    if (earlier.table.rows.empty()) {
      throw ConfigError(fmt::format("--against {}: none of its {} is among the planned {}",
                                    options_.against, counted(rows, "row"),
                                    counted(planned.size(), "cell")));
    }
  }

  /// A counter that the device lacks leaves its column empty. A Nsight Compute metric that the
  /// device lacks is an error; in a simulated run, a missing counter is also an error.
  void check_counters() {
    const std::vector<std::string> names = config_.counters();
    if (names.empty()) return;
    CounterReader* const reader = device_.executor->counter_reader();
    const CounterSupport support = reader
                                       ? reader->counter_support(metrics_of(select_counters(names)))
                                       : CounterSupport{"this executor has no counters", {}};
    missing_metrics_.insert(support.unknown.begin(), support.unknown.end());
    for (const std::string& name : names) {
      const Counter* const counter = find_counter(name);
      const bool is_missing =
          missing_metrics_.count(counter ? std::string(counter->numerator) : name) > 0;
      if (!is_missing) continue;
      if (device_.info.spec.simulated)
        throw ConfigError(fmt::format("counters: {} is not simulated", name));
      if (counter) continue;  // some GPUs lack a counter: its column stays empty
      throw ConfigError(
          fmt::format("counters: {} has no metric {}; gpuexp list metrics '*' lists its metrics, "
                      "to which .sum, .avg, .max, .min, .pct or .ratio is appended",
                      device_.info.spec.name, name));
    }
    counters_ = support.unavailable.empty();
    if (!counters_ && !options_.quiet) {
      fmt::print(stderr, "gpuexp: no hardware counters, and their columns stay empty: {}\n",
                 support.unavailable);
    }
  }

  ExitCode measure(std::time_t started, const fs::path& dir) {
    const Plan& plan = plan_;
    Provenance provenance =
        resumed_ ? resumed_->log.report.provenance
                 : provenance_of(context_, plan, device_.info, started, !options_.no_source);
    if (shard_) provenance.shard = to_string(*shard_);
    RunOptions run_options;
    run_options.kind = options_.verify_only ? RunKind::verify : RunKind::measure;
    Recorder recorder(plan, context_.resources, run_options.kind, options_.quiet);
    recorder_ = &recorder;
    if (!options_.csv.empty()) recorder.add_csv(open_output(options_.csv));
    run_options.seed = plan.config->seed;
    run_options.kernel_files = &context_.registry.kernel_files();
    run_options.interrupted = [this] {
      if (others_) others_->check();
      return interrupted();
    };
    run_options.counters = counters_;
    run_options.missing_metrics = missing_metrics_;
    if (resumed_) keep_finished(*resumed_, plan, recorder, run_options);
    std::optional<CodePredictor> predictor;
    if (!options_.verify_only && !is_profile()) {
      predictor.emplace(plan, context_.resources, code_predictor_options(predicting_threads()));
      run_options.refine_prediction = [&](const Cell& cell, Prediction& prediction) {
        predictor->refine(cell, prediction);
      };
      run_options.is_predicted = [&](const Cell& cell) { return predictor->is_predicted(cell); };
      if (device_.info.spec.simulated) {
        run_options.add_counts = [&](const Cell& cell, LaunchCounts& counts) {
          predictor->count_caches(cell, counts);
        };
      }
    }
    std::optional<NvmlSampler> nvml;
    if (!device_.info.spec.simulated) {
      nvml.emplace(device_.info.uuid);  // its thread starts after the predictor has forked
      run_options.telemetry = [&](double from_s, double to_s) {
        return nvml->between(from_s, to_s);
      };
    }
    recorder.save_mismatches(options_.verify_only ? fs::path(options_.mismatches)
                                                  : dir / "mismatches");
    if (!options_.verify_only) {
      recorder.set_log(open_log(dir, plan, recorder, provenance));
      say_at_second_interrupt("\ngpuexp: interrupted" + how_to_continue(dir) + "\n");
    }
    const auto tracer = make_nvtx_tracer();
    try {
      run_plan(plan, context_.resources, *device_.executor, *tracer, recorder, run_options);
    } catch (const ReportError& e) {
      throw ReportError(e.what() + how_to_continue(dir));
    } catch (const JobLost& e) {
      throw JobLost(e.what() + how_to_continue(dir));
    }
    const Report report = recorder.finish(provenance, !interrupted());
    write_reports(report, dir);
    if (!options_.quiet) print_notes(recorder, report);
    if (interrupted() && !options_.verify_only)
      fmt::print(stderr, "gpuexp: interrupted{}\n", how_to_continue(dir));
    const ExitCode code = machine_lacks_all() ? ExitCode::no_device : code_of(report);
    return against_ ? std::max(code, compare(report, dir)) : code;
  }

  /// A variant without code fails the run, because its results are missing.
  ExitCode code_of(const Report& report) const {
    const ExitCode code = exit_code_of(report);
    for (const std::string& message : messages_without_code(without_code_))
      fmt::print(stderr, "gpuexp: {}\n", message);
    return code == ExitCode::ok && !without_code_.empty() ? ExitCode::failed : code;
  }

  bool machine_lacks_all() const {
    return plan_.cell_count() > 0 && std::ranges::all_of(plan_.groups, [](const Group& group) {
             return std::ranges::all_of(group.cells, [](const Cell& cell) {
               return cell.skip_cause == SkipCause::machine_lacks;
             });
           });
  }

  /// Empty for a verification, which cannot be continued.
  std::string how_to_continue(const fs::path& dir) const {
    if (options_.verify_only) return "";
    std::string again;
    const auto add = [&](const char* option, const std::string& value) {
      if (!value.empty()) again += fmt::format(" {} {}", option, shell_word(value));
    };
    add("--simulate", options_.simulate);
    add("--blocks", options_.blocks);
    add("--csv", options_.csv);
    add("--json", options_.json);
    const std::string folder = shell_word(dir.string());
    return fmt::format(
        "; results so far are in {}: show them with gpuexp report {}, or continue with gpuexp run "
        "--resume {}{}",
        (dir / kRunLogName).string(), folder, folder, again);
  }

  /// Threads for predictions: all but two, which measuring and the driver use; half of all threads
  /// if the CPU also executes the kernels; at least one.
  unsigned predicting_threads() const {
    const unsigned all = host_threads();
    if (device_.info.spec.simulated) return std::max(1u, all / 2);
    return all > 3 ? all - 2 : 1;
  }

  std::unique_ptr<RunLogWriter> open_log(const fs::path& dir, const Plan& plan,
                                         const Recorder& recorder,
                                         const Provenance& provenance) const {
    const std::string path = dir / kRunLogName;
    if (resumed_) {
      auto log = std::make_unique<RunLogWriter>(path);
      log->event("resumed");
      return log;
    }
    const ConfigOverrides& overrides = options_.config.overrides;
    const RunOrigin origin{build_id(),       overrides.seed, overrides.sets, overrides.filters,
                           options_.profile, shard_,         whole_plan_};
    return std::make_unique<RunLogWriter>(path, recorder.blank_report(provenance),
                                          plan.cell_count(), origin);
  }

  void write_reports(const Report& report, const fs::path& dir) const {
    const JsonOptions json{!options_.no_samples};
    if (!options_.verify_only) write_results(report, dir, json);
    if (options_.json == "-") {
      Output out(stdout, "standard output");
      print_json(
          report, [&](std::string_view part) { out.write(part); }, json);
      out.close();
    } else if (!options_.json.empty()) {
      write_json(report, options_.json, json);
    }
    if (options_.quiet) return;
    if (options_.print) {
      options_.print(report);
    } else if (!options_.stdout_is_taken()) {
      fmt::print("{}", render_terminal(page_of(report), terminal_options(stdout)));
    }
    if (!options_.verify_only) fmt::print(stderr, "results are in {}\n", dir.string());
  }

  ExitCode compare(const Report& report, const fs::path& dir) const {
    ComparisonOutput output;
    output.page = !options_.quiet && !options_.stdout_is_taken();
    output.csv = dir / "comparison.csv";
    output.json = dir / "comparison.json";
    std::vector<std::string> notes;
    if (left_out_ > 0) {
      notes.push_back(fmt::format(
          "{} of A left out, because this plan does not have them; kernels measured together share "
          "clock and power, and may be faster if there are fewer of them",
          counted(left_out_, "row")));
    }
    return compare_and_show({options_.against, *against_}, {dir.string(), report},
                            options_.comparison, output, notes);
  }

  const Context& context_;
  const RunArguments& options_;
  JobRanks* others_;  ///< the other ranks of the job; null outside a job
  Config config_;
  std::optional<Resumable> resumed_;
  std::optional<Report> against_;
  bool counters_ = true;  ///< hardware counters can be read
  std::set<std::string> missing_metrics_;
  std::size_t left_out_ = 0;  ///< rows of against_ that this plan does not have
  OpenDevice device_;
  std::optional<Shard> shard_;           ///< empty: the whole plan
  std::vector<ShardedCell> whole_plan_;  ///< cells of all shards
  Plan plan_;                            ///< the cells of this run
  std::vector<Cell> without_code_;       ///< a cell of each variant that cannot run for this reason
  ExecutedBlocks blocks_;
  RankProvenance first_rank_;
  Recorder* recorder_ = nullptr;  ///< set by measure()
};

}  // namespace

ExitCode start_run(const Context& context, const RunArguments& options) {
  return run_as_launched(context, options.launch, !options.shard.empty(),
                         [&](JobRanks* others) { return Run(context, options, others).run(); });
}

}  // namespace gpuexp::cli
