// What hardware counters did, beside what variants declare of them.
#pragma once

#include <string>

#include "lesson/lesson_rows.hpp"

namespace gpuexp {

/// What DRAM moved for each variant, and of the counters that it declares to change, what they did.
std::string counters_table(const FamilyRows& rows);

}  // namespace gpuexp
