// What the model says of published figures: here, and on the GPUs that they were published for.
#pragma once

#include "cli/app.hpp"
#include "model/prediction.hpp"
#include "plan/plan.hpp"

namespace gpuexp::cli {

/// Executes the code of the rows that the config's figures claim, as the device of `here` and those
/// of the figures would, and sets each claim's model. Throws
/// ConfigError for a device that is not listed.
void model_figures(Config& config, const DeviceSpec& here, const CeilingSource& ceilings,
                   const Context& context, unsigned threads);

}  // namespace gpuexp::cli
