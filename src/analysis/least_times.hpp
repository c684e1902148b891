// What a row's counted amounts take at least on each resource of the device: amount over rate. The
// measured time has no part in it, so that what it says can disagree with what was measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/device_rates.hpp"
#include "record/result_record.hpp"

namespace gpuexp {

/// The row's value of one of kCounters, or of metric.<name>.
std::optional<double> count_of(const ResultRecord& row, std::string_view counter);
/// That the SMs had while the row was sampled, in Hz: near the power limit, or in kernels that use
/// tensor cores, it is below that of the ceilings, which rows without a reading of their own get.
std::optional<double> clock_of(const ResultRecord& row, const DeviceRates& rates);
/// Whether any of them was read.
bool is_counted(const ResultRecord& row);

enum class Resource { dram, l2, l1_data, l1_tags, issue, fma, alu, fp64, xu, operations, blocks };
/// "dram", as in JSON.
std::string_view name_of(Resource resource);
/// Belongs to the SMs, so that SMs without a block take no part of the work on it.
bool is_of_sms(Resource resource);

struct LeastTime {
  Resource resource;
  double amount;  ///< in the resource's own unit: see least_times()
  double time_us;
};

/// What says how many SMs have work.
enum class SmShareFrom { nothing, grid, cycles };

struct LeastTimes {
  double launch_us = 0;   ///< of empty kernels in the row's mode, one after another
  double further_us = 0;  ///< of launch_us, what the kernels after the first one add
  double kernels = 1;     ///< of the launch, fills included
  double sm_share = 1;    ///< SMs that have work, of all
  SmShareFrom sm_share_from = SmShareFrom::nothing;
  std::optional<double> sm_count;
  /// What the declared operations run on: "fp32", "tensor_bf16_fp32 by wgmma"
  std::string operations_on;
  std::vector<LeastTime> of_resources;
  /// Of several kernels, one after another: for each resource the amounts and times of those
  /// kernels that it takes longest. Empty if the kernels were not counted one by one, or the sum is
  /// no more than what one resource takes.
  std::vector<LeastTime> of_chain;

  /// The longest; empty where nothing is known. Of a chain, the one that takes longest in it.
  std::optional<LeastTime> longest() const;
  /// What all of it takes: the sum of the chain, and not less than any resource.
  double needed_us() const;
  /// Kernels one after another are limited by several resources.
  bool is_shared() const;
};

/// How least times are taken.
struct LeastTimesOptions {
  double sm_share = 1;  ///< SMs that have work, of all
  SmShareFrom sm_share_from = SmShareFrom::nothing;
  bool without_dram = false;  ///< its counters do not fit the launch
  bool as_chain = true;       ///< kernel by kernel where each was counted
};

/// SMs that have work, of all, on average over the launch.
struct SmShares {
  double reference = 1;
  double row = 1;
  SmShareFrom from = SmShareFrom::nothing;
};

/// Both shares by the same measure. Where both grids are known: blocks over what they would be if
/// every SM had as many as the busiest. Else by the counter sm_balance_pct: cycles of the mean SM
/// over those of the busiest. 1 where neither is known.
SmShares sm_shares(const ResultRecord& reference, const ResultRecord& row,
                   const DeviceRates& rates);

/// Amounts:
/// - dram: bytes read and written;
/// - l2: sectors between SMs and L2;
/// - l1_data: wavefronts of the data stage of L1, 128 bytes each. Copies that cp.async makes into
///   shared memory pass it uncounted: they take a wavefront per four sectors loaded at least;
/// - l1_tags: wavefronts of its tag stage;
/// - issue, fma, alu, fp64, xu: warp instructions;
/// - operations: what the variant declares as work, on the pipe that limits it; instructions of
///   tensor cores differ in size, operations do not;
/// - blocks: that start.
/// What the row's columns do not say, or what has no rate, is left out. Those of the SMs run on
/// `sm_share` of them, at the clock that the row was sampled at; the rate of operations is as it
/// was measured, under whatever limit of power. Launches on several streams are no chain.
LeastTimes least_times(const ResultRecord& row, const DeviceRates& rates,
                       const LeastTimesOptions& options);

/// Whether DRAM, L1 and the tensor cores were counted and have rates: without one of them a
/// resource might take longest and not be seen.
bool says_what_binds(const ResultRecord& row, const LeastTimes& times,
                     const LeastTimesOptions& options);

/// Whether counts of L1's data stage lack the copies of cp.async into shared memory.
bool has_uncounted_copies(const ResultRecord& row);

}  // namespace gpuexp
