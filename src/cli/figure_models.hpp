// How codes are predicted, and what the model says of published figures: here, and on the GPUs that
// they were published for.
#pragma once

#include <filesystem>

#include "cli/app.hpp"
#include "model/prediction.hpp"
#include "plan/plan.hpp"
#include "run/cell_times.hpp"
#include "simulated/code_predictor.hpp"

namespace gpuexp::cli {

/// Executes the code of the rows that the config's figures claim, as the device of `here` and those
/// of the figures would, and sets each claim's model. Throws
/// ConfigError for a device that is not listed.
void model_figures(Config& config, const DeviceSpec& here, const CeilingSource& ceilings,
                   const Context& context, unsigned threads);

/// <cache>/predictions, where <cache> is $GPUEXP_CACHE_DIR, else $XDG_CACHE_HOME/gpuexp, else
/// ~/.cache/gpuexp. Empty where the environment names none of the three.
std::filesystem::path kept_predictions();

/// In <cache>/cell_times, a file for each kind of GPU; else as configs/cell_times has them.
CellTimes kept_cell_times(const DeviceSpec& device);

/// With so many threads of the host, kept from run to run, ended by an interrupt.
CodePredictorOptions code_predictor_options(unsigned threads);

}  // namespace gpuexp::cli
