// A number that the comment over a variant states, in a form that a test evaluates in the
// simulator or, for counters that depend on caches or time, in recorded results:
//
//   // held: global_load_requests = 1/4 × shuffles within 2 % at dtype=fp32, n=4194304
//
// Quantities are counters, and those of kHeldQuantities. The problem is the one that shows the
// variant, but for the parameters behind "at".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuexp {

/// What a claim may be about besides counters and metrics of the family (metric.<name>). What is
/// said of a kernel is that of the one that starts the most threads where a launch has several.
inline constexpr std::array<std::string_view, 10> kHeldQuantities{
    "bank_conflict",       // most wavefronts of an access of shared memory, over the least for as
                           // many bytes
    "barriers_per_block",  // barriers of the block that a warp executes, on average
    "registers_per_thread", "shared_bytes_per_block", "threads_per_block",
    "blocks_per_sm",   // that are resident
    "blocks",          // of the grid
    "kernels",         // of a launch
    "bytes_written",   // useful bytes, as the variant declares them
    "bytes_to_peers",  // of the rank that sends most to other GPUs, as the variant declares them
};

enum class HeldRelation { equal, at_most, at_least };

/// Within this share of it a value is equal, unless the claim says otherwise: of counts below 100
/// none but the number itself.
inline constexpr double kHeldTolerance = 0.009;

struct HeldClaim {
  std::string text;  ///< as the comment has it, without "held: "
  std::string quantity;
  HeldRelation relation = HeldRelation::equal;
  double number = 0;
  std::string of;  ///< the variant whose value is one; empty: the number is the value itself
  double tolerance = kHeldTolerance;                         ///< share of the number
  std::vector<std::pair<std::string, std::string>> at = {};  ///< parameters with their values

  /// Whether the value, of `of` where there is one the ratio, is what the claim says. False for
  /// NaN.
  bool holds(double value) const;
};

/// The claim that the text spells; nothing where it spells none.
std::optional<HeldClaim> held_claim_in(std::string_view text);

}  // namespace gpuexp
