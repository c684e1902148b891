#include "cli/results_file.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "base/output.hpp"
#include "cli/app.hpp"
#include "cli/ceilings_lookup.hpp"
#include "results/json_read.hpp"
#include "results/run_log.hpp"
#include "results/run_log_read.hpp"

namespace gpuexp::cli {

Report read_results(const std::string& file) {
  try {
    const std::filesystem::path path(file);
    std::error_code unknown;
    const bool is_folder = std::filesystem::is_directory(path, unknown);
    if (!is_folder && is_kernel_file(file))
      throw ConfigError(
          fmt::format("{0}: is a kernel file; expected results: write them with 'gpuexp run {0} "
                      "--counters --out results/{1}', and name results/{1} instead",
                      file, path.stem().string()));
    if (!is_folder) return read_report(file);
    // Merged results have no log.
    if (is_missing(path / kRunLogName)) {
      if (is_missing(path / kResultsName))
        throw ConfigError(fmt::format(
            "{}: is a folder without results; expected {} or {}, which gpuexp run --out writes",
            file, kRunLogName, kResultsName));
      return read_report(path / kResultsName);
    }
    return read_run_log(path / kRunLogName).report;
  } catch (const ReportError& e) {
    throw ConfigError(e.what());
  }
}

DeviceRates rates_of(const Report& report) {
  DeviceRates rates = device_rates(report);
  const auto& name = report.provenance.device.name;
  if (report.provenance.ceilings || !name) return rates;
  const auto spec = spec_of_name(*name);
  if (!spec) return rates;
  const Ceilings recorded = ceiling_source_of(spec->spec, spec->spec.id).ceilings;
  rates.ceilings = completed(recorded, rates.ceilings);
  return rates;
}

}  // namespace gpuexp::cli
