#include "render/html_provenance.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "render/html.hpp"
#include "render/html_table.hpp"

namespace gpuexp {

namespace {

/// Names and values of what is known.
class Facts {
 public:
  void add(const char* name, const std::optional<std::string>& value) {
    if (value && !value->empty()) facts_.emplace_back(name, *value);
  }
  void add(const char* name, const std::optional<std::int64_t>& value, const char* unit) {
    if (value) facts_.emplace_back(name, with_unit(fmt::format("{}", *value), unit));
  }
  void add(const char* name, const std::optional<double>& value, const char* unit) {
    if (value) facts_.emplace_back(name, with_unit(fmt::format("{:g}", *value), unit));
  }
  void add_bytes(const char* name, const std::optional<std::int64_t>& value) {
    if (value) facts_.emplace_back(name, bytes_text(static_cast<double>(*value)));
  }

  std::string table() const { return html_facts(facts_); }

 private:
  static std::string with_unit(const std::string& number, const std::string& unit) {
    return unit.empty() ? number : number + " " + unit;
  }

  std::vector<std::pair<std::string, std::string>> facts_;
};

std::string run_facts(const Provenance& p) {
  Facts facts;
  facts.add("gpuexp", p.gpuexp_version);
  facts.add("commit", p.git_commit);
  if (p.git_dirty) facts.add("local changes", std::string(*p.git_dirty ? "yes" : "no"));
  facts.add("compiler", p.compiler);
  facts.add("CUDA toolkit", p.cuda_toolkit);
  facts.add("started", p.utc);
  facts.add("host", p.host);
  facts.add("shard", p.shard);
  if (!p.argv.empty()) facts.add("command", fmt::format("{}", fmt::join(p.argv, " ")));
  facts.add("config", p.config.path);
  facts.add("config's SHA-256", p.config.sha256);
  return facts.table();
}

std::string device_facts(const DeviceProvenance& d) {
  Facts facts;
  facts.add("GPU", d.name);
  facts.add("executed on", d.executed_on);
  facts.add("UUID", d.uuid);
  facts.add("PCI bus id", d.pci_bus_id);
  facts.add("compute capability", d.compute_capability);
  facts.add("SMs", d.sm_count, "");
  facts.add("driver", d.driver_version);
  facts.add("CUDA runtime", d.runtime_version);
  facts.add("SM clock at the start", d.sm_clock_mhz, "MHz");
  facts.add("highest SM clock", d.sm_clock_max_mhz, "MHz");
  facts.add("memory clock", d.memory_clock_mhz, "MHz");
  facts.add("power limit", d.power_limit_w, "W");
  facts.add("temperature at the start", d.temperature_c, "°C");
  if (d.ecc_enabled) facts.add("ECC", std::string(*d.ecc_enabled ? "on" : "off"));
  facts.add_bytes("memory", d.memory_total_bytes);
  facts.add_bytes("of it free at the start", d.memory_free_bytes);
  if (d.memory_bytes_per_s)
    facts.add("theoretical bandwidth", std::optional(*d.memory_bytes_per_s / 1e9), "GB/s");
  facts.add("PCIe generation", d.pcie_generation, "");
  facts.add("PCIe lanes", d.pcie_width, "");
  facts.add("NUMA node", d.numa_node, "");
  facts.add("NUMA nodes of the process", d.process_numa_nodes);
  return facts.table();
}

std::string parts_table(const std::vector<PartProvenance>& parts) {
  if (parts.empty()) return "";
  HtmlTable table;
  table.caption = "Parts";
  table.columns = {{"shard", false}, {"started", false}, {"host", false},
                   {"GPU", false},   {"UUID", false},    {"rows", true}};
  for (const PartProvenance& part : parts) {
    table.rows.push_back({part.shard.value_or(""), part.utc.value_or(""), part.host.value_or(""),
                          part.gpu.value_or(""), part.gpu_uuid.value_or(""),
                          part.rows ? fmt::format("{}", *part.rows) : ""});
  }
  return "<h3>Runs that were merged</h3>\n" + html_table(table);
}

std::string ranks_table(const std::vector<RankProvenance>& ranks) {
  if (ranks.empty()) return "";
  HtmlTable table;
  table.caption = "Ranks";
  table.columns = {{"rank", true},       {"host", false},       {"GPU", false},
                   {"UUID", false},      {"PCI bus id", false}, {"NUMA node", true},
                   {"processors", false}};
  const auto number = [](const std::optional<std::int64_t>& n) {
    return n ? fmt::format("{}", *n) : "";
  };
  for (const RankProvenance& rank : ranks) {
    table.rows.push_back({number(rank.rank), rank.host.value_or(""), rank.gpu.value_or(""),
                          rank.gpu_uuid.value_or(""), rank.pci_bus_id.value_or(""),
                          number(rank.numa_node), rank.processors.value_or("")});
  }
  return "<h3>Ranks of problems that span GPUs</h3>\n" + html_table(table);
}

std::string number_or_none(const std::optional<double>& number) {
  constexpr int kDigits = 5;
  return number ? significant(*number, kDigits) : "";
}

std::string ceilings_table(const std::optional<CeilingsProvenance>& ceilings) {
  if (!ceilings) return "";
  HtmlTable table;
  table.caption = "Ceilings";
  table.columns = {{"ceiling", false}, {"unit", false},     {"value", true},       {"low", true},
                   {"high", true},     {"datasheet", true}, {"measured in", false}};
  for (const CeilingProvenance& c : ceilings->values) {
    table.rows.push_back({c.id, c.unit.value_or(""), number_or_none(c.value), number_or_none(c.low),
                          number_or_none(c.high), number_or_none(c.datasheet),
                          c.from.value_or("")});
  }
  return "<h3>Ceilings</h3>\n" + html_element("p", ceilings->source) + "\n" + html_table(table);
}

std::string settings_table(const Provenance& p) {
  if (p.settings.empty()) return "";
  HtmlTable table;
  table.caption = "Settings";
  table.columns = {{"setting", false}, {"value", false}};
  for (const auto& [name, value] : p.settings)
    table.rows.push_back({name, gpuexp::text_of(value)});
  return "<details><summary>Settings that were in force</summary>\n" + html_table(table) +
         "</details>\n";
}

std::string config_text(const ConfigProvenance& config) {
  if (!config.text) return "";
  return fmt::format(
      "<details><summary>The config</summary><div class=\"scroll\" tabindex=\"0\" "
      "role=\"region\" aria-label=\"config\"><pre>{}</pre></div></details>\n",
      escape_html_lines(*config.text));
}

}  // namespace

std::string html_provenance(const Report& report) {
  const Provenance& p = report.provenance;
  return "<section id=\"provenance\"><h2>Provenance</h2>\n<h3>Run</h3>\n" + run_facts(p) +
         parts_table(p.parts) + "<h3>GPU</h3>\n" + device_facts(p.device) + ranks_table(p.ranks) +
         ceilings_table(p.ceilings) + settings_table(p) + config_text(p.config) + "</section>\n";
}

}  // namespace gpuexp
