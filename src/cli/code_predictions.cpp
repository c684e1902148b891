#include "cli/code_predictions.hpp"

#include "cli/interrupts.hpp"
#include "cli/own_folder.hpp"
#include "cli/provenance.hpp"

namespace gpuexp::cli {

std::filesystem::path kept_predictions() {
  const auto cache = own_folder("GPUEXP_CACHE_DIR", "XDG_CACHE_HOME", ".cache");
  return cache ? *cache / "predictions" : std::filesystem::path();
}

CodePredictorOptions code_predictor_options(unsigned threads) {
  CodePredictorOptions options;
  options.threads = threads;
  options.kept_in = kept_predictions();
  options.build_id = build_id();
  options.interrupted = interrupted;
  return options;
}

}  // namespace gpuexp::cli
