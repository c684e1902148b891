#include <map>

#include "core/json_reader.hpp"
#include "report/health.hpp"
#include "report/json_text.hpp"

namespace gpuexp {

namespace {

Json json_of(const HealthReport& report, const Finding& f) {
  return {{"topic", f.topic}, {"verdict", std::string(name_of(f.verdict))},
          {"found", f.found}, {"expected", f.expected},
          {"cost", f.cost},   {"cure", cure_of(report, f)}};
}

Json json_of(const FigureFinding& f) {
  Json json = {{"ceiling", f.term->id}, {"unit", f.term->unit}};
  const auto& m = f.measured;
  json["value"] = m ? Json(m->value) : Json(nullptr);
  json["low"] = m ? Json(m->low) : Json(nullptr);
  json["high"] = m ? Json(m->high) : Json(nullptr);
  json["from"] = m ? Json(m->from) : Json(nullptr);
  json["band"] = nullptr;
  if (f.band) {
    json["band"] = {
        {"low", or_null(f.band->low)}, {"high", or_null(f.band->high)}, {"source", f.band->source}};
  }
  json["datasheet"] = or_null(f.datasheet);
  json["verdict"] = std::string(name_of(f.finding.verdict));
  json["cost"] = f.finding.cost;
  json["likely"] = f.finding.likely;
  return json;
}

Json json_of(const LoadReadings& load) {
  return {{"rows", load.rows},
          {"sm_clock_mhz", or_null(load.sm_clock_mhz)},
          {"memory_clock_mhz", or_null(load.memory_clock_mhz)},
          {"temperature_c", or_null(load.temperature_c)},
          {"power_w", or_null(load.power_w)},
          {"clock_reasons", load.clock_reasons}};
}

Json json_of(const DeviceState& s) {
  Json json = {{"is_mig_instance", s.is_mig_instance},
               {"mig_on", or_null(s.mig_on)},
               {"ecc_on", or_null(s.ecc_on)},
               {"ecc_on_next", or_null(s.ecc_on_next)},
               {"ecc_on_by_default", or_null(s.ecc_on_by_default)},
               {"uncorrected_errors", or_null(s.uncorrected_errors)},
               {"uncorrected_errors_lifetime", or_null(s.uncorrected_errors_lifetime)},
               {"row_remap_failed", or_null(s.row_remap_failed)},
               {"row_remap_pending", or_null(s.row_remap_pending)},
               {"page_retirement_pending", or_null(s.page_retirement_pending)},
               {"power_w", or_null(s.power_w)},
               {"power_limit_w", or_null(s.power_limit_w)},
               {"power_limit_default_w", or_null(s.power_limit_default_w)},
               {"temperature_c", or_null(s.temperature_c)},
               {"slowdown_margin_c", or_null(s.slowdown_margin_c)},
               {"sm_clock_mhz", or_null(s.sm_clock_mhz)},
               {"sm_clock_max_mhz", or_null(s.sm_clock_max_mhz)},
               {"sm_clock_max_boost_mhz", or_null(s.sm_clock_max_boost_mhz)},
               {"sm_clock_set_mhz", or_null(s.sm_clock_set_mhz)},
               {"sm_clock_set_by_default_mhz", or_null(s.sm_clock_set_by_default_mhz)},
               {"memory_clock_mhz", or_null(s.memory_clock_mhz)},
               {"memory_clock_max_mhz", or_null(s.memory_clock_max_mhz)},
               {"performance_state", or_null(s.performance_state)},
               {"clock_reasons", or_null(s.clock_reasons)},
               {"pcie_generation", or_null(s.pcie_generation)},
               {"pcie_generation_max", or_null(s.pcie_generation_max)},
               {"pcie_generation_gpu_max", or_null(s.pcie_generation_gpu_max)},
               {"pcie_width", or_null(s.pcie_width)},
               {"pcie_width_max", or_null(s.pcie_width_max)},
               {"persistence_on", or_null(s.persistence_on)},
               {"compute_mode", or_null(s.compute_mode)},
               {"processes", or_null(s.processes)},
               {"process_bytes", or_null(s.process_bytes)}};
  json["load"] = s.load ? json_of(*s.load) : Json(nullptr);
  return json;
}

Json counts_of(const HealthReport& report) {
  std::map<FindingVerdict, int> counts;
  for (const Finding& f : report.state)
    ++counts[f.verdict];
  for (const FigureFinding& f : report.figures)
    ++counts[f.finding.verdict];
  Json json = Json::object();
  for (const FindingVerdict v :
       {FindingVerdict::pass, FindingVerdict::note, FindingVerdict::unknown, FindingVerdict::off})
    json[std::string(name_of(v))] = counts[v];
  return json;
}

const char* text_of(HealthVerdict verdict) {
  switch (verdict) {
    case HealthVerdict::healthy: return "healthy";
    case HealthVerdict::off: return "off";
    case HealthVerdict::unjudged: return "unjudged";
  }
  return "";
}

}  // namespace

std::string to_json(const HealthReport& report) {
  constexpr int kIndent = 2;
  Json json = {{"schema_version", kHealthSchemaVersion},
               {"device", report.device},
               {"uuid", report.uuid},
               {"device_spec", report.spec_id.empty() ? Json(nullptr) : Json(report.spec_id)},
               {"source", report.source},
               {"utc", report.utc},
               {"git_commit", report.git_commit},
               {"verdict", text_of(verdict_of(report))},
               {"counts", counts_of(report)},
               {"state", Json::array()},
               {"figures", Json::array()},
               {"readings", Json::object()}};
  for (const Finding& f : report.state)
    json["state"].push_back(json_of(report, f));
  for (const FigureFinding& f : report.figures)
    json["figures"].push_back(json_of(f));
  json["readings"]["before"] = report.before ? json_of(*report.before) : Json(nullptr);
  json["readings"]["after"] = report.after ? json_of(*report.after) : Json(nullptr);
  return text_of(json, kIndent) + "\n";
}

}  // namespace gpuexp
