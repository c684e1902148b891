// A number that the comment over a variant states, in a form that a test evaluates in the
// simulator:
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

/// What a claim may be about besides counters and metrics of the family (metric.<name>), with what
/// it is. Of the kernel that starts the most threads where a launch has several.
struct HeldQuantity {
  std::string_view name;
  std::string_view doc;
};
inline constexpr std::array kHeldQuantities{
    HeldQuantity{"bank_conflict",
                 "most wavefronts that an access of shared memory takes, over the "
                 "least for as many bytes"},
    HeldQuantity{"barriers_per_block", "barriers of the block that a warp executes, on average"},
    HeldQuantity{"registers_per_thread", "registers that the compiler allots to a thread"},
    HeldQuantity{"shared_bytes_per_block", "shared memory of a block in bytes"},
    HeldQuantity{"threads_per_block", "threads of a block"},
    HeldQuantity{"blocks_per_sm", "resident blocks of an SM"},
    HeldQuantity{"blocks", "blocks of the grid"},
    HeldQuantity{"kernels", "kernels of a launch"},
    HeldQuantity{"bytes_read", "useful bytes read, as the variant declares them"},
    HeldQuantity{"bytes_written", "useful bytes written, as the variant declares them"},
    HeldQuantity{"bytes_to_peers",
                 "bytes that the rank which sends most sends to other GPUs, as "
                 "the variant declares them"},
    HeldQuantity{"operations", "arithmetic operations, as the variant declares them"},
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
