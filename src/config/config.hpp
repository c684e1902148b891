// An experiment config as typed values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/mode.hpp"
#include "config/published_figure.hpp"
#include "family/family.hpp"

namespace gpuexp {

/// The sizes in [from, to] whose grid fills its last wave, and the next two sizes after each of
/// them. The planner determines them for each variant and device.
struct WaveEdges {
  std::int64_t from;
  std::int64_t to;
  friend auto operator<=>(const WaveEdges&, const WaveEdges&) = default;
};

using AxisItem = std::variant<Value, WaveEdges>;

struct Axis {
  std::string parameter;
  /// At least one item, in the order written, without duplicates: no equal items in an unzipped
  /// axis, no equal tuples in zipped axes. Sizes from WaveEdges may equal other items.
  std::vector<AxisItem> items;
  std::string option = {};  ///< "--set KEY=VALUE,…" if the command line set the items
};

struct MeasureSettings {
  int min_samples = 20;
  int max_samples = 1000;
  /// Minimum sampling time of a cell, so that short kernels get more samples.
  double min_seconds = 0.003;
  double max_seconds = 2.0;  ///< maximum per cell; overrides min_samples and min_seconds
  /// Sampling stops when the half-width of the 95 % interval divided by the median is below this
  /// value.
  double target_relative_ci = 0.01;
  /// Sampling continues for at most fine_seconds per group until the same ratio of half-width to
  /// median is below this value. It is a quarter of the minimum effect of a comparison, so that
  /// repeated runs can be reported as equal.
  double fine_relative_ci = 0.0025;
  double fine_seconds = 0.2;
  int warmup_launches = 3;
  double warmup_seconds = 0.05;  ///< no further warm-up launch starts after this time
  double sustain_seconds = 0;    ///< duration of back-to-back launches before a group's samples
  /// Duration of back-to-back launches after the samples of a group near the power cap, which
  /// measure a longer run. 0: no such launches.
  double burst_check_seconds = 0.1;

  /// Approximate duration of the warm-up launches if one launch takes `launch_s` seconds.
  double warm_up_s(double launch_s) const {
    return std::min(launch_s * warmup_launches, launch_s + warmup_seconds);
  }
};

struct Experiment {
  std::string name;  ///< name in the config, or the family's id; unique in the config
  const Family* family = nullptr;
  std::vector<const Variant*> variants;  ///< at least one, in the family's order
  const Variant* baseline = nullptr;     ///< variant to which speedups refer; null if none is named
  /// In the order written. Parameters without an axis have their default. At most one axis has
  /// WaveEdges; its parameter is an integer, and the axis is not zipped.
  std::vector<Axis> axes;
  /// Groups of indices into `axes` that advance together and have equal lengths. Every axis is in
  /// exactly one group. Groups are in the order of their first axes.
  std::vector<std::vector<std::size_t>> axis_groups;
  /// By variant of a kernel file: positions of the parameters on which it does not depend, apart
  /// from its machine code (KernelFiles::unused_parameters).
  std::map<const Variant*, std::vector<std::size_t>> unused_parameters;
  std::vector<Mode> modes;  ///< at least one, in the order written
  MeasureSettings measure;
  std::vector<std::string> counters;
};

struct Config {
  std::string path;  ///< as given
  std::string name;
  std::string description;
  std::uint64_t seed = 1;
  std::vector<Experiment> experiments;
  std::vector<PublishedFigure> figures;  ///< their claims refer to rows of these experiments
  std::string text;                      ///< the file's bytes, for provenance
  std::string hash;                      ///< sha256 of `text`, hexadecimal

  std::vector<std::string> counters() const;
};

}  // namespace gpuexp
