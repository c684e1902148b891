#include "cli/results_file.hpp"

#include <filesystem>

#include "cli/app.hpp"
#include "model/basis.hpp"
#include "results/json_read.hpp"
#include "results/run_log.hpp"
#include "results/run_log_read.hpp"

namespace gpuexp::cli {

Report read_results(const std::string& file) {
  try {
    const std::filesystem::path path(file);
    if (!std::filesystem::is_directory(path)) return read_report(file);
    return read_run_log(path / kRunLogName).report;
  } catch (const ReportError& e) {
    throw ConfigError(e.what());
  }
}

ExplanationBasis basis_of(const Report& report) {
  ExplanationBasis basis = explanation_basis(report);
  const auto directory = find_config_dir();
  const auto& name = report.provenance.device.name;
  if (report.provenance.ceilings || !directory || !name) return basis;
  const auto specs = read_device_specs(*directory / "devices");
  const DeviceSpecFile* spec = match_device_name(specs, *name);
  if (!spec) return basis;
  const Ceilings recorded =
      choose_basis(spec->spec, spec->spec.id, directory, std::nullopt).ceilings;
  basis.ceilings = completed(recorded, basis.ceilings);
  return basis;
}

}  // namespace gpuexp::cli
