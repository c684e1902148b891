#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/csv.hpp"
#include "base/json.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "cli/app.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/figure_models.hpp"
#include "cli/progress.hpp"
#include "model/prediction.hpp"
#include "plan/runnable.hpp"
#include "render/figure_views.hpp"
#include "render/prediction_text.hpp"
#include "render/terminal.hpp"
#include "results/json_figures.hpp"

namespace gpuexp::cli {

namespace {

struct PredictArguments {
  ConfigOptions config;
  std::string gpu;
  bool json = false;
  bool csv = false;
  bool limits = false;  ///< omit predicted times and execute nothing
};

std::string number(double value, int decimals) {
  return fmt::format("{:.{}f}", value, decimals);
}

/// A table with one row per cell: its predictions, or the reason why it is skipped.
class PredictionReport {
 public:
  PredictionReport(const Plan& plan, const KernelResources& resources, bool with_times)
      : plan_(plan), resources_(resources) {
    std::optional<CodePredictor> predictor;
    if (with_times) {
      predictor.emplace(plan, resources, code_predictor_options(host_threads()));
    }
    CountOnTerminal done("predicted", plan.cell_count());
    for (const Group& group : plan.groups) {
      for (const Cell& cell : group.cells) {
        if (interrupted()) return;
        add(group, cell, predictor ? &*predictor : nullptr);
        done.add();
      }
    }
  }

  void print_text() const {
    const char* const titles[] = {"bytes",     "operations", "blocks",    "blocks/SM",
                                  "waves",     "tail",       "min. time", "limited by",
                                  "predicted", "± %",        "bound by"};
    TextTable table;
    table.add_column("cell", Align::left);
    for (const char* title : titles)
      table.add_column(title, Align::right);
    for (const auto& cells : rows_)
      table.add_row(cells);
    fmt::print(
        "computed for {}, not measured; min. time: datasheet; predicted: {}\n"
        "\n"
        "{}\n",
        plan_.device.name, plan_.ceiling_source.source, table.render());
    if (other_architectures_ > 0) {
      fmt::print(
          "{} {} the registers of another architecture: this binary holds no code for compute "
          "capability {}.{}\n",
          counted(other_architectures_, "cell"), noun_for(other_architectures_, "uses", "use"),
          plan_.device.cc_major, plan_.device.cc_minor);
    }
    if (without_registers_ > 0) {
      fmt::print(
          "{} without occupancy: this binary's resource table lacks the kernels, or a library "
          "chooses them\n",
          counted(without_registers_, "cell"));
    }
    if (assumed_work_ > 0)
      fmt::print(
          "{} with assumed work: each buffer is read or written once; a statement such as '// "
          "gpuexp: work fp32 = 2*m*n*k' declares operations\n",
          counted(assumed_work_, "cell"));
    for (const auto& [why, cells] : without_time_)
      fmt::print("{} {} no predicted time: {}\n", counted(cells, "cell"),
                 noun_for(cells, "has", "have"), why);
    for (const BandCause& cause : band_causes()) {
      const auto cells = wide_bands_.find(cause.id);
      if (cells == wide_bands_.end()) continue;
      fmt::print("{} {} a band of ± {:.0f} %: {}\n", counted(cells->second, "cell"),
                 noun_for(cells->second, "has", "have"), cause.pct, cause.text);
    }
  }

  const Json& json() const { return json_; }
  const Plan& plan() const { return plan_; }

  /// A line per cell, which starts with the GPU's id unless it is empty.
  void print_csv(const std::string& gpu) const {
    for (const std::vector<Field>& record : records_) {
      std::vector<Field> line = record;
      if (!gpu.empty()) line.insert(line.begin(), Field{gpu});
      fmt::print("{}", csv_line(line));
    }
  }

  /// Key, predicted time and bounding resource of each cell, or the reason why it is skipped.
  struct Line {
    std::string key;
    std::string time;
    std::string bound_by;
  };
  const std::vector<Line>& lines() const { return lines_; }
  /// Number of skipped cells, by reason.
  const std::map<std::string, std::size_t>& skipped() const { return skipped_; }
  /// Number of cells without a predicted time, by reason.
  const std::map<std::string, std::size_t>& without_time() const { return without_time_; }

 private:
  void add(const Group& group, const Cell& cell, CodePredictor* predictor) {
    const std::string key = cell_key(plan_, group, cell);
    auto prediction = predict_cell(plan_, group, cell, resources_);
    if (!prediction) {
      rows_.push_back({key + "  skipped: " + cell.skip_reason});
      ++skipped_[cell.skip_reason];
      lines_.push_back({key, "skipped", ""});
      json_.push_back({{"key", key}, {"skip_reason", cell.skip_reason}});
      records_.push_back({key, {}, {}, {}, {}, {}, {}, {}, text_field(cell.skip_reason)});
      return;
    }
    if (predictor) predictor->refine(cell, *prediction);
    const Prediction& p = *prediction;
    if (!p.why_no_time.empty()) ++without_time_[p.why_no_time];
    add_row(key, p);
    add_json(key, p);
    if (p.band && !p.band->cause.empty()) ++wide_bands_[p.band->cause];
    lines_.push_back(
        {key, p.time_us ? predicted_time_text(*p.time_us, p.band) : "none", p.bound_by});
    records_.push_back({key, number_field(p.time_us), number_field(band_pct(p)),
                        text_field(p.band ? p.band->cause : ""), text_field(p.bound_by),
                        number_field(p.limit.time_us), text_field(p.limit.by),
                        number_field(p.measured_limit.time_us), text_field(p.why_no_time)});
    if (p.work.is_assumed) ++assumed_work_;
    if (!p.occupancy) ++without_registers_;
    if (p.occupancy && !p.occupancy->exact_architecture) ++other_architectures_;
  }

  static std::optional<double> band_pct(const Prediction& p) {
    return p.band ? std::optional(p.band->pct) : std::nullopt;
  }

  void add_row(const std::string& key, const Prediction& p) {
    const double bytes = p.work.moved_read + p.work.moved_written;
    std::vector<std::string> row{key, bytes_text(bytes),
                                 fmt::format("{:.3g}", operation_count(p.work))};
    row.push_back(p.shape ? fmt::format("{}", p.shape->grid.count()) : "");
    row.push_back(p.occupancy ? fmt::format("{}", p.occupancy->blocks_per_sm) : "");
    row.push_back(p.waves ? number(p.waves->waves, 2) : "");
    row.push_back(p.waves ? number(p.waves->tail_efficiency_pct, 1) + " %" : "");
    row.push_back(p.limit.time_us ? time_text(*p.limit.time_us) : "");
    row.push_back(p.limit.by);
    row.push_back(p.time_us ? time_text(*p.time_us) : "");
    row.push_back(p.band ? fmt::format("{:.0f}", p.band->pct) : "");
    row.push_back(p.bound_by);
    rows_.push_back(std::move(row));
  }

  void add_json(const std::string& key, const Prediction& p) {
    const auto optional = [](const std::optional<double>& x) {
      return x ? Json(*x) : Json(nullptr);
    };
    Json j{{"key", key},
           {"skip_reason", nullptr},
           {"useful_bytes", p.work.bytes_read + p.work.bytes_written},
           {"moved_bytes", p.work.moved_read + p.work.moved_written},
           {"operations", operation_count(p.work)},
           {"work_from", p.work.is_assumed ? kAssumedWork : "declared"},
           {"dram_time_us", optional(p.limit.dram_us)},
           {"compute_time_us", optional(p.limit.compute_us)},
           {"limit_time_us", optional(p.limit.time_us)},
           {"limit_by", p.limit.by},
           {"measured_limit_time_us", optional(p.measured_limit.time_us)},
           {"predicted_time_us", optional(p.time_us)},
           {"predicted_band_pct", optional(band_pct(p))},
           {"predicted_band_cause", p.band ? p.band->cause : ""},
           {"why_no_predicted_time", p.why_no_time},
           {"bound_by", p.bound_by}};
    for (const Term& term : p.terms)
      j["terms_us"][term.resource] = term.time_us;
    if (p.shape) {
      j["grid_blocks"] = p.shape->grid.count();
      j["block_threads"] = p.shape->block.count();
    }
    if (p.occupancy) {
      j["registers"] = p.occupancy->registers;
      j["shared_bytes"] = p.occupancy->shared_bytes;
      j["blocks_per_sm"] = p.occupancy->blocks_per_sm;
      j["occupancy_pct"] = p.occupancy->warps_pct;
      j["occupancy_limiter"] = p.occupancy->limiter;
      j["registers_exact"] = p.occupancy->exact_architecture;
    }
    if (p.waves) {
      j["waves"] = p.waves->waves;
      j["tail_efficiency_pct"] = p.waves->tail_efficiency_pct;
    }
    json_.push_back(std::move(j));
  }

  const Plan& plan_;
  const KernelResources& resources_;
  std::vector<std::vector<std::string>> rows_;
  Json json_ = Json::array();
  std::vector<std::vector<Field>> records_;
  std::vector<Line> lines_;
  std::map<std::string, std::size_t> skipped_;
  std::size_t other_architectures_ = 0;
  std::size_t without_registers_ = 0;
  std::size_t assumed_work_ = 0;
  std::map<std::string, std::size_t> without_time_;  ///< number of cells, by reason
  std::map<std::string, std::size_t> wide_bands_;    ///< number of cells, by cause of the band
};

void print_figures(const std::vector<PublishedFigure>& figures) {
  if (figures.empty()) return;
  Page page;
  page.experiments = predicted_figure_views(figures);
  page.summary = "predicted here: the published number, transferred to this GPU by the model";
  fmt::print("\n{}", render_terminal(page, terminal_options(stdout)));
}

/// Predicted times of several GPUs side by side. Sizes of an axis may depend on the GPU, so a cell
/// may be missing on some.
void print_side_by_side(const std::vector<std::string>& gpus,
                        const std::vector<std::unique_ptr<PredictionReport>>& reports) {
  TextTable table;
  table.add_column("cell", Align::left);
  for (const std::string& gpu : gpus) {
    table.add_column(gpu, Align::right);
    table.add_column("bound by", Align::left);
  }
  std::vector<std::string> keys;
  std::map<std::string, std::vector<std::string>> rows;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (const PredictionReport::Line& line : reports[i]->lines()) {
      const auto [row, is_new] = rows.try_emplace(line.key, 2 * reports.size());
      if (is_new) keys.push_back(line.key);
      row->second[2 * i] = line.time;
      row->second[2 * i + 1] = line.bound_by;
    }
  }
  for (const std::string& key : keys) {
    std::vector<std::string> cells{key};
    cells.insert(cells.end(), rows[key].begin(), rows[key].end());
    table.add_row(cells);
  }
  fmt::print("computed, not measured:\n");
  for (std::size_t i = 0; i < reports.size(); ++i)
    fmt::print("  {}: {}; {}\n", gpus[i], reports[i]->plan().device.name,
               reports[i]->plan().ceiling_source.source);
  fmt::print("\n{}\n", table.render());
  for (std::size_t i = 0; i < reports.size(); ++i)
    for (const auto& [why, cells] : reports[i]->skipped())
      fmt::print("{} skipped on {}: {}\n", counted(cells, "cell"), gpus[i], why);
  for (std::size_t i = 0; i < reports.size(); ++i)
    for (const auto& [why, cells] : reports[i]->without_time())
      fmt::print("{} {} no predicted time on {}: {}\n", counted(cells, "cell"),
                 noun_for(cells, "has", "have"), gpus[i], why);
}

/// Predictions of the configs on the chosen GPUs.
class Predict {
 public:
  Predict(const Context& context, const PredictArguments& options)
      : context_(context),
        options_(options),
        specs_(device_specs()),
        configs_(options.config.read(context.registry)) {
    for (const std::string& gpu : split(options.gpu, ','))
      gpus_.push_back(find_device_spec(specs_, gpu).spec);
    if (gpus_.empty()) throw ConfigError("--gpu: expected the name of a GPU (gpuexp list)");
  }

  ExitCode run() {
    if (options_.csv)
      fmt::print(
          "{}key,predicted_time_us,predicted_band_pct,predicted_band_cause,bound_by,limit_time_us,"
          "limit_by,measured_limit_time_us,why_no_predicted_time\r\n",
          is_for_several() ? "gpu," : "");
    catch_interrupts();
    for (const Config& config : configs_) {
      predict(config);
      if (interrupted()) return ExitCode::interrupted;
    }
    if (prints_text() && !is_for_several() && !options_.limits) print_figures(figures_);
    if (options_.json) fmt::print("{}\n", json_.dump(2));
    for (const std::string& message : messages_without_code(without_code_))
      fmt::print(stderr, "gpuexp: {}\n", message);
    return without_code_.empty() ? ExitCode::ok : ExitCode::failed;
  }

 private:
  bool is_for_several() const { return gpus_.size() > 1; }
  /// Limits of several GPUs are tables of their own.
  bool is_side_by_side() const { return prints_text() && is_for_several() && !options_.limits; }
  bool prints_text() const { return !options_.json && !options_.csv; }

  /// A GPU that cannot run the config costs only its own predictions, unless no GPU can.
  std::vector<Plan> plans_of(const Config& config) const {
    std::vector<Plan> plans;
    std::vector<std::exception_ptr> refusals;
    for (const DeviceSpec& gpu : gpus_) {
      Plan& plan = plans.emplace_back(plan_of(config, gpu, context_.resources, gpu.memory_bytes));
      plan.ceiling_source = ceiling_source_of(gpu, gpu.id);
      try {
        check_runnable(plan);
      } catch (const ConfigError&) {
        refusals.push_back(std::current_exception());
      }
    }
    if (refusals.size() == plans.size()) std::rethrow_exception(refusals.front());
    return plans;
  }

  /// Like a GPU, a variant of which no cell has code fails only if that is so on all GPUs.
  void add_without_code(const std::vector<Plan>& plans) {
    std::vector<Cell> cells = without_code(plans.front());
    for (std::size_t i = 1; i < plans.size(); ++i) {
      const std::vector<Cell> others = without_code(plans[i]);
      std::erase_if(cells, [&](const Cell& cell) {
        return std::ranges::none_of(others, [&](const Cell& other) {
          return other.experiment == cell.experiment && other.variant == cell.variant;
        });
      });
    }
    without_code_.insert(without_code_.end(), cells.begin(), cells.end());
  }

  void predict(const Config& config) {
    const std::vector<Plan> plans = plans_of(config);
    add_without_code(plans);
    std::vector<std::unique_ptr<PredictionReport>> reports;
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      reports.push_back(
          std::make_unique<PredictionReport>(plans[i], context_.resources, !options_.limits));
      if (interrupted()) return;
      ids.push_back(gpus_[i].id);
      if (options_.csv) reports.back()->print_csv(is_for_several() ? gpus_[i].id : "");
      if (prints_text() && !is_side_by_side()) reports.back()->print_text();
      add(config, plans[i], *reports.back());
      if (interrupted()) return;
    }
    if (is_side_by_side()) print_side_by_side(ids, reports);
  }

  /// Adds the JSON of one config on one GPU, and the config's published figures.
  void add(Config config, const Plan& plan, const PredictionReport& report) {
    if (!options_.limits && !options_.csv)
      model_figures(config, plan.device, plan.ceiling_source, context_, host_threads());
    Json& config_json = json_.items().emplace_back(Json{{"config", config.name},
                                                        {"gpu", plan.device.name},
                                                        {"measured", false},
                                                        {"cells", report.json()}});
    if (!config.figures.empty()) config_json["figures"] = json_of_figures(config.figures, {});
    std::move(config.figures.begin(), config.figures.end(), std::back_inserter(figures_));
  }

  const Context& context_;
  const PredictArguments& options_;
  std::vector<DeviceSpecFile> specs_;
  std::vector<Config> configs_;
  std::vector<DeviceSpec> gpus_;
  std::vector<PublishedFigure> figures_;
  std::vector<Cell> without_code_;  ///< a cell of each variant that no GPU has code for
  Json json_ = Json::array();
};

}  // namespace

void add_predict(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "predict", "limits and predicted times of configs on named GPUs; no GPU needed");
  auto options = std::make_shared<PredictArguments>();
  options->config.add_to(*command);
  command
      ->add_option(
          "--gpu", options->gpu,
          "id, name or alias of a listed GPU (gpuexp list), or several separated by commas")
      ->required();
  Option* json = command->add_flag("--json", options->json, "machine-readable");
  command->add_flag("--csv", options->csv, "print only times as CSV, one line per cell")
      ->excludes(json);
  command->add_flag("--limits", options->limits,
                    "omit predicted times: print bytes, operations, occupancy, waves and minimum "
                    "times without executing kernels");
  command->footer(
      "predicted: the time of the kernels' machine code, simulated on the CPU for this GPU; it is "
      "stored, and\n"
      "reused for the same program, GPU and problem\n"
      "example: gpuexp predict wave_quantization --gpu h200\n"
      "exit codes: 0 also if cells are skipped, 2 usage or config error, or no cell has code, 4 no "
      "cell of a\n"
      "variant has code for any of the GPUs, 130 interrupted");
  on_chosen(*command, context, [&context, options] {
    compile_first_for(context, options->gpu);
    return Predict(context, *options).run();
  });
}

}  // namespace gpuexp::cli
