#include "analysis/compared_row.hpp"

#include <algorithm>
#include <cmath>

namespace gpuexp {

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::slower: return "slower";
    case Outcome::faster: return "faster";
    case Outcome::same: return "same";
    case Outcome::inconclusive: return "inconclusive";
    case Outcome::missing: return "missing";
    case Outcome::added: return "added";
    case Outcome::broken: return "broken";
    case Outcome::repaired: return "repaired";
    case Outcome::untested: return "untested";
  }
  return "unknown";
}

Interval ComparedRow::beyond_circumstances() const {
  Interval left = ratio->ci95;
  if (clock_ratio) left = confirmed_in_cycles(left, *clock_ratio);
  if (floor_shift_us)
    left = beyond(left, std::abs(*floor_shift_us) / std::min(a->median, b->median));
  return left;
}

Verdict ComparedRow::verdict() const {
  const Verdict beyond_all = verdict_of(beyond_circumstances(), *effect);
  if (beyond_all != Verdict::inconclusive || !floor_shift_us) return beyond_all;
  const double share = *floor_shift_us / a->median;
  const Interval without_shift{ratio->ci95.low - share, ratio->ci95.high - share};
  return verdict_of(without_shift, *effect) == Verdict::same ? Verdict::same : beyond_all;
}

}  // namespace gpuexp
