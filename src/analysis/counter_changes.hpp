// Counters that changed between two variants, and the counters that belong to the cause.
#pragma once

#include <string_view>

#include "analysis/explained_pair.hpp"

namespace gpuexp {

/// Fewer active lanes per instruction mean more instructions for the same work.
inline constexpr std::string_view kActiveLanes = "active_lanes_per_instruction";
inline constexpr std::string_view kBankConflicts = "shared_bank_conflicts";

/// True if the counter is larger in the slower variant, by more than repeated counts differ; active
/// lanes: smaller.
bool is_more_in_slower(const CounterChange& change, bool row_is_slower);

/// Sorts the expected counter changes of an explanation whose cause is set into `changes`, `kept`,
/// `others` and `not_seen`. Adds the counters of the cause to `changes`, and sets `l2_hits`.
void add_changes(Explanation& explanation);

}  // namespace gpuexp
