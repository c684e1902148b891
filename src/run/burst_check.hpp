// Samples a group's rows again after the group's launches have run back to back, because a power
// cap takes longer to act than most rows take to measure.
#pragma once

#include <span>

#include "plan/plan.hpp"
#include "run/row.hpp"
#include "run/session.hpp"

namespace gpuexp {

/// True if a row of the group nears the power cap, and the check lasts longer than the group's
/// samples (GPU time) and longer than sustain_seconds. Ignores untimed rows and rows of first
/// launches. `rows` are the rows of one group.
bool wants_burst_check(const MeasureSettings& settings, std::span<const Row> rows,
                       double highest_mhz);

/// Runs the group's launches back to back, then samples each timed row into `sustained`, except
/// rows of first launches. A fault or an interrupt leaves the rows unchanged.
void check_burst(Session& session, const Plan& plan, std::size_t group, std::span<Row> rows);

/// True if the 95 % intervals of the row's median and of its sustained median do not overlap.
bool is_burst(const Row& row);

}  // namespace gpuexp
