#include "cli/results_file.hpp"

#include <filesystem>

#include "cli/app.hpp"
#include "model/ceiling_source.hpp"
#include "results/json_read.hpp"
#include "results/run_log.hpp"
#include "results/run_log_read.hpp"

namespace gpuexp::cli {

Report read_results(const std::string& file) {
  try {
    const std::filesystem::path path(file);
    if (!std::filesystem::is_directory(path)) return read_report(file);
    // Merged results have no log.
    if (!std::filesystem::exists(path / kRunLogName) &&
        std::filesystem::exists(path / kResultsName))
      return read_report(path / kResultsName);
    return read_run_log(path / kRunLogName).report;
  } catch (const ReportError& e) {
    throw ConfigError(e.what());
  }
}

DeviceRates rates_of(const Report& report) {
  DeviceRates rates = device_rates(report);
  const auto directory = find_config_dir();
  const auto& name = report.provenance.device.name;
  if (report.provenance.ceilings || !directory || !name) return rates;
  const auto specs = read_device_specs(*directory / "devices");
  const DeviceSpecFile* spec = match_device_name(specs, *name);
  if (!spec) return rates;
  const Ceilings recorded =
      choose_ceiling_source(spec->spec, spec->spec.id, directory, std::nullopt).ceilings;
  rates.ceilings = completed(recorded, rates.ceilings);
  return rates;
}

}  // namespace gpuexp::cli
