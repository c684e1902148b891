// Why a variant is faster or slower than the one that it compares to: the factor in time, the
// counters that moved with it, and whether they account for it.
//
// The rule. Counters say for what share of a row's time each of some resources was busy (busy_of).
// Share × time is the time that the row's work takes on that resource at its peak rate; on the
// busiest one it is the least time that what was counted allows. The quotient of the two variants'
// least times is the factor that the counters account for: it is made of amounts (bytes,
// wavefronts, instructions, busy cycles) and peak rates, and the measured times cancel in it, so
// that it can disagree with the measured factor. It explains the difference when it is between half
// and double of it on a logarithmic scale, and the busiest resource of the slower variant is busy
// for at least 60 % of its time, since what idles binds nothing. Confidence is then high where the
// two factors are within 15 %, medium where they are within a factor of 1.5. All else is not
// explained by counters of throughput: latency, clocks, the launch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "family/move.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// The row's value of one of kCounters.
std::optional<double> count_of(const ResultRow& row, std::string_view counter);
/// Whether any of them was read.
bool is_counted(const ResultRow& row);

enum class Resource { dram, l1, l1_tags, issue, tensor, arithmetic };
/// "dram", as in JSON.
std::string_view name_of(Resource resource);

/// A resource that is busy for less binds nothing; Nsight Compute's rules, too, speak of latency
/// below.
inline constexpr double kBoundPct = 60.0;

struct Busy {
  Resource resource;
  double share_pct;  ///< of the time; of the SMs' resources, of the cycles in which they had a warp
};

/// For what share of a row's time each resource was busy:
/// - dram: bytes counted over time, of the theoretical bandwidth, where that is given;
/// - l1: wavefronts per cycle of an SM, of which its data stage takes one;
/// - l1_tags: likewise, turns of L1's tag stage;
/// - issue: issue slots used;
/// - tensor: cycles in which the tensor pipe was busy;
/// - arithmetic: operations that the result needs, at the datasheet's rate (compute_limit_pct); not
///   counted but derived.
/// What the row's columns do not say is left out.
std::vector<Busy> busy_of(const ResultRow& row, std::optional<double> dram_bytes_per_s);

/// A counter in two variants.
struct CounterChange {
  std::string counter;  ///< id of one of kCounters
  double from;          ///< in the variant compared to
  double to;
};

enum class Confidence { none, medium, high };
std::string_view name_of(Confidence confidence);

/// One variant against its compare_to, at one problem in one mode.
struct Explanation {
  ResultRow reference;  ///< of compare_to
  ResultRow row;
  double factor;               ///< time of the reference over that of the row
  std::optional<Ratio> ratio;  ///< the same with its interval; empty where one has none
  bool differs;                ///< the samples resolve a difference, and it is 2 % or more
  bool counted;                ///< both have counters

  /// Those that tell the story, most telling first: what the variant declares to fall or rise and
  /// did, then what the busiest resources are busy with, then, where nothing was declared, what
  /// moved most.
  std::vector<CounterChange> changes;
  std::vector<CounterChange> kept;  ///< declared to stay, and did
  std::vector<Move> not_seen;       ///< declared, and counted otherwise
  std::optional<Busy> reference_busiest;
  std::optional<Busy> busiest;
  std::optional<double> accounted;  ///< the factor that the counters account for
  std::optional<double> predicted;  ///< the factor between the predicted times
  Confidence confidence = Confidence::none;
};

/// Of a row against another; both were timed. `dram_bytes_per_s` is as in ExplanationOptions.
Explanation explain(const ResultRow& reference, const ResultRow& row,
                    std::optional<double> dram_bytes_per_s);

struct ExplanationOptions {
  std::optional<double> dram_bytes_per_s;  ///< theoretical, of the device that was measured
  bool all_problems = false;  ///< false: of each variant the problem that takes longest
};

/// For each variant that was timed beside its compare_to (columns kCompareToColumn and, for what it
/// declares, kMovesColumn), in the order of the rows. Rows above their limit are no record and left
/// out.
std::vector<Explanation> explanations_of(const ExperimentResults& experiment,
                                         const ExplanationOptions& options);

}  // namespace gpuexp
