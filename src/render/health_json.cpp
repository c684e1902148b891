#include "render/health_json.hpp"

#include <map>

#include "base/json.hpp"
#include "base/json_text.hpp"

namespace gpuexp {

namespace {

Json json_of(const HealthReport& report, const Finding& f) {
  return {{"topic", f.topic}, {"verdict", name_of(f.verdict)},
          {"found", f.found}, {"expected", f.expected},
          {"cost", f.cost},   {"cure", cure_of(report, f)}};
}

Json json_of(const CeilingFinding& f) {
  const auto& m = f.measured;
  const auto& band = f.band;
  return {{"ceiling", f.term->id},
          {"unit", f.term->unit},
          {"value", m ? Json(m->value) : nullptr},
          {"low", m ? Json(m->low) : nullptr},
          {"high", m ? Json(m->high) : nullptr},
          {"from", m ? Json(m->from) : nullptr},
          {"band", band ? Json{{"low", band->low}, {"high", band->high}, {"source", band->source}}
                        : nullptr},
          {"datasheet", f.datasheet},
          {"verdict", name_of(f.finding.verdict)},
          {"cost", f.finding.cost},
          {"likely", f.finding.likely}};
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
  return {{"is_mig_instance", s.is_mig_instance},
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
          {"process_bytes", s.process_bytes},
          {"load", s.load ? json_of(*s.load) : nullptr}};
}

Json counts_of(const HealthReport& report) {
  std::map<FindingVerdict, int> counts;
  for (const Finding& f : all_findings(report))
    ++counts[f.verdict];
  Json json = Json::object();
  for (const FindingVerdict v :
       {FindingVerdict::pass, FindingVerdict::note, FindingVerdict::unknown, FindingVerdict::off})
    json[std::string(name_of(v))] = counts[v];
  return json;
}

Json json_of(const HealthReport& report, const std::vector<Finding>& findings) {
  return json_list(findings, [&](const Finding& f) { return json_of(report, f); });
}

Json json_of(const std::vector<CeilingFinding>& ceilings) {
  return json_list(ceilings, [](const CeilingFinding& f) { return json_of(f); });
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
               {"state", json_of(report, report.state)},
               {"figures", json_of(report.ceilings)},
               {"readings",
                {{"before", report.before ? json_of(*report.before) : nullptr},
                 {"after", report.after ? json_of(*report.after) : nullptr}}},
               {"links", json_list(report.links, [&](const LinkHealth& link) -> Json {
                  return {{"to_device", link.peer},
                          {"to_uuid", link.peer_uuid},
                          {"way", link.way},
                          {"state", json_of(report, link.state)},
                          {"figures", json_of(link.ceilings)}};
                })}};
  return json.dump(kIndent) + "\n";
}

}  // namespace gpuexp
