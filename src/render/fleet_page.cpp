#include "render/fleet_page.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "render/comparison_page.hpp"

namespace gpuexp {

namespace {

constexpr int kFleetSchemaVersion = 1;

std::string verdict_text(const FleetGpu& gpu) {
  std::vector<std::string> parts;
  if (gpu.verdict == Verdict::slower) parts.emplace_back("SLOWER");
  if (gpu.verdict == Verdict::faster) parts.emplace_back("FASTER");
  if (gpu.not_passed > 0) parts.emplace_back("BROKEN");
  return parts.empty() ? std::string(name_of(gpu.verdict))
                       : fmt::format("{}", fmt::join(parts, ", "));
}

ExperimentView gpus_view(const FleetComparison& fleet) {
  ExperimentView view;
  view.title = "GPUs, by ratio to the fleet's median time";
  view.columns = {{"GPU", false},         {"host", false},  {"cells", true},
                  {"median ratio", true}, {"mean", true},   {"95 % interval", true},
                  {"slower", true},       {"faster", true}, {"not passed", true},
                  {"verdict", false}};
  view.first_number = 2;
  for (const FleetGpu& gpu : fleet.gpus) {
    ViewRow& row = view.rows.emplace_back();
    const bool is_compared = gpu.cells > 0;
    row.cells = {printable(gpu.uuid),
                 printable(gpu.host),
                 fmt::format("{}", gpu.cells),
                 is_compared ? ratio_text(gpu.median_ratio) : "",
                 is_compared ? ratio_text(gpu.mean_ratio.value) : "",
                 is_compared ? interval_text(gpu.mean_ratio.ci95) : "",
                 fmt::format("{}", gpu.slower),
                 fmt::format("{}", gpu.faster),
                 fmt::format("{}", gpu.not_passed),
                 verdict_text(gpu)};
  }
  view.explanations = standing_out(fleet);
  if (view.explanations.empty()) view.headline = "no GPU stands out";
  return view;
}

/// Slower and faster cells of GPUs that stand out, by decreasing difference; at most `most` per
/// GPU.
std::vector<const FleetCell*> worst_cells(const FleetComparison& fleet, std::size_t most) {
  std::vector<const FleetCell*> worst;
  for (std::size_t g = 0; g < fleet.gpus.size(); ++g) {
    if (!fleet.gpus[g].stands_out()) continue;
    std::vector<const FleetCell*> own;
    for (const FleetCell& cell : fleet.cells) {
      if (cell.gpu == g && (cell.verdict == Verdict::slower || cell.verdict == Verdict::faster))
        own.push_back(&cell);
    }
    std::ranges::stable_sort(own, [](const FleetCell* a, const FleetCell* b) {
      return std::abs(std::log(a->ratio.value)) > std::abs(std::log(b->ratio.value));
    });
    own.resize(std::min(own.size(), most));
    worst.insert(worst.end(), own.begin(), own.end());
  }
  return worst;
}

ExperimentView cells_view(const FleetComparison& fleet,
                          const std::vector<const FleetCell*>& cells) {
  ExperimentView view;
  view.title = "cells that differ most";
  view.columns = {{"GPU", false},        {"cell", false},   {"time", true},
                  {"fleet", true},       {"ratio", true},   {"95 % interval", true},
                  {"min. effect", true}, {"verdict", false}};
  view.first_number = 2;
  constexpr double kPercent = 100;
  for (const FleetCell* cell : cells) {
    view.rows.emplace_back().cells = {printable(fleet.gpus[cell->gpu].uuid),
                                      printable(cell->record->key),
                                      time_text(cell->time_us.median),
                                      time_text(cell->fleet_time_us),
                                      ratio_text(cell->ratio.value),
                                      interval_text(cell->ratio.ci95),
                                      fmt::format("{:.1f} %", kPercent * cell->effect),
                                      cell->verdict == Verdict::slower ? "SLOWER" : "FASTER"};
  }
  return view;
}

Json json_of(const FleetGpu& gpu) {
  return {{"gpu_uuid", gpu.uuid},
          {"gpu", gpu.name},
          {"host", gpu.host},
          {"cells", gpu.cells},
          {"slower", gpu.slower},
          {"faster", gpu.faster},
          {"not_passed", gpu.not_passed},
          {"median_ratio", gpu.cells > 0 ? Json(gpu.median_ratio) : Json(nullptr)},
          {"mean_ratio", gpu.cells > 0 ? Json(gpu.mean_ratio.value) : Json(nullptr)},
          {"mean_ratio_ci95_low", gpu.cells > 0 ? Json(gpu.mean_ratio.ci95.low) : Json(nullptr)},
          {"mean_ratio_ci95_high", gpu.cells > 0 ? Json(gpu.mean_ratio.ci95.high) : Json(nullptr)},
          {"verdict", name_of(gpu.verdict)},
          {"stands_out", gpu.stands_out()}};
}

}  // namespace

std::vector<std::string> standing_out(const FleetComparison& fleet) {
  std::vector<std::string> texts;
  for (const FleetGpu& gpu : fleet.gpus) {
    if (!gpu.stands_out()) continue;
    const std::string where = gpu.host.empty() ? gpu.uuid : gpu.uuid + " on " + gpu.host;
    std::vector<std::string> what;
    if (gpu.verdict != Verdict::same) {
      what.push_back(fmt::format("is {}: {} of the fleet's median time, {} of {} beyond noise",
                                 name_of(gpu.verdict), ratio_text(gpu.median_ratio),
                                 gpu.verdict == Verdict::slower ? gpu.slower : gpu.faster,
                                 counted(gpu.cells, "cell")));
    }
    if (gpu.not_passed > 0)
      what.push_back(
          fmt::format("did not pass {} that others passed", counted(gpu.not_passed, "cell")));
    texts.push_back(printable(fmt::format("{} {}", where, fmt::join(what, "; it "))));
  }
  return texts;
}

Page page_of(const FleetComparison& fleet, std::vector<std::string> head, bool all) {
  Page page;
  page.head = std::move(head);
  page.experiments.push_back(gpus_view(fleet));
  constexpr std::size_t kShown = 3;
  const auto worst = worst_cells(fleet, all ? fleet.cells.size() : kShown);
  if (!worst.empty()) page.experiments.push_back(cells_view(fleet, worst));
  const auto out =
      std::ranges::count_if(fleet.gpus, [](const FleetGpu& gpu) { return gpu.stands_out(); });
  page.summary =
      fmt::format("{}, {} on two or more of them{}; {} out", counted(fleet.gpus.size(), "GPU"),
                  counted(fleet.keys, "cell"),
                  fleet.left_out.empty() ? "" : fmt::format(", {} left out", fleet.left_out.size()),
                  out == 1 ? "1 stands" : fmt::format("{} stand", out));
  return page;
}

std::string to_json(const FleetComparison& fleet, const FleetContext& context) {
  const Json head = {
      {"schema_version", kFleetSchemaVersion},
      {"across", "uuid"},
      {"files", context.files},
      {"min_effect",
       {{"source", context.effect_source},
        {"relative", context.effect.relative},
        {"absolute_us", context.effect.absolute_us}}},
      {"notes", context.notes},
      {"left_out", fleet.left_out},
      {"gpus", json_list(fleet.gpus, [](const FleetGpu& gpu) { return json_of(gpu); })}};
  return json_with_table(head, fleet.table);
}

}  // namespace gpuexp
