#include "cli/results_file.hpp"

#include <filesystem>

#include "core/config_error.hpp"
#include "report/json.hpp"
#include "report/run_log.hpp"

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

}  // namespace gpuexp::cli
