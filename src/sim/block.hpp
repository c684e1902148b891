// An executing block of threads: its warps, its shared memory, and its links to the cluster.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

struct Checks {
  bool memory = true;  ///< whether to check memory accesses (sim/memory_checks.hpp)
  /// Without `memory`: whether to check that accesses to global memory are inside buffers.
  bool bounds = false;
  /// Maximum number of instructions per warp; a warp that exceeds it causes a Fault (endless).
  /// Executing the default number takes about ten seconds.
  std::uint64_t max_instructions = std::uint64_t{1} << 28;
};

/// A tensor map that is a parameter of a launch.
struct PlacedTensorMap {
  std::uint64_t address = 0;
  const TensorMap* map = nullptr;
};

class ModuleMemory;

/// Size of the shared memory that the system reserves for cooperative groups
/// (cooperative_groups/details/memory.h).
inline constexpr std::size_t kGroupMemoryBytes = 288;

struct LaunchState {
  const Program* program = nullptr;
  std::vector<Op> ops;  ///< ops with this launch's constants as immediates; empty: use Program::ops
  GlobalMemory* global = nullptr;
  Extent grid;
  Extent block;
  Extent cluster;                       ///< cluster size in blocks
  std::size_t shared_bytes = 0;         ///< per block, with system_shared_bytes
  std::size_t system_shared_bytes = 0;  ///< reserved for the system, before the kernel's own
  /// Offset in shared memory of kGroupMemoryBytes that cooperative groups use; empty: none.
  std::optional<std::size_t> group_memory;
  /// Number of warps per block to execute; further warps count as exited.
  unsigned max_warps = ~0u;
  unsigned registers = 255;              ///< registers per thread
  std::vector<std::byte> constants;      ///< constant bank 0: launch sizes and parameters
  const ModuleMemory* module = nullptr;  ///< the kernel's variables; null: unknown
  std::vector<PlacedTensorMap> tensor_maps;
  Checks checks;
  const Observation* observation = nullptr;  ///< records per instruction or warp; null: none
  bool counts_accesses = true;               ///< false: Block::memory stays 0
  /// Called by the thread that executes the block while a warp runs without waiting. If it returns
  /// true, the block throws Stopped. Null: never called.
  const std::function<bool()>* stop = nullptr;
  /// Receives the text that a thread prints, from several host threads. Null: text is dropped.
  const std::function<void(std::string_view text)>* print = nullptr;
  /// Whether mma.sync sums in fp32: faster, and accurate enough for branches and addresses.
  bool is_approximate = false;
  /// Whether warps execute without waiting for other warps: barriers and mbarrier phases count as
  /// complete, arrivals and tensor core products have no effect, and all addresses in the cluster
  /// resolve to this block.
  bool is_alone = false;

  /// Contents of a constant bank; empty if they are unknown.
  std::span<const std::byte> constant_bank(unsigned bank) const;
  const std::vector<Op>& executed_ops() const { return ops.empty() ? program->ops : ops; }
};

/// Lanes of one warp that arrive together at a barrier of the block (BAR).
struct BarrierArrival {
  /// Number of threads that the barrier expects; 0: all that have not exited.
  unsigned threads = 0;
  LaneMask lanes = 0;
  LaneMask yes = 0;  ///< lanes whose vote is true
  bool waits = true;
};

class Block;
class Cluster;

/// An arrival of a thread or of bytes at an mbarrier.
struct MbarrierArrival {
  const Block* block = nullptr;
  std::uint64_t offset = 0;  ///< offset of the mbarrier in the block's shared memory
  bool ends_phase = false;
};

/// Receives each access to memory before it is executed.
class AccessListener {
 public:
  virtual void hear(const MemoryAccess& access) = 0;
  /// Receives each arrival at an mbarrier after it has taken effect.
  virtual void hear(const MbarrierArrival&) {}

 protected:
  ~AccessListener() = default;
};

struct Executed {
  std::uint32_t place = 0;  ///< index of the instruction in the program
  LaneMask lanes = 0;
};

struct Membership {
  Cluster* cluster = nullptr;
  const std::vector<std::unique_ptr<Block>>* blocks = nullptr;
  unsigned rank = 0;
};

struct SharedPlace {
  Block& block;
  std::uint64_t offset = 0;
};

/// Outcome of one round: one turn of each warp of a block or cluster.
struct Round {
  bool any_left = false;      ///< a warp had not exited before its turn
  bool any_ran = false;       ///< a warp was not waiting for other warps
  bool any_progress = false;  ///< a warp's turn did not end with Warp::wait()
  /// A warp's turn did not end with a repeated load of an unchanged value.
  bool any_continues = false;
  bool any_signals = false;  ///< a warp stored data that other ranks may wait for
};

/// Counts consecutive rounds in which every turn ends with Warp::wait() and no mbarrier phase ends.
/// Beyond a limit, which is high because a kernel may poll and count its polls, the warps count as
/// deadlocked.
class IdleRounds {
 public:
  /// `phases`: the number of phases that have ended so far. Throws Fault beyond the limit.
  void add(const Round& round, std::uint64_t phases);

 private:
  std::uint64_t phases_ = 0;
  int count_ = 0;
};

/// Synchronizes the rounds of a host thread with threads that execute other ranks in the same
/// memory. After a round in which every turn ended with a repeated load of an unchanged value, the
/// thread sleeps for at most 1 ms, until another thread signals a store. After 1 ms without a
/// signal, it yields in the next rounds instead.
class RankRounds {
 public:
  explicit RankRounds(GlobalMemory& memory) : memory_(memory) {}
  void begin();
  void end(const Round& round);

 private:
  GlobalMemory& memory_;
  std::uint32_t seen_ = 0;
  int polls_ = 0;  ///< number of coming rounds in which the thread yields instead of sleeping
};

/// Lowest bit of the block's rank in an address of the cluster's shared memory. Machine code forms
/// such addresses by LEA R3, SR_CgaCtaId, 0x400, 0x18, and mapa is PRMT R2, rank, 0x654, R2.
inline constexpr unsigned kRankShift = 24;

class Block {
 public:
  Block(const LaunchState& launch, Extent place, const Membership& membership = {});

  /// Executes all threads until they exit. Throws Fault. For blocks of a cluster, call
  /// Cluster::run().
  void run();
  /// Executes one turn of each warp. A turn ends when the warp waits or other warps should run.
  Round run_round();
  /// Releases warps that wait at complete barriers of the block. Returns whether it released any.
  bool release_barriers();
  /// Throws Fault: threads wait at a barrier for threads that never arrive.
  [[noreturn]] void report_barrier() const;
  std::uint64_t phases_ended() const { return phases_ended_; }

  /// Executes the next instruction of a running warp, for callers that schedule warps. Throws
  /// Fault.
  Executed step(Warp& warp);
  /// The lanes that the guard of a running warp's next instruction enables.
  LaneMask lanes_of_next(const Warp& warp) const;
  /// Sets the receiver of the block's accesses; null: none.
  void set_listener(AccessListener* listener) {
    listener_ = listener;
    watches_ = checks_ || observed || listener_ || launch.checks.bounds;
  }

  /// Counts and checks an access. Call it before memory is read or written.
  void note(const MemoryAccess& access) {
    access.memo = memo_of(access);
    if (launch.counts_accesses) count(memory, access);
    if (watches_) watch(access);
  }
  /// Checks an access of another block to a range of this block's shared memory.
  void check_range(const MemoryAccess& access) const {
    if (checks_) checks_->check_range(access);
  }
  /// Lanes of the current warp arrive at a barrier of the block, and wait until it is complete if
  /// `arrival.waits`.
  void arrive_at_barrier(unsigned barrier, const BarrierArrival& arrival);
  /// Call when a phase of the mbarrier at this offset has ended.
  void end_phase(std::uint64_t mbarrier) {
    ++phases_ended_;
    if (checks_) checks_->end_phase(mbarrier);
    order_accesses();
  }
  /// Call before an instruction that accesses an mbarrier in two words (sim/mbarrier_words.hpp).
  void add_mbarrier(std::uint64_t mbarrier) {
    if (checks_) checks_->add_mbarrier(mbarrier);
  }
  /// The completion of the lane's earlier cp.async copies arrives at an mbarrier of this block.
  /// Call it before the arrival takes effect.
  void arrive_after_copies(unsigned lane, std::uint64_t mbarrier) {
    if (checks_) checks_->arrive_after_copies(*running_, lane, mbarrier);
  }
  /// Call when the lane has found that the latest phase of an mbarrier of this block has ended.
  void wait_for_phase(unsigned lane, std::uint64_t mbarrier) {
    if (checks_) checks_->wait_for_phase(*running_, lane, mbarrier);
  }
  /// Orders earlier accesses of the current warp before later flags (sim/shared_shadow.hpp).
  void fence() {
    if (checks_) checks_->fence(*running_);
  }
  /// Reports an arrival at an mbarrier of this block to the listener, if there is one.
  void tell(const MbarrierArrival& arrival) const {
    if (listener_) listener_->hear(arrival);
  }
  /// Forgets the last read by another block, which has signalled that the read is complete.
  void end_remote_read() { remote_read_.reset(); }
  /// Call it when all threads have exited. Throws Fault if another block may still be reading.
  void check_end() const;
  /// Orders all earlier accesses of the block's threads before all later accesses.
  void order_accesses() {
    remote_read_.reset();
    if (checks_) checks_->release_barrier();
  }
  /// cp.async.commit_group and cp.async.wait_group for lanes of the current warp. `left`: number of
  /// newest groups that may stay pending.
  void commit_copies(LaneMask lanes);
  void wait_for_copies(LaneMask lanes, std::uint32_t left);

  /// Host address of `bytes` bytes at an offset in shared memory. Throws Fault if the bytes are out
  /// of bounds or the offset is not a multiple of `alignment`.
  std::byte* shared_at(std::uint64_t address, std::size_t bytes, std::size_t alignment);
  /// The text of an offset in shared memory, for messages (sim/fault.hpp).
  std::string shared_offset(std::uint64_t address) const;
  /// Resolves an address of the cluster's shared memory. Throws Fault if the cluster has no such
  /// block, or if the block has exited.
  SharedPlace shared_place(std::uint32_t address, std::optional<unsigned> lane = std::nullopt);
  /// The rank bits that addresses in this block's shared memory contain.
  std::uint32_t shared_base() const { return member.rank << kRankShift; }
  bool has_exited() const;

  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
  /// Number of instructions that the block's warps have executed; it serves as a clock.
  std::uint64_t steps() const;

  const LaunchState& launch;
  Extent place;  ///< coordinates of the block in the grid
  const Membership member;
  std::vector<std::byte> shared;
  std::vector<OpCount> counts;
  MemoryCounts memory;
  std::unique_ptr<Observed> observed;

 private:
  struct Barrier {
    unsigned threads = 0;
    unsigned arrived = 0;
    BarrierVotes votes;
  };

  struct RemoteRead {
    Extent block;
    Extent thread;
    std::uint32_t instruction = 0;
    unsigned width = 0;
    std::uint64_t offset = 0;
  };

  void run(Warp& warp);
  static constexpr std::uint64_t kStepsPerStop = 1 << 14;
  void run_turn(Warp& warp);
  Executed execute_next(Warp& warp, const std::vector<Op>& ops);
  void add_place(Fault& fault, const Warp& warp) const;
  /// Call for a fault of the warp, which has set its place. If the fault is a read of unwritten
  /// bytes of the block's own shared memory, executes the block up to its next barrier, without
  /// checks. If another thread writes the bytes there, the fault becomes a race that names this
  /// thread: a barrier is missing. No warp of the block may execute afterwards.
  void name_later_write(Warp& warp, Fault& fault);
  bool is_complete(unsigned barrier) const;
  bool release_barrier(unsigned barrier);
  std::string describe_barriers() const;
  AccessMemo* memo_of(const MemoryAccess& access);
  void watch(const MemoryAccess& access);
  void check_remote(const MemoryAccess& access);
  [[noreturn]] void report_endless(Warp& warp);
  [[noreturn]] void stop_at(const Warp& warp) const;

  std::uint64_t phases_ended_ = 0;
  std::uint64_t steps_until_stopped_ = kStepsPerStop;  ///< then launch.stop is called
  std::array<Barrier, Divergence::kBlockBarriers> barriers_;
  std::vector<std::unique_ptr<Warp>> warps_;
  /// For global and for other memory, by index of the instruction in the program; null: none yet.
  std::array<std::vector<std::unique_ptr<AccessMemo>>, 2> memos_;
  Warp* running_ = nullptr;
  std::unique_ptr<MemoryChecks> checks_;
  std::unique_ptr<MemoryChecks> dropped_checks_;  ///< the warps' divergence still refers to it
  AccessListener* listener_ = nullptr;
  /// Last read by another block; empty if this block may know that the read is complete.
  std::optional<RemoteRead> remote_read_;
  bool watches_ = false;  ///< whether note() calls watch(); costs one branch per access
};

inline constexpr std::uint64_t kSharedWindow = std::uint64_t{0x07000000} << 32;
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{0x06000000} << 32;

}  // namespace gpuexp::sim
