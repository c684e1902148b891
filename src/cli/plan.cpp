#include "plan/plan.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "cli/app.hpp"
#include "cli/figure_models.hpp"
#include "plan/shard.hpp"
#include "run/run_estimate.hpp"

namespace gpuexp::cli {

namespace {

struct PlanArguments {
  ConfigOptions config;
  std::string gpu;
  std::string shard;
  bool json = false;
};

struct PlannedCell {
  std::string key;
  std::string skip_reason;
  double device_bytes;
  double seconds;
};

std::vector<PlannedCell> planned_cells(const Plan& plan, const KernelResources& resources) {
  const RunEstimate estimate(plan, resources, RunKind::measure, kept_cell_times(plan.device));
  std::vector<PlannedCell> cells;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) {
      cells.push_back({cell_key(plan, group, cell), cell.skip_reason,
                       static_cast<double>(group.device_bytes), estimate.cell_s(cell.index)});
    }
  }
  return cells;
}

void print_text(const Plan& plan, const std::vector<PlannedCell>& cells,
                const std::optional<Shard>& shard) {
  TextTable table;
  table.add_column("cell", Align::left);
  table.add_column("memory", Align::right);
  table.add_column("est. time", Align::right);
  table.add_column("skipped because", Align::left);
  double seconds = RunEstimate::kStartAndEndSeconds;
  double peak_bytes = 0;
  std::size_t skipped = 0;
  for (const PlannedCell& c : cells) {
    const bool skip = !c.skip_reason.empty();
    table.add_row({c.key, skip ? "" : bytes_text(c.device_bytes),
                   skip ? "" : time_text(1e6 * c.seconds), c.skip_reason});
    seconds += c.seconds;
    if (skip) ++skipped;
    if (!skip) peak_bytes = std::max(peak_bytes, c.device_bytes);
  }
  const std::string part = shard ? fmt::format(", shard {}", to_string(*shard)) : "";
  fmt::print("plan of {}{} for {} (nothing is run)\n\n{}\n", plan.config->name, part,
             plan.device.name, table.render());
  fmt::print("{} in {}, {} skipped; at most {} of device memory; about {:.0f} s\n",
             counted(cells.size(), "cell"), counted(plan.groups.size(), "group"), skipped,
             bytes_text(peak_bytes), seconds);
}

Json to_json(const Plan& plan, const std::vector<PlannedCell>& cells,
             const std::optional<Shard>& shard) {
  Json out{
      {"config", plan.config->name}, {"gpu", plan.device.name}, {"groups", plan.groups.size()}};
  if (shard) out["shard"] = to_string(*shard);
  out["cells"] = Json::array();
  for (const PlannedCell& c : cells) {
    Json cell{{"key", c.key},
              {"device_bytes", c.device_bytes},
              {"estimated_seconds", c.seconds},
              {"skip_reason", nullptr}};
    if (!c.skip_reason.empty()) cell["skip_reason"] = c.skip_reason;
    out["cells"].push_back(std::move(cell));
  }
  return out;
}

ExitCode run(const Context& context, const PlanArguments& options) {
  std::optional<Shard> shard;
  if (!options.shard.empty()) shard = parse_shard(options.shard);
  const std::string gpu = options.gpu.empty() ? kDefaultGpu : options.gpu;
  compile_first_for(context, gpu);
  // --shard divides a whole run, which may consist of several configs.
  const auto configs = shard ? std::vector{options.config.read_as_one(context.registry)}
                             : options.config.read(context.registry);
  const auto specs = device_specs();
  const DeviceSpec& device = find_device_spec(specs, gpu).spec;
  if (options.gpu.empty()) fmt::print(stderr, "no --gpu given: planned for {}\n", device.name);
  Json json = Json::array();
  for (const Config& config : configs) {
    Plan plan = make_plan(config, device, context.resources, device.memory_bytes);
    if (shard) keep_shard(*shard, plan);
    const auto cells = planned_cells(plan, context.resources);
    if (options.json) {
      json.push_back(to_json(plan, cells, shard));
    } else {
      print_text(plan, cells, shard);
    }
  }
  if (options.json) fmt::print("{}\n", json.dump(2));
  return ExitCode::ok;
}

}  // namespace

void add_plan(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "plan", "the cells of configs, their memory and estimated time; no GPU needed");
  auto options = std::make_shared<PlanArguments>();
  options->config.add_to(*command);
  command->add_option(
      "--gpu", options->gpu,
      fmt::format("GPU to plan for: id, name or alias (gpuexp list; default: {})", kDefaultGpu));
  command->add_option("--shard", options->shard, kShardDoc)->type_name("I/N");
  command->add_flag("--json", options->json, "machine-readable");
  command->footer("example: gpuexp plan wave_quantization --gpu a100_sxm4_80gb");
  on_chosen(*command, context, [&context, options] { return run(context, *options); });
}

}  // namespace gpuexp::cli
