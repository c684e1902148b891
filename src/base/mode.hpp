// How a launch is timed.
#pragma once

#include <string_view>

namespace gpuexp {

/// How a cell is launched, and in which state its launches find the caches.
enum class Mode {
  cold,     ///< caches flushed before every sample
  warm,     ///< the same buffers again, after an untimed launch of the same variant
  graph,    ///< many launches per replay of a CUDA graph, over buffers in rotation
  profile,  ///< one launch from flushed caches, for a profiler; no times
};
constexpr std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::cold: return "cold";
    case Mode::warm: return "warm";
    case Mode::graph: return "graph";
    case Mode::profile: return "profile";
  }
  return "";
}

}  // namespace gpuexp
