// A claim: a number in the comment above a variant. A test compares the number with the simulator
// or, for counters that depend on caches or time, with recorded results:
//
//   // held: global_load_requests = 1/4 × shuffles within 2 % at dtype=fp32, n=4194304
//
// The quantity is a counter, a metric (metric.<name>) or one of kHeldQuantities. The problem has
// the variant's shown_at parameters, replaced by the parameters after "at".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

/// Quantities that are neither counters nor metrics. If a launch has several kernels, quantities
/// of a kernel refer to the kernel with the maximum number of threads.
inline constexpr std::array<std::string_view, 10> kHeldQuantities{
    "bank_conflict",  // maximum ratio, over shared-memory accesses, of wavefronts to the minimum
                      // number of wavefronts for the same bytes
    "barriers_per_block",  // mean number of block barriers that a warp executes
    "registers_per_thread", "shared_bytes_per_block", "threads_per_block", "blocks_per_sm",
    "blocks",  // blocks of the grid
    "kernels",
    "bytes_written",   // useful bytes that the variant declares
    "bytes_to_peers",  // declared bytes sent to other GPUs, maximum over the ranks
};

enum class HeldRelation { equal, at_most, at_least };

/// Default relative tolerance of "=". Counts below 100 must match exactly.
inline constexpr double kHeldTolerance = 0.009;

struct HeldClaim {
  std::string text;
  std::string quantity;
  HeldRelation relation = HeldRelation::equal;
  double number = 0;
  std::string of;  ///< variant whose value is multiplied by the number; may be empty
  double tolerance = kHeldTolerance;  ///< share of the number
  std::vector<std::pair<std::string, std::string>> at = {};

  /// Whether the claim holds for the value, or for the ratio to the value of `of`. False for NaN.
  bool holds(double value) const;
};

std::optional<HeldClaim> held_claim_in(std::string_view text);

}  // namespace gpuexp
