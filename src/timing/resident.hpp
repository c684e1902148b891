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

/// Pending results of earlier instructions. A vector, because a deque would allocate memory even
/// for a warp that never waits.
struct Scoreboard {
  std::vector<Release> releases;  ///< in the order of set()
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
  /// The time at which all results except the last `left` are available.
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

/// The data of one warp by which its scheduler chooses the next warp.
struct Turn {
  double& ready_at;     ///< when the dependencies of the warp's next instruction are satisfied
  double& waits_since;  ///< if ready warps had to wait, the warp with the smallest value issues
  std::uint64_t& to;    ///< IssuedTo: pipe of the warp's next instruction
};

/// The Turn data of all warps of a scheduler, in arrays for vector code.
struct IssueCandidates {
  std::vector<ResidentWarp*> warps;  ///< warps of older blocks first
  std::vector<double> ready_at;
  std::vector<double> waits_since;
  std::vector<std::uint64_t> to;
  std::vector<std::int64_t> compared;  ///< times as bits of a double, used by choose()

  Turn operator[](std::size_t i) { return {ready_at[i], waits_since[i], to[i]}; }
  void resize(std::size_t count);
};

struct ResidentWarp {
  ResidentBlock* block = nullptr;
  sim::Warp* warp = nullptr;
  std::size_t place = 0;                   ///< slot on the SM, unique among the SM's resident warps
  WarpgroupProducts* warpgroup = nullptr;  ///< null: the warp is not in a complete warpgroup
  double free_from = 0;                    ///< end of its last instruction's stall
  IssueCandidates* turns = nullptr;
  std::size_t candidate_index = 0;
  double waits_from = 0;  ///< the cycle after its last instruction's issue
  double resumed_at = 0;  ///< when its last awaited result or barrier was complete
  std::uint32_t next = 0;
  WarpState waits_in = WarpState::wait;  ///< stall reason from free_from until the warp is ready
  bool at_barrier = false;
  /// Whether the warp has issued a check of mbarrier phases that have not ended. The check is
  /// executed when the phases have ended or the wait times out.
  bool awaits_phase = false;
  Release phase_ended;  ///< end of the phases that the warp checks
  /// Whether the warp waits for products that other warps have not started.
  bool awaits_products = false;
  std::array<Scoreboard, kScoreboards> scoreboards;
  Release copies;  ///< completion of the warp's cp.async copies
  Release moves;   ///< when the warp's bulk copies have read all their bytes from shared memory
  std::size_t products = 0;        ///< number of wgmma products that the warp has started
  std::size_t product_groups = 0;  ///< number of groups of products that the warp has committed
  /// Cycles that the warp's instructions would take without other warps on the SM.
  double alone = 0;

  Turn turn() const { return (*turns)[candidate_index]; }
};

inline void IssueCandidates::resize(std::size_t count) {
  warps.resize(count);
  ready_at.resize(count);
  waits_since.resize(count);
  to.resize(count);
  compared.resize(count);
}

struct Choice {
  ResidentWarp* warp = nullptr;
  double when = kNever;
};

struct Gap {
  double begin = 0;
  double end = 0;
};

struct Scheduler {
  IssueCandidates turns;
  double free_at = 0;
  ResidentWarp* last = nullptr;  ///< last issuing warp, if it is preferred; else null
  Choice choice;
  bool is_changed = true;
  std::array<double, kIssuedTo> pipe_free{};
  RegisterPorts ports;
  const ResidentWarp* issued_last = nullptr;
  ShortQueue<double> queue;  ///< times at which the entries of the memory units' queue are freed
  /// The last intervals in which the scheduler issued no instruction.
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
    warp.candidate_index = place;
  }
  double idle_since(double when) const {
    double idle = 0;
    for (const Gap* gap = gaps.end(); gap != gaps.begin() && gap[-1].end > when; --gap)
      idle += gap[-1].end - std::max(gap[-1].begin, when);
    return idle;
  }
};

/// The SM of a block, or one SM of a cluster.
struct Sm {
  Sm(const SmParameters& parameters, BlockSectors& requested, std::uint64_t draws)
      : memory(parameters, requested, draws) {}

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
  std::vector<WarpgroupProducts> products;
  /// Whether the block has requested data from L2 since its last barrier.
  bool has_requested = false;
};

/// In a launch without clusters, each block is a cluster of one block.
struct ResidentCluster {
  std::unique_ptr<sim::Cluster> cluster;
  std::vector<std::unique_ptr<ResidentBlock>> blocks;
  std::size_t place = 0;
  std::uint64_t number = 0;  ///< number among the executed clusters, from 1
  std::uint64_t instructions = 0;
  double start = 0;
  std::size_t left = 0;
  std::uint32_t barriers_ended = 0;
  double barrier_at = 0;
};

}  // namespace gpuexp
