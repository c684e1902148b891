#include "base/old_names.hpp"

namespace gpuexp {

namespace {

template <class OldNames>
std::string_view current_in(const OldNames& names, std::string_view name) {
  for (const OldName& n : names) {
    if (n.old == name) return n.current;
  }
  return name;
}

}  // namespace

std::string current_column(std::string_view name) {
  constexpr std::string_view kCounterPrefix = "counter.";
  if (!name.starts_with(kCounterPrefix)) return std::string(current_in(kOldColumns, name));
  std::string current(kCounterPrefix);
  return current += current_counter(name.substr(kCounterPrefix.size()));
}

std::string_view current_counter(std::string_view name) {
  return current_in(kOldCounters, name);
}

std::string_view counter_to_count(std::string_view name) {
  return current_in(kReplacedCounters, current_counter(name));
}

std::string_view current_direction(std::string_view name) {
  return current_in(kOldDirections, name);
}

}  // namespace gpuexp
