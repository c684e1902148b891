// A block of threads that executes: its warps, its shared memory, and what it reaches beyond them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/types.hpp"
#include "sim/access_counts.hpp"
#include "sim/program.hpp"

namespace gpuexp::sim {

/// What a kernel did that no kernel may, or what the simulator cannot execute.
class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Global memory: ranges of this process's own memory, under their own addresses.
class GlobalMemory {
 public:
  void add(void* begin, std::size_t bytes);
  /// Where `bytes` at `address` lie. Throws Fault outside of every range.
  std::byte* at(std::uint64_t address, std::size_t bytes) const;

 private:
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::vector<Range> ranges_;
};

/// What the blocks of a launch have in common.
struct LaunchState {
  const Program* program = nullptr;
  GlobalMemory* global = nullptr;
  Extent grid;
  Extent block;
  std::size_t shared_bytes = 0;
  std::vector<std::byte> constants;  ///< bank 0: the launch, and its parameters
};

/// Executions of one instruction.
struct OpCount {
  std::uint64_t warps = 0;
  std::uint64_t lanes = 0;
  std::uint64_t lanes_on = 0;  ///< of these, those that its guard let through
};

/// BAR: lanes of one warp that come to a barrier together.
struct BarrierArrival {
  unsigned threads = 0;  ///< that the barrier is of; 0: all that are left
  LaneMask lanes = 0;
  LaneMask yes = 0;  ///< of these, who votes so
  bool waits = true;
};

class Block {
 public:
  Block(const LaunchState& launch, Extent place);

  /// Executes all threads to their end. Throws Fault.
  void run();

  /// To be called before memory is read or written.
  void note(const MemoryAccess& access) { count(memory, access); }

  /// Where `bytes` at an address of shared memory lie. Throws Fault outside of it, and where the
  /// address is no multiple of `alignment`.
  std::byte* shared_at(std::uint64_t address, std::size_t bytes, std::size_t alignment);

  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }

  const LaunchState& launch;
  Extent place;  ///< in the grid
  std::vector<std::byte> shared;
  std::vector<OpCount> counts;  ///< by place in the program
  MemoryCounts memory;
  std::uint64_t phases_ended = 0;  ///< of mbarriers
  std::uint64_t steps = 0;         ///< instructions of warps so far, which stand for a clock

  /// Lanes come to a barrier of the block, and go on when all have come, or at once.
  void come_to_barrier(Warp& warp, unsigned barrier, const BarrierArrival& arrival);

 private:
  /// BAR: what has come so far.
  struct Barrier {
    unsigned threads = 0;  ///< that it is of; 0: all
    unsigned arrived = 0;
    BarrierVotes votes;
  };

  void run(Warp& warp);
  bool is_complete(unsigned barrier) const;
  bool release_barrier(unsigned barrier);

  std::array<Barrier, Divergence::kBlockBarriers> barriers_;
  std::vector<std::unique_ptr<Warp>> warps_;
};

/// The bits of a 64-bit address by which shared memory is reached as if it were global.
inline constexpr std::uint64_t kSharedWindow = std::uint64_t{0x07000000} << 32;
/// And a lane's local memory.
inline constexpr std::uint64_t kLocalWindow = std::uint64_t{0x06000000} << 32;
/// The bytes of a lane's local memory, at most. Its stack begins at the end and grows down.
inline constexpr std::uint32_t kLocalBytes = 512 * 1024;

}  // namespace gpuexp::sim
