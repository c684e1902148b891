#include "render/explanation_json.hpp"

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "render/explanation_text.hpp"

namespace gpuexp {

namespace {

Json time_json(const LeastTime& t) {
  return {{"resource", name_of(t.resource)}, {"amount", t.amount}, {"least_time_us", t.time_us}};
}

Json bound_json(const std::optional<Bound>& bound) {
  if (!bound) return nullptr;
  return {{"resource", name_of(bound->longest->resource)},
          {"least_time_us", bound->longest->time_us},
          {"share_of_time", bound->share},
          {"needed_us", bound->times.needed_us()},
          {"needed_share", bound->needed_share},
          {"launch_us", bound->times.launch_us},
          {"kernels", bound->times.kernels},
          {"sm_share", bound->times.sm_share},
          {"least_times", json_list(bound->times.of_resources, time_json)},
          {"least_times_of_kernels", json_list(bound->times.of_chain, time_json)}};
}

Json launched_json(const Launched& launched) {
  return {{"kernels", launched.kernels}, {"fills", launched.fills}};
}

Json change_json(const CounterChange& c) {
  return {{"counter", c.counter}, {"from", c.from}, {"to", c.to}};
}

Json changes_json(const std::vector<CounterChange>& changes) {
  return json_list(changes, change_json);
}

Json parameters_of(const ExperimentResults& experiment, const ResultRecord& row) {
  Json parameters = Json::object();
  for (const ColumnHandle& column : experiment.parameters) {
    const Field field = column.field(row);
    if (!std::holds_alternative<std::monostate>(field)) parameters[column.name] = json_of(field);
  }
  return parameters;
}

Json not_seen_json(const std::vector<ExpectedChange>& expected) {
  return json_list(expected, [](const ExpectedChange& change) { return text_of({change}); });
}

Json pair_json(const ExperimentResults& experiment, const RowPair& pair) {
  return {{"experiment", experiment.name}, {"family", pair.row().family},
          {"variant", pair.row().variant}, {"compare_to", pair.reference().variant},
          {"mode", mode_text(pair.row())}, {"parameters", parameters_of(experiment, pair.row())}};
}

Json explanation_json(const ExperimentResults& experiment, const Explanation& e) {
  Json json = pair_json(experiment, e);
  json.update({{"time_us", e.row().time_us()},
               {"compare_to_time_us", e.reference().time_us()},
               {"factor", e.factor},
               {"factor_ci95_low", e.ratio ? Json(e.ratio->ci95.low) : Json(nullptr)},
               {"factor_ci95_high", e.ratio ? Json(e.ratio->ci95.high) : Json(nullptr)},
               {"differs", e.differs},
               {"counted", e.counted},
               {"changes", changes_json(e.changes)},
               {"kept", changes_json(e.kept)},
               {"not_seen", not_seen_json(e.not_seen)},
               {"others", changes_json(e.others)},
               {"bound", bound_json(e.bound)},
               {"compare_to_bound", bound_json(e.reference_bound)},
               {"misfit", e.misfit ? Json(name_of(e.misfit->amount.resource)) : Json(nullptr)},
               {"accounted_factor", e.accounted},
               {"accounted_factor_without_idle_sms", e.accounted_without_idle_sms},
               {"accounted_factor_without_launches", e.accounted_without_launches},
               {"predicted_factor", e.predicted},
               {"latency_factor", e.latency ? Json(e.latency->factor) : Json(nullptr)},
               {"atomics_factor", e.atomics ? Json(e.atomics->factor) : Json(nullptr)},
               {"launched", launched_json(e.launched)},
               {"compare_to_launched", launched_json(e.reference_launched)},
               {"cause", name_of(e.cause)},
               {"cause_resources", json_list(e.resources, [](Resource r) { return name_of(r); })},
               {"confidence", name_of(e.confidence)},
               {"text", text_of(experiment, e)}});
  return json;
}

Json comparison_json(const ExperimentResults& experiment, const PredictedDifference& d) {
  Json json = pair_json(experiment, d);
  json.update(
      {{"predicted_time_us", d.row().predicted_time_us},
       {"compare_to_predicted_time_us", d.reference().predicted_time_us},
       {"predicted_factor", d.factor},
       {"differs", d.differs()},
       {"bound_by", d.row().bound_by},
       {"compare_to_bound_by", d.reference().bound_by},
       {"changes", changes_json(d.changes)},
       {"kept", changes_json(d.kept)},
       {"not_seen", not_seen_json(d.not_seen)},
       {"amounts", changes_json(d.amounts)},
       {"bank_conflicts_pct", d.conflicts_pct ? change_json(*d.conflicts_pct) : Json(nullptr)},
       {"text", text_of(experiment, d)}});
  return json;
}

Json head_json(const std::string& file, const std::optional<std::string>& device) {
  return {{"schema_version", kExplanationSchemaVersion},
          {"results", file},
          {"device", device ? Json(*device) : Json(nullptr)}};
}

}  // namespace

std::string to_json(const std::string& file, const std::optional<std::string>& device,
                    const std::vector<ExplainedExperiment>& experiments) {
  Json json = head_json(file, device);
  json["explanations"] = Json::array();
  for (const auto& [experiment, explanations] : experiments) {
    for (const Explanation& e : explanations)
      json["explanations"].push_back(explanation_json(experiment, e));
  }
  return json.dump(2) + "\n";
}

std::string to_json(const std::string& file, const std::optional<std::string>& device,
                    const std::vector<PredictedExperiment>& experiments) {
  Json json = head_json(file, device);
  json["executed_on"] = "simulated";
  json["predicted_comparisons"] = Json::array();
  for (const auto& [experiment, differences] : experiments) {
    for (const PredictedDifference& d : differences)
      json["predicted_comparisons"].push_back(comparison_json(experiment, d));
  }
  return json.dump(2) + "\n";
}

}  // namespace gpuexp
