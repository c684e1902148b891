#include "cli/run_folder.hpp"

#include <fmt/format.h>

#include "base/config_error.hpp"
#include "base/csv.hpp"
#include "base/output.hpp"
#include "cli/provenance.hpp"
#include "results/csv_write.hpp"
#include "results/run_log.hpp"

namespace gpuexp::cli {

namespace fs = std::filesystem;

fs::path results_folder(const std::string& out, const std::string& name, std::time_t started) {
  if (!out.empty()) return out;
  return fs::path("results") / fmt::format("{}-{}", name, utc("%Y%m%dT%H%M%SZ", started));
}

void claim_folder(const fs::path& folder) {
  for (const char* file : {kRunLogName, kResultsName, "results.csv"}) {
    if (fs::exists(folder / file)) {
      throw ConfigError(fmt::format("{} exists; name another folder with --out{}",
                                    (folder / file).string(),
                                    file == kRunLogName ? ", or go on with it by --resume" : ""));
    }
  }
  fs::create_directories(folder);
}

void write_results(const Report& report, const fs::path& folder, const JsonOptions& json) {
  write_file_atomically(folder / "results.csv", to_csv(report.table));
  if (!report.kernels.columns.empty())
    write_file_atomically(folder / "kernels.csv", to_csv(report.kernels));
  write_json(report, folder / kResultsName, json);
}

}  // namespace gpuexp::cli
