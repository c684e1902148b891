#include "config/config_files.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/config_error.hpp"

namespace gpuexp {

namespace {

/// Calls visit(experiment, axis, index in the axis, parameter, file) for each value that is a
/// file.
template <class Visit>
void for_files(const Config& config, const Visit& visit) {
  for (const Experiment& experiment : config.experiments) {
    for (const Axis& axis : experiment.axes) {
      const Parameter& parameter = *experiment.family->find_parameter(axis.parameter);
      for (std::size_t i = 0; i < axis.items.size(); ++i) {
        const auto* const value = std::get_if<Value>(&axis.items[i]);
        if (value && parameter.names_file(*value))
          visit(experiment, axis, i, parameter, std::get<std::string>(*value));
      }
    }
  }
}

}  // namespace

std::vector<std::string> files_of(const Config& config) {
  std::vector<std::string> files;
  for_files(config, [&](const Experiment&, const Axis&, std::size_t, const Parameter&,
                        const std::string& file) {
    if (std::ranges::find(files, file) == files.end()) files.push_back(file);
  });
  return files;
}

std::vector<FileIdentity> planned_files(const Family& family, const Values& values) {
  std::vector<FileIdentity> files;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (family.parameters[i].names_file(values[i]))
      files.push_back(planned_identity(std::get<std::string>(values[i])));
  }
  return files;
}

void check_files(const Config& config) {
  for_files(config, [&](const Experiment& experiment, const Axis& axis, std::size_t i,
                        const Parameter& parameter, const std::string& file) {
    const std::string error = parameter.file_error(file);
    if (error.empty()) return;
    const std::string& source = axis.option.empty() ? config.path : axis.option;
    throw ConfigError(
        fmt::format("{}: {}.{}[{}]: {}", source, experiment.name, parameter.name, i, error));
  });
}

}  // namespace gpuexp
