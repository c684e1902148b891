#include "record/fixed_columns.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/resource_names.hpp"
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

using R = ResultRecord;
constexpr Presence kAll = Presence::all;
constexpr Presence kPassed = Presence::passed;

std::vector<FixedColumn> labels() {
  return {
      declared("experiment", "", &R::experiment, "the experiment's name in the config", kAll),
      declared("family", "", &R::family, "the family of variants", kAll),
      declared("variant", "", &R::variant, "the mechanism measured", kAll),
      declared("implementation", "", &R::implementation,
               "whose code it runs: a kernel of this program, or a library of the vendor's"),
      declared("mode", "", &R::mode,
               "how launches are timed, and what they find in the caches: " + names_in(&R::mode),
               kAll),
      declared("status", "", &R::status, names_in(&R::status), kAll),
      declared("reason", "", &R::reason, "why the status is not passed"),
      declared("flags", "", &R::flags, "semicolon-separated warnings: " + flag_meanings()),
      declared("executed_on", "", &R::executed_on,
               "gpu; or simulated: by the CPU, from the kernels' machine code, without times"),
      declared("host", "", &R::host, "name of the machine that the row is from", Presence::merged),
      declared("gpu_uuid", "", &R::gpu_uuid,
               "UUID of the GPU that the row is from, or of its MIG instance", Presence::merged),
  };
}

std::vector<FixedColumn> times() {
  return {
      declared("time_median_us", "us", &R::time_median_us, "median time of one launch", kPassed),
      declared("time_ci95_low_us", "us", &R::time_ci95_low_us,
               "lower end of the 95 % interval of the median, correlation of the samples included",
               kPassed),
      declared("time_ci95_high_us", "us", &R::time_ci95_high_us,
               "upper end of the 95 % interval of the median", kPassed),
      declared("time_min_us", "us", &R::time_min_us, "fastest launch", kPassed),
      declared("time_p5_us", "us", &R::time_p5_us, "5th percentile", kPassed),
      declared("time_p25_us", "us", &R::time_p25_us, "25th percentile", kPassed),
      declared("time_p75_us", "us", &R::time_p75_us, "75th percentile", kPassed),
      declared("time_p95_us", "us", &R::time_p95_us, "95th percentile", kPassed),
      declared("time_mean_us", "us", &R::time_mean_us, "arithmetic mean", kPassed),
      declared("time_stdev_us", "us", &R::time_stdev_us, "sample standard deviation", kPassed),
      declared("time_mad_us", "us", &R::time_mad_us,
               "median absolute deviation from the median, not scaled", kPassed),
      declared("timer_resolution_us", "us", &R::timer_resolution_us,
               "timer resolution; empty where unknown", kPassed),
      declared(
          "correlation_time", "samples", &R::correlation_time,
          "integrated autocorrelation time: so many successive samples count as one independent "
          "sample",
          kPassed),
      declared("outliers", "", &R::outliers, "samples further than 14.826 MAD from the median",
               kPassed),
      declared("samples", "", &R::samples, "samples taken", kPassed),
      declared("stop_reason", "", &R::stop_reason, names_in(&R::stop_reason)),
  };
}

std::vector<FixedColumn> conditions() {
  return {
      declared("flushed_bytes", "B", &R::flushed_bytes,
               "bytes read to clear caches before a sample", kPassed),
      declared("graph_launches", "", &R::graph_launches,
               "launches that each sample is the mean of: of a replay, or back to back; 1: one by "
               "itself",
               kPassed),
      declared("rotated_bytes", "B", &R::rotated_bytes,
               "all copies of the buffers that the launches of a replay take in turn", kPassed),
      declared("cache_state", "", &R::cache_state,
               "what launches found: flushed, warm, rotated (copies of twice L2 or more) or "
               "resident (copies that caches can hold)"),
      declared("floor_us", "us", &R::floor_us, "median time of an empty kernel in the same mode",
               kPassed),
      declared("gpus", "", &R::gpus, "GPUs that the problem spans; empty: one"),
      declared("skew_us", "us", &R::skew_us,
               "median time from when the first of several GPUs could begin a launch to when the "
               "last could",
               kPassed),
      declared("sm_clock_mhz", "MHz", &R::sm_clock_mhz,
               "SM clock: cycles over time on each SM, during samples of 500 us and longer, "
               "during the rounds of shorter ones; empty where the GPU idled for most of that",
               kPassed),
      declared("sm_clock_min_mhz", "MHz", &R::sm_clock_min_mhz, "lowest of its readings", kPassed),
      declared("sm_clock_max_mhz", "MHz", &R::sm_clock_max_mhz, "highest of its readings", kPassed),
      declared("nvml_sm_clock_mhz", "MHz", &R::nvml_sm_clock_mhz,
               "mean SM clock that the driver reports (NVML)"),
      declared("memory_clock_mhz", "MHz", &R::memory_clock_mhz,
               "lowest memory clock that the driver reports (NVML)"),
      declared("power_w", "W", &R::power_w,
               "mean board power while the group was sampled (NVML); this and what else the driver "
               "says is empty where that was shorter than the time between two readings"),
      declared("temperature_c", "C", &R::temperature_c,
               "highest temperature of the GPU meanwhile (NVML)"),
      declared("clock_reasons", "", &R::clock_reasons,
               "semicolon-separated, what the driver says kept clocks down meanwhile: "
               "sw_power_cap, hw_slowdown, sw_thermal_slowdown, hw_thermal_slowdown, "
               "hw_power_brake_slowdown (NVML)"),
      declared("sustained_time_us", "us", &R::sustained_time_us,
               "median of a few samples after the group's launches had run back to back "
               "for burst_check_seconds; of groups near the power cap",
               kPassed),
      declared("sustained_sm_clock_mhz", "MHz", &R::sustained_sm_clock_mhz,
               "SM clock over the second half of those launches", kPassed),
      declared("sustained_power_w", "W", &R::sustained_power_w, "mean board power likewise (NVML)",
               kPassed),
      declared("cycles", "", &R::cycles, "median time in cycles of that clock"),
      declared(
          "timeline", "", &R::timeline,
          "semicolon-separated, the steps of one launch that takes several streams, as "
          "WHAT@STREAM:BEGIN-END in us from its start, by events: a step begins when its "
          "stream could begin it, though a copy may then wait for the copy engine; of a problem "
          "that spans GPUs WHAT@RANK.STREAM:BEGIN-END"),
      declared("predicted_timeline", "", &R::predicted_timeline,
               "likewise, as predicted from what calls of the host, copies and kernels take"),
  };
}

std::vector<FixedColumn> references() {
  return {
      declared("baseline", "", &R::baseline, "the variant that speedup refers to"),
      declared("compare_to", "", &R::compare_to,
               "the variant that differs by this one's mechanism alone, in the experiment or not"),
      declared("expected_changes", "", &R::expected_changes,
               "semicolon-separated, what hardware counters should do against compare_to at this "
               "problem: counter, decreases, increases or unchanged, by which factor at least "
               "(unchanged: at most)"),
      declared("speedup", "x", &R::speedup,
               "the baseline's median time over this one's, same problem and mode", kPassed),
  };
}

std::vector<FixedColumn> work() {
  return {
      declared("useful_bytes", "B", &R::useful_bytes,
               "bytes that the result needs: inputs once, outputs once"),
      declared("moved_bytes", "B", &R::moved_bytes,
               "least bytes that DRAM moves for it: useful bytes rounded up to the 32-byte "
               "sectors that the access touches"),
      declared("operations", "", &R::operations,
               "arithmetic operations, a fused multiply-add counting 2"),
      declared("useful_gb_per_s", "GB/s", &R::useful_gb_per_s,
               "useful bytes over median time (10^9 bytes)", kPassed),
      declared("moved_gb_per_s", "GB/s", &R::moved_gb_per_s, "moved bytes over median time",
               kPassed),
      declared("link_bytes", "B", &R::link_bytes,
               "bytes that cross links between GPUs into the one that receives most, or out of the "
               "one that sends more"),
      declared("link_gb_per_s", "GB/s", &R::link_gb_per_s, "link bytes over median time", kPassed),
      declared("tflops", "TFLOP/s", &R::tflops, "operations over median time (10^12 operations)",
               kPassed),
  };
}

std::vector<FixedColumn> limits() {
  return {
      declared("limit_time_us", "us", &R::limit_time_us,
               "least time that datasheet bandwidth and rates allow"),
      declared("limit_by", "", &R::limit_by,
               "what binds that limit: dram, pcie, links between GPUs, or an arithmetic pipe"),
      declared("limit_pct", "%", &R::limit_pct, "limit over median time", kPassed),
      declared("dram_limit_pct", "%", &R::dram_limit_pct,
               "time for the least DRAM bytes at datasheet bandwidth over median time", kPassed),
      declared("compute_limit_pct", "%", &R::compute_limit_pct,
               "time for the operations at the datasheet rate over median time", kPassed),
      declared("measured_limit_time_us", "us", &R::measured_limit_time_us,
               "least time that ceilings measured on this kind of GPU allow"),
      declared("measured_limit_by", "", &R::measured_limit_by, "what binds that limit"),
      declared("measured_limit_pct", "%", &R::measured_limit_pct, "measured limit over median time",
               kPassed),
  };
}

std::vector<FixedColumn> predictions() {
  return {
      declared("predicted_time_us", "us", &R::predicted_time_us,
               "time that the launch is predicted to take on this GPU"),
      declared(
          "predicted_from", "", &R::predicted_from,
          "what that time is made from: code, the kernels' machine code; phases, what a launch "
          "that "
          "spans GPUs waits for and moves; in older files declared, what a variant was declared to "
          "move and execute"),
      declared("bound_by", "", &R::bound_by,
               "what takes longest in that prediction: " + one_of(resource_names())),
      declared("prediction_error", "", &R::prediction_error,
               "natural logarithm of predicted over median time: 0.1 is 10 % too long", kPassed),
      declared("arithmetic_intensity", "", &R::arithmetic_intensity,
               "operations per byte of device memory"),
      declared("intensity_from", "", &R::intensity_from,
               "whose bytes these are: counted, or the least there can be; in older files "
               "declared by the variant, too"),
  };
}

std::vector<FixedColumn> launch() {
  return {
      declared("kernel_launches", "", &R::kernel_launches,
               "kernels of one timed launch; empty for a library's"),
      declared("grid_blocks", "", &R::grid_blocks, "blocks of the largest launch"),
      declared("block_threads", "", &R::block_threads, "threads per block"),
      declared("registers", "", &R::registers, "registers per thread"),
      declared("local_bytes", "B", &R::local_bytes,
               "local memory per thread: spills and indexed arrays"),
      declared("shared_bytes", "B", &R::shared_bytes, "shared memory per block"),
      declared("blocks_per_sm", "", &R::blocks_per_sm, "resident blocks per SM"),
      declared("occupancy_pct", "%", &R::occupancy_pct,
               "resident warps over the most that an SM holds"),
      declared("occupancy_limiter", "", &R::occupancy_limiter,
               "what keeps more blocks from being resident"),
      declared("waves", "", &R::waves, "blocks over (SMs × resident blocks per SM)"),
      declared("tail_efficiency_pct", "%", &R::tail_efficiency_pct,
               "blocks over (whole waves × wave size)"),
  };
}

std::vector<FixedColumn> verification() {
  return {
      declared("error_rms_rel", "", &R::error_rms_rel,
               "root-mean-square error over the root-mean-square result, against fp64 on unrounded "
               "inputs"),
      declared("error_max_rel", "", &R::error_max_rel,
               "largest error over the root-mean-square result, likewise"),
      declared("error_over_allowed", "", &R::error_over_allowed,
               "largest error over the tolerance that verification allows; above 1 is incorrect"),
      declared("error_rms_over_allowed", "", &R::error_rms_over_allowed,
               "root-mean-square error over what verification allows it to be; above 1 is "
               "incorrect"),
      declared("verified_pct", "%", &R::verified_pct,
               "output elements that were compared with their reference, of all; below 100 a row "
               "that passes is sampled"),
      declared("counts_error_pct", "%", &R::counts_error_pct,
               "standard error of the least certain of the instruction and access counts over that "
               "count, where a simulator executed some of the blocks; 0: all of them"),
      declared("key", "", &R::key,
               "experiment/family/variant/parameters/mode, also the name of the NVTX range", kAll),
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
  if (found == columns.end()) throw std::logic_error("a member of records has no column");
  return *found;
}

}  // namespace gpuexp
