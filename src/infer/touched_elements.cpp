#include "infer/touched_elements.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "own/fill_program.hpp"
#include "sim/cluster.hpp"
#include "sim/host_memory.hpp"

namespace gpuexp::infer {

namespace {

constexpr std::size_t kBytesBefore = std::size_t{64} << 20;
constexpr std::size_t kBytesAfter = std::size_t{192} << 20;

/// The instructions of all warps take about a second.
constexpr std::uint64_t kMaxWarpInstructions = std::uint64_t{1} << 25;
/// A warp with more instructions probably never ends.
constexpr std::uint64_t kMaxInstructions = std::uint64_t{1} << 22;

/// Starting a block takes as long as executing these.
constexpr std::uint64_t kBlockInstructions = 64;

/// How an instruction uses what it accesses.
struct AccessUse {
  bool reads = false;
  bool writes = false;
  bool is_atomic = false;
};

/// A buffer with room on both sides of the pointer, and what was accessed.
class ProbedBuffer {
 public:
  ProbedBuffer(ProbedPointer pointer, sim::GlobalMemory& memory)
      : pointer_(std::move(pointer)),
        element_bytes_(static_cast<std::int64_t>(size_of(pointer_.type))),
        memory_(kBytesBefore + kBytesAfter),
        written_(kBytesBefore + kBytesAfter) {
    for (std::int64_t i = 0; pointer_.contents && i < kFilledElements; ++i)
      own::store_element(address(), pointer_.type, i, static_cast<double>(pointer_.contents(i)));
    memory.add(memory_.data(), memory_.bytes(), pointer_.name);
  }

  void* address() const { return memory_.data<std::byte>() + kBytesBefore; }
  bool has(std::uint64_t at) const {
    return at >= begin() && at - begin() < kBytesBefore + kBytesAfter;
  }

  /// Accesses from `at` to before `end`. note_lane() must follow for each of them if it is needed.
  void note(std::uint64_t at, std::uint64_t end, const AccessUse& use) {
    const std::int64_t first = element_at(at - begin());
    const std::int64_t last = element_at(end - 1 - begin());
    touched_.lowest = touched_.is_touched() ? std::min(touched_.lowest, first) : first;
    touched_.end = touched_.is_touched() ? std::max(touched_.end, last + 1) : last + 1;
    touched_.is_read |= use.reads;
    touched_.is_written |= use.writes;
    touched_.is_atomic |= use.is_atomic;
    lowest_of_block_ = std::min(lowest_of_block_, first);
    previous_lane_.reset();
  }

  bool needs_lanes(const AccessUse& use) const {
    return use.writes || !touched_.is_read_first || is_probing_;
  }

  void note_lane(std::uint64_t at, std::size_t bytes, const AccessUse& use) {
    const std::size_t offset = at - begin();
    if (use.reads && !touched_.is_read_first)
      touched_.is_read_first = !written_.is_marked(offset, bytes);
    if (use.writes) written_.set(offset, bytes, true);
    if (!is_probing_ || of_block_.size() >= kMaxOfBlock) return;
    const std::int64_t end = element_at(offset + bytes - 1) + 1;
    note_distance(element_at(offset));
    for (std::int64_t i = element_at(offset); i < end; ++i)
      of_block_.push_back(i);
  }

  void begin_block(bool is_probed) {
    is_probing_ = is_probed;
    of_block_.clear();
    lowest_of_block_ = kNowhere;
    previous_access_.reset();
  }
  void end_block() {
    lowest_.push_back(lowest_of_block_);
    const bool is_whole = !of_block_.empty() && of_block_.size() < kMaxOfBlock;
    if (!is_probing_ || !is_whole) return;
    std::sort(of_block_.begin(), of_block_.end());
    of_block_.erase(std::unique(of_block_.begin(), of_block_.end()), of_block_.end());
    touched_.of_blocks.push_back(of_block_);
  }

  TouchedElements touched(const Extent& grid) const {
    TouchedElements touched = touched_;
    add_distances_of_blocks(grid, touched.distances);
    written_.for_marked(0, kBytesBefore + kBytesAfter, [&](std::size_t first, std::size_t end) {
      touched.written += static_cast<std::int64_t>(end - first) / element_bytes_;
    });
    return touched;
  }

 private:
  /// Number of accesses of a block whose elements are kept.
  static constexpr std::size_t kMaxOfBlock = std::size_t{1} << 21;

  static constexpr std::size_t kMaxDistances = 256;
  static constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();

  static void add_distance(Distances& distances, std::int64_t from, std::int64_t to) {
    const std::int64_t distance = std::abs(to - from);
    if (distance == 0) return;
    const auto found = distances.find(distance);
    if (found != distances.end()) {
      ++found->second;
    } else if (distances.size() < kMaxDistances) {
      distances.emplace(distance, 1);
    }
  }

  /// From the lane before, or of the first lane, from the instruction before.
  void note_distance(std::int64_t element) {
    const std::optional<std::int64_t>& before = previous_lane_ ? previous_lane_ : previous_access_;
    if (before) add_distance(touched_.distances, *before, element);
    if (!previous_lane_) previous_access_ = element;
    previous_lane_ = element;
  }

  void add_distances_of_blocks(const Extent& grid, Distances& distances) const {
    const auto blocks = static_cast<std::int64_t>(lowest_.size());
    if (blocks != grid.count()) return;
    const std::array<std::int64_t, 4> steps{1, grid.x, grid.x * grid.y, blocks};
    for (std::size_t d = 0; d + 1 < steps.size(); ++d) {
      for (std::int64_t i = 0; i + steps[d] < blocks; ++i) {
        const bool is_last = i % steps[d + 1] / steps[d] + 1 == steps[d + 1] / steps[d];
        const std::int64_t from = lowest_[static_cast<std::size_t>(i)];
        const std::int64_t to = lowest_[static_cast<std::size_t>(i + steps[d])];
        if (!is_last && from != kNowhere && to != kNowhere) add_distance(distances, from, to);
      }
    }
  }

  std::uint64_t begin() const { return reinterpret_cast<std::uint64_t>(memory_.data()); }
  std::int64_t element_at(std::size_t offset) const {
    const auto bytes = static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(kBytesBefore);
    return bytes >= 0 ? bytes / element_bytes_ : -((-bytes + element_bytes_ - 1) / element_bytes_);
  }

  ProbedPointer pointer_;
  std::int64_t element_bytes_;
  HostMemory memory_;
  sim::ByteMarks written_;
  TouchedElements touched_;
  ElementSet of_block_;
  bool is_probing_ = false;
  std::vector<std::int64_t> lowest_;  ///< one for each block; kNowhere if it accesses nothing
  std::int64_t lowest_of_block_ = kNowhere;
  std::optional<std::int64_t> previous_lane_;    ///< element of the instruction's lane before
  std::optional<std::int64_t> previous_access_;  ///< element of the first lane before
};

/// Notes the accesses of the executing block.
class Recorder final : public sim::AccessListener {
 public:
  explicit Recorder(std::vector<ProbedBuffer>& buffers) : buffers_(buffers) {}

  void hear(const sim::MemoryAccess& access) override {
    using sim::Access;
    if (access.space != sim::Space::global || access.lanes == 0) return;
    const bool is_bulk = access.kind == Access::bulk_load || access.kind == Access::bulk_store;
    AccessUse use;
    use.is_atomic = sim::is_atomic(access.kind);
    use.writes = use.is_atomic || access.kind == Access::store || access.kind == Access::bulk_store;
    use.reads = use.is_atomic || !use.writes;
    stores |= use.writes;
    std::uint64_t lowest = UINT64_MAX;
    std::uint64_t highest = 0;
    sim::for_each_lane(access.lanes, [&](unsigned lane) {
      const std::uint64_t at = access.address[lane];
      if (!is_bulk && (at & (access.width - 1)) != 0)
        throw sim::Fault(sim::FaultKind::misaligned, sim::describe_misaligned(at, access.width), at,
                         lane);
      lowest = std::min(lowest, at);
      highest = std::max(highest, at);
    });
    note(access, use, lowest, highest);
  }

  bool stores = false;  ///< whether the block has stored to a buffer

 private:
  /// Most instructions access one buffer, and only stores and first reads need single elements.
  void note(const sim::MemoryAccess& access, const AccessUse& use, std::uint64_t lowest,
            std::uint64_t highest) {
    ProbedBuffer* const buffer = buffer_of(lowest);
    const bool is_of_one = buffer && buffer->has(highest);
    if (is_of_one) {
      buffer->note(lowest, highest + access.width, use);
      if (!buffer->needs_lanes(use)) return;
    }
    sim::for_each_lane(access.lanes, [&](unsigned lane) {
      const std::uint64_t at = access.address[lane];
      ProbedBuffer* const of_lane = is_of_one ? buffer : buffer_of(at);
      if (!of_lane) return;
      if (!is_of_one) of_lane->note(at, at + access.width, use);
      of_lane->note_lane(at, access.width, use);
    });
  }

  ProbedBuffer* buffer_of(std::uint64_t at) {
    if (last_ && last_->has(at)) return last_;
    for (ProbedBuffer& buffer : buffers_)
      if (buffer.has(at)) return last_ = &buffer;
    return nullptr;
  }

  std::vector<ProbedBuffer>& buffers_;
  ProbedBuffer* last_ = nullptr;
};

/// The first block, the last one and some between them.
bool is_probed(std::int64_t block, std::int64_t blocks) {
  if (blocks <= kProbedBlocks) return true;
  const std::int64_t at[kProbedBlocks] = {
      0, 1, blocks / 3, blocks / 2 + 1, blocks - blocks / 3, blocks - 1};
  return std::find(std::begin(at), std::end(at), block) != std::end(at);
}

void use(ProbeBudget& budget, std::uint64_t instructions) {
  budget.warp_instructions -= std::min(budget.warp_instructions, instructions);
  if (budget.warp_instructions == 0) throw BudgetExceeded();
}

void execute(const sim::LaunchState& launch, std::vector<ProbedBuffer>& buffers,
             TouchedByLaunch& result, ProbeBudget& budget) {
  std::uint64_t instructions = 0;
  for (std::int64_t i = 0; i < launch.grid.count(); ++i) {
    const Extent place = sim::place_at(launch.grid, i);
    Recorder recorder(buffers);
    for (ProbedBuffer& buffer : buffers)
      buffer.begin_block(is_probed(i, launch.grid.count()));
    sim::Cluster cluster(launch, place);
    for (const auto& block : cluster.blocks())
      block->set_listener(&recorder);
    cluster.run();
    std::uint64_t of_cluster = kBlockInstructions;
    for (const auto& block : cluster.blocks())
      of_cluster += block->steps();
    instructions += of_cluster;
    use(budget, of_cluster);
    for (ProbedBuffer& buffer : buffers)
      buffer.end_block();
    if (recorder.stores) {
      Extent& highest = result.storing_blocks;
      highest = {std::max(highest.x, place.x + 1), std::max(highest.y, place.y + 1),
                 std::max(highest.z, place.z + 1)};
    }
    if (instructions > kMaxWarpInstructions)
      throw sim::Fault(sim::FaultKind::endless, "the launch executes too many instructions");
  }
}

}  // namespace

TouchedByLaunch touched_elements(sim::Simulator& simulator, const ProbedLaunch& launch,
                                 ProbeBudget& budget) {
  simulator.clear_memory();
  std::vector<ProbedBuffer> buffers;
  buffers.reserve(launch.arguments.size());
  KernelStep step;
  step.shape = launch.shape;
  for (const ProbedArgument& argument : launch.arguments) {
    if (argument.pointer) {
      buffers.emplace_back(*argument.pointer, simulator.memory());
      step.arguments.add(buffers.back().address());
    } else {
      argument.add_number(step.arguments);
    }
  }
  if (const std::string why = simulator.refusal(Steps(step)); !why.empty())
    throw std::runtime_error(why);
  sim::Checks checks;
  checks.max_instructions = kMaxInstructions;
  simulator.set_checks(checks);
  TouchedByLaunch result;
  result.depends_on_contents = simulator.is_decided_by_global(step);
  const sim::LaunchState state = simulator.approximate_launch_of(step, false);
  execute(state, buffers, result, budget);
  for (const ProbedBuffer& buffer : buffers)
    result.pointers.push_back(buffer.touched(state.grid));
  simulator.clear_memory();
  return result;
}

}  // namespace gpuexp::infer
