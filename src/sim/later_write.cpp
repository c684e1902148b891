// The thread that writes bytes of shared memory after another thread has read them.
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "sim/block.hpp"

namespace gpuexp::sim {

namespace {

/// The first store to given bytes of the block's shared memory.
class FirstStore final : public AccessListener {
 public:
  FirstStore(std::uint64_t address, unsigned bytes) : bytes_{address, address + bytes} {}

  void hear(const MemoryAccess& access) override {
    const bool stores = access.kind == Access::store || access.kind == Access::async_store;
    if (lane_ || !stores || access.space != Space::shared) return;
    for_each_lane(access.lanes, [&](unsigned lane) {
      const std::uint64_t address = access.address[lane];
      if (!lane_ && bytes_.meets({address, address + access.width})) lane_ = lane;
    });
  }

  const std::optional<unsigned>& lane() const { return lane_; }

 private:
  AddressRange bytes_;
  std::optional<unsigned> lane_;
};

struct Store {
  Extent thread;
  std::uint32_t place = 0;
};

// Barriers of the block are complete only when Block::run() releases them, so all warps that
// execute here stop at their next barrier.
std::optional<Store> first_store(Block& block, FirstStore& store) {
  constexpr std::uint64_t kTurn = 1 << 14;
  constexpr std::uint64_t kMaxSteps = 1 << 22;  // about 0.2 s
  std::uint64_t steps = 0;
  for (bool any_ran = true; any_ran && steps < kMaxSteps;) {
    any_ran = false;
    for (const auto& warp : block.warps()) {
      for (std::uint64_t step = 0; step < kTurn && warp->divergence.is_running(); ++step, ++steps) {
        any_ran = true;
        const Executed executed = block.step(*warp);
        if (store.lane())
          return Store{
              place_at(block.launch.block, std::int64_t{warp->index} * kLanes + *store.lane()),
              executed.place};
        if (warp->waits) break;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void Block::name_later_write(Warp& warp, Fault& fault) {
  // Barriers of some warps, flags and mbarriers may order the read before the write.
  if (fault.unwritten_shared_bytes == 0 || launch.program->orders_warps) return;
  dropped_checks_ = std::move(checks_);
  for (const auto& each : warps_)
    each->undefined.reset();
  FirstStore store(*fault.address, fault.unwritten_shared_bytes);
  set_listener(&store);
  warp.divergence.go_to(warp.divergence.next() - 1);
  std::optional<Store> found;
  try {
    found = first_store(*this, store);
  } catch (const Fault&) {
    // An effect of the value that was read: nothing is known about later writes.
  }
  set_listener(nullptr);
  const std::size_t at = fault.words.find(kBeforeAnyWrite);
  if (!found || found->thread == fault.thread || at == std::string::npos) return;
  fault.kind = FaultKind::race;
  fault.words.replace(at, kBeforeAnyWrite.size(),
                      fmt::format("before thread {}{} writes them", to_text(found->thread),
                                  source_line(*launch.program, found->place, " at ")));
  fault.add_words(
      "; no barrier separates this write from the read: one is missing between them, such as "
      "__syncthreads()");
}

}  // namespace gpuexp::sim
