// What columns, counters and values were called in earlier versions. Readers take a file's old
// names for the ones that it would have now; nothing is written under an old name.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace gpuexp {

struct OldName {
  std::string_view old;
  std::string_view current;
};

inline constexpr std::array kOldColumns{
    OldName{"moves", "expected_changes"},
    OldName{"time_quantum_us", "timer_resolution_us"},
};

/// Of columns behind the prefix "counter.", of configs' lists of counters, of expected changes.
inline constexpr std::array kOldCounters{
    OldName{"l1_wavefronts", "l1_data_wavefronts"},
    OldName{"l1_tag_turns", "l1_tag_wavefronts"},
};

/// Of configs' lists alone: counters that are counted no more, and what is counted in their place.
/// In results they keep their names, for they are other figures.
inline constexpr std::array kReplacedCounters{
    OldName{"sm_active_pct", "sm_balance_pct"},
};

/// Of expected changes.
inline constexpr std::array kOldDirections{
    OldName{"falls", "decreases"},
    OldName{"rises", "increases"},
    OldName{"stays", "unchanged"},
};

// The name as it is now; a name that is no old one is given back.
std::string current_column(std::string_view name);  ///< those of counters with their prefix
std::string_view current_counter(std::string_view name);
std::string_view counter_to_count(std::string_view name);  ///< also of one that was replaced
std::string_view current_direction(std::string_view name);

}  // namespace gpuexp
