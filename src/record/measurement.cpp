#include "record/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace gpuexp {

void Verification::add_rms(RmsError error) {
  const double worst = rms.over_allowed();
  if (!std::isnan(worst) && !(error.over_allowed() < worst)) rms = std::move(error);
}

std::string failure_of(const Verification& v) {
  if (!v.overrun.empty()) return fmt::format("wrote outside of buffer '{}'", v.overrun);
  if (!v.changed_input.empty()) return fmt::format("wrote into input '{}'", v.changed_input);
  const std::string rms =
      fmt::format("the root-mean-square error of '{}' is {:.3g}, allowed {:.3g}", v.rms.buffer,
                  v.rms.got, v.rms.allowed);
  if (v.wrong == 0) return "each element is within its tolerance, but " + rms;
  constexpr std::size_t kShown = 3;
  std::string text = fmt::format("{} of {} {} wrong", v.wrong, counted(v.checked, "element"),
                                 noun_for(v.wrong, "is", "are"));
  for (std::size_t i = 0; i < std::min(kShown, v.first_wrong.size()); ++i) {
    const Mismatch& m = v.first_wrong[i];
    text += fmt::format("{} {}[{}]: ", i == 0 ? "; first" : ";", m.buffer, m.index);
    text += std::isnan(m.expected) && std::isnan(m.got)
                ? "got nan, which is always wrong"
                : fmt::format("expected {:.9g}, got {:.9g}, allowed ±{:.3g}", m.expected, m.got,
                              m.allowed);
  }
  const bool has_rms_bound = !std::isinf(v.rms.allowed);  // users' kernels have none
  return v.rms_passed() || !has_rms_bound ? text : text + "; " + rms;
}

}  // namespace gpuexp
