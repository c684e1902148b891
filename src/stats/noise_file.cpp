#include "stats/noise_file.hpp"

#include "base/json.hpp"
#include "base/json_node.hpp"

namespace gpuexp {

namespace {}  // namespace

std::string to_json(const NoiseFile& file) {
  const Calibration& c = file.calibration;
  const Json json = {{"schema_version", kNoiseSchemaVersion},
                     {"device", file.device},
                     {"relative", c.effect.relative},
                     {"absolute_us", c.effect.absolute_us},
                     {"runs", file.runs},
                     {"pairs", file.pairs},
                     {"cells", file.cells},
                     {"comparisons", file.comparisons},
                     {"false_without", c.false_without},
                     {"false_with", c.false_with},
                     {"rate_bound", c.rate_bound},
                     {"margin", c.margin},
                     {"git_commit", file.git_commit},
                     {"driver_version", file.driver_version},
                     {"cuda_toolkit", file.cuda_toolkit},
                     {"utc", file.utc}};
  return json.dump(2) + "\n";
}

RecordedEffect read_noise_file(const std::filesystem::path& path) {
  constexpr double kLargestShare = 10;
  constexpr double kLargestUs = 1e9;
  const std::string source = path.string();
  const Json json = read_json(read_text_file(path), source);
  const Node root(json, source, "$");
  root.require("schema_version").integer({1, kNoiseSchemaVersion});
  RecordedEffect recorded;
  recorded.effect = {root.require("relative").real({0, kLargestShare}),
                     root.require("absolute_us").real({0, kLargestUs})};
  const Node device = root.require("device");
  if (!device.json().is_null()) recorded.device = device.text();
  return recorded;
}

}  // namespace gpuexp
