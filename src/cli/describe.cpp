#include <map>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/sentence_fragments.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "config/config_overrides.hpp"
#include "family/function_text.hpp"
#include "plan/plan.hpp"
#include "sass/instruction_class.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp::cli {

namespace {

constexpr std::size_t kIndent = 6;

struct KernelCode {
  std::string name;
  KernelResource resource;
  bool exact_architecture;
  std::int64_t dynamic_shared_bytes;
  InstructionCounts instructions;

  std::int64_t shared_bytes() const { return resource.static_shared_bytes + dynamic_shared_bytes; }
  int local_bytes() const { return resource.local_bytes + resource.stack_bytes; }
};

std::vector<KernelCode> kernels_of(const Plan& plan, const Group& group, const Cell& cell,
                                   const KernelResources& resources) {
  std::vector<KernelCode> kernels;
  if (!cell.skip_reason.empty()) return kernels;
  std::set<const void*> seen;
  for (const Shape& shape : cell.variant->shapes(group.problem.get(), plan.device)) {
    if (!seen.insert(shape.kernel).second) continue;
    const auto found = resources.find(shape.kernel, plan.device.compute_capability());
    if (!found) continue;
    kernels.push_back({kernel_name(found->resource.lowered_name), found->resource, found->exact,
                       shape.dynamic_shared_bytes, read_counts(found->resource.instructions)});
  }
  return kernels;
}

std::string bytes_of(std::int64_t bytes, const char* kind) {
  return bytes == 0 ? fmt::format("no {} memory", kind)
                    : fmt::format("{} B of {} memory", bytes, kind);
}

std::string filled(const std::vector<std::string>& items) {
  const std::string indent(kIndent, ' ');
  std::string text;
  std::string line;
  for (const std::string& item : items) {
    if (!line.empty() && kIndent + line.size() + 2 + item.size() > kTextWidth) {
      text += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : "  ") + item;
  }
  return line.empty() ? text : text + indent + line + "\n";
}

std::string capability_text(int compute_capability) {
  return fmt::format("{}.{}", compute_capability / 10, compute_capability % 10);
}

class CodeText {
 public:
  CodeText(const Plan& plan, const KernelResources& resources)
      : plan_(plan), resources_(resources) {}

  void add(const Group& group) {
    const Family& family = *plan_.experiment(group).family;
    text_ += fmt::format("machine code for {} (compute capability {}), {}\n", plan_.device.name,
                         capability_text(plan_.device.compute_capability()),
                         values_text(family, group.values));
    if (resources_.empty()) {
      text_ += "  unknown: gpuexp was built without cuobjdump\n";
      return;
    }
    first_with_.clear();
    std::vector<NamedText> skipped;
    for (const Cell& cell : group.cells) {
      if (cell.skip_reason.empty())
        add(group, cell);
      else
        add_name(skipped, cell.skip_reason, cell.variant->id);
    }
    for (const auto& [reason, variants] : skipped)
      text_ += fmt::format("  {}: skipped: {}\n", fmt::join(variants, ", "), reason);
    for (const Variant& variant : family.variants) {
      if (variant.is_vendor) add_library(variant);
    }
  }

  std::string text() const {
    if (classes_.empty()) return text_;
    std::string legend =
        "\nstatic instruction counts: each instruction once, regardless of how often it executes\n";
    for (const InstructionClass& c : instruction_classes()) {
      if (!classes_.count(&c)) continue;
      constexpr std::size_t kNameWidth = 14;
      std::string name = "  " + std::string(c.name);
      for (const std::string& line : wrap(std::string(c.doc), kTextWidth - kNameWidth)) {
        legend += pad_right(name, kNameWidth) + line + "\n";
        name.clear();
      }
    }
    return text_ + legend;
  }

 private:
  void add(const Group& group, const Cell& cell) {
    const std::string& id = cell.variant->id;
    const auto kernels = kernels_of(plan_, group, cell, resources_);
    if (kernels.empty() && cell.variant->is_vendor) add_library(*cell.variant);
    if (kernels.empty() && !cell.variant->is_vendor)
      text_ += fmt::format(
          "  {}: no kernel of this binary on the first GPU: calls of a library, copies, fills, or "
          "kernels of other GPUs\n",
          id);
    for (const KernelCode& kernel : kernels)
      add(id, kernel);
  }

  void add_library(const Variant& variant) {
    text_ += fmt::format("  {}: kernels of a vendor library, which are not part of this binary\n",
                         variant.id);
  }

  void add(const std::string& variant, const KernelCode& kernel) {
    const std::string figures = figures_text(kernel);
    const auto [first, is_new] = first_with_.insert({kernel.name + "\n" + figures, variant});
    text_ += fmt::format("  {}: {}", variant, kernel.name);
    text_ += is_new ? "\n" + figures : fmt::format(", as in {}\n", first->second);
    for (const ClassCount& c : count_classes(kernel.instructions))
      classes_.insert(c.of);
  }

  std::string figures_text(const KernelCode& kernel) const {
    std::vector<std::string> counts;
    for (const ClassCount& c : count_classes(kernel.instructions))
      counts.push_back(fmt::format("{} {}", c.name, c.count));
    const std::string indent(kIndent, ' ');
    std::string text;
    if (!kernel.exact_architecture) {
      text = fmt::format(
          "{}code for compute capability {} is shown instead: this binary has none for {}\n",
          indent, capability_text(kernel.resource.architecture),
          capability_text(plan_.device.compute_capability()));
    }
    text += fmt::format("{}{} registers, {}, {}", indent, kernel.resource.registers,
                        bytes_of(kernel.shared_bytes(), "shared"),
                        bytes_of(kernel.local_bytes(), "local"));
    text += kernel.instructions.empty()
                ? fmt::format(
                      "\n{}instructions unknown: gpuexp was built without an nvdisasm that can "
                      "read them\n",
                      indent)
                : fmt::format(", {} instructions, including\n", total(kernel.instructions));
    return text + filled(counts);
  }

  const Plan& plan_;
  const KernelResources& resources_;
  std::string text_;
  std::map<std::string, std::string> first_with_;  // by kernel and its text: first variant
  std::set<const InstructionClass*> classes_;
};

Json json_of_kernel(const KernelCode& kernel) {
  Json json{{"kernel", kernel.name},
            {"module", kernel.resource.module},
            {"mangled_name", kernel.resource.lowered_name},
            {"compute_capability", kernel.resource.architecture / 10.0},
            {"exact_architecture", kernel.exact_architecture},
            {"registers", kernel.resource.registers},
            {"static_shared_bytes", kernel.resource.static_shared_bytes},
            {"dynamic_shared_bytes", kernel.dynamic_shared_bytes},
            {"local_bytes", kernel.local_bytes()},
            {"instructions", nullptr},
            {"classes", nullptr},
            {"opcodes", nullptr}};
  if (kernel.instructions.empty()) return json;
  json["instructions"] = total(kernel.instructions);
  json["classes"] = Json::object();
  for (const ClassCount& c : count_classes(kernel.instructions))
    json["classes"][c.name] = c.count;
  for (const auto& [instruction, count] : kernel.instructions)
    json["opcodes"][to_string(instruction)] = count;
  return json;
}

Json parameters_json(const Family& family, const Values& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i)
    std::visit([&](const auto& v) { json[family.parameters[i].name] = v; }, values[i]);
  return json;
}

// For each group of a plan: registers, memory and number of instructions by class of the kernels
// that its variants launch. A legend of the classes follows.
std::string code_text(const Plan& plan, const KernelResources& resources) {
  CodeText text(plan, resources);
  for (const Group& group : plan.groups)
    text.add(group);
  return text.text();
}

// code_text() as JSON, with every opcode; null if the program was built without cuobjdump.
Json code_json(const Plan& plan, const KernelResources& resources) {
  if (resources.empty()) return nullptr;
  Json groups = Json::array();
  for (const Group& group : plan.groups) {
    Json variants = Json::array();
    for (const Cell& cell : group.cells) {
      const auto kernels = kernels_of(plan, group, cell, resources);
      variants.push_back({{"id", cell.variant->id},
                          {"skip_reason", json_of(text_field(cell.skip_reason))},
                          {"kernels", json_list(kernels, json_of_kernel)}});
    }
    groups.push_back({{"gpu", plan.device.name},
                      {"compute_capability", plan.device.compute_capability() / 10.0},
                      {"parameters", parameters_json(*plan.experiment(group).family, group.values)},
                      {"variants", std::move(variants)}});
  }
  return groups;
}

std::string allowed(const Parameter& p) {
  if (!p.choices.empty()) return fmt::format("{}", fmt::join(p.choices, ", "));
  return fmt::format("{} to {}{}", p.min, p.max, p.unit.empty() ? "" : " " + p.unit);
}

std::string held_text(const std::vector<HeldClaim>& claims) {
  std::vector<std::string> texts;
  for (const HeldClaim& claim : claims)
    texts.push_back(claim.text);
  return fmt::format("{}", fmt::join(texts, "; "));
}

using Sections = std::vector<own::DeclarationSection>;

void print_text(const Family& f, const Registry& registry, const Sections& declared) {
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
  for (const own::DeclarationSection& section : declared) {
    fmt::print("\n{}\n", section.title);
    for (const std::string& line : section.lines)
      fmt::print("{}", paragraph(line, kTextWidth, 2));
  }
  fmt::print("\nvariants\n");
  for (const Variant& v : f.variants) {
    fmt::print("  {}{}\n{}", v.id,
               v.compare_to.empty() ? "" : fmt::format(" (compare to {})", v.compare_to),
               paragraph(v.why, kTextWidth, 6));
    if (v.deterministic)
      fmt::print("{}", paragraph("deterministic: bitwise-identical results in every launch",
                                 kTextWidth, 6));
    if (!v.expected_changes.empty())
      fmt::print("{}", paragraph("counters: " + expected_changes_fragment(v.expected_changes),
                                 kTextWidth, 6));
    const std::vector<HeldClaim>& held = registry.held_claims(f.id, v.id);
    if (!held.empty()) fmt::print("{}", paragraph("tested: " + held_text(held), kTextWidth, 6));
  }
  fmt::print("\ntolerance\n{}", paragraph(f.tolerance_derivation, kTextWidth, 2));
}

Json held_json(const HeldClaim& claim) {
  return {{"claim", claim.text}, {"quantity", claim.quantity}, {"number", claim.number}};
}

Json to_json(const Family& f, const Registry& registry, const Sections& declared) {
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
    entry["held"] = json_list(registry.held_claims(f.id, v.id), held_json);
    entry["min_compute_capability"] = v.min_compute_capability / 10.0;
    out["variants"].push_back(entry);
  }
  out["tolerance"] = f.tolerance_derivation;
  for (const own::DeclarationSection& section : declared)
    out["declaration"][section.title] = section.lines;
  return out;
}

struct DescribeArguments {
  std::string family;
  std::vector<std::string> sets;
  std::string gpu;
  bool json = false;
};

std::vector<const Variant*> own_variants(const Family& family) {
  std::vector<const Variant*> own;
  for (const Variant& variant : family.variants) {
    if (!variant.is_vendor) own.push_back(&variant);
  }
  return own;
}

ExitCode run(const Context& context, const DescribeArguments& options) {
  compile_first_for(context, options.gpu);
  const Family& family = find_family(context.registry, options.family);
  const Sections declared =
      is_kernel_file(options.family) ? context.kernel_files.sections(options.family) : Sections{};
  // In mode cold no variant is skipped because of the mode, which has no effect on the code.
  const Config config = single_experiment(family, own_variants(family), Mode::cold, options.sets);
  const auto specs = device_specs();
  const DeviceSpec& device = find_device_spec(specs, options.gpu).spec;
  // A description of what is known, also if the shown problem has no code.
  const Plan plan = plan_of(config, device, context.resources, device.memory_bytes);
  if (options.json) {
    Json json = to_json(family, context.registry, declared);
    json["machine_code"] = code_json(plan, context.resources);
    fmt::print("{}\n", json.dump(2));
  } else {
    print_text(family, context.registry, declared);
    fmt::print("\n{}", code_text(plan, context.resources));
  }
  return ExitCode::ok;
}

}  // namespace

void add_describe(Command& app, Context& context) {
  Command* command = app.add_subcommand("describe",
                                        "one family: its question and parameters, and the "
                                        "explanation and machine code of each variant");
  auto options = std::make_shared<DescribeArguments>();
  options->gpu = kDefaultGpu;
  command
      ->add_option("family", options->family,
                   "family id (gpuexp list), or a kernel file such as my.cu")
      ->required();
  command->add_option(
      "--gpu", options->gpu,
      fmt::format("GPU whose machine code to show: id, name or alias (gpuexp list; default: {})",
                  kDefaultGpu));
  command
      ->add_option("--set", options->sets,
                   "parameter values for which to show machine code, instead of the default")
      ->type_name("NAME=VALUE[,VALUE...]")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "machine-readable");
  command->footer("example: gpuexp describe matmul_tensor --set dtype=tf32");
  on_chosen(*command, context, [&context, options] { return run(context, *options); });
}

}  // namespace gpuexp::cli
