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

/// The sizes in [from, to] whose grid fills its last wave, and the next two sizes after each. The
/// planner resolves them per variant and device.
struct WaveEdges {
  std::int64_t from;
  std::int64_t to;
  friend auto operator<=>(const WaveEdges&, const WaveEdges&) = default;
};

/// An item of an axis, after ranges and powers are expanded.
using AxisItem = std::variant<Value, WaveEdges>;

struct Axis {
  std::string parameter;
  /// At least one item, in the order written. An unzipped axis repeats no item, and zipped axes
  /// repeat no tuple: the first of equal ones is kept. Sizes from WaveEdges may equal plain values.
  std::vector<AxisItem> items;
  std::string option = {};  ///< "--set KEY=VALUE,…" if the items come from the command line
};

struct MeasureSettings {
  int min_samples = 20;
  int max_samples = 1000;
  /// Minimum wall time per cell before sampling stops early. It gives short kernels more samples at
  /// little cost.
  double min_seconds = 0.003;
  double max_seconds = 2.0;  ///< maximum per cell; overrides min_samples and min_seconds
  /// Sampling stops when the half-width of the 95 % interval over the median is below this.
  double target_relative_ci = 0.01;
  /// Sampling continues until the ratio is below this, while the group has been sampled for less
  /// than fine_seconds. The value is a quarter of the minimum effect of a comparison, so that
  /// repeated runs can be reported as equal.
  double fine_relative_ci = 0.0025;
  double fine_seconds = 0.2;
  int warmup_launches = 3;
  double warmup_seconds = 0.05;  ///< no further warm-up launch starts after this time
  double sustain_seconds = 0;    ///< back-to-back launches before a group's samples
  /// Duration of the same launches after the samples of a group near the power cap. They measure
  /// what a longer run would reach. 0: no launches.
  double burst_check_seconds = 0.1;

  /// Approximate duration of the warm-up launches, if one launch takes `launch_s` seconds.
  double warm_up_s(double launch_s) const {
    return std::min(launch_s * warmup_launches, launch_s + warmup_seconds);
  }
};

struct Experiment {
  std::string name;  ///< given, or the family's id; unique in the config
  const Family* family = nullptr;
  std::vector<const Variant*> variants;  ///< at least one, in the family's order
  const Variant* baseline = nullptr;     ///< reference of speedups; null if none is named
  /// In the order written. Parameters without an axis keep their default. At most one axis has
  /// WaveEdges; its parameter is an integer, and it is not zipped.
  std::vector<Axis> axes;
  /// Groups of indices into `axes` that advance together and have equal lengths. Every axis is in
  /// exactly one group. Groups are ordered by their first axis.
  std::vector<std::vector<std::size_t>> axis_groups;
  std::vector<Mode> modes;  ///< at least one, in the order written
  MeasureSettings measure;
  /// Names of counters, counter groups and Nsight Compute metrics to read; see select_counters().
  std::vector<std::string> counters;
};

struct Config {
  std::string path;  ///< as given
  std::string name;
  std::string description;
  std::uint64_t seed = 1;
  std::vector<Experiment> experiments;
  std::vector<PublishedFigure> figures;  ///< their claims name rows of these experiments
  std::string text;                      ///< the file's bytes, for provenance
  std::string hash;                      ///< sha256 of `text`, hexadecimal

  /// The counters that the experiments request.
  std::vector<std::string> counters() const;
};

}  // namespace gpuexp
