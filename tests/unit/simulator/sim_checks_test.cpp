// Checks of the simulator: unwritten data, order of accesses, races.
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/block.hpp"
#include "sim/decoder.hpp"
#include "sim/lane_order.hpp"
#include "sim/shared_shadow.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;
using Found = std::optional<Conflict::Kind>;
using Is = Conflict::Kind;

constexpr LaneMask kLow = 0x0000ffff;
constexpr LaneMask kHigh = 0xffff0000;

/// Shared memory of 1024 bytes with two warps. Lane l accesses `first` + l·`step`.
class Shadow {
 public:
  explicit Shadow(unsigned width = 4) : width_(width) {}

  Found access(Access kind, unsigned warp, std::uint64_t first, std::uint64_t step,
               LaneMask lanes = kAllLanes, LaneMask running = kAllLanes,
               const Lanes32* values = nullptr) {
    Lanes64 address;
    for (unsigned l = 0; l < kLanes; ++l)
      address[l] = first + l * step;
    const Accessor who{warp, running, running == kAllLanes, &orders_[warp], warp + 10};
    found_ = shadow_.note(who, {Space::shared, kind, width_, lanes, address, values});
    return found_ ? Found(found_->kind) : std::nullopt;
  }
  Found store(unsigned warp, std::uint64_t first, std::uint64_t step = 4) {
    return access(Access::store, warp, first, step);
  }
  Found load(unsigned warp, std::uint64_t first, std::uint64_t step = 4) {
    return access(Access::load, warp, first, step);
  }
  void set_width(unsigned width) { width_ = width; }
  const Conflict& found() const { return *found_; }
  SharedShadow& shadow() { return shadow_; }
  LaneOrder& order(unsigned warp) { return orders_[warp]; }

 private:
  unsigned width_;
  SharedShadow shadow_{1024, 2};
  std::vector<LaneOrder> orders_{LaneOrder(shadow_.clock()), LaneOrder(shadow_.clock())};
  std::optional<Conflict> found_;
};

TEST_CASE("reads of unwritten shared memory are found", "[sim]") {
  Shadow s;
  CHECK(s.load(0, 0) == Is::unwritten);
  CHECK(s.found().lanes == kAllLanes);
  CHECK(!s.store(0, 0));
  CHECK(!s.load(0, 0));
  CHECK(s.load(0, 64) == Is::unwritten);
  CHECK(s.found().lanes == kHigh);
  CHECK(s.access(Access::atomic, 0, 512, 0) == Is::unwritten);
}

TEST_CASE("states are tracked by byte, not by word", "[sim]") {
  Shadow s(1);
  CHECK(!s.access(Access::store, 0, 0, 4));
  CHECK(!s.load(0, 0, 4));
  CHECK(s.load(0, 2, 4) == Is::unwritten);
  // Neighbouring bytes of two warps do not race.
  CHECK(!s.access(Access::store, 1, 1, 4));
  CHECK(s.access(Access::store, 1, 0, 4) == Is::after_write);
  s.set_width(4);
  CHECK(s.load(0, 0) == Is::after_write);
}

TEST_CASE("states of wide accesses apply to narrow ones", "[sim]") {
  Shadow s(16);
  CHECK(!s.store(0, 0, 16));
  s.set_width(4);
  CHECK(!s.load(0, 0, 16));
  CHECK(s.load(1, 4, 16) == Is::after_write);
  s.shadow().release_barrier();
  CHECK(!s.load(1, 4, 16));
  s.set_width(1);
  CHECK(s.access(Access::store, 0, 5, 16) == Is::after_read);
  CHECK(s.found().other.thread == 32);
  CHECK(s.found().other.place == 11);
}

TEST_CASE("warps race unless a block barrier separates them", "[sim]") {
  for (const bool has_barrier : {false, true}) {
    INFO(has_barrier);
    Shadow s;
    const auto wait = [&] {
      if (has_barrier) s.shadow().release_barrier();
    };
    const Found after_write = has_barrier ? std::nullopt : Found(Is::after_write);
    const Found after_read = has_barrier ? std::nullopt : Found(Is::after_read);
    CHECK(!s.store(0, 0));
    wait();
    CHECK(s.store(1, 0) == after_write);
    s.shadow().release_barrier();
    CHECK(!s.load(0, 0));
    CHECK(!s.load(1, 0));  // reads do not race
    wait();
    CHECK(s.store(1, 0) == after_read);
    if (!has_barrier) {
      // Warp 1 has read the bytes after warp 0.
      CHECK(s.found().other.thread == 0);
      CHECK(!s.found().other.is_known);
    }
    s.shadow().release_barrier();
    CHECK(!s.store(0, 0));
    wait();
    CHECK(s.load(1, 0) == after_write);
  }
}

TEST_CASE("a race names the earlier thread and its instruction", "[sim]") {
  Shadow s;
  CHECK(!s.store(0, 0));
  CHECK(s.access(Access::load, 1, 12, 4, 1u << 5) == Is::after_write);
  CHECK(s.found().lane == 5);
  CHECK(s.found().address == 32);
  CHECK(s.found().other.thread == 8);
  CHECK(s.found().other.place == 10);
}

TEST_CASE("atomics race only with plain accesses", "[sim]") {
  Shadow s;
  CHECK(!s.store(0, 0));
  CHECK(s.access(Access::atomic, 1, 0, 0) == Is::after_write);
  s.shadow().release_barrier();
  CHECK(!s.access(Access::atomic, 0, 0, 0));
  CHECK(!s.access(Access::atomic, 1, 0, 0));
  CHECK(s.access(Access::load, 1, 0, 0, 1) == Is::after_write);
  CHECK(s.store(1, 0) == Is::after_write);
  s.shadow().release_barrier();
  CHECK(!s.load(0, 0));
  CHECK(s.access(Access::atomic, 1, 0, 0) == Is::after_read);
}

TEST_CASE("warps may store one value, but another value must follow all of these stores", "[sim]") {
  std::array<std::byte, 1024> memory{};
  Shadow s;
  s.shadow().set_contents(memory.data());
  const auto store = [&](unsigned warp, std::uint32_t value) {
    Lanes32 values;
    values.of.fill(value);
    const Found found = s.access(Access::store, warp, 0, 0, 1, kAllLanes, &values);
    std::memcpy(memory.data(), &value, sizeof value);
    return found;
  };
  for (const unsigned warp : {0u, 1u}) {
    INFO(warp);
    CHECK(!store(0, 7));
    CHECK(!store(1, 7));
    CHECK(!s.access(Access::load, 1 - warp, 0, 0, 1));
    s.shadow().release_barrier();
    CHECK(!store(0, 0));
    CHECK(!store(1, 0));
    CHECK(store(warp, 1) == Is::after_write);  // the other warp may store 0 after it
    CHECK(s.found().other.thread == (1 - warp) * kLanes);
    s.shadow().release_barrier();
    CHECK(!store(warp, 2));
    CHECK(!store(warp, 3));
    CHECK(s.access(Access::load, 1 - warp, 0, 0, 1) == Is::after_write);
    s.shadow().release_barrier();
  }
  // A store of the value that an atomic operation has left is no store of one value by several.
  CHECK(!s.access(Access::atomic, 0, 0, 0, 1));
  CHECK(store(1, 3) == Is::after_write);
}

TEST_CASE("lanes that write one word in one instruction must write the same value", "[sim]") {
  Lanes32 values;
  values.of.fill(7);
  Shadow s;
  CHECK(!s.access(Access::store, 0, 0, 0, kAllLanes, kAllLanes, &values));
  values[9] = 8;
  CHECK(s.access(Access::store, 0, 0, 0, kAllLanes, kAllLanes, &values) == Is::same_instruction);
  CHECK(!s.access(Access::store, 0, 0, 4, kAllLanes, kAllLanes, &values));
  CHECK(!s.access(Access::store, 0, 0, 0, ~(1u << 9), kAllLanes, &values));
  Shadow bytes(1);
  values[9] = 0x107;
  CHECK(!bytes.access(Access::store, 0, 0, 0, kAllLanes, kAllLanes, &values));
}

TEST_CASE("diverged lanes race until they reconverge", "[sim]") {
  Shadow s;
  CHECK(!s.store(0, 0));
  // They diverge: the lower lanes write, the upper lanes read.
  s.order(0).part(kAllLanes);
  CHECK(!s.access(Access::store, 0, 0, 4, kLow, kLow));
  CHECK(!s.access(Access::load, 0, 0, 4, kLow, kLow));
  CHECK(s.access(Access::load, 0, 4, 0, kHigh, kHigh) == Is::after_write);
  CHECK(!s.access(Access::load, 0, 64, 0, kHigh, kHigh));  // written before
  CHECK(s.access(Access::store, 0, 64, 0, kLow, kLow) == Is::after_read);
  s.order(0).part(kLow);
  s.order(0).part(kHigh);
  s.order(0).meet(kAllLanes);
  CHECK(!s.access(Access::load, 0, 4, 0, kHigh));
  // After another divergence, accesses before the reconvergence do not race.
  s.order(0).part(kAllLanes);
  CHECK(!s.access(Access::load, 0, 4, 0, 1u << 20, 1u << 20));
  CHECK(!s.access(Access::store, 0, 64, 0, 1, 1));
}

TEST_CASE("order passes between lanes through reconvergence with other lanes", "[sim]") {
  BlockTime clock = 5;
  LaneOrder order(clock);
  order.part(kAllLanes);
  const BlockTime time = clock;  // lane 0 accesses memory
  CHECK(!order.is_before(0, time, 1));
  order.meet(0b011);
  CHECK(order.is_before(0, time, 1));
  CHECK(!order.is_before(0, time, 2));
  order.meet(0b110);
  CHECK(order.is_before(0, time, 2));
  CHECK(!order.is_before(0, clock, 2));
}

TEST_CASE("cp.async copies are valid after a wait", "[sim]") {
  Shadow s;
  CHECK(!s.access(Access::async_store, 0, 0, 4));
  CHECK(s.load(0, 0) == Is::is_copied);
  CHECK(s.store(0, 0) == Is::is_copied);
  s.shadow().wait_for_copies(0, kAllLanes, 0);  // no group yet
  CHECK(s.load(0, 0) == Is::is_copied);
  s.shadow().commit_copies(0, kAllLanes);
  CHECK(!s.access(Access::async_store, 0, 128, 4));
  s.shadow().commit_copies(0, kAllLanes);
  s.shadow().wait_for_copies(0, kAllLanes, 2);
  CHECK(s.load(0, 0) == Is::is_copied);
  s.shadow().wait_for_copies(0, kAllLanes, 1);
  CHECK(!s.load(0, 0));
  CHECK(s.load(0, 128) == Is::is_copied);
  CHECK(s.load(1, 0) == Is::after_write);  // another warp without a barrier
  s.shadow().release_barrier();
  CHECK(!s.load(1, 0));
  CHECK(s.load(1, 128) == Is::is_copied);
}

TEST_CASE("each lane waits for its own copies", "[sim]") {
  Shadow s;
  CHECK(!s.access(Access::async_store, 0, 0, 4));
  s.shadow().commit_copies(0, kLow);
  s.shadow().wait_for_copies(0, kAllLanes, 0);
  CHECK(!s.access(Access::load, 0, 0, 4, kLow));
  CHECK(s.access(Access::load, 0, 0, 4, kHigh) == Is::is_copied);
}

TEST_CASE("bytes of buffers are poison until they are written", "[sim]") {
  alignas(16) std::array<std::byte, 64> data{};
  const auto at = reinterpret_cast<std::uint64_t>(data.data()) + 4;
  GlobalMemory memory;
  memory.add(data.data() + 4, 60, "y", Contents::poison);
  GlobalBuffer& buffer = *memory.find(at, 60);
  CHECK(memory.find(at - 1, 2) == nullptr);
  CHECK(memory.find(~std::uint64_t{0} - 1, 4) == nullptr);  // its end wraps around
  CHECK(!buffer.is_written(at, 4));
  buffer.mark(at, 4);
  CHECK(buffer.is_written(at, 4));
  CHECK(!buffer.is_written(at, 8));
  buffer.mark(at + 12, 16);
  CHECK(buffer.is_written(at + 12, 16));
  CHECK(!buffer.is_written(at + 28, 1));
  memory.note_copy(data.data() + 32, data.data() + 12, 8);
  CHECK(!buffer.is_written(at + 28, 4));
  CHECK(buffer.is_written(at + 32, 4));
  memory.settle();
  CHECK(!buffer.is_written());
  memory.note_fill(data.data(), 60);
  CHECK(!buffer.is_written());
  memory.note_fill(data.data() + 32, 64);
  memory.settle();
  CHECK(buffer.is_written());
  memory.poison(data.data() + 8, 1);
  CHECK(!buffer.is_written(at, 8));
  CHECK(buffer.is_written(at + 8, 8));
}

TEST_CASE("a misaligned access names the element at which it begins", "[sim]") {
  alignas(16) std::array<std::byte, 64> data{};
  const auto at = reinterpret_cast<std::uint64_t>(data.data());
  GlobalMemory memory;
  memory.add(data.data(), 32, "x", Contents::written, 4);
  memory.add(data.data() + 48, 16, "y");
  CHECK(memory.describe_misaligned(at + 12, 16) ==
        fmt::format("16 bytes at {:#x} are not aligned: they begin at element 3 of buffer x of 32 "
                    "bytes, 12 bytes past a multiple of 16",
                    at + 12));
  CHECK_THAT(memory.describe_misaligned(at + 1, 4),
             contains_text("they begin at byte 1 of buffer x of 32 bytes, 1 byte past a multiple "
                           "of 4"));
  CHECK_THAT(memory.describe_misaligned(at + 52, 8),
             contains_text("they begin at byte 4 of buffer y of 16 bytes, 4 bytes past a multiple "
                           "of 8"));
  CHECK(memory.describe_misaligned(0x11, 4) ==
        "4 bytes at 0x11 are not aligned: expected a multiple of 4");
}

TEST_CASE("an access outside of every buffer names the nearest", "[sim]") {
  std::array<std::byte, 64> data{};
  const auto at = reinterpret_cast<std::uint64_t>(data.data());
  GlobalMemory memory;
  CHECK(memory.describe_outside(16, 4) ==
        "4 bytes at 0x10 are outside of every buffer: the pointer is null");
  memory.add(data.data(), 16, "x");
  memory.add(data.data() + 48, 16, "y");
  CHECK_THAT(memory.describe_outside(at + 14, 4),
             contains_text("they end 2 bytes past the end of buffer x of 16 bytes"));
  CHECK_THAT(memory.describe_outside(at + 40, 4),
             contains_text("they begin 8 bytes before buffer y of 16 bytes"));
}

TEST_CASE("faults describe the variables of a module by their names in the source", "[sim]") {
  std::array<std::byte, 64> data{};
  const auto end = reinterpret_cast<std::uint64_t>(data.data() + 16);
  const auto nearest = [&](const std::string& name) {
    GlobalMemory memory;
    memory.add(data.data(), 16, name);
    const std::string text = memory.describe_outside(end, 4);
    return text.substr(text.find(": "));
  };
  for (const char* of_compiler : {"__unnamed_1", "$str", "$str$1"})
    CHECK(nearest(of_compiler) ==
          ": they end 4 bytes past the end of a constant of 16 bytes that the compiler made");
  CHECK(nearest("_ZN6filter1cE") ==
        ": they end 4 bytes past the end of buffer filter::c of 16 bytes");
}

}  // namespace
}  // namespace gpuexp::test
