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

std::string Mismatch::got_text() const {
  if (std::isnan(got)) return is_unwritten ? "unwritten" : "nan";
  return fmt::format("{}", got);
}

std::string name_in_one_dimension(const std::string& buffer, std::int64_t element) {
  return fmt::format("{}[{}]", buffer, element);
}

namespace {

/// "y[32]: expected 1, got 2, allowed ±0.1".
std::string text_of(const Mismatch& m, const ElementName& name) {
  const std::string place = name(m.buffer, m.index) + ": ";
  if (m.is_unwritten && std::isnan(m.got))
    return place + "the kernel did not write it" +
           (std::isnan(m.expected) ? "" : fmt::format(", expected {:.9g}", m.expected));
  if (std::isnan(m.expected) && std::isnan(m.got)) return place + "got nan, which is always wrong";
  return place + fmt::format("expected {:.9g}, got {}{}, allowed ±{:.3g}", m.expected,
                             std::isnan(m.got) ? "nan" : fmt::format("{:.9g}", m.got),
                             m.is_unwritten ? " as if the kernel did not write it" : "", m.allowed);
}

}  // namespace

std::string failure_of(const Verification& v, const ElementName& name) {
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
    text += (i == 0 ? "; first " : "; ") + text_of(v.first_wrong[i], name);
  }
  const bool has_rms_bound = !std::isinf(v.rms.allowed);  // users' kernels have none
  return v.rms_passed() || !has_rms_bound ? text : text + "; " + rms;
}

}  // namespace gpuexp
