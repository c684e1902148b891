// What rows would come to in a longer run: their group's launches run back to back for a while, as
// a power cap takes longer to arrive than most rows take.
#pragma once

#include <span>

#include "plan/plan.hpp"
#include "run/row.hpp"
#include "run/session.hpp"

namespace gpuexp {

/// True for rows of one group that nears the power cap and was sampled for a shorter time than the
/// check takes.
bool wants_burst_check(const MeasureSettings& settings, std::span<const Row> rows,
                       double highest_mhz);

/// Gives each row that was timed, all of one group, what a few samples come to once the launches
/// have run back to back. Nothing else of them changes; a fault leaves them as they are.
void check_burst(Session& session, const Plan& plan, std::size_t group, std::span<Row> rows);

/// True when a longer run differs from the row by more than the intervals of both.
bool is_burst(const Row& row);

}  // namespace gpuexp
