#include "analysis/compared_row.hpp"

#include <algorithm>

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
  if (floor_shift_us) left = beyond(left, *floor_shift_us / std::min(a->median, b->median));
  return left;
}

}  // namespace gpuexp
