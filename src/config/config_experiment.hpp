// One experiment of a config, and those of its settings that the command line can replace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_node.hpp"
#include "config/config.hpp"
#include "config/config_keys.hpp"
#include "family/registry.hpp"

namespace gpuexp {

/// Everything but the repetitions in axes, which stay so that zipped axes keep their length.
Experiment read_experiment(const Node& node, const Registry& registry);

/// A list of modes, none twice.
std::vector<Mode> read_modes(const Node& node);

/// A list of counters, their groups and metrics of Nsight Compute; "none" alone is an empty list.
std::vector<std::string> read_counters(const Node& node);

/// Reads one number into the member that `key` stands for.
void read_measure_setting(const Node& node, const MeasureKey& key, MeasureSettings& settings);

/// Fails at `place` when the settings contradict each other.
void check_measure(const MeasureSettings& settings, const Node& place);

/// Whether it can be part of a file name on any system: letters, digits, '.', '_' and '-', not
/// starting with '.'.
bool is_plain_name(std::string_view name);
/// Such a name.
std::string read_name(const Node& node);

}  // namespace gpuexp
