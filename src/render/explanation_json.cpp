#include "render/explanation_json.hpp"

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "base/json_text.hpp"
#include "render/explanation_text.hpp"

namespace gpuexp {

namespace {

Json busy_json(const std::optional<Busy>& busy) {
  if (!busy) return nullptr;
  return {{"resource", name_of(busy->resource)}, {"share_pct", busy->share_pct}};
}

Json changes_json(const std::vector<CounterChange>& changes) {
  Json json = Json::array();
  for (const CounterChange& c : changes)
    json.push_back({{"counter", c.counter}, {"from", c.from}, {"to", c.to}});
  return json;
}

Json parameters_of(const ExperimentResults& experiment, const ResultRow& row) {
  Json parameters = Json::object();
  constexpr std::size_t kPrefix = std::string_view("param.").size();
  for (const std::string& column : experiment.parameters) {
    const Field field = row.field(column);
    if (!std::holds_alternative<std::monostate>(field))
      parameters[column.substr(kPrefix)] = json_of(field);
  }
  return parameters;
}

Json explanation_json(const ExperimentResults& experiment, const Explanation& e) {
  Json not_seen = Json::array();
  for (const Move& move : e.not_seen)
    not_seen.push_back(text_of({move}));
  return {{"experiment", experiment.name},
          {"family", e.row.text("family")},
          {"variant", e.row.variant()},
          {"compare_to", e.reference.variant()},
          {"mode", e.row.text("mode")},
          {"parameters", parameters_of(experiment, e.row)},
          {"time_us", e.row.time_us()},
          {"compare_to_time_us", e.reference.time_us()},
          {"factor", e.factor},
          {"factor_ci95_low", e.ratio ? Json(e.ratio->ci95.low) : Json(nullptr)},
          {"factor_ci95_high", e.ratio ? Json(e.ratio->ci95.high) : Json(nullptr)},
          {"differs", e.differs},
          {"counted", e.counted},
          {"changes", changes_json(e.changes)},
          {"kept", changes_json(e.kept)},
          {"not_seen", std::move(not_seen)},
          {"busiest", busy_json(e.busiest)},
          {"compare_to_busiest", busy_json(e.reference_busiest)},
          {"accounted_factor", e.accounted},
          {"predicted_factor", e.predicted},
          {"confidence", name_of(e.confidence)},
          {"text", text_of(experiment, e)}};
}

}  // namespace

std::string to_json(const std::string& file, const std::optional<std::string>& device,
                    const std::vector<ExplainedExperiment>& experiments) {
  constexpr int kIndent = 2;
  Json json = {{"schema_version", kExplanationSchemaVersion},
               {"results", file},
               {"device", device ? Json(*device) : Json(nullptr)},
               {"explanations", Json::array()}};
  for (const auto& [experiment, explanations] : experiments) {
    for (const Explanation& e : explanations)
      json["explanations"].push_back(explanation_json(experiment, e));
  }
  return text_of(json, kIndent) + "\n";
}

}  // namespace gpuexp
