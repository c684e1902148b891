// A block of threads that executes: its warps, its shared memory, and what it reaches beyond them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "family/tensor_map.hpp"
#include "sim/access_counts.hpp"
#include "sim/fault.hpp"
#include "sim/global_memory.hpp"
#include "sim/kernel_counters.hpp"
#include "sim/memory_checks.hpp"
#include "sim/observation.hpp"
#include "sim/program.hpp"

namespace gpuexp::sim {

/// What executed kernels are held against, besides what they compute.
struct Checks {
  bool memory = true;  ///< sim/memory_checks.hpp
  /// Of one warp. A kernel that exceeds it counts as endless; these take about ten seconds.
  std::uint64_t most_instructions = std::uint64_t{1} << 28;
};

/// A parameter of the launch that is a tensor map.
struct PlacedTensorMap {
  std::uint64_t address = 0;
  const TensorMap* map = nullptr;
};

/// What the blocks of a launch have in common.
struct LaunchState {
  const Program* program = nullptr;
  std::vector<Op> ops;  ///< of the program, with this launch's constants; none: they have none
  GlobalMemory* global = nullptr;
  Extent grid;
  Extent block;
  Extent cluster;  ///< of blocks
  std::size_t shared_bytes = 0;
  unsigned most_warps = ~0u;         ///< of each block, the first ones; others count as exited
  unsigned registers = 255;          ///< of each thread
  std::vector<std::byte> constants;  ///< bank 0: the launch, and its parameters
  std::vector<PlacedTensorMap> tensor_maps;  ///< among its parameters
  Checks checks;
  const Observation* observation = nullptr;  ///< null: nothing but sums
  bool counts_accesses = true;               ///< Block::memory is asked for
  /// Whoever asks for branches and addresses alone has products of mma.sync added up in fp32, which
  /// takes less time.
  bool is_rough = false;
  /// Warps execute without those that they would wait for: phases of mbarriers count as ended,
  /// nobody arrives, and shared memory of all blocks of a cluster is the block's own.
  bool is_alone = false;

  const std::vector<Op>& executed_ops() const { return ops.empty() ? program->ops : ops; }
};

/// BAR: lanes of one warp that come to a barrier together.
struct BarrierArrival {
  unsigned threads = 0;  ///< that the barrier is of; 0: all that are left
  LaneMask lanes = 0;
  LaneMask yes = 0;  ///< of these, who votes so
  bool waits = true;
};

class Block;
class Cluster;

/// An arrival at an mbarrier, or bytes that came there.
struct MbarrierArrival {
  const Block* block = nullptr;  ///< whose shared memory the mbarrier is in
  std::uint64_t offset = 0;      ///< there
  bool ends_phase = false;
};

/// Hears of each access to memory before it is made.
class AccessListener {
 public:
  virtual void hear(const MemoryAccess& access) = 0;
  /// And of what comes to mbarriers, when it has.
  virtual void hear(const MbarrierArrival&) {}

 protected:
  ~AccessListener() = default;
};

/// An instruction that a warp has executed.
struct Executed {
  std::uint32_t place = 0;  ///< in the program
  LaneMask lanes = 0;       ///< for which it did something; 0: its guard switched it off
};

/// A block's place in a cluster.
struct Membership {
  Cluster* cluster = nullptr;                                   ///< null: the block is by itself
  const std::vector<std::unique_ptr<Block>>* blocks = nullptr;  ///< of the cluster, by rank
  unsigned rank = 0;
};

/// Where an address of the cluster's shared memory leads.
struct SharedPlace {
  Block& block;
  std::uint64_t offset = 0;
};

/// What the warps of a block, or of several, did one after the other.
struct Round {
  bool any_left = false;     ///< that has not exited
  bool any_ran = false;      ///< and did not wait for others
  bool any_works = false;    ///< and did more than look whether what it waits for is there
  bool any_goes_on = false;  ///< and did not load again what it had loaded before
  bool any_signals = false;  ///< and stored what other ranks may wait for
};

/// Rounds in which all warps only wait and no phase ends: after so many, none will. A kernel may
/// poll now and then, and count its own turns.
class IdleRounds {
 public:
  /// `phases` that have ended so far. Throws Fault.
  void add(const Round& round, std::uint64_t phases);

 private:
  std::uint64_t phases_ = 0;
  int count_ = 0;
};

/// Rounds of a thread of the host while other threads execute other ranks in the same memory. After
/// a round in which every warp only found a value unchanged, the thread sleeps until another one
/// stores. Without that, ranks that share a core would poll for whole time slices.
class RankTurns {
 public:
  explicit RankTurns(GlobalMemory& memory) : memory_(memory) {}
  /// To be called before each round, and after it.
  void begin();
  void end(const Round& round);

 private:
  GlobalMemory& memory_;
  std::uint32_t seen_ = 0;  ///< signals before the round
  int polls_ = 0;           ///< rounds to come in which the thread yields and does not sleep
};

/// From this bit on, an address of shared memory has the rank in the cluster of the block that it
/// is of: LEA R3, SR_CgaCtaId, 0x400, 0x18, and mapa is PRMT R2, rank, 0x654, R2.
inline constexpr unsigned kRankShift = 24;

class Block {
 public:
  Block(const LaunchState& launch, Extent place, const Membership& membership = {});

  /// Executes all threads to their end. Throws Fault. Blocks of a cluster run with Cluster::run().
  void run();
  /// Each warp once, until it waits, or until others have waited long for what it may wait for.
  Round run_round();
  /// Lets warps go on that wait at barriers of the block which are complete.
  bool release_barriers();
  /// Throws Fault: threads wait for others that never come.
  [[noreturn]] void report_barrier() const;
  /// Phases of its mbarriers that have ended.
  std::uint64_t phases_ended() const { return phases_ended_; }

  /// Executes the next instruction of the warp, which is running. For whoever decides which warp is
  /// next. Throws Fault.
  Executed step(Warp& warp);
  /// For which lanes the next instruction of the warp, which is running, will do something.
  LaneMask lanes_of_next(const Warp& warp) const;
  /// Null: nobody.
  void set_listener(AccessListener* listener) {
    listener_ = listener;
    watches_ = checks_ || observed || listener_;
  }

  /// To be called before memory is read or written.
  void note(const MemoryAccess& access) {
    access.memo = memo_of(access);
    if (launch.counts_accesses) count(memory, access);
    if (watches_) watch(access);
  }
  /// Another block reads or writes a range of this one's shared memory.
  void check_range(const MemoryAccess& access) const {
    if (checks_) checks_->check_range(access);
  }
  /// Lanes of the warp that runs come to a barrier of the block, and go on when all have come, or
  /// at once.
  void come_to_barrier(unsigned barrier, const BarrierArrival& arrival);
  /// A phase of an mbarrier has ended.
  void end_phase() {
    ++phases_ended_;
    order_accesses();
  }
  /// Something has come to an mbarrier of this block, of whomever.
  void tell(const MbarrierArrival& arrival) const {
    if (listener_) listener_->hear(arrival);
  }
  /// Of others, who have told this block since that it is over.
  void forget_remote_read() { remote_read_.reset(); }
  /// All threads have exited. Throws Fault where others may still have been reading.
  void check_end() const;
  /// All that its threads did is before all that they do next.
  void order_accesses() {
    remote_read_.reset();
    if (checks_) checks_->release_barrier();
  }
  /// cp.async.commit_group and cp.async.wait_group of lanes of the warp that runs.
  void commit_copies(LaneMask lanes);
  void wait_for_copies(LaneMask lanes, std::uint32_t left);

  /// Where `bytes` at an address of shared memory lie. Throws Fault outside of it, and where the
  /// address is no multiple of `alignment`.
  std::byte* shared_at(std::uint64_t address, std::size_t bytes, std::size_t alignment);
  /// Throws Fault where the cluster has no such block, or where the block has exited.
  SharedPlace shared_place(std::uint32_t address, std::optional<unsigned> lane = std::nullopt);
  /// What stands in front of addresses of its shared memory: its rank in the cluster.
  std::uint32_t shared_base() const { return member.rank << kRankShift; }
  bool has_exited() const;

  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
  /// Instructions of its warps so far, which stand for a clock.
  std::uint64_t steps() const;

  const LaunchState& launch;
  Extent place;  ///< in the grid
  const Membership member;
  std::vector<std::byte> shared;
  std::vector<OpCount> counts;  ///< by place in the program
  MemoryCounts memory;
  std::unique_ptr<Observed> observed;  ///< null: LaunchState::observation is

 private:
  /// BAR: what has come so far.
  struct Barrier {
    unsigned threads = 0;  ///< that it is of; 0: all
    unsigned arrived = 0;
    BarrierVotes votes;
  };

  /// A read of this block's shared memory by a thread of another one.
  struct RemoteRead {
    Extent block;
    Extent thread;
    std::uint32_t instruction = 0;
    unsigned width = 0;
    std::uint64_t offset = 0;
  };

  void run(Warp& warp);
  void run_turn(Warp& warp);
  Executed execute_next(Warp& warp, const std::vector<Op>& ops);
  void name_place(Fault& fault, const Warp& warp) const;
  bool is_complete(unsigned barrier) const;
  bool release_barrier(unsigned barrier);
  std::string describe_barriers() const;
  AccessMemo* memo_of(const MemoryAccess& access);
  void watch(const MemoryAccess& access);
  void check_remote(const MemoryAccess& access);
  [[noreturn]] void report_endless(Warp& warp);

  std::uint64_t phases_ended_ = 0;
  std::array<Barrier, Divergence::kBlockBarriers> barriers_;
  std::vector<std::unique_ptr<Warp>> warps_;
  /// By place in the program, of global and of other memory; null: there was no access.
  std::array<std::vector<std::unique_ptr<AccessMemo>>, 2> memos_;
  Warp* running_ = nullptr;
  std::unique_ptr<MemoryChecks> checks_;  ///< null: none
  AccessListener* listener_ = nullptr;
  /// The last one, unless this block may know since that it is over.
  std::optional<RemoteRead> remote_read_;
  bool watches_ = false;  ///< one branch of note() for all: it is on the path of every access
};

/// The bits of a 64-bit address by which shared memory is reached as if it were global.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{0x07000000} << 32;
/// And a lane's local memory.
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{0x06000000} << 32;

}  // namespace gpuexp::sim
