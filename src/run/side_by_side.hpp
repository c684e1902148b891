// Two variants of different families, measured alternately.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "config/config.hpp"
#include "run/executor.hpp"
#include "stats/ratio.hpp"

namespace gpuexp {

/// A variant and the executor, with a timer, that launches it. Two sides may be the workers of one
/// GPU.
struct Side {
  Executor& executor;
  const Family& family;
  const Values& values;
  const Variant& variant;
  ElementName element_name = name_in_one_dimension;
};

struct SideBySide {
  /// Why nothing was measured, such as "old.cu/tile is incorrect: …"; empty if it was.
  std::string why_not;
  std::array<Statistics, 2> times = {};  ///< times in µs, in the order of the sides
  std::optional<Ratio> ratio = {};       ///< median of the second side over that of the first
};

/// Verifies both variants, warms them up, and takes samples alternately until both medians are
/// known to settings.target_relative_ci or a cap of the settings is reached, at most
/// settings.max_seconds for both sides together. Each pair of samples begins with the side that
/// ended the pair before, so that drift affects both sides alike. `interrupted` is called between
/// samples. Throws DeviceError.
SideBySide measure_side_by_side(const std::array<Side, 2>& sides, Mode mode, std::uint64_t seed,
                                const MeasureSettings& settings,
                                const std::function<bool()>& interrupted);

}  // namespace gpuexp
