// A report column.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/table.hpp"
#include "plan/plan.hpp"
#include "record/row.hpp"

namespace gpuexp {

/// Which rows have a value in a column.
enum class Presence {
  some,    ///< those where the value is known
  all,     ///< every row
  passed,  ///< passed rows alone: what a row that did not pass must not claim
};

struct Column : ColumnInfo {
  std::function<Field(const Plan&, const Row&)> get;
  Presence presence = Presence::some;
  std::vector<std::string> values = {};  ///< the only texts; empty: any
};

}  // namespace gpuexp
