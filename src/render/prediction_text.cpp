#include "render/prediction_text.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace gpuexp {

std::string predicted_time_text(double time_us, const std::optional<PredictionBand>& band) {
  return time_text(time_us) + (band ? fmt::format(" ± {:.0f} %", band->pct) : "");
}

}  // namespace gpuexp
