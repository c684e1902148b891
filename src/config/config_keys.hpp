// The vocabulary of configs, declared once: the reader checks against it, errors list it, and the
// JSON Schema is made from it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_node.hpp"
#include "config/config.hpp"

namespace gpuexp {

inline constexpr std::array kConfigKeys{
    Key{"$schema", "Path or address of this schema, for editors."},
    Key{"name", "Letters, digits, '.', '_' and '-'; results go to results/<name>-<utc>/."},
    Key{"description", "What the experiments show, in a sentence or two."},
    Key{"seed", "Seed of the input data, 1 when absent; equal seeds give equal inputs."},
    Key{"experiments", "At least one; they run in this order."},
    Key{"figures", "Published figures that these experiments are held against; none when absent."},
};

inline constexpr std::array kFigureKeys{
    Key{"title", "What there is to see."},
    Key{"source", "Where the numbers were published."},
    Key{"published_on", "The GPU that they were published for, as the source has it."},
    Key{"device",
        "Its device spec (gpuexp list), by which the model transposes the numbers to "
        "another GPU; they are taken as they are when absent."},
    Key{"claims", "At least one."},
};

inline constexpr std::array kSourceKeys{
    Key{"author", "Who published them."},
    Key{"title", "Of the paper, page or talk."},
    Key{"year", "Of publication."},
    Key{"address", "Of the page."},
    Key{"place", "Figure, table or section that has the numbers."},
};

inline constexpr std::array kClaimKeys{
    Key{"name", "What the number is of. Unique in a figure."},
    Key{"published", "The published number, above 0."},
    Key{"unit",
        "Its unit: that of the column, or us, ms, s, GB/s, TB/s, GFLOP/s, TFLOP/s, B, MB, "
        "GB; of quotients \"×\", \"%\" or \"FLOP/B\"."},
    Key{"column",
        "The column that the claim is about, or several, which are added up: "
        "time_median_us, useful_gb_per_s, moved_gb_per_s, tflops, kernel_launches, "
        "grid_blocks, waves, operations, useful_bytes, moved_bytes, metric.NAME, "
        "counter.NAME."},
    Key{"rows", "The row, or several, which are added up."},
    Key{"over", "The row, or the sum of several, that the rows are divided by; none when absent."},
    Key{"over_column", "The column, or several, of these rows; that of the others when absent."},
    Key{"band",
        "Least and largest quotient of what is measured over what is expected at which the "
        "number counts as reproduced."},
    Key{"because", "Why the band is as wide."},
    Key{"expectation",
        "Why a GPU may be known to differ; said where the number is not reproduced."},
};

inline constexpr std::array kClaimedRowKeys{
    Key{"experiment", "Its name."},
    Key{"variant", "One of the experiment's."},
    Key{"mode", "One of the experiment's; where it has but one, that when absent."},
    Key{"at",
        "Values of parameters; of those of which the experiment has one value, that when "
        "absent."},
    Key{"times", "How often the row is added: a batch of 64 is four of 16. Once when absent."},
};

inline constexpr std::array kExperimentKeys{
    Key{"family", "The family whose variants are compared."},
    Key{"name", "Names the experiment in reports; the family when absent. Unique in a config."},
    Key{"variants", "Names or globs ('*', '?', '[a-z]'); all variants when absent."},
    Key{"baseline", "The selected variant that speed-ups refer to; none when absent."},
    Key{"axes", "Values of parameters to sweep; parameters that are not named keep their default."},
    Key{"zip", "Lists of axes that advance together; other axes are crossed."},
    Key{"modes", "How cells are launched and timed; [\"cold\"] when absent."},
    Key{"measure", "When a measurement is long enough."},
    Key{"counters",
        "Hardware counters to read after timing: groups, names (gpuexp list metrics) and metrics "
        "of Nsight Compute; \"all\" for every group, \"none\" for none. None when absent."},
};

inline constexpr std::array kRangeKeys{
    Key{"from", "First value."},
    Key{"to", "No value is above this; it is one of them when the step hits it."},
    Key{"step", "Distance of values, above 0."},
};

inline constexpr std::array kPow2Keys{
    Key{"pow2", "Every power of two from the first to the second of two powers of two."},
};

inline constexpr std::array kWaveEdgesKeys{
    Key{"wave_edges",
        "Every size from 'from' to 'to' whose grid ends a wave, the next size, and one beyond; "
        "computed per variant and device. On one axis of an experiment, which is not zipped."},
};

inline constexpr std::array kWaveEdgesRangeKeys{
    Key{"from", "Smallest size."},
    Key{"to", "Largest size."},
};

/// A row of a claim is added at most so often.
inline constexpr int kMaxTimes = 1'000'000;

struct ModeKey : Key {
  constexpr ModeKey(Mode of, std::string_view meaning) : Key{name_of(of), meaning}, mode(of) {}

  Mode mode;
};
inline constexpr std::array kModes{
    ModeKey(Mode::cold, "Caches are flushed before every sample."),
    ModeKey(Mode::warm, "The same buffers again, after an untimed launch."),
    ModeKey(Mode::graph, "Many launches per replay of a CUDA graph, over buffers in rotation."),
    ModeKey(Mode::back_to_back,
            "20 launches in a row on the host's clock, as nccl-tests times collectives."),
    ModeKey(Mode::back_to_back_graph, "The same as a CUDA graph, which is replayed."),
    ModeKey(Mode::profile, "One launch from flushed caches, for a profiler; no times."),
};

struct MeasureKey : Key {
  using Member = std::variant<int MeasureSettings::*, double MeasureSettings::*>;
  struct Range {
    double min;
    double max;
    bool above_min = false;
  };

  constexpr MeasureKey(std::string_view id, std::string_view meaning, Range allowed, Member where)
      : Key{id, meaning}, range(allowed), member(where) {}

  Bounds bounds() const { return {range.min, range.max, range.above_min, std::string(doc)}; }

  Range range;
  Member member;
};
inline constexpr std::array kMeasureKeys{
    MeasureKey("min_samples", "samples to take before stopping early", {1, 1e6},
               &MeasureSettings::min_samples),
    MeasureKey("max_samples", "samples after which to stop", {1, 1e6},
               &MeasureSettings::max_samples),
    MeasureKey("min_seconds", "wall time per cell before stopping early", {0, 3600},
               &MeasureSettings::min_seconds),
    MeasureKey("max_seconds", "wall time per cell, wins over min_samples and min_seconds",
               {0, 3600, true}, &MeasureSettings::max_seconds),
    MeasureKey("target_relative_ci",
               "stop when the 95 % interval's half-width over the median is below this; 0 never "
               "stops early",
               {0, 1}, &MeasureSettings::target_relative_ci),
    MeasureKey("fine_relative_ci",
               "go on until the half-width is below this while the group has been sampled for "
               "less than fine_seconds",
               {0, 1}, &MeasureSettings::fine_relative_ci),
    MeasureKey("fine_seconds", "wall time per group after which target_relative_ci is enough",
               {0, 3600}, &MeasureSettings::fine_seconds),
    MeasureKey("sustain_seconds",
               "seconds for which the group's launches run back to back before its samples, so "
               "that these show what the power cap leaves",
               {0, 3600}, &MeasureSettings::sustain_seconds),
    MeasureKey("burst_check_seconds",
               "seconds for which they do so after the samples of a group near the power cap, to "
               "see what a longer run would come to; 0: not",
               {0, 3600}, &MeasureSettings::burst_check_seconds),
    MeasureKey("warmup_launches", "untimed launches before the first sample", {0, 1000},
               &MeasureSettings::warmup_launches),
    MeasureKey("warmup_seconds",
               "seconds after which no further warm-up launch begins; the first always does",
               {0, 3600}, &MeasureSettings::warmup_seconds),
};

/// A config that asks for more cells (problem × variant × mode) than this is an error, as is an
/// axis of more values; wave_edges count as one value until a device resolves them.
inline constexpr std::size_t kMaxCells = 1'000'000;

/// The longest name of a config or an experiment; leaves room for a time stamp in a file name.
inline constexpr std::size_t kMaxNameLength = 128;

/// The ids or names of families, variants, parameters or keys, in their order.
template <class Range>
std::vector<std::string> names_of(const Range& range) {
  std::vector<std::string> names;
  for (const auto& entry : range) {
    if constexpr (requires { entry.id; }) {
      names.emplace_back(entry.id);
    } else {
      names.emplace_back(entry.name);
    }
  }
  return names;
}

}  // namespace gpuexp
