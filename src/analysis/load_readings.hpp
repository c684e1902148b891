// What the driver said during a run, from its rows.
#pragma once

#include "device/device_state.hpp"
#include "record/record_table.hpp"

namespace gpuexp {

/// Of the rows that passed and that the driver said something of.
LoadReadings load_readings(const RecordTable& rows);

}  // namespace gpuexp
