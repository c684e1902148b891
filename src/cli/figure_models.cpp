#include "cli/figure_models.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/app.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/progress.hpp"
#include "cli/provenance.hpp"
#include "family/counters.hpp"
#include "results/claim_outcomes.hpp"
#include "run/record_of.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp::cli {

namespace {

using Claims = std::vector<const Claim*>;

Claims claims_of(const std::vector<PublishedFigure>& figures, const std::string& device) {
  Claims claims;
  for (const PublishedFigure& figure : figures) {
    for (const Claim& claim : figure.claims) {
      if (device.empty() || figure.device == device) claims.push_back(&claim);
    }
  }
  return claims;
}

bool is_claimed(const ResultRecord& record, const Claims& claims) {
  return std::ranges::any_of(claims, [&](const Claim* claim) {
    const auto is_it = [&](const ClaimedRow& row) { return is_row(row, record); };
    const Quantity& quantity = claim->quantity;
    return std::ranges::any_of(quantity.rows, is_it) || std::ranges::any_of(quantity.over, is_it);
  });
}

std::vector<std::string> counters_of(const Claims& claims) {
  std::set<std::string> names;
  for (const Claim* claim : claims) {
    for (const auto* columns : {&claim->quantity.columns, &claim->quantity.over_columns}) {
      for (const std::string& column : *columns) {
        if (column.starts_with(kCounterPrefix)) names.insert(column.substr(kCounterPrefix.size()));
      }
    }
  }
  return {names.begin(), names.end()};
}

class ModelRows {
 public:
  ModelRows(const Config& config, const Claims& claims, const DeviceSpec& device,
            const CeilingSource& ceilings, const Context& context, unsigned threads)
      : config_(config), context_(context) {
    config_.experiments.front().counters = counters_of(claims);
    plan_ = make_plan(config_, device, context.resources, device.memory_bytes);
    plan_.ceiling_source = ceilings;
    const RecordTable table = empty_table(plan_);
    std::vector<std::pair<const Group*, Row>> claimed;
    for (Group& group : plan_.groups) {
      for (Cell& cell : group.cells) {
        const Row row = row_of(group, cell);
        if (is_claimed(record_of(table, plan_, row), claims)) {
          claimed.emplace_back(&group, row);
        } else if (cell.skip_reason.empty()) {
          cell.skip_reason = "no claim refers to it";  // so that it is not executed
        }
      }
    }
    CodePredictor predictor(plan_, context.resources, code_predictor_options(threads));
    CountOnTerminal done("predicted rows of published figures", claimed.size());
    for (auto& [group, row] : claimed) {
      fill(row, predictor);
      rows_.push_back(record_of(table, plan_, row));
      done.add();
    }
  }

  const std::vector<ResultRecord>& rows() const { return rows_; }

 private:
  Row row_of(const Group& group, const Cell& cell) const {
    Row row;
    row.group = &group;
    row.cell = &cell;
    row.key = cell_key(plan_, group, cell);
    row.status = cell.skip_reason.empty() ? Status::passed : Status::skipped;
    row.reason = cell.skip_reason;
    return row;
  }

  void fill(Row& row, CodePredictor& predictor) const {
    row.prediction = predict_cell(plan_, *row.group, *row.cell, context_.resources);
    if (!row.prediction) return;
    predictor.refine(*row.cell, *row.prediction);
    row.reason = row.prediction->why_no_time;
    const Variant& variant = *row.cell->variant;
    if (variant.metrics) row.metrics = variant.metrics(row.group->problem.get(), plan_.device);
    row.counts = predictor.cache_counts(*row.cell, metrics_of(select_counters(config_.counters())));
  }

  Config config_;
  Plan plan_;
  const Context& context_;
  std::vector<ResultRecord> rows_;
};

std::string bound_by(const Claim& claim, const std::vector<ResultRecord>& rows) {
  const ClaimedRow& last = claim.quantity.rows.back();
  const auto found =
      std::ranges::find_if(rows, [&](const ResultRecord& row) { return is_row(last, row); });
  return found == rows.end() ? "" : found->bound_by;
}

}  // namespace

void model_figures(Config& config, const DeviceSpec& here, const CeilingSource& ceilings,
                   const Context& context, unsigned threads) {
  if (config.figures.empty()) return;
  const auto specs = device_specs();
  std::set<std::string> devices;
  for (const PublishedFigure& figure : config.figures) {
    if (figure.device.empty()) continue;
    find_device_spec(specs, figure.device);
    devices.insert(figure.device);
  }
  const ModelRows rows_here(config, claims_of(config.figures, ""), here, ceilings, context,
                            threads);
  std::map<std::string, ModelRows> published;
  for (const std::string& id : devices) {
    const DeviceSpec& device = find_device_spec(specs, id).spec;
    published.try_emplace(id, config, claims_of(config.figures, id), device,
                          ceiling_source_of(device, id), context, threads);
  }
  for (PublishedFigure& figure : config.figures) {
    for (Claim& claim : figure.claims) {
      const ClaimValue value = model_value_of(claim.quantity, rows_here.rows());
      claim.model.here = value.number;
      claim.model.why_not = value.why_not;
      claim.model.bound_by = bound_by(claim, rows_here.rows());
      if (figure.device.empty()) continue;
      const ClaimValue there = model_value_of(claim.quantity, published.at(figure.device).rows());
      claim.model.published = there.number;
      if (!there.number)
        claim.model.why_not = fmt::format("on {}, {}", figure.published_on, there.why_not);
    }
  }
}

std::filesystem::path cache_folder(const char* name) {
  const auto cache = user_folder("GPUEXP_CACHE_DIR", "XDG_CACHE_HOME", ".cache");
  return cache ? *cache / name : std::filesystem::path();
}

std::filesystem::path predictions_folder() {
  return cache_folder("predictions");
}

CellTimes kept_cell_times(const DeviceSpec& device) {
  const auto listed = spec_of_name(device.name);
  std::filesystem::path recorded;
  if (listed) recorded = config_dir() / "cell_times" / (listed->spec.id + ".txt");
  std::string name = listed ? listed->spec.name : device.name;
  std::ranges::replace(name, '/', '_');
  const std::filesystem::path folder = cache_folder("cell_times");
  return CellTimes(folder.empty() ? folder : folder / (name + ".txt"), recorded);
}

CodePredictorOptions code_predictor_options(unsigned threads) {
  CodePredictorOptions options;
  options.threads = threads;
  options.kept_in = predictions_folder();
  options.build_id = build_id();
  options.tools = ToolkitTools::found().identity();
  options.interrupted = interrupted;
  return options;
}

}  // namespace gpuexp::cli
