// What the driver said during a run, from its rows.
#pragma once

#include "base/table.hpp"
#include "device/device_state.hpp"

namespace gpuexp {

/// Of the rows that passed and that the driver said something of.
LoadReadings load_readings(const Table& rows);

}  // namespace gpuexp
