#include "config/config_files.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/config_error.hpp"

namespace gpuexp {

namespace {

/// Calls visit(experiment, parameter, place in its axis, file).
template <class Visit>
void for_files(const Config& config, const Visit& visit) {
  for (const Experiment& experiment : config.experiments) {
    for (const Axis& axis : experiment.axes) {
      const Parameter& parameter = *experiment.family->find_parameter(axis.parameter);
      for (std::size_t i = 0; i < axis.items.size(); ++i) {
        const auto* const value = std::get_if<Value>(&axis.items[i]);
        if (value && parameter.names_file(*value))
          visit(experiment, parameter, i, std::get<std::string>(*value));
      }
    }
  }
}

}  // namespace

std::vector<std::string> files_of(const Config& config) {
  std::vector<std::string> files;
  for_files(config, [&](const Experiment&, const Parameter&, std::size_t, const std::string& file) {
    if (std::ranges::find(files, file) == files.end()) files.push_back(file);
  });
  return files;
}

void check_files(const Config& config) {
  for_files(config, [&](const Experiment& experiment, const Parameter& parameter, std::size_t place,
                        const std::string& file) {
    const std::string error = parameter.file_error(file);
    if (error.empty()) return;
    throw ConfigError(fmt::format("{}{}.{}[{}]: {}", config.path.empty() ? "" : config.path + ": ",
                                  experiment.name, parameter.name, place, error));
  });
}

}  // namespace gpuexp
