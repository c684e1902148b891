// Lower bounds on the times of a row's resources: counted work divided by the device's rate. The
// bounds do not depend on the measured time, so they can disagree with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/device_rates.hpp"
#include "record/result_record.hpp"

namespace gpuexp {

/// The row's value of a counter in kCounters, of metric.<name>, or of kTimeColumn (the measured
/// time).
std::optional<double> count_of(const ResultRecord& row, std::string_view counter);
/// SM clock in Hz while the row was sampled, or the ceilings' clock if there is no reading. Near
/// the power limit, as on tensor cores, the row's clock is below the ceilings' clock.
std::optional<double> clock_of(const ResultRecord& row, const DeviceRates& rates);
bool is_counted(const ResultRecord& row);

enum class Resource { dram, l2, l1_data, l1_tags, issue, fma, alu, fp64, xu, operations, blocks };
/// Name in JSON, such as "dram".
std::string_view name_of(Resource resource);
/// True if SMs without a block leave a part of the resource idle.
bool is_of_sms(Resource resource);

struct LeastTime {
  Resource resource;
  double amount;  ///< in the unit that least_times() names for the resource
  double time_us;
};

enum class SmShareFrom { nothing, grid, cycles };

struct LeastTimes {
  double launch_us = 0;   ///< time of `kernels` empty kernels in the row's mode
  double further_us = 0;  ///< part of launch_us for all kernels after the first
  double kernels = 1;     ///< number of kernels in the launch, including fills
  double sm_share = 1;    ///< share of SMs with work
  SmShareFrom sm_share_from = SmShareFrom::nothing;
  std::optional<double> sm_count;
  /// Pipe that executes the declared operations: "fp32", "tensor_bf16_fp32 by wgmma".
  std::string operations_on;
  std::vector<LeastTime> of_resources;
  /// If kernels run one after another: the time of each kernel's longest resource, summed by
  /// resource. Empty if the kernels were not counted one by one, or if the sum does not exceed the
  /// longest resource of the whole launch.
  std::vector<LeastTime> of_chain;

  /// The resource with the longest time, in the chain if there is one; operations instead of L1's
  /// data stage, if its time is at most 5 % longer. Empty if no time is known.
  std::optional<LeastTime> longest() const;
  /// Lower bound on the launch without launch_us: the sum of the chain, but at least the time of
  /// each resource.
  double needed_us() const;
  /// True if different resources limit the kernels of a chain.
  bool is_shared() const;
};

struct LeastTimesOptions {
  double sm_share = 1;  ///< share of SMs with work
  SmShareFrom sm_share_from = SmShareFrom::nothing;
  bool without_dram = false;  ///< ignore DRAM, because its counters do not fit the launch
  bool as_chain = true;       ///< bound each kernel separately, if each was counted
};

/// Shares of SMs with work, on average over the launch.
struct SmShares {
  double reference = 1;
  double row = 1;
  SmShareFrom from = SmShareFrom::nothing;
};

/// Both shares are from the same source. If both grids are known: the number of blocks, divided by
/// the number of SMs and by the number of blocks on the busiest SM. Else from the counter
/// sm_balance_pct: cycles of the mean SM divided by cycles of the busiest SM. 1 if neither is
/// known.
SmShares sm_shares(const ResultRecord& reference, const ResultRecord& row,
                   const DeviceRates& rates);

/// Lower bounds on the time of a row, from these amounts of work:
/// - dram: bytes read and written;
/// - l2: sectors between SMs and L2;
/// - l1_data: L1 data-stage wavefronts of 128 bytes. For the writes of cp.async to shared memory,
///   which no counter contains, at least one wavefront per four sectors loaded;
/// - l1_tags: L1 tag-stage wavefronts;
/// - issue, fma, alu, fp64, xu: warp instructions;
/// - operations: declared work on the pipe that limits the row, because the number of operations
///   differs between tensor instructions;
/// - blocks: blocks started.
/// Resources without a count or a rate are left out. Resources of the SMs use `sm_share` of the SMs
/// at the row's clock; operations use their measured rate, which the power limit reduces. Launches
/// on several streams are never a chain.
LeastTimes least_times(const ResultRecord& row, const DeviceRates& rates,
                       const LeastTimesOptions& options);

/// True if DRAM (unless it is ignored), L1's data stage and the issue slots have times, and tensor
/// instructions were counted. Otherwise, the longest resource may be missing.
bool says_what_binds(const ResultRecord& row, const LeastTimes& times,
                     const LeastTimesOptions& options);

/// True if L1's data-stage counts lack the writes of cp.async to shared memory.
bool has_uncounted_copies(const ResultRecord& row);

}  // namespace gpuexp
