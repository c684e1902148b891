// Hardware counters of rows that have been timed.
#pragma once

#include <functional>
#include <vector>

#include "plan/plan.hpp"
#include "run/row.hpp"
#include "run/session.hpp"

namespace gpuexp {

/// Reads the hardware counters of one launch of each row. Rows are counted together, as far as
/// their problems fit beside each other in memory: most of the time goes into beginning and ending
/// a pass of the profiler. Calls ended(row) for each row, counted or not. A fault changes nothing
/// else of a row.
void count_rows(Session& session, const Plan& plan, const std::vector<Row*>& rows,
                const std::function<void(Row&)>& ended);

}  // namespace gpuexp
