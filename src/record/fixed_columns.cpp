#include "record/fixed_columns.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/resource_names.hpp"
#include "model/prediction_band.hpp"
#include "record/flags.hpp"

namespace gpuexp {

namespace {

FixedColumn declared(const char* name, const char* unit, RecordMember member, std::string doc,
                     Presence presence = Presence::some) {
  MemberFacts facts = facts_of(member);
  return {{name, unit, facts.type, std::move(doc)}, member, presence, std::move(facts.values)};
}

std::string names_in(const RecordMember& enumeration) {
  return one_of(facts_of(enumeration).values);
}

std::string flag_meanings() {
  std::vector<std::string> meanings;
  for (const Flag& flag : kFlags)
    meanings.push_back(fmt::format("{} ({})", flag.id, flag.meaning));
  return fmt::format("{}", fmt::join(meanings, ", "));
}

std::string band_cause_texts() {
  std::vector<std::string> texts;
  for (const BandCause& cause : band_causes())
    texts.push_back(fmt::format("{} ({})", cause.id, cause.text));
  return fmt::format("{}", fmt::join(texts, ", "));
}

using R = ResultRecord;
constexpr Presence kAll = Presence::all;
constexpr Presence kPassed = Presence::passed;

std::vector<FixedColumn> labels() {
  return {
      declared("experiment", "", &R::experiment, "name of the experiment in the config", kAll),
      declared("family", "", &R::family, "family of the variant", kAll),
      declared("variant", "", &R::variant, "variant, named after its mechanism", kAll),
      declared("implementation", "", &R::implementation,
               "owner of the code: kernel (this program) or library (the vendor)"),
      declared("mode", "", &R::mode,
               "timing method and cache state before a launch: " + names_in(&R::mode), kAll),
      declared("status", "", &R::status, names_in(&R::status), kAll),
      declared("reason", "", &R::reason, "reason why the status is not passed"),
      declared("flags", "", &R::flags, "semicolon-separated warnings: " + flag_meanings()),
      declared("executed_on", "", &R::executed_on,
               "gpu, or simulated: the CPU executes the kernels' machine code, without times"),
      declared("host", "", &R::host, "name of the machine that measured the row", Presence::merged),
      declared("gpu_uuid", "", &R::gpu_uuid,
               "UUID of the GPU, or of the MIG instance, that measured the row", Presence::merged),
  };
}

std::vector<FixedColumn> times() {
  return {
      declared("time_median_us", "us", &R::time_median_us, "median time of one launch", kPassed),
      declared("time_ci95_low_us", "us", &R::time_ci95_low_us,
               "lower end of the 95 % interval of the median, corrected for correlated samples",
               kPassed),
      declared("time_ci95_high_us", "us", &R::time_ci95_high_us,
               "upper end of the 95 % interval of the median", kPassed),
      declared("time_min_us", "us", &R::time_min_us, "minimum time of a sample", kPassed),
      declared("time_p5_us", "us", &R::time_p5_us, "5th percentile of the times", kPassed),
      declared("time_p25_us", "us", &R::time_p25_us, "25th percentile of the times", kPassed),
      declared("time_p75_us", "us", &R::time_p75_us, "75th percentile of the times", kPassed),
      declared("time_p95_us", "us", &R::time_p95_us, "95th percentile of the times", kPassed),
      declared("time_mean_us", "us", &R::time_mean_us, "arithmetic mean of the times", kPassed),
      declared("time_stdev_us", "us", &R::time_stdev_us, "sample standard deviation of the times",
               kPassed),
      declared("time_mad_us", "us", &R::time_mad_us,
               "unscaled median absolute deviation from the median time", kPassed),
      declared("timer_resolution_us", "us", &R::timer_resolution_us,
               "smallest time difference that the timer shows; empty if unknown", kPassed),
      declared("correlation_time", "samples", &R::correlation_time,
               "integrated autocorrelation time: number of successive samples equivalent to one "
               "independent sample",
               kPassed),
      declared("outliers", "", &R::outliers,
               "number of samples more than 14.826 MAD from the median", kPassed),
      declared("samples", "", &R::samples, "number of samples", kPassed),
      declared("stop_reason", "", &R::stop_reason, names_in(&R::stop_reason)),
  };
}

std::vector<FixedColumn> conditions() {
  return {
      declared("flushed_bytes", "B", &R::flushed_bytes,
               "bytes read before a sample to flush the caches", kPassed),
      declared("graph_launches", "", &R::graph_launches,
               "number of launches that a sample averages, in a graph replay or back to back; 1 if "
               "a sample is one launch",
               kPassed),
      declared("rotated_bytes", "B", &R::rotated_bytes,
               "size of all copies of the buffers over which the launches of a replay rotate",
               kPassed),
      declared("cache_state", "", &R::cache_state,
               "cache state before each launch: flushed, warm, rotated (copies of at least twice "
               "the L2 size) or resident (copies that fit in the caches)"),
      declared("floor_us", "us", &R::floor_us, "median time of an empty kernel in the same mode",
               kPassed),
      declared("gpus", "", &R::gpus, "number of GPUs that the problem spans; empty: one"),
      declared("skew_us", "us", &R::skew_us,
               "median time between the first and the last GPU being able to begin a launch",
               kPassed),
      declared("sm_clock_mhz", "MHz", &R::sm_clock_mhz,
               "SM clock: cycles divided by time on each SM, read during samples of at least "
               "500 us or over the rounds of shorter samples; empty if the GPU was mostly idle",
               kPassed),
      declared("sm_clock_min_mhz", "MHz", &R::sm_clock_min_mhz,
               "minimum of the readings of the SM clock", kPassed),
      declared("sm_clock_max_mhz", "MHz", &R::sm_clock_max_mhz,
               "maximum of the readings of the SM clock", kPassed),
      declared("nvml_sm_clock_mhz", "MHz", &R::nvml_sm_clock_mhz,
               "mean SM clock that the driver reports (NVML)"),
      declared("memory_clock_mhz", "MHz", &R::memory_clock_mhz,
               "minimum memory clock that the driver reports (NVML)"),
      declared("power_w", "W", &R::power_w,
               "mean board power while the group was sampled (NVML); all NVML columns are empty "
               "if sampling was shorter than the time between two readings"),
      declared("temperature_c", "C", &R::temperature_c,
               "maximum GPU temperature while the group was sampled (NVML)"),
      declared("clock_reasons", "", &R::clock_reasons,
               "semicolon-separated reasons for which the driver lowered clocks while the group "
               "was sampled: sw_power_cap, hw_slowdown, sw_thermal_slowdown, "
               "hw_thermal_slowdown, hw_power_brake_slowdown (NVML)"),
      declared("sustained_time_us", "us", &R::sustained_time_us,
               "median of a few samples after the group's launches have run back to back for "
               "burst_check_seconds; only for groups near the power cap",
               kPassed),
      declared("sustained_sm_clock_mhz", "MHz", &R::sustained_sm_clock_mhz,
               "SM clock over the second half of the sustained launches", kPassed),
      declared("sustained_power_w", "W", &R::sustained_power_w,
               "mean board power over the second half of the sustained launches (NVML)", kPassed),
      declared("cycles", "", &R::cycles, "median time in cycles of sm_clock_mhz"),
      declared(
          "timeline", "", &R::timeline,
          "semicolon-separated steps of one launch that uses several streams, as "
          "WHAT@STREAM:BEGIN-END in us from its start, or WHAT@RANK.STREAM:BEGIN-END if the "
          "problem spans GPUs. Events give the times: a step begins when its stream can begin it, "
          "although a copy may then wait for the copy engine"),
      declared("predicted_timeline", "", &R::predicted_timeline,
               "timeline as predicted from the times of host calls, copies and kernels, in the "
               "same form"),
  };
}

std::vector<FixedColumn> references() {
  return {
      declared("baseline", "", &R::baseline, "variant to which speedup refers"),
      declared("compare_to", "", &R::compare_to,
               "variant that differs only by this variant's mechanism; it may be outside the "
               "experiment"),
      declared("expected_changes", "", &R::expected_changes,
               "semicolon-separated expected changes of hardware counters relative to compare_to "
               "at this problem: counter, direction (decreases, increases, unchanged) and factor, "
               "a minimum, or a maximum for unchanged"),
      declared("speedup", "x", &R::speedup,
               "median time of the baseline divided by this median time, at the same problem in "
               "the same mode",
               kPassed),
  };
}

std::vector<FixedColumn> work() {
  return {
      declared("useful_bytes", "B", &R::useful_bytes,
               "bytes of the inputs, each read once, and of the outputs, each written once"),
      declared("moved_bytes", "B", &R::moved_bytes,
               "minimum bytes that DRAM moves: useful bytes rounded up to the 32-byte sectors "
               "that the accesses touch"),
      declared("operations", "", &R::operations,
               "number of arithmetic operations; a fused multiply-add counts as 2"),
      declared("work_from", "", &R::work_from,
               "origin of bytes and operations: declared, or assumed (a kernel file without work: "
               "each buffer counts once, and there are no operations)"),
      declared("useful_gb_per_s", "GB/s", &R::useful_gb_per_s,
               "useful bytes divided by median time (10^9 bytes per second)", kPassed),
      declared("moved_gb_per_s", "GB/s", &R::moved_gb_per_s,
               "moved bytes divided by median time (10^9 bytes per second)", kPassed),
      declared("link_bytes", "B", &R::link_bytes,
               "maximum number of bytes that one GPU receives from, or sends to, other GPUs"),
      declared("link_gb_per_s", "GB/s", &R::link_gb_per_s,
               "link bytes divided by median time (10^9 bytes per second)", kPassed),
      declared("tflops", "TFLOP/s", &R::tflops,
               "operations divided by median time (10^12 operations per second)", kPassed),
  };
}

std::vector<FixedColumn> limits() {
  return {
      declared("limit_time_us", "us", &R::limit_time_us,
               "lower bound on the time by datasheet bandwidths and rates"),
      declared("limit_by", "", &R::limit_by,
               "resource that sets limit_time_us: dram, pcie, links between GPUs, or an "
               "arithmetic pipe"),
      declared("limit_pct", "%", &R::limit_pct, "limit_time_us divided by median time", kPassed),
      declared("dram_limit_pct", "%", &R::dram_limit_pct,
               "time for the minimum DRAM bytes at datasheet bandwidth, divided by median time",
               kPassed),
      declared("compute_limit_pct", "%", &R::compute_limit_pct,
               "time for the operations at the datasheet rate, divided by median time", kPassed),
      declared("measured_limit_time_us", "us", &R::measured_limit_time_us,
               "lower bound on the time by ceilings measured on this GPU model"),
      declared("measured_limit_by", "", &R::measured_limit_by,
               "resource that sets measured_limit_time_us"),
      declared("measured_limit_pct", "%", &R::measured_limit_pct,
               "measured_limit_time_us divided by median time", kPassed),
  };
}

std::vector<FixedColumn> predictions() {
  return {
      declared("predicted_time_us", "us", &R::predicted_time_us,
               "predicted time of one launch on this GPU"),
      declared("predicted_band_pct", "%", &R::predicted_band_pct,
               "expected error of the prediction: nine of ten median times lie between "
               "predicted_time_us divided by and multiplied by 1 + predicted_band_pct / 100; empty "
               "if the GPU's ceilings are scaled from those of another model"),
      declared("predicted_band_cause", "", &R::predicted_band_cause,
               "cause of a band above 10 %: " + band_cause_texts()),
      declared(
          "predicted_from", "", &R::predicted_from,
          "basis of the prediction: code (the kernels' machine code) or phases (the bytes that a "
          "launch that spans GPUs moves, and its waits); in older files also declared (the work "
          "that the variant declares)"),
      declared("bound_by", "", &R::bound_by,
               "resource with the longest predicted time: " + one_of(resource_names())),
      declared("prediction_error", "", &R::prediction_error,
               "natural logarithm of predicted divided by median time; 0.1 is about 10 % too long",
               kPassed),
      declared("arithmetic_intensity", "", &R::arithmetic_intensity,
               "operations per byte of device memory"),
      declared("intensity_from", "", &R::intensity_from,
               "origin of the bytes in arithmetic_intensity: counted, or least (moved_bytes); in "
               "older files also declared (by the variant)"),
  };
}

std::vector<FixedColumn> launch() {
  return {
      declared("kernel_launches", "", &R::kernel_launches,
               "number of kernels in one timed launch; empty for libraries"),
      declared("grid_blocks", "", &R::grid_blocks, "number of blocks of the largest kernel launch"),
      declared("block_threads", "", &R::block_threads, "threads per block"),
      declared("registers", "", &R::registers, "registers per thread"),
      declared("local_bytes", "B", &R::local_bytes,
               "local memory per thread: spilled registers and indexed arrays"),
      declared("shared_bytes", "B", &R::shared_bytes, "shared memory per block"),
      declared("blocks_per_sm", "", &R::blocks_per_sm, "resident blocks per SM"),
      declared("occupancy_pct", "%", &R::occupancy_pct,
               "resident warps as a share of the SM's maximum"),
      declared("occupancy_limiter", "", &R::occupancy_limiter,
               "resource that limits the number of resident blocks"),
      declared("waves", "", &R::waves, "blocks divided by (SMs × resident blocks per SM)"),
      declared("tail_efficiency_pct", "%", &R::tail_efficiency_pct,
               "blocks divided by (whole waves × wave size)"),
  };
}

std::vector<FixedColumn> verification() {
  return {
      declared("error_rms_rel", "", &R::error_rms_rel,
               "root-mean-square error divided by the root-mean-square result; the reference is "
               "fp64 on unrounded inputs"),
      declared("error_max_rel", "", &R::error_max_rel,
               "maximum error divided by the root-mean-square result; the reference is fp64 on "
               "unrounded inputs"),
      declared("error_over_allowed", "", &R::error_over_allowed,
               "maximum ratio of an element's error to its tolerance; above 1 is incorrect"),
      declared("error_rms_over_allowed", "", &R::error_rms_over_allowed,
               "root-mean-square error divided by its maximum allowed value; above 1 is "
               "incorrect; empty for users' kernels, which have no such maximum"),
      declared("verified_pct", "%", &R::verified_pct,
               "share of the output elements that were compared with the reference; a passing row "
               "below 100 has status sampled"),
      declared("counts_error_pct", "%", &R::counts_error_pct,
               "maximum relative standard error of the instruction and access counts if the "
               "simulator executed some of the blocks; 0 if it executed all"),
      declared("key", "", &R::key,
               "experiment/family/variant/parameters/mode; also the name of the NVTX range", kAll),
  };
}

std::vector<FixedColumn> all_columns() {
  std::vector<FixedColumn> all;
  for (auto part :
       {labels, times, conditions, references, work, limits, predictions, launch, verification}) {
    for (FixedColumn& column : part())
      all.push_back(std::move(column));
  }
  return all;
}

}  // namespace

const std::vector<FixedColumn>& fixed_columns() {
  static const std::vector<FixedColumn> kColumns = all_columns();
  return kColumns;
}

const FixedColumn* find_fixed_column(std::string_view name) {
  const auto& columns = fixed_columns();
  const auto found = std::ranges::find(columns, name, &FixedColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

const FixedColumn& fixed_column(const RecordMember& member) {
  const auto& columns = fixed_columns();
  const auto found = std::ranges::find(columns, member, &FixedColumn::member);
  if (found == columns.end()) throw std::logic_error("a member of ResultRecord has no column");
  return *found;
}

}  // namespace gpuexp
