#include "render/comparison_json.hpp"

#include "base/json.hpp"
#include "base/json_text.hpp"

namespace gpuexp {

namespace {

Json json_of_run(const ComparedRun& run) {
  return {{"file", run.file},
          {"device", run.provenance.device.name},
          {"git_commit", run.provenance.git_commit},
          {"utc", run.provenance.utc}};
}

Json json_of_tally(const Tally& tally) {
  Json json = Json::object();
  if (!tally.experiment.empty()) json["experiment"] = tally.experiment;
  for (std::size_t i = 0; i < kOutcomeCount; ++i)
    json[std::string(name_of(static_cast<Outcome>(i)))] = tally.counts.at(i);
  const auto mean = geometric_mean(tally.ratios);
  json["ratios"] = tally.ratios.size();
  json["geometric_mean"] = mean ? Json(mean->value) : Json(nullptr);
  json["geometric_mean_ci95_low"] = mean ? Json(mean->ci95.low) : Json(nullptr);
  json["geometric_mean_ci95_high"] = mean ? Json(mean->ci95.high) : Json(nullptr);
  return json;
}

}  // namespace

std::string to_json(const RunComparison& comparison, const ComparisonContext& context) {
  const Json head = {{"schema_version", kComparisonSchemaVersion},
                     {"a", json_of_run(context.a)},
                     {"b", json_of_run(context.b)},
                     {"min_effect",
                      {{"source", context.effect_source},
                       {"relative", context.effect.relative},
                       {"absolute_us", context.effect.absolute_us}}},
                     {"notes", context.notes},
                     {"fail_on", context.fail_on},
                     {"summary",
                      {{"all", json_of_tally(comparison.all)},
                       {"experiments", json_list(comparison.experiments, json_of_tally)}}}};
  return json_with_table(head, comparison.table);
}

}  // namespace gpuexp
