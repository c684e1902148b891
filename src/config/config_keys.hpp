// The keys of configs. The reader, its error messages and the JSON Schema use these declarations.
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
    Key{"description", "What the experiments measure, as a phrase or sentence."},
    Key{"seed", "Seed of the input data, 1 if absent. Equal seeds give equal inputs."},
    Key{"experiments", "List of at least one experiment; they run in this order."},
    Key{"figures",
        "Published figures with which the results of these experiments are compared; none if "
        "absent."},
};

inline constexpr std::array kFigureKeys{
    Key{"title", "Title of the published figure."},
    Key{"source", "Publication that contains the numbers."},
    Key{"published_on", "GPU of the published numbers, as named by the source."},
    Key{"device",
        "Device spec of that GPU (gpuexp list), with which the model converts the numbers for "
        "another GPU; if absent, the numbers are used unchanged."},
    Key{"claims", "List of at least one claim."},
};

inline constexpr std::array kSourceKeys{
    Key{"author", "Author of the publication."},
    Key{"title", "Title of the paper, page or talk."},
    Key{"year", "Year of publication."},
    Key{"address", "Address of the page."},
    Key{"place", "Figure, table or section with the numbers."},
};

inline constexpr std::array kClaimKeys{
    Key{"name", "Name of the measured quantity, unique in a figure."},
    Key{"published", "The published number, above 0."},
    Key{"unit",
        "Unit of the number: the unit of the column, or us, ms, s, GB/s, TB/s, GFLOP/s, TFLOP/s, "
        "B, MB, GB; for ratios \"×\", \"%\" or \"FLOP/B\"."},
    Key{"column",
        "The column of the claim, or several columns, which are summed: time_median_us, "
        "useful_gb_per_s, moved_gb_per_s, tflops, kernel_launches, grid_blocks, waves, operations, "
        "useful_bytes, moved_bytes, metric.NAME, counter.NAME."},
    Key{"rows", "The row, or several rows, which are summed."},
    Key{"over",
        "The row, or several rows, whose sum divides the sum of \"rows\"; no division if absent."},
    Key{"over_column",
        "The column, or several columns, of the rows in \"over\"; if absent, \"column\"."},
    Key{"band",
        "Minimum and maximum ratio of the measured to the expected value at which the number "
        "counts as reproduced."},
    Key{"because", "Reason for the width of the band."},
    Key{"expectation",
        "Known reason why a GPU may differ; printed if the number is not reproduced."},
};

inline constexpr std::array kClaimedRowKeys{
    Key{"experiment", "Name of the experiment."},
    Key{"variant", "A variant of the experiment."},
    Key{"mode", "A mode of the experiment; may be absent if the experiment has only one."},
    Key{"at",
        "Values of parameters. A parameter may be absent if the experiment has only one value of "
        "it."},
    Key{"times",
        "Number of times that the row is added, 1 if absent: a batch of 64 is four batches of 16."},
};

inline constexpr std::array kExperimentKeys{
    Key{"family", "The family whose variants are compared."},
    Key{"name", "Name of the experiment in reports; the family if absent. Unique in a config."},
    Key{"variants", "Names or globs ('*', '?', '[a-z]'); all variants if absent."},
    Key{"baseline", "The selected variant that speedups refer to; none if absent."},
    Key{"axes", "Values of parameters to sweep; parameters without an axis keep their default."},
    Key{"zip", "Lists of axes that advance together; other axes are crossed."},
    Key{"modes", "How cells are launched and timed; [\"cold\"] if absent."},
    Key{"measure", "Limits on samples and time of a measurement."},
    Key{"counters",
        "Hardware counters to read after timing: groups, names (gpuexp list metrics) and metrics "
        "of Nsight Compute; \"all\" for every group, \"none\" for no counter; \"none\" if absent."},
};

inline constexpr std::array kRangeKeys{
    Key{"from", "First value."},
    Key{"to", "Upper bound; it is a value if a whole number of steps reaches it."},
    Key{"step", "Difference of successive values, above 0."},
};

inline constexpr std::array kPow2Keys{
    Key{"pow2", "Two powers of two: all powers of two from the first to the second."},
};

inline constexpr std::array kWaveEdgesKeys{
    Key{"wave_edges",
        "Sizes from 'from' to 'to' whose grid fills its last wave, and the next two sizes after "
        "each; computed per variant and device. Allowed on one axis of an experiment, which "
        "must not be zipped."},
};

inline constexpr std::array kWaveEdgesRangeKeys{
    Key{"from", "Smallest size."},
    Key{"to", "Largest size."},
};

/// Maximum of "times" of a claim's row.
inline constexpr int kMaxTimes = 1'000'000;

struct ModeKey : Key {
  constexpr ModeKey(Mode of, std::string_view meaning) : Key{name_of(of), meaning}, mode(of) {}

  Mode mode;
};
inline constexpr std::array kModes{
    ModeKey(Mode::cold, "Caches are flushed before every sample."),
    ModeKey(Mode::warm, "The buffers are reused, after an untimed launch."),
    ModeKey(Mode::graph,
            "Many launches per replay of a CUDA graph, which rotate over copies of the buffers."),
    ModeKey(Mode::back_to_back,
            "20 launches in a row, timed with the host's clock, as nccl-tests times collectives."),
    ModeKey(Mode::back_to_back_graph, "20 launches in a row as one CUDA graph, which is replayed."),
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
    MeasureKey("min_samples", "minimum number of samples before stopping early", {1, 1e6},
               &MeasureSettings::min_samples),
    MeasureKey("max_samples", "maximum number of samples", {1, 1e6}, &MeasureSettings::max_samples),
    MeasureKey("min_seconds", "minimum wall time per cell before stopping early", {0, 3600},
               &MeasureSettings::min_seconds),
    MeasureKey("max_seconds", "maximum wall time per cell; overrides min_samples and min_seconds",
               {0, 3600, true}, &MeasureSettings::max_seconds),
    MeasureKey(
        "target_relative_ci",
        "ratio of the 95 % interval's half-width to the median below which sampling stops; 0 "
        "never stops early",
        {0, 1}, &MeasureSettings::target_relative_ci),
    MeasureKey("fine_relative_ci",
               "ratio of the half-width to the median below which sampling stops during the "
               "group's first fine_seconds",
               {0, 1}, &MeasureSettings::fine_relative_ci),
    MeasureKey("fine_seconds", "wall time per group after which target_relative_ci is enough",
               {0, 3600}, &MeasureSettings::fine_seconds),
    MeasureKey("sustain_seconds",
               "time for which the group's launches run back to back before its samples, so that "
               "the samples show the speed under the power cap",
               {0, 3600}, &MeasureSettings::sustain_seconds),
    MeasureKey("burst_check_seconds",
               "time for which the launches run back to back after the samples of a group near the "
               "power cap, to measure the speed of a longer run; 0 disables this",
               {0, 3600}, &MeasureSettings::burst_check_seconds),
    MeasureKey("warmup_launches", "number of untimed launches before the first sample", {0, 1000},
               &MeasureSettings::warmup_launches),
    MeasureKey("warmup_seconds", "wall time after which no further warm-up launch starts",
               {0, 3600}, &MeasureSettings::warmup_seconds),
};

/// Maximum number of cells (problem × variant × mode) of a config, and of items of an axis;
/// wave_edges count as one item.
inline constexpr std::size_t kMaxCells = 1'000'000;

/// Maximum length of a config's or experiment's name, which leaves space for a time stamp in file
/// names.
inline constexpr std::size_t kMaxNameLength = 128;

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
