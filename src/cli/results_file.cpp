#include "cli/results_file.hpp"

#include "core/config_error.hpp"
#include "report/json.hpp"

namespace gpuexp::cli {

Report read_results(const std::string& file) {
  try {
    return read_report(file);
  } catch (const ReportError& e) {
    throw ConfigError(e.what());
  }
}

}  // namespace gpuexp::cli
