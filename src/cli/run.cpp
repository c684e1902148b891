#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>
#include <unistd.h>

#include "build_info.hpp"
#include "cli/app.hpp"
#include "cli/progress.hpp"
#include "core/columns.hpp"
#include "core/runner.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "gpu/nvtx_tracer.hpp"
#include "report/csv.hpp"
#include "report/json.hpp"
#include "report/terminal.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t g_interrupted = 0;
volatile std::time_t g_interrupted_at = 0;

// The first signal ends the run after the launch in flight. A second one ends the process, in case
// that launch never returns; not at once, because tools such as timeout(1) signal the process and
// its group.
void interrupt(int signal) {
  constexpr std::time_t kPatienceS = 2;
  const std::time_t now = std::time(nullptr);
  if (!g_interrupted) {
    g_interrupted = 1;
    g_interrupted_at = now;
  } else if (now - g_interrupted_at >= kPatienceS) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

struct Options {
  ConfigOptions config;
  std::string out;
  std::string csv;
  std::string json;
  int device = 0;
  bool profile = false;
  bool verify_only = false;
  bool quiet = false;

  bool stdout_is_taken() const { return csv == "-" || json == "-"; }
};

std::string utc(const char* format, std::time_t at) {
  std::array<char, 32> text{};
  std::tm parts{};
  gmtime_r(&at, &parts);
  const std::size_t length = std::strftime(text.data(), text.size(), format, &parts);
  return {text.data(), length};
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

template <class To, class From>
std::optional<To> converted(const std::optional<From>& value) {
  if (!value) return std::nullopt;
  return static_cast<To>(*value);
}

DeviceProvenance provenance_of(const DeviceInfo& device) {
  DeviceProvenance p;
  p.name = device.spec.name;
  p.uuid = device.uuid;
  p.pci_bus_id = device.pci_bus_id;
  p.compute_capability = fmt::format("{}.{}", device.spec.cc_major, device.spec.cc_minor);
  p.sm_count = device.spec.sm_count;
  p.driver_version = device.readings.driver_version;
  p.runtime_version = runtime_version();
  p.sm_clock_mhz = converted<std::int64_t>(device.readings.sm_clock_mhz);
  p.sm_clock_max_mhz = static_cast<std::int64_t>(device.spec.sm_clock_max_mhz);
  p.memory_clock_mhz = converted<std::int64_t>(device.readings.memory_clock_mhz);
  p.power_limit_w = device.readings.power_limit_w;
  p.temperature_c = converted<std::int64_t>(device.readings.temperature_c);
  p.ecc_enabled = device.readings.ecc_enabled;
  p.memory_total_bytes = device.spec.memory_bytes;
  p.memory_free_bytes = device.free_bytes;
  return p;
}

Provenance provenance_of(const Context& context, const Config& config, const DeviceInfo& device,
                         std::time_t started) {
  Provenance p;
  p.gpuexp_version = build_info::version;
  p.git_commit = build_info::git_commit;
  p.git_dirty = build_info::git_dirty;
  p.compiler = build_info::compiler;
  p.cuda_toolkit = build_info::cuda_compiler_version;
  p.utc = utc("%Y-%m-%dT%H:%M:%SZ", started);
  p.host = host_name();
  p.argv = context.argv;
  p.config.path = config.path;
  p.config.name = config.name;
  p.config.sha256 = config.hash;
  p.config.text = config.text;
  p.settings.emplace_back("seed", std::to_string(config.seed));
  for (const Experiment& e : config.experiments) {
    const MeasureSettings& m = e.measure;
    p.settings.emplace_back(e.name + ".min_samples", std::int64_t{m.min_samples});
    p.settings.emplace_back(e.name + ".max_samples", std::int64_t{m.max_samples});
    p.settings.emplace_back(e.name + ".max_seconds", m.max_seconds);
    p.settings.emplace_back(e.name + ".target_relative_ci", m.target_relative_ci);
    p.settings.emplace_back(e.name + ".warmup_launches", std::int64_t{m.warmup_launches});
  }
  p.device = provenance_of(device);
  return p;
}

/// Writes every row as it comes and keeps it for the reports at the end.
class Recorder final : public RunObserver {
 public:
  Recorder(const Plan& plan, const KernelResources& resources, const Options& options)
      : plan_(plan),
        resources_(resources),
        columns_(columns_of(plan)),
        table_(empty_table(columns_)),
        progress_(plan.cell_count(), estimated_total(), !options.quiet && stderr_is_terminal()) {}

  /// Rows go there from now on.
  void add_csv(std::unique_ptr<Output> output) {
    writers_.emplace_back(*output, table_.columns);
    outputs_.push_back(std::move(output));
  }

  void cell_started(const Group& group, const Cell& cell, const std::string& key) override {
    progress_.started(key, estimated(group, cell));
  }

  void row_finished(const Row& row) override {
    table_.rows.push_back(fields_of(columns_, plan_, row));
    samples_us_.push_back(row.samples_us);
    for (CsvWriter& writer : writers_)
      writer.write_row(table_.rows.back());
    progress_.finished();
  }

  Report report(Provenance provenance, bool complete) && {
    return {std::move(provenance), std::move(table_), std::move(samples_us_), complete};
  }

 private:
  double estimated(const Group& group, const Cell& cell) const {
    return estimated_seconds(plan_, group, predict_cell(plan_, group, cell, resources_));
  }

  double estimated_total() const {
    double seconds = 0;
    for (const Group& group : plan_.groups) {
      for (const Cell& cell : group.cells)
        seconds += estimated(group, cell);
    }
    return seconds;
  }

  const Plan& plan_;
  const KernelResources& resources_;
  std::vector<Column> columns_;
  Table table_;
  std::vector<std::vector<double>> samples_us_;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::vector<CsvWriter> writers_;
  Progress progress_;
};

std::unique_ptr<Output> open_output(const std::string& path) {
  if (path == "-") return std::make_unique<Output>(stdout, "standard output");
  return std::make_unique<Output>(path);
}

fs::path results_dir(const Options& options, const Config& config, std::time_t started) {
  if (options.out.empty()) {
    return fs::path("results") / fmt::format("{}-{}", config.name, utc("%Y%m%dT%H%M%SZ", started));
  }
  return options.config.configs.size() == 1 ? fs::path(options.out)
                                            : fs::path(options.out) / config.name;
}

RunKind kind_of(const Options& options) {
  if (options.verify_only) return RunKind::verify;
  return options.profile ? RunKind::profile : RunKind::measure;
}

ExitCode exit_code_of(const std::vector<Row>& rows) {
  const auto any = [&](Status status) {
    return std::any_of(rows.begin(), rows.end(), [&](const Row& r) { return r.status == status; });
  };
  if (g_interrupted) return ExitCode::interrupted;
  if (any(Status::incorrect)) return ExitCode::incorrect;
  if (any(Status::failed) || any(Status::timeout) || any(Status::not_run)) return ExitCode::failed;
  return ExitCode::ok;
}

class Command {
 public:
  Command(const Context& context, const Options& options)
      : context_(context), options_(options), configs_(options.config.read(context.registry)) {
    check_outputs();
  }

  ExitCode run() {
    if (const auto reason = no_device_reason()) {
      fmt::print(stderr, "gpuexp: no GPU: {}\n", *reason);
      return ExitCode::no_device;
    }
    if (options_.device < 0 || options_.device >= device_count()) {
      throw ConfigError(fmt::format("--device {}: this machine has devices 0 to {}",
                                    options_.device, device_count() - 1));
    }
    device_ = query_device(options_.device, device_specs());
    // Every plan is made before the first launch, so that a mistake in the last config costs
    // nothing.
    for (const Config& config : configs_) {
      plans_.push_back(make_plan(config, device_.spec, context_.resources, device_.free_bytes));
    }
    const std::time_t started = std::time(nullptr);
    for (const Config& config : configs_)
      claim(results_dir(options_, config, started));
    std::signal(SIGINT, interrupt);
    std::signal(SIGTERM, interrupt);
    const auto executor = make_cuda_executor(options_.device, device_.spec);
    ExitCode worst = ExitCode::ok;
    // Around all configs at once: a profiler ends at the first stop.
    if (options_.profile) executor->start_profiler();
    for (const Plan& plan : plans_)
      worst = std::max(worst, run_one(plan, *executor, started));
    if (options_.profile) executor->stop_profiler();
    return worst;
  }

 private:
  /// What --csv and --json name holds one table or report, and must be open to writing before
  /// anything is measured.
  void check_outputs() const {
    for (const auto& [option, target] :
         {std::pair{"--csv", options_.csv}, std::pair{"--json", options_.json}}) {
      if (target.empty()) continue;
      if (configs_.size() > 1) {
        throw ConfigError(
            fmt::format("{} {}: takes the results of one config, and {} are given; "
                        "--out has a folder for each",
                        option, target, configs_.size()));
      }
      if (target != "-") check_writable(target);
    }
    if (options_.csv == "-" && options_.json == "-")
      throw ConfigError("--csv - --json -: standard output takes one of them");
    if (!options_.csv.empty() && options_.csv != "-" && options_.csv == options_.json)
      throw ConfigError(fmt::format("--csv and --json are both {}", options_.csv));
  }

  /// Makes the folder, and refuses one that holds results: a run never overwrites another.
  void claim(const fs::path& dir) const {
    if (options_.verify_only) return;
    for (const char* file : {"results.csv", "results.json"}) {
      if (fs::exists(dir / file)) {
        throw ConfigError(
            fmt::format("{} exists; name another folder with --out", (dir / file).string()));
      }
    }
    fs::create_directories(dir);
  }

  ExitCode run_one(const Plan& plan, Executor& executor, std::time_t started) {
    const fs::path dir = results_dir(options_, *plan.config, started);
    Recorder recorder(plan, context_.resources, options_);
    if (!options_.verify_only) recorder.add_csv(open_output(dir / "results.csv"));
    if (!options_.csv.empty()) recorder.add_csv(open_output(options_.csv));

    RunOptions run_options;
    run_options.kind = kind_of(options_);
    run_options.seed = plan.config->seed;
    run_options.interrupted = [] { return g_interrupted != 0; };
    const auto tracer = make_nvtx_tracer();
    const auto rows = run_plan(plan, context_.resources, executor, *tracer, recorder, run_options);

    const Report report = std::move(recorder).report(
        provenance_of(context_, *plan.config, device_, started), !g_interrupted);
    write_reports(report, dir);
    return exit_code_of(rows);
  }

  void write_reports(const Report& report, const fs::path& dir) const {
    if (!options_.verify_only) write_json(report, dir / "results.json");
    if (options_.json == "-") {
      fmt::print("{}\n", to_json(report));
    } else if (!options_.json.empty()) {
      write_json(report, options_.json);
    }
    if (options_.quiet) return;
    if (!options_.stdout_is_taken())
      fmt::print("{}", render_terminal(report, terminal_options(stdout)));
    if (!options_.verify_only) fmt::print(stderr, "results are in {}\n", dir.string());
  }

  const Context& context_;
  const Options& options_;
  std::vector<Config> configs_;
  DeviceInfo device_;
  std::vector<Plan> plans_;
};

}  // namespace

void add_run(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("run", "verify and time every cell of configs, write CSV and JSON");
  auto options = std::make_shared<Options>();
  options->config.add_to(*command);
  command->add_option("--out", options->out,
                      "folder for results.csv and results.json; default results/NAME-UTC");
  command->add_option("--csv", options->csv, "write the CSV there too; - is standard output");
  command->add_option("--json", options->json, "write the JSON there too; - is standard output");
  command->add_option("--device", options->device, "ordinal of the GPU (gpuexp info); default 0");
  command->add_flag(
      "--profile", options->profile,
      "one launch per cell, for nsys and ncu, in one cudaProfilerStart/Stop; no times");
  command->add_flag("--quiet", options->quiet, "no progress and no table");
  command->footer(
      "example: gpuexp run matmul --filter 'matmul/smem_*' --set n=1024,2048 --csv - > tiling.csv\n"
      "exit codes: 0 all passed, 1 internal error or failed output, 2 usage or config, 3 incorrect "
      "results, 4 failed cells, 5 no usable GPU, 130 interrupted");
  command->callback([&context, options] {
    context.action = [&context, options] { return Command(context, *options).run(); };
  });
}

void add_verify(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "verify", "check every cell of configs against its fp64 reference; no timing");
  auto options = std::make_shared<Options>();
  options->verify_only = true;
  options->config.add_to(*command);
  command->add_option("--csv", options->csv, "write the rows there; - is standard output");
  command->add_option("--json", options->json, "write the report there; - is standard output");
  command->add_option("--device", options->device, "ordinal of the GPU (gpuexp info); default 0");
  command->add_flag("--quiet", options->quiet, "the exit code alone");
  command->footer("example: gpuexp verify all --filter 'matmul*/*'");
  command->callback([&context, options] {
    context.action = [&context, options] { return Command(context, *options).run(); };
  });
}

}  // namespace gpuexp::cli
