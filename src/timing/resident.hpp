// Warps and blocks on SMs, and the schedulers that issue their instructions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "device/hardware_sizes.hpp"
#include "sim/cluster.hpp"
#include "timing/memory_path.hpp"
#include "timing/release.hpp"
#include "timing/schedule.hpp"
#include "timing/short_queue.hpp"
#include "timing/warp_state.hpp"
#include "timing/warpgroup_products.hpp"

namespace gpuexp {

inline constexpr auto kSchedulers = static_cast<unsigned>(kSchedulersPerSm);
inline constexpr unsigned kScoreboards = 6;
inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// What the instructions before have left to wait for. Few releases at a time: blocks come and go,
/// and a deque would allocate for each warp that never waits.
struct Scoreboard {
  std::vector<Release> releases;  ///< in the order of their setting
  WarpState wait = WarpState::short_scoreboard;

  void set(const Release& release, WarpState state) {
    releases.push_back(release);
    wait = state;
  }
  void forget_before(double now) {
    const auto left = std::find_if(releases.begin(), releases.end(),
                                   [&](const Release& r) { return r.when > now; });
    releases.erase(releases.begin(), left);
  }
  /// When no more than `left` are to come.
  Release when_left(std::size_t left) const {
    Release last;
    for (std::size_t i = 0; i + left < releases.size(); ++i) {
      last.when = std::max(last.when, releases[i].when);
      last.alone = std::max(last.alone, releases[i].alone);
    }
    return last;
  }
};

struct ResidentBlock;
struct ResidentWarp;

/// What a scheduler looks at, of one of its warps, whenever it chooses the next.
struct Turn {
  double& ready_at;     ///< nothing of the warp's own holds up its next instruction
  double& waits_since;  ///< for a turn, among those that cannot be issued when ready
  std::uint64_t& to;    ///< IssuedTo: where that goes
};

/// Of all of a scheduler's warps, each side by side: vector code looks at them.
struct IssueTurns {
  std::vector<ResidentWarp*> warps;  ///< those of older blocks first
  std::vector<double> ready_at;
  std::vector<double> waits_since;
  std::vector<std::uint64_t> to;
  std::vector<std::int64_t> compared;  ///< by choose(): times, as bits of a double

  Turn operator[](std::size_t i) { return {ready_at[i], waits_since[i], to[i]}; }
  void resize(std::size_t count);
};

struct ResidentWarp {
  ResidentBlock* block = nullptr;
  sim::Warp* warp = nullptr;
  std::size_t place = 0;                   ///< on the SM, which no other resident warp has
  WarpgroupProducts* warpgroup = nullptr;  ///< null: the block has no whole one for it
  double free_from = 0;                    ///< the stall of its last instruction has ended
  IssueTurns* turns = nullptr;             ///< of its scheduler
  std::size_t turn_index = 0;              ///< its own among them
  double waits_from = 0;                   ///< the clock behind its last instruction
  double goes_on_since = 0;                ///< when the last result or barrier came it waited for
  std::uint32_t next = 0;
  WarpState waits_in = WarpState::wait;  ///< from free_from until it is ready
  bool at_barrier = false;
  /// It has issued a check of phases that have not ended: it is executed when they have.
  bool awaits_phase = false;
  Release phase_ended;           ///< when those have that it checks
  bool awaits_products = false;  ///< of its warpgroup, which other warps have not started yet
  std::array<Scoreboard, kScoreboards> scoreboards;
  Release copies;                  ///< of cp.async, the last
  Release moves;                   ///< of bulk copies from shared memory, likewise
  std::size_t products = 0;        ///< of wgmma, that it has started
  std::size_t product_groups = 0;  ///< that it has committed
  double alone = 0;  ///< clocks of its instructions so far, if it had the SM for itself

  Turn turn() const { return (*turns)[turn_index]; }
};

inline void IssueTurns::resize(std::size_t count) {
  warps.resize(count);
  ready_at.resize(count);
  waits_since.resize(count);
  to.resize(count);
  compared.resize(count);
}

/// What a scheduler issues next, and when.
struct Choice {
  ResidentWarp* warp = nullptr;
  double when = kNever;
};

/// Clocks from `begin` on, up to `end`.
struct Gap {
  double begin = 0;
  double end = 0;
};

struct Scheduler {
  IssueTurns turns;
  double free_at = 0;
  ResidentWarp* last = nullptr;  ///< which it stays with if it can
  Choice choice;
  bool is_changed = true;  ///< since `choice` was made
  std::array<double, kIssuedTo> pipe_free{};
  ShortQueue<double> queue;  ///< when each place of the memory units' queue gets free
  /// Clocks in which it issued nothing, the last ones: whoever was ready then waited for its pipe.
  ShortQueue<Gap> gaps;

  void add(ResidentWarp& warp) {
    const std::size_t place = turns.warps.size();
    turns.resize(place + 1);
    put(warp, place);
  }
  template <class IsDropped>
  void drop_if(const IsDropped& is_dropped) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < turns.warps.size(); ++i) {
      ResidentWarp& warp = *turns.warps[i];
      if (is_dropped(warp)) continue;
      turns.ready_at[left] = turns.ready_at[i];
      turns.waits_since[left] = turns.waits_since[i];
      turns.to[left] = turns.to[i];
      put(warp, left++);
    }
    turns.resize(left);
  }
  void put(ResidentWarp& warp, std::size_t place) {
    turns.warps[place] = &warp;
    warp.turns = &turns;
    warp.turn_index = place;
  }
  double idle_since(double when) const {
    double idle = 0;
    for (const Gap* gap = gaps.end(); gap != gaps.begin() && gap[-1].end > when; --gap)
      idle += gap[-1].end - std::max(gap[-1].begin, when);
    return idle;
  }
};

/// One of those that the blocks of a cluster are on, or the one.
struct Sm {
  Sm(const SmFigures& figures, SectorsOfBlocks& asked_for, std::uint64_t draws)
      : memory(figures, asked_for, draws) {}

  MemoryPath memory;
  MatrixPipe matrix;
  std::array<Scheduler, kSchedulers> schedulers;
  unsigned next_scheduler = 0;
};

struct ResidentCluster;

struct ResidentBlock {
  sim::Block* block = nullptr;
  Sm* sm = nullptr;
  ResidentCluster* cluster = nullptr;
  std::vector<std::unique_ptr<ResidentWarp>> warps;
  std::vector<WarpgroupProducts> products;  ///< by warpgroup
  bool has_asked = false;                   ///< L2 for something, since its last barrier
};

/// A launch without clusters has clusters of one block.
struct ResidentCluster {
  std::unique_ptr<sim::Cluster> cluster;
  std::vector<std::unique_ptr<ResidentBlock>> blocks;  ///< by rank
  std::size_t place = 0;                               ///< which no other resident one has
  std::uint64_t number = 0;                            ///< among those that were executed
  std::uint64_t instructions = 0;                      ///< of its warps, so far
  double start = 0;
  std::size_t left = 0;  ///< warps that have not exited
  std::uint32_t barriers_ended = 0;
  double barrier_at = 0;  ///< the last of its barriers lets warps go on
};

}  // namespace gpuexp
