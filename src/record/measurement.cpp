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

bool Verification::is_passed_by_zeros(const std::string& output) const {
  // A quarter less than all, because half of the elements may be 0 for a reason, as in a ReLU.
  constexpr double kManyZeros = 0.75;
  return std::ranges::any_of(zero_shares, [&](const ZeroShare& zeros) {
    return zeros.buffer == output && zeros.share >= kManyZeros;
  });
}

std::string Mismatch::got_text() const {
  if (std::isnan(got)) return is_unwritten ? "unwritten" : "nan";
  return fmt::format("{}", got);
}

std::string name_in_one_dimension(const std::string& buffer, std::int64_t element) {
  return fmt::format("{}[{}]", buffer, element);
}

namespace {

/// Whether only the expected value passes: the bound is 0, or only covers underflow. A smaller
/// bound than the rounding of fp64 is below that of any type.
bool must_be_exact(const Mismatch& m) {
  constexpr double kRoundoff = 0x1p-53;
  const double got = std::isfinite(m.got) ? std::abs(m.got) : 0;
  const double scale = std::max(std::abs(m.expected), got);
  return m.allowed == 0 || (std::isfinite(scale) && m.allowed < kRoundoff * scale);
}

/// "y[32]: expected 1, got 2, allowed ±0.1".
std::string text_of(const Mismatch& m, const ElementName& name) {
  const std::string place = name(m.buffer, m.index) + ": ";
  if (m.is_unwritten && std::isnan(m.got))
    return place + "the kernel did not write it" +
           (std::isnan(m.expected) ? "" : fmt::format(", expected {:.9g}", m.expected));
  if (std::isnan(m.expected) && std::isnan(m.got)) return place + "got nan, which is always wrong";
  return place + fmt::format("expected {:.9g}, got {}{}, {}", m.expected,
                             std::isnan(m.got) ? "nan" : fmt::format("{:.9g}", m.got),
                             m.is_unwritten ? " as if the kernel did not write it" : "",
                             must_be_exact(m) ? "must be exact"
                                              : fmt::format("allowed ±{:.3g}", m.allowed));
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
