// Hardware counters of rows that have been timed.
#pragma once

#include <functional>
#include <vector>

#include "plan/plan.hpp"
#include "run/row.hpp"
#include "run/session.hpp"

namespace gpuexp {

/// Counts a launch of each row, several rows at a time, as far as their problems fit beside each
/// other: most of what counting takes is what the profiler takes to begin and end. Calls
/// ended(row) for each, counted or not. What a row has been timed and verified for stands, whatever
/// happens here.
void count_rows(Session& session, const Plan& plan, const std::vector<Row*>& rows,
                const std::function<void(Row&)>& ended);

}  // namespace gpuexp
