// Predictions from machine code: options, stored predictions, and model values for published
// figures.
#pragma once

#include <filesystem>

#include "cli/app.hpp"
#include "model/prediction.hpp"
#include "plan/plan.hpp"
#include "run/cell_times.hpp"
#include "simulated/code_predictor.hpp"

namespace gpuexp::cli {

/// Predicts the rows to which the config's published figures refer, on the device `here` and on the
/// figures' devices, and sets each claim's `model`. Throws ConfigError for an unlisted device.
void model_figures(Config& config, const DeviceSpec& here, const CeilingSource& ceilings,
                   const Context& context, unsigned threads);

/// <cache>/<name>, where <cache> is $GPUEXP_CACHE_DIR, else $XDG_CACHE_HOME/gpuexp, else
/// ~/.cache/gpuexp. Empty if neither these variables nor HOME are set.
std::filesystem::path cache_folder(const char* name);

/// cache_folder("predictions").
std::filesystem::path predictions_folder();

/// The GPU model's cell times, from <cache>/cell_times, else from configs/cell_times.
CellTimes kept_cell_times(const DeviceSpec& device);

/// Options that store predictions for later runs, and stop predicting when a signal arrives.
CodePredictorOptions code_predictor_options(unsigned threads);

}  // namespace gpuexp::cli
