#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "family/counters.hpp"
#include "gpu/cupti_chip.hpp"
#include "record/record_table.hpp"

namespace gpuexp::cli {

namespace {

struct ListMetricsArguments {
  std::string pattern;
  std::string gpu;
  bool json = false;
};

std::string definition(const Counter& counter) {
  std::string text(counter.numerator);
  if (!counter.denominator.empty()) text += fmt::format(" / {}", counter.denominator);
  if (counter.scale != 1) text = fmt::format("{} × {}", counter.scale, text);
  if (!counter.nsight_name.empty()) text += fmt::format(" = {}", counter.nsight_name);
  return text;
}

bool matches(const std::string& pattern, std::string_view name) {
  if (is_glob(pattern)) return glob_match(pattern, name);
  return name.find(pattern) != std::string_view::npos;
}

const DeviceSpec& device_of(const std::vector<DeviceSpecFile>& specs, const std::string& gpu) {
  const DeviceSpec& device = find_device_spec(specs, gpu.empty() ? kDefaultGpu : gpu).spec;
  if (device.chip.empty())
    throw ConfigError(fmt::format(
        "configs/devices/{}.json does not name a chip; add the key \"chip\"", device.id));
  return device;
}

void print_counters(const std::vector<const Counter*>& counters) {
  std::string_view group;
  for (const Counter* counter : counters) {
    if (counter->group != group) fmt::print("{}{}\n", group.empty() ? "" : "\n", counter->group);
    group = counter->group;
    const std::string unit = counter->unit.empty() ? "" : fmt::format(" [{}]", counter->unit);
    fmt::print("  {}{}{}: {}\n{}", kCounterPrefix, counter->id, unit, counter->doc,
               paragraph(definition(*counter), kTextWidth, 6));
  }
}

void print_metrics(const std::vector<NsightMetric>& metrics) {
  for (const NsightMetric& metric : metrics) {
    fmt::print("{}{}: {}\n", metric.name, metric.unit.empty() ? "" : " [" + metric.unit + "]",
               metric.doc);
  }
}

void print_json(const DeviceSpec& device, const std::vector<const Counter*>& counters,
                const std::vector<NsightMetric>& metrics) {
  Json out{{"gpu", device.name}, {"chip", device.chip}};
  out["counters"] = Json::array();
  for (const Counter* counter : counters) {
    out["counters"].push_back({{"name", counter->id},
                               {"group", counter->group},
                               {"unit", counter->unit},
                               {"doc", counter->doc},
                               {"numerator", counter->numerator},
                               {"denominator", counter->denominator},
                               {"scale", counter->scale},
                               {"nsight_name", counter->nsight_name}});
  }
  out["metrics"] = Json::array();
  for (const NsightMetric& metric : metrics)
    out["metrics"].push_back({{"name", metric.name}, {"unit", metric.unit}, {"doc", metric.doc}});
  fmt::print("{}\n", out.dump(2));
}

ExitCode run(const ListMetricsArguments& options) {
  const auto specs = device_specs();
  const DeviceSpec& device = device_of(specs, options.gpu);
  std::vector<const Counter*> counters;
  for (const Counter& counter : kCounters) {
    if (options.pattern.empty() || matches(options.pattern, counter.id) ||
        matches(options.pattern, counter.numerator))
      counters.push_back(&counter);
  }
  std::vector<NsightMetric> metrics;
  try {
    metrics = nsight_metrics(device.chip);
  } catch (const CountersUnavailable& reason) {
    fmt::print(stderr, "gpuexp: the metrics of Nsight Compute cannot be listed: {}\n",
               reason.what());
  }
  const std::size_t all = metrics.size();
  std::erase_if(metrics, [&](const NsightMetric& metric) {
    return !options.pattern.empty() && !matches(options.pattern, metric.name);
  });
  if (options.json) {
    print_json(device, counters, metrics);
  } else {
    print_counters(counters);
    if (!options.pattern.empty()) {
      print_metrics(metrics);
    } else if (all > 0) {
      fmt::print(
          "\n{} Nsight Compute metrics of {} ({}), each with a suffix .sum, .avg, .max, .min, .pct "
          "or .ratio: gpuexp list metrics '*'\n",
          all, device.name, device.chip);
    }
  }
  return ExitCode::ok;
}

}  // namespace

void add_list_metrics(Command& list, Context& context) {
  Command* command = list.add_subcommand(
      "metrics",
      "hardware counters that run --counters reads, and the metrics they are computed from");
  auto options = std::make_shared<ListMetricsArguments>();
  command->add_option("pattern", options->pattern,
                      "part of a name, or a glob: list only matching counters, and matching Nsight "
                      "Compute metrics");
  command->add_option(
      "--gpu", options->gpu,
      fmt::format("GPU whose counters to list: id, name or alias (gpuexp list; default: {})",
                  kDefaultGpu));
  command->add_flag("--json", options->json, "machine-readable");
  command->footer("example: gpuexp list metrics shared_bank");
  command->callback([&context, options] { context.action = [options] { return run(*options); }; });
}

}  // namespace gpuexp::cli
