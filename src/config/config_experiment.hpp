// An experiment of a config, and readers of settings that the command line can replace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_node.hpp"
#include "config/config.hpp"
#include "config/config_keys.hpp"
#include "family/registry.hpp"

namespace gpuexp {

/// Reads an experiment. Axes keep duplicates, so that zipped axes keep their lengths.
Experiment read_experiment(const Node& node, const Registry& registry);

std::vector<Mode> read_modes(const Node& node);

/// Reads a list of counters, counter groups and Nsight Compute metrics; ["none"] gives an empty
/// list.
std::vector<std::string> read_counters(const Node& node);

void read_measure_setting(const Node& node, const MeasureKey& key, MeasureSettings& settings);

/// Fails at `place` if min_samples exceeds max_samples.
void check_measure(const MeasureSettings& settings, const Node& place);

/// Whether the name is valid in file names on any system: 1 to kMaxNameLength letters, digits, '.',
/// '_' and '-', not starting with '.'.
bool is_plain_name(std::string_view name);
std::string read_name(const Node& node);

}  // namespace gpuexp
