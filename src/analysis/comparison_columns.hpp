// Every column that a comparison adds to what names the rows, declared once.
#pragma once

#include <functional>
#include <vector>

#include "analysis/compared_row.hpp"
#include "base/table.hpp"

namespace gpuexp {

struct ComparisonColumn : ColumnInfo {
  std::function<Field(const ComparedRow&)> get;
};

const std::vector<ComparisonColumn>& comparison_columns();

}  // namespace gpuexp
