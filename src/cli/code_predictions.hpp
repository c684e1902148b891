// How subcommands predict times from machine code.
#pragma once

#include <filesystem>

#include "simulated/code_predictor.hpp"

namespace gpuexp::cli {

/// <cache>/predictions, where <cache> is $GPUEXP_CACHE_DIR, else $XDG_CACHE_HOME/gpuexp, else
/// ~/.cache/gpuexp. Empty where the environment names none of the three.
std::filesystem::path kept_predictions();

/// With so many threads of the host, kept from run to run, ended by an interrupt.
CodePredictorOptions code_predictor_options(unsigned threads);

}  // namespace gpuexp::cli
