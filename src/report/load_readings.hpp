// What the driver said during a run, from its rows.
#pragma once

#include "core/device_state.hpp"
#include "core/table.hpp"

namespace gpuexp {

/// Of the rows that passed and that the driver said something of.
LoadReadings load_readings(const Table& rows);

}  // namespace gpuexp
