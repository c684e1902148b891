#include "sim/global_waits.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/warp.hpp"

namespace gpuexp::sim {

namespace {

bool loads_global(std::string_view opcode) {
  constexpr std::array<std::string_view, 4> kLoads{"LDG.", "LD.", "ATOMG.", "ATOM."};
  return std::ranges::any_of(kLoads,
                             [&](std::string_view load) { return opcode.starts_with(load); });
}

/// What decides a warp's next instructions, apart from memory.
struct WarpValues {
  explicit WarpValues(const Warp& warp)
      : uniform(warp.uniform),
        predicates(warp.predicates),
        uniform_predicates(warp.uniform_predicates) {
    for (const Lanes32& lanes : warp.registers)
      registers.push_back(lanes.of);
  }
  bool operator==(const WarpValues&) const = default;

  std::vector<decltype(Lanes32::of)> registers;
  decltype(Warp::uniform) uniform;
  decltype(Warp::predicates) predicates;
  decltype(Warp::uniform_predicates) uniform_predicates;
};

// Whether the warp executes a loop that leaves all registers as they were; sets `loads` if it loads
// from global memory. The first iterations may differ, for example in the time for which they
// sleep.
bool repeats_itself(Block& block, Warp& warp, bool& loads) {
  constexpr int kMaxIterations = 32;
  constexpr int kMaxSteps = 1 << 12;
  const std::uint32_t begin = warp.divergence.next();
  const LaneMask lanes = warp.divergence.lanes();
  WarpValues before(warp);
  int iterations = 0;
  for (int i = 0; i < kMaxSteps && iterations < kMaxIterations; ++i) {
    const Executed executed = block.step(warp);
    loads |=
        executed.lanes != 0 && loads_global(block.launch.program->listed[executed.place].opcode);
    if (!warp.divergence.is_running()) return false;
    if (warp.divergence.next() != begin || warp.divergence.lanes() != lanes) continue;
    WarpValues now(warp);
    if (now == before) return true;
    before = std::move(now);
    ++iterations;
  }
  return false;
}

}  // namespace

bool awaits_global(const Cluster& cluster) {
  bool loads = false;
  try {
    for (const auto& block : cluster.blocks()) {
      for (const auto& warp : block->warps()) {
        if (!warp->divergence.is_running()) continue;
        warp->steps = 0;  // allows step() to execute more instructions than a launch may have
        if (!repeats_itself(*block, *warp, loads)) return false;
      }
    }
  } catch (const Fault&) {
    return false;
  }
  return loads;
}

}  // namespace gpuexp::sim
