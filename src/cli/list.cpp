#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

struct ListedConfig {
  std::string name;
  std::string description;
};

// Why this program lacks a family of the config; empty if it lacks none.
std::optional<std::string> left_out(const Json& config, const Registry& registry) {
  const Json* const experiments = config.find("experiments");
  if (!experiments || !experiments->is_array()) return std::nullopt;
  for (const Json& experiment : *experiments) {
    const Json* const family = experiment.is_object() ? experiment.find("family") : nullptr;
    if (!family || !family->is_string()) continue;
    if (auto why = registry.omitted_message(family->get<std::string>())) return why;
  }
  return std::nullopt;
}

std::string description_of(const fs::path& config, const Registry& registry) {
  try {
    const Json json = Json::parse(read_text_file(config));
    const Json* const description = json.find("description");
    const auto why = left_out(json, registry);
    if (description && description->is_string())
      return description->get<std::string>() + (why ? ". Cannot run: " + *why + "." : "");
  } catch (const std::runtime_error&) {
    // One invalid config must not make the listing fail.
  }
  return "not valid JSON";
}

std::vector<ListedConfig> listed_configs(const Registry& registry) {
  std::vector<ListedConfig> configs;
  const auto add = [&](const fs::path& folder, const std::string& prefix) {
    if (!fs::is_directory(folder)) return;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      configs.push_back(
          {prefix + entry.path().stem().string(), description_of(entry.path(), registry)});
    }
  };
  add(config_dir(), "");
  add(config_dir() / "figures", "figures/");
  std::ranges::sort(configs, {}, &ListedConfig::name);
  return configs;
}

void print_json(const Context& context) {
  Json out;
  for (const Family& f : context.registry.families()) {
    Json variants = Json::array();
    for (const Variant& v : f.variants)
      variants.push_back(v.id);
    const auto topic = std::ranges::find(kTopics, f.topic, &TopicName::topic);
    out["families"].push_back(
        {{"id", f.id}, {"topic", topic->id}, {"question", f.question}, {"variants", variants}});
  }
  for (const ListedConfig& c : listed_configs(context.registry)) {
    out["configs"].push_back({{"name", c.name}, {"description", c.description}});
  }
  for (const DeviceSpecFile& d : device_specs()) {
    out["devices"].push_back({{"id", d.spec.id}, {"name", d.spec.name}});
  }
  fmt::print("{}\n", out.dump(2));
}

void print_topic(const TopicName& topic, const Registry& registry) {
  bool is_first = true;
  for (const Family& f : registry.families()) {
    if (f.topic != topic.topic) continue;
    if (std::exchange(is_first, false)) fmt::print("\n{}\n", topic.title);
    std::vector<std::string> ids;
    for (const Variant& v : f.variants)
      ids.push_back(v.id);
    fmt::print("  {}: {}\n{}", f.id, f.question,
               paragraph(fmt::format("{}", fmt::join(ids, " ")), kTextWidth, 6));
  }
}

void print_text(const Context& context) {
  fmt::print("families (gpuexp describe FAMILY)\n");
  for (const TopicName& topic : kTopics)
    print_topic(topic, context.registry);
  fmt::print("\nconfigs in {} (gpuexp run NAME)\n", config_dir().string());
  for (const ListedConfig& c : listed_configs(context.registry)) {
    fmt::print("  {}\n{}", c.name, paragraph(c.description, kTextWidth, 6));
  }
  fmt::print("\ndevice specs (--gpu ID)\n");
  for (const DeviceSpecFile& d : device_specs())
    fmt::print("  {:<18} {}\n", d.spec.id, d.spec.name);
}

}  // namespace

void add_list(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "list", "families, variants, configs, device specs, and hardware counters");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "machine-readable");
  command->footer("example: gpuexp list --json | jq '.families[].id'");
  add_list_metrics(*command, context);
  command->require_subcommand(0, 1);
  command->callback([&context, command, json] {
    if (command->get_subcommands().size() > 0) return;
    context.action = [&context, json] {
      if (*json) {
        print_json(context);
      } else {
        print_text(context);
      }
      return ExitCode::ok;
    };
  });
}

}  // namespace gpuexp::cli
