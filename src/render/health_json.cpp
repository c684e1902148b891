#include "render/health_json.hpp"

#include <map>

#include "base/json.hpp"
#include "base/json_text.hpp"

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
    json["band"] = {{"low", f.band->low}, {"high", f.band->high}, {"source", f.band->source}};
  }
  json["datasheet"] = f.datasheet;
  json["verdict"] = std::string(name_of(f.finding.verdict));
  json["cost"] = f.finding.cost;
  json["likely"] = f.finding.likely;
  return json;
}

Json json_of(const LoadReadings& load) {
  return {{"rows", load.rows},
          {"sm_clock_mhz", load.sm_clock_mhz},
          {"memory_clock_mhz", load.memory_clock_mhz},
          {"temperature_c", load.temperature_c},
          {"power_w", load.power_w},
          {"clock_reasons", load.clock_reasons}};
}

Json json_of(const DeviceState& s) {
  Json json = {{"is_mig_instance", s.is_mig_instance},
               {"mig_on", s.mig_on},
               {"ecc_on", s.ecc_on},
               {"ecc_on_next", s.ecc_on_next},
               {"ecc_on_by_default", s.ecc_on_by_default},
               {"uncorrected_errors", s.uncorrected_errors},
               {"uncorrected_errors_lifetime", s.uncorrected_errors_lifetime},
               {"row_remap_failed", s.row_remap_failed},
               {"row_remap_pending", s.row_remap_pending},
               {"page_retirement_pending", s.page_retirement_pending},
               {"power_w", s.power_w},
               {"power_limit_w", s.power_limit_w},
               {"power_limit_default_w", s.power_limit_default_w},
               {"temperature_c", s.temperature_c},
               {"slowdown_margin_c", s.slowdown_margin_c},
               {"sm_clock_mhz", s.sm_clock_mhz},
               {"sm_clock_max_mhz", s.sm_clock_max_mhz},
               {"sm_clock_max_boost_mhz", s.sm_clock_max_boost_mhz},
               {"sm_clock_set_mhz", s.sm_clock_set_mhz},
               {"sm_clock_set_by_default_mhz", s.sm_clock_set_by_default_mhz},
               {"memory_clock_mhz", s.memory_clock_mhz},
               {"memory_clock_max_mhz", s.memory_clock_max_mhz},
               {"performance_state", s.performance_state},
               {"clock_reasons", s.clock_reasons},
               {"pcie_generation", s.pcie_generation},
               {"pcie_generation_max", s.pcie_generation_max},
               {"pcie_generation_gpu_max", s.pcie_generation_gpu_max},
               {"pcie_width", s.pcie_width},
               {"pcie_width_max", s.pcie_width_max},
               {"persistence_on", s.persistence_on},
               {"compute_mode", s.compute_mode},
               {"processes", s.processes},
               {"process_bytes", s.process_bytes}};
  json["load"] = s.load ? json_of(*s.load) : Json(nullptr);
  return json;
}

Json counts_of(const HealthReport& report) {
  std::map<FindingVerdict, int> counts;
  for (const Finding& f : report.state)
    ++counts[f.verdict];
  for (const FigureFinding& f : report.figures)
    ++counts[f.finding.verdict];
  for (const LinkHealth& link : report.links) {
    for (const Finding& f : link.state)
      ++counts[f.verdict];
    for (const FigureFinding& f : link.figures)
      ++counts[f.finding.verdict];
  }
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
  json["links"] = Json::array();
  for (const LinkHealth& link : report.links) {
    Json of_link = {{"to_device", link.peer},
                    {"to_uuid", link.peer_uuid},
                    {"way", link.way},
                    {"state", Json::array()},
                    {"figures", Json::array()}};
    for (const Finding& f : link.state)
      of_link["state"].push_back(json_of(report, f));
    for (const FigureFinding& f : link.figures)
      of_link["figures"].push_back(json_of(f));
    json["links"].push_back(of_link);
  }
  json["readings"]["before"] = report.before ? json_of(*report.before) : Json(nullptr);
  json["readings"]["after"] = report.after ? json_of(*report.after) : Json(nullptr);
  return text_of(json, kIndent) + "\n";
}

}  // namespace gpuexp
