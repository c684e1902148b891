// Predictions from machine code: options, stored results, and values for published figures.
#pragma once

#include <filesystem>

#include "cli/app.hpp"
#include "model/prediction.hpp"
#include "plan/plan.hpp"
#include "run/cell_times.hpp"
#include "simulated/code_predictor.hpp"

namespace gpuexp::cli {

/// Predicts the rows that the config's published figures refer to, on the device `here` and on the
/// figures' devices, and sets the `model` of each claim. Throws ConfigError for an unlisted device.
void model_figures(Config& config, const DeviceSpec& here, const CeilingSource& ceilings,
                   const Context& context, unsigned threads);

/// <cache>/predictions, where <cache> is $GPUEXP_CACHE_DIR, else $XDG_CACHE_HOME/gpuexp, else
/// ~/.cache/gpuexp. Empty if the environment sets none of these variables.
std::filesystem::path predictions_folder();

/// Cell times of the GPU model from its file in <cache>/cell_times, else from configs/cell_times.
CellTimes kept_cell_times(const DeviceSpec& device);

/// Options with which predictions are stored for later runs, and a signal ends them.
CodePredictorOptions code_predictor_options(unsigned threads);

}  // namespace gpuexp::cli
