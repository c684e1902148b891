#pragma once

#include <string_view>

namespace gpuexp {

/// How a cell is launched, and the cache state before its launches.
enum class Mode {
  cold,   ///< caches flushed before every sample
  warm,   ///< the same buffers are reused, after an untimed launch of the same variant
  graph,  ///< replays of a CUDA graph of many launches, which use copies of the buffers in turn
  /// kBackToBackLaunches launches between two readings of the host clock, as nccl-tests times
  /// collectives (its doc/PERFORMANCE.md; option -n). The time includes the host's time for the
  /// launches.
  back_to_back,
  back_to_back_graph,  ///< replays of a CUDA graph of kBackToBackLaunches launches (nccl-tests: -G)
  profile,             ///< one launch from flushed caches, for a profiler; no times
};

inline constexpr int kBackToBackLaunches = 20;

constexpr bool is_back_to_back(Mode mode) {
  return mode == Mode::back_to_back || mode == Mode::back_to_back_graph;
}
constexpr bool is_captured(Mode mode) {
  return mode == Mode::graph || mode == Mode::back_to_back_graph;
}
/// Whether a launch may find data of the previous launch in L2.
constexpr bool follows_launches(Mode mode) {
  return mode == Mode::warm || mode == Mode::graph || is_back_to_back(mode);
}

constexpr std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::cold: return "cold";
    case Mode::warm: return "warm";
    case Mode::graph: return "graph";
    case Mode::back_to_back: return "back_to_back";
    case Mode::back_to_back_graph: return "back_to_back_graph";
    case Mode::profile: return "profile";
  }
  return "";
}

}  // namespace gpuexp
