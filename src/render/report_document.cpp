#include "render/report_document.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/predicted_difference.hpp"
#include "analysis/report_summary.hpp"
#include "analysis/sentence_fragments.hpp"
#include "base/text.hpp"
#include "record/flags.hpp"
#include "render/chart_data.hpp"
#include "render/explanation_text.hpp"
#include "render/figure_views.hpp"
#include "render/page.hpp"
#include "render/viewer.hpp"
#include "results/json_write.hpp"

namespace gpuexp {

namespace {

// ---- summary

Json json_of(const ReadConditions& read) {
  return {{"lowest_sm_clock_mhz", read.lowest_sm_clock_mhz},
          {"highest_sm_clock_mhz", read.highest_sm_clock_mhz},
          {"highest_power_w", read.highest_power_w}};
}

ExperimentView flags_of(const RecordTable& rows) {
  ExperimentView view;
  view.title = "Flags";
  view.facts = {"Warnings about the numbers of these rows."};
  view.columns = {{"flag", false}, {"rows", true}, {"meaning", false}, {"remedy", false}};
  for (const auto& [id, count] : flag_counts(rows)) {
    const auto known =
        std::ranges::find_if(kFlags, [&id = id](const Flag& flag) { return flag.id == id; });
    const Flag flag = known == kFlags.end() ? Flag{} : *known;
    view.rows.push_back({{printable(id), fmt::format("{}", count), std::string(flag.meaning),
                          std::string(flag.remedy)}});
  }
  return view;
}

Json published_figures(const Report& report) {
  const std::vector<ResultRecord>& rows = report.table.rows;
  Json views = Json::array();
  for (const ExperimentView& view : figure_views(report.figures, rows))
    views.push_back(json_of(view));
  return {{"summary", figures_summary(report.figures, rows)}, {"views", std::move(views)}};
}

// ---- experiments

Json json_of_experiment(const ReportDocument& document, const ExperimentResults& e,
                        ExperimentView view) {
  // Predicted differences, as in `gpuexp explain`.
  if (document.report.provenance.device.is_simulated()) {
    for (const PredictedDifference& difference : predicted_differences_of(e, false))
      view.explanations.push_back(printable(gpuexp::text_of(e, difference)));
  }
  const Family* family = document.registry.find(e.constant(&ResultRecord::family));
  Json json = json_of(view);
  json["name"] = printable(e.name);
  json["families"] = e.values(&ResultRecord::family);
  if (family) json["question"] = family->question;
  json.update(chart_data(e, family));
  return json;
}

// ---- variants

Json json_of_part(const SourcePart& part) {
  Json lines = Json::array();
  for (const CodeLine& line : part.lines)
    lines.push_back(Json::array({line.number, line.instructions, line.text, line.classes}));
  return {{"file", part.file}, {"lines", std::move(lines)}};
}

Json json_of_source(const VariantSource& source) {
  const SourcePart& section = source.section;
  const bool has_code = !source.architecture.empty();
  std::string summary = "Source";
  if (!section.lines.empty())
    summary += fmt::format(": {}, from line {}", section.file, section.lines.front().number);
  if (has_code) summary += fmt::format("; {} machine instructions", source.instructions);
  Json parts = Json::array({json_of_part(section)});
  for (const SourcePart& part : source.others)
    parts.push_back(json_of_part(part));
  return {{"summary", summary},
          {"architecture", has_code ? Json(source.architecture) : Json()},
          {"parts", std::move(parts)}};
}

Json json_of_variant(const ReportDocument& document, const Family& family,
                     const std::string& name) {
  const Variant* variant = family.find(name);
  Json json = {{"id", name}};
  if (!variant) {
    json["note"] = "Unknown variant.";
    return json;
  }
  json["why"] = variant->why;
  if (!variant->compare_to.empty()) {
    const std::string changes = expected_changes_fragment(variant->expected_changes);
    json["compared"] = fmt::format("Compared to {}{}{}.", variant->compare_to,
                                   changes.empty() ? "" : ": ", changes);
  }
  const auto found = document.sources.find({family.id, variant->id});
  const bool has_source = found != document.sources.end() &&
                          (!found->second.section.lines.empty() || !found->second.others.empty());
  if (variant->is_vendor)
    json["note"] = "Library variant without source.";
  else if (has_source)
    json["source"] = json_of_source(found->second);
  else
    json["note"] = "Source not available.";
  return json;
}

// The family of a kernel file exists only where the file is loaded; its source is in the results.
Json json_of_kernel_file(const ReportDocument& document, const std::string& name,
                         const std::vector<std::string>& variants) {
  Json json = {{"id", name},
               {"question", fmt::format("Kernels of the file {}.", name)},
               {"variants", Json::array()}};
  for (const std::string& variant : variants)
    json["variants"].push_back({{"id", variant}});
  for (const InputProvenance& input : document.report.provenance.inputs) {
    const std::filesystem::path path = input.path.value_or("");
    if (path.filename() == name && input.text)
      json["source"] = json_of_source({whole_file(name, *input.text), {}, {}, 0});
  }
  if (!json.contains("source")) json["note"] = "The results do not have the file's source.";
  return json;
}

Json json_of_family(const ReportDocument& document, const std::string& name,
                    const std::vector<std::string>& variants) {
  const Family* family = document.registry.find(name);
  if (!family && is_kernel_file(name)) return json_of_kernel_file(document, name, variants);
  Json json = {{"id", name}};
  if (!family) {
    json["note"] = fmt::format("Unknown family, with variants {}.", fmt::join(variants, ", "));
    return json;
  }
  json["question"] = family->question;
  json["physics"] = family->physics;
  Json& of_family = json["variants"] = Json::array();
  for (const std::string& variant : variants)
    of_family.push_back(json_of_variant(document, *family, variant));
  return json;
}

// In the order in which families and variants first appear.
Json families_of(const ReportDocument& document) {
  std::vector<std::pair<std::string, std::vector<std::string>>> families;
  for (const ResultRecord& row : document.report.table.rows) {
    auto found =
        std::ranges::find_if(families, [&](const auto& f) { return f.first == row.family; });
    if (found == families.end())
      found = families.insert(families.end(), {row.family, std::vector<std::string>()});
    std::vector<std::string>& names = found->second;
    if (std::find(names.begin(), names.end(), row.variant) == names.end())
      names.push_back(row.variant);
  }
  Json json = Json::array();
  for (const auto& [name, variants] : families)
    json.push_back(json_of_family(document, name, variants));
  return json;
}

Json head_of(const ReportDocument& document) {
  const Report& report = document.report;
  const Provenance& p = report.provenance;
  const std::string config = p.config.name.value_or("results");
  Json head = {{"brand", "gpuexp report"},
               {"title", p.device.name ? fmt::format("{} on {}", config, *p.device.name) : config},
               {"rows", report.table.rows.size()},
               {"complete", report.complete},
               {"statuses", status_counts(report.table)},
               {"conditions", json_of(conditions_of(report.table))},
               {"flags", json_of(flags_of(report.table))},
               {"families", families_of(document)},
               {"sources_note", document.sources_note},
               {"provenance", json_of(p)}};
  if (!report.figures.empty()) head["figures"] = published_figures(report);
  return head;
}

}  // namespace

void write_html(const ReportDocument& document, const WritePart& write) {
  const RecordTable& table = document.report.table;
  const std::vector<ExperimentResults> experiments = experiments_of(table);
  std::vector<ExperimentView> views = views_of(table, document.rates, TimeUnits::heading);
  write_viewer(write, [&](const WritePart& write_json) {
    std::string head = head_of(document).dump();
    head.pop_back();  // removes the final "}"
    write_json(head + ",\"experiments\":[");
    for (std::size_t i = 0; i < experiments.size(); ++i) {
      const Json experiment = json_of_experiment(document, experiments[i], std::move(views.at(i)));
      write_json((i == 0 ? "" : ",") + experiment.dump());
    }
    write_json("]}");
  });
}

}  // namespace gpuexp
