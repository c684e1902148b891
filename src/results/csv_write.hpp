#pragma once

#include <string>

#include "base/output.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

std::string to_csv(const RecordTable& table);

void print_csv(const RecordTable& table, const WritePart& write);

}  // namespace gpuexp
