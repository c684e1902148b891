// Experiment configs: strict JSON in, typed values out. Every error names the place in the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/config_error.hpp"
#include "core/names.hpp"
#include "core/registry.hpp"

namespace gpuexp {

/// Cache state at the start of each timed launch.
enum class Mode {
  cold,  ///< caches flushed before every sample
  warm,  ///< the same buffers again, no flush
};
std::string_view name_of(Mode mode);

/// Every size whose grid ends a wave, starts the next one, and one beyond, in [from, to]; resolved
/// per variant and device when the plan is made.
struct WaveEdges {
  std::int64_t from;
  std::int64_t to;
};

/// One item of an axis after ranges and powers are expanded.
using AxisItem = std::variant<Value, WaveEdges>;

struct Axis {
  std::string parameter;
  std::vector<AxisItem> items;  ///< in the order written, without repetition of plain values
};

struct MeasureSettings {
  int min_samples = 20;
  int max_samples = 1000;
  double max_seconds = 2.0;  ///< wall cap per cell; wins over min_samples
  double target_relative_ci =
      0.01;  ///< stop when the 95 % interval's half-width over the median is below this
  int warmup_launches = 3;
};

struct Experiment {
  std::string name;  ///< given, or the family's id; unique in the config
  const Family* family = nullptr;
  std::vector<const Variant*> variants;  ///< globs resolved, in the family's order
  const Variant* baseline = nullptr;     ///< speed-ups refer to it; null when none is named
  std::vector<Axis> axes;                ///< parameters that are not named keep their default
  /// Groups of indices into `axes` that advance together; every axis is in exactly one group.
  std::vector<std::vector<std::size_t>> axis_groups;
  std::vector<Mode> modes;
  MeasureSettings measure;
};

struct Config {
  std::string path;  ///< as given
  std::string name;
  std::string description;
  std::uint64_t seed = 1;
  std::vector<Experiment> experiments;
  std::string text;  ///< the file's bytes, for provenance
  std::string hash;  ///< sha256 of `text`, hexadecimal
};

/// What the command line changes about a config.
struct ConfigOverrides {
  std::optional<std::uint64_t> seed;
  /// `--set key=value[,value…]`: replaces the axis `key` (or the measure setting `measure.KEY`, or
  /// `modes`) in every experiment whose family has it; an error when none has.
  std::vector<std::string> sets;
  /// `--filter GLOB` on "family/variant"; empty keeps all. Experiments left with no variant are
  /// dropped; an error when all are.
  std::string filter;
};

/// Reads and checks one config. Throws ConfigError; touches no GPU.
Config read_config(const std::filesystem::path& path, const Registry& registry,
                   const ConfigOverrides& overrides = {});

/// The same from text already read; `path` is for messages.
Config parse_config(std::string text, const std::string& path, const Registry& registry,
                    const ConfigOverrides& overrides = {});

/// The JSON Schema (draft 2020-12) of configs for the families in the registry, pretty-printed.
std::string config_schema(const Registry& registry);

}  // namespace gpuexp
