// Lower bounds on the time of each resource of the device: a row's counted amount divided by the
// rate. The measured time is not used, so the bounds can disagree with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/device_rates.hpp"
#include "record/result_record.hpp"

namespace gpuexp {

/// The row's value of a counter in kCounters, or of metric.<name>.
std::optional<double> count_of(const ResultRecord& row, std::string_view counter);
/// SM clock while the row was sampled, in Hz; without a reading, the clock of the ceilings. Near
/// the power limit, as on tensor cores, it is below the clock of the ceilings.
std::optional<double> clock_of(const ResultRecord& row, const DeviceRates& rates);
/// Whether the row has any counter.
bool is_counted(const ResultRecord& row);

enum class Resource { dram, l2, l1_data, l1_tags, issue, fma, alu, fp64, xu, operations, blocks };
/// Name in JSON, such as "dram".
std::string_view name_of(Resource resource);
/// Whether the resource belongs to the SMs: SMs without a block then leave a part of it idle.
bool is_of_sms(Resource resource);

struct LeastTime {
  Resource resource;
  double amount;  ///< in the unit of the resource: see least_times()
  double time_us;
};

/// Source of the share of SMs that have work.
enum class SmShareFrom { nothing, grid, cycles };

struct LeastTimes {
  double launch_us = 0;   ///< time of as many empty kernels, one after another, in the row's mode
  double further_us = 0;  ///< part of launch_us that kernels after the first add
  double kernels = 1;     ///< number of kernels of the launch, including fills
  double sm_share = 1;    ///< share of SMs that have work
  SmShareFrom sm_share_from = SmShareFrom::nothing;
  std::optional<double> sm_count;
  /// Pipe of the declared operations: "fp32", "tensor_bf16_fp32 by wgmma"
  std::string operations_on;
  std::vector<LeastTime> of_resources;
  /// For several kernels, one after another: each kernel's longest resource, summed by resource.
  /// Empty if the kernels were not counted one by one, or the sum does not exceed the longest
  /// resource of the launch.
  std::vector<LeastTime> of_chain;

  /// The resource with the longest time, in the chain if there is one; empty if nothing is known.
  std::optional<LeastTime> longest() const;
  /// The lower bound of the launch without launch_us: the sum of the chain, at least the time of
  /// each resource.
  double needed_us() const;
  /// Whether several resources limit the kernels of a chain.
  bool is_shared() const;
};

/// Options of least_times().
struct LeastTimesOptions {
  double sm_share = 1;  ///< share of SMs that have work
  SmShareFrom sm_share_from = SmShareFrom::nothing;
  bool without_dram = false;  ///< ignore DRAM: its counters do not fit the launch
  bool as_chain = true;       ///< bound each kernel separately if each was counted
};

/// Shares of SMs that have work, on average over the launch.
struct SmShares {
  double reference = 1;
  double row = 1;
  SmShareFrom from = SmShareFrom::nothing;
};

/// Both shares from the same source. If both grids are known: the number of blocks divided by the
/// number if every SM had as many as the busiest SM. Else from the counter sm_balance_pct: cycles
/// of the mean SM divided by cycles of the busiest SM. 1 if neither is known.
SmShares sm_shares(const ResultRecord& reference, const ResultRecord& row,
                   const DeviceRates& rates);

/// Lower bounds on the time of a row. Amounts:
/// - dram: bytes read and written;
/// - l2: sectors between SMs and L2;
/// - l1_data: L1 data-stage wavefronts of 128 bytes. Writes of cp.async to shared memory are not
///   counted: at least one wavefront per four sectors loaded;
/// - l1_tags: L1 tag-stage wavefronts;
/// - issue, fma, alu, fp64, xu: warp instructions;
/// - operations: declared work on the pipe that limits the row, because instructions of tensor
/// cores
///   differ in size;
/// - blocks: blocks started.
/// Resources without a count or a rate are left out. Resources of the SMs use `sm_share` of the SMs
/// at the row's clock; the rate of operations is the measured one, including its power limit.
/// Launches on several streams are never a chain.
LeastTimes least_times(const ResultRecord& row, const DeviceRates& rates,
                       const LeastTimesOptions& options);

/// Whether DRAM, L1 and the tensor cores were counted and have rates: otherwise the longest
/// resource may be missing.
bool says_what_binds(const ResultRecord& row, const LeastTimes& times,
                     const LeastTimesOptions& options);

/// Whether the counts of L1's data stage lack writes of cp.async to shared memory.
bool has_uncounted_copies(const ResultRecord& row);

}  // namespace gpuexp
