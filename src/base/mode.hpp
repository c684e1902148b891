// How a launch is timed.
#pragma once

#include <string_view>

namespace gpuexp {

/// How a cell is launched, and in which state its launches find the caches.
enum class Mode {
  cold,   ///< caches flushed before every sample
  warm,   ///< the same buffers again, after an untimed launch of the same variant
  graph,  ///< many launches per replay of a CUDA graph, over buffers in rotation
  /// kBackToBackLaunches in a row between two readings of the host's clock, as nccl-tests times
  /// collectives (its doc/PERFORMANCE.md; there -n): what the host takes to launch is in it.
  back_to_back,
  back_to_back_graph,  ///< likewise, of replays of a CUDA graph with so many (nccl-tests: -G)
  profile,             ///< one launch from flushed caches, for a profiler; no times
};

inline constexpr int kBackToBackLaunches = 20;

constexpr bool is_back_to_back(Mode mode) {
  return mode == Mode::back_to_back || mode == Mode::back_to_back_graph;
}
/// Launches are captured, and replayed together.
constexpr bool is_captured(Mode mode) {
  return mode == Mode::graph || mode == Mode::back_to_back_graph;
}
/// Launches may find in L2 what one before them left there.
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
