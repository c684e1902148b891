// An experiment config as typed values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/mode.hpp"
#include "config/published_figure.hpp"
#include "family/family.hpp"

namespace gpuexp {

/// Every size whose grid ends a wave, starts the next one, and one beyond, in [from, to]; resolved
/// per variant and device when the plan is made.
struct WaveEdges {
  std::int64_t from;
  std::int64_t to;
  friend auto operator<=>(const WaveEdges&, const WaveEdges&) = default;
};

/// One item of an axis after ranges and powers are expanded.
using AxisItem = std::variant<Value, WaveEdges>;

struct Axis {
  std::string parameter;
  /// At least one, in the order written. An axis on its own has no item twice, and zipped axes have
  /// no tuple twice: of repetitions, which overlapping ranges bring, the first is kept. What
  /// WaveEdges resolve to may still repeat plain values.
  std::vector<AxisItem> items;
  std::string option = {};  ///< "--set KEY=VALUE,…" if the command line gave the items
};

struct MeasureSettings {
  int min_samples = 20;
  int max_samples = 1000;
  /// Wall time per cell before stopping early: short kernels get more samples for little.
  double min_seconds = 0.003;
  double max_seconds = 2.0;  ///< wall cap per cell; wins over min_samples and min_seconds
  /// Stop when the 95 % interval's half-width over the median is below this.
  double target_relative_ci = 0.01;
  /// Go on until it is below this, as long as the group has not been sampled for fine_seconds: a
  /// quarter of the minimum effect of a comparison, so that repeated runs can be called the same.
  double fine_relative_ci = 0.0025;
  double fine_seconds = 0.2;
  int warmup_launches = 3;
  double warmup_seconds = 0.05;  ///< after which no further one begins
  double sustain_seconds = 0;    ///< of the group's launches back to back, before its samples
  /// The same after the samples of a group that nears the power cap, to see what a longer run would
  /// come to; 0: not.
  double burst_check_seconds = 0.1;

  /// What launches to warm up take about, of so many seconds each.
  double warm_up_s(double launch_s) const {
    return std::min(launch_s * warmup_launches, launch_s + warmup_seconds);
  }
};

struct Experiment {
  std::string name;  ///< given, or the family's id; unique in the config
  const Family* family = nullptr;
  std::vector<const Variant*> variants;  ///< at least one; globs resolved, in the family's order
  const Variant* baseline = nullptr;     ///< speed-ups refer to it; null when none is named
  /// In the order written; parameters that are not named keep their default. At most one holds
  /// WaveEdges, on an integer parameter, and is not zipped.
  std::vector<Axis> axes;
  /// Groups of indices into `axes` that advance together and are equally long; every axis is in
  /// exactly one group. Groups stand in the order of their first axis.
  std::vector<std::vector<std::size_t>> axis_groups;
  std::vector<Mode> modes;  ///< at least one, in the order written
  MeasureSettings measure;
  /// Hardware counters to read: names of counters, of their groups, and metrics of Nsight Compute;
  /// see select_counters().
  std::vector<std::string> counters;
};

struct Config {
  std::string path;  ///< as given
  std::string name;
  std::string description;
  std::uint64_t seed = 1;
  std::vector<Experiment> experiments;
  std::vector<PublishedFigure> figures;  ///< whose claims name rows of these experiments
  std::string text;                      ///< the file's bytes, for provenance
  std::string hash;                      ///< sha256 of `text`, hexadecimal

  /// Those that any experiment asks for.
  std::vector<std::string> counters() const;
};

}  // namespace gpuexp
