#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/app.hpp"
#include "report/text.hpp"

namespace gpuexp::cli {

namespace {

constexpr std::size_t kWidth = 100;

std::string allowed(const Parameter& p) {
  if (!p.choices.empty()) return fmt::format("{}", fmt::join(p.choices, ", "));
  return fmt::format("{} to {}{}", p.min, p.max, p.unit.empty() ? "" : " " + p.unit);
}

const Family& find_family(const Registry& registry, const std::string& id) {
  if (const Family* family = registry.find(id)) return *family;
  std::vector<std::string> ids;
  for (const Family& f : registry.families())
    ids.push_back(f.id);
  const auto near = nearest_name(id, ids);
  throw ConfigError(fmt::format("family '{}' is not known{}; known: {}", id,
                                near ? fmt::format("; did you mean '{}'?", *near) : "",
                                fmt::join(ids, ", ")));
}

void print_text(const Family& f) {
  fmt::print("{}\n{}\n{}\n", f.id, paragraph(f.question, kWidth, 2),
             paragraph(f.physics, kWidth, 2));
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
               paragraph(v.why, kWidth, 6));
  }
  fmt::print("\ntolerance\n{}", paragraph(f.tolerance_derivation, kWidth, 2));
}

void print_json(const Family& f) {
  nlohmann::ordered_json out{{"id", f.id}, {"question", f.question}, {"physics", f.physics}};
  for (const Parameter& p : f.parameters) {
    nlohmann::ordered_json entry{{"name", p.name}, {"unit", p.unit}, {"doc", p.doc}};
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
    nlohmann::ordered_json entry{
        {"id", v.id}, {"why", v.why}, {"compare_to", nullptr}, {"vendor", v.is_vendor}};
    if (!v.compare_to.empty()) entry["compare_to"] = v.compare_to;
    entry["min_compute_capability"] = v.min_compute_capability / 10.0;
    out["variants"].push_back(entry);
  }
  out["tolerance"] = f.tolerance_derivation;
  fmt::print("{}\n", out.dump(2));
}

struct Options {
  std::string family;
  bool json = false;
};

}  // namespace

void add_describe(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("describe", "one family: its question, parameters and each variant's why");
  auto options = std::make_shared<Options>();
  command->add_option("family", options->family, "a family's id (gpuexp list)")->required();
  command->add_flag("--json", options->json, "machine-readable");
  command->footer("example: gpuexp describe matmul");
  command->callback([&context, options] {
    context.action = [&context, options] {
      const Family& family = find_family(context.registry, options->family);
      if (options->json) {
        print_json(family);
      } else {
        print_text(family);
      }
      return ExitCode::ok;
    };
  });
}

}  // namespace gpuexp::cli
