#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/sentence_fragments.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/code_report.hpp"
#include "cli/registry_lookup.hpp"
#include "config/config_overrides.hpp"
#include "plan/plan.hpp"

namespace gpuexp::cli {

namespace {

std::string allowed(const Parameter& p) {
  if (!p.choices.empty()) return fmt::format("{}", fmt::join(p.choices, ", "));
  return fmt::format("{} to {}{}", p.min, p.max, p.unit.empty() ? "" : " " + p.unit);
}

void print_text(const Family& f) {
  fmt::print("{}\n{}\n{}\n", f.id, paragraph(f.question, kTextWidth, 2),
             paragraph(f.physics, kTextWidth, 2));
  fmt::print("parameters\n");
  for (const Parameter& p : f.parameters) {
    fmt::print("  {} = {}: {} ({})\n", p.name, to_string(p.default_value), p.doc, allowed(p));
  }
  if (!f.metrics.empty()) fmt::print("\nmetrics\n");
  for (const Metric& m : f.metrics) {
    fmt::print("  metric.{}{}: {}\n", m.name, m.unit.empty() ? "" : " [" + m.unit + "]", m.doc);
  }
  fmt::print("\nvariants\n");
  for (const Variant& v : f.variants) {
    fmt::print("  {}{}\n{}", v.id,
               v.compare_to.empty() ? "" : fmt::format(" (compare to {})", v.compare_to),
               paragraph(v.why, kTextWidth, 6));
    if (v.deterministic)
      fmt::print("{}", paragraph("deterministic: equal bits, launch after launch", kTextWidth, 6));
    if (!v.expected_changes.empty())
      fmt::print("{}", paragraph("counters: " + expected_changes_fragment(v.expected_changes),
                                 kTextWidth, 6));
  }
  fmt::print("\ntolerance\n{}", paragraph(f.tolerance_derivation, kTextWidth, 2));
}

Json to_json(const Family& f) {
  Json out{{"id", f.id}, {"question", f.question}, {"physics", f.physics}};
  for (const Parameter& p : f.parameters) {
    Json entry{{"name", p.name}, {"unit", p.unit}, {"doc", p.doc}};
    std::visit([&](const auto& v) { entry["default"] = v; }, p.default_value);
    if (p.choices.empty()) {
      entry["min"] = p.min;
      entry["max"] = p.max;
    } else {
      entry["choices"] = p.choices;
    }
    out["parameters"].push_back(entry);
  }
  for (const Metric& m : f.metrics) {
    out["metrics"].push_back({{"name", m.name}, {"unit", m.unit}, {"doc", m.doc}});
  }
  for (const Variant& v : f.variants) {
    Json entry{{"id", v.id}, {"why", v.why}, {"compare_to", nullptr}, {"vendor", v.is_vendor}};
    if (!v.compare_to.empty()) entry["compare_to"] = v.compare_to;
    entry["deterministic"] = v.deterministic;
    entry["expected_changes"] = Json::array();
    for (const ExpectedChange& expected : v.expected_changes) {
      entry["expected_changes"].push_back({{"counter", expected.counter},
                                           {"direction", name_of(expected.direction)},
                                           {"factor", expected.factor},
                                           {"conditional", bool(expected.where)}});
    }
    entry["min_compute_capability"] = v.min_compute_capability / 10.0;
    out["variants"].push_back(entry);
  }
  out["tolerance"] = f.tolerance_derivation;
  return out;
}

struct DescribeArguments {
  std::string family;
  std::vector<std::string> sets;
  std::string gpu;
  bool json = false;
};

// All variants that launch kernels of this binary, on the default problem as --set changes it. Of a
// family that calls libraries alone nothing.
Config config_of(const Family& family, const std::vector<std::string>& sets) {
  for (const std::string& set : sets)
    check_is_parameter(set, family);
  Experiment experiment;
  experiment.name = family.id;
  experiment.family = &family;
  for (const Variant& variant : family.variants) {
    if (!variant.is_vendor) experiment.variants.push_back(&variant);
  }
  experiment.modes = {Mode::warm};
  Config config;
  config.name = family.id;
  if (experiment.variants.empty()) return config;
  config.experiments.push_back(std::move(experiment));
  ConfigOverrides overrides;
  overrides.sets = sets;
  apply_overrides(overrides, config);
  return config;
}

ExitCode run(const Context& context, const DescribeArguments& options) {
  const Family& family = find_family(context.registry, options.family);
  const Config config = config_of(family, options.sets);
  const auto specs = device_specs();
  const DeviceSpec& device = find_device_spec(specs, options.gpu).spec;
  const Plan plan = make_plan(config, device, context.resources, device.memory_bytes);
  if (options.json) {
    Json json = to_json(family);
    json["machine_code"] = code_json(plan, context.resources);
    fmt::print("{}\n", json.dump(2));
  } else {
    print_text(family);
    fmt::print("\n{}", code_text(plan, context.resources));
  }
  return ExitCode::ok;
}

}  // namespace

void add_describe(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "describe", "one family: its question, parameters, each variant's why and machine code");
  auto options = std::make_shared<DescribeArguments>();
  options->gpu = kDefaultGpu;
  command->add_option("family", options->family, "a family's id (gpuexp list)")->required();
  command->add_option(
      "--gpu", options->gpu,
      fmt::format("machine code for this GPU: an id, name or alias (gpuexp list); default {}",
                  kDefaultGpu));
  command
      ->add_option("--set", options->sets,
                   "machine code for these values of a parameter instead of its default")
      ->type_name("NAME=VALUE[,VALUE...]")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "machine-readable");
  command->footer("example: gpuexp describe matmul_tensor --set dtype=tf32");
  command->callback([&context, options] {
    context.action = [&context, options] { return run(context, *options); };
  });
}

}  // namespace gpuexp::cli
