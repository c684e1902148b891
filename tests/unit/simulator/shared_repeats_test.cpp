// Shared-memory wavefronts that repeat because a sector arrives in the same cycle.
#include "support/timed_run.hpp"
#include "timing/cycle_sums.hpp"

namespace gpuexp::test {
namespace {

sim::GlobalTouch line_at(std::uint64_t number) {
  sim::GlobalTouch touch;
  for (std::uint64_t i = 0; i < 4; ++i)
    touch.sectors[touch.count++] = 4 * number + i;
  touch.tag_wavefronts = 1;
  touch.bank_wavefronts = 1;
  touch.missed_wavefronts = 1;
  return touch;
}

/// Figures with which each sector causes one repeat.
SmParameters one_repeat_per_sector() {
  SmParameters f = parameters();
  f.repeats = {1, 1, 1, 1};
  return f;
}

struct Path {
  explicit Path(const SmParameters& of) : parameters(of) {}
  SmParameters parameters;
  BlockSectors requested_sectors{1000};
  MemoryPath memory{parameters, requested_sectors};
};

/// One shared-memory access per cycle; returns the number of repeats.
double repeated(MemoryPath& memory, SharedUse use, double share = 1) {
  constexpr int kClocks = 2000;
  const SharedRepeats before = memory.repeats();
  for (int i = 0; i < kClocks; ++i)
    memory.shared(i, 1, use, share);
  return use == SharedUse::load ? memory.repeats().loads - before.loads
                                : memory.repeats().stores - before.stores;
}

TEST_CASE("amounts are summed by cycle", "[cycle_sums]") {
  CycleSums sums;
  CHECK(sums.sum(0, 10) == 0);
  sums.add(5, 2);
  CHECK(sums.sum(5, 1) == 2);
  CHECK(sums.sum(0, 10) == 2);
  CHECK(sums.sum(6, 10) == 0);
  CHECK(sums.sum(5.5, 1) == Approx(1));
  sums.add(7.25, 1);
  CHECK(sums.sum(7, 1) == Approx(0.75));
  CHECK(sums.sum(8, 1) == Approx(0.25));
  // An old amount does not count for the cycle that reuses its entry.
  CHECK(sums.sum(5 + (1 << 13), 1) == 0);
  sums.add(5 + (1 << 13), 3);
  CHECK(sums.sum(5 + (1 << 13), 1) == 3);
  CHECK(sums.sum(5, 1) == 0);
}

TEST_CASE("stores repeat for sectors that fill lines of L1", "[shared_repeats]") {
  Path path(one_repeat_per_sector());
  path.memory.load(0, line_at(1), false);
  CHECK(repeated(path.memory, SharedUse::load) == 0);
  Path stores(one_repeat_per_sector());
  const double there = stores.memory.load(0, line_at(1), false).done;
  CHECK(repeated(stores.memory, SharedUse::store) == Approx(4));
  SECTION("only in the exact cycle") {
    Path path_to_clock(one_repeat_per_sector());
    path_to_clock.memory.load(0, line_at(1), false);
    path_to_clock.memory.shared(there + 100, 1, SharedUse::store);
    CHECK(path_to_clock.memory.repeats().stores == 0);
  }
  SECTION("in proportion to the banks of a wavefront") {
    Path few(one_repeat_per_sector());
    few.memory.load(0, line_at(1), false);
    CHECK(repeated(few.memory, SharedUse::store, 0.25) == Approx(1));
  }
  SECTION("not for sectors that L1 holds") {
    Path again(one_repeat_per_sector());
    again.memory.load(0, line_at(1), false);
    again.memory.load(0, line_at(1), false);
    CHECK(repeated(again.memory, SharedUse::store) == Approx(4));
  }
  SECTION("not for sectors that bypass L1") {
    Path past(one_repeat_per_sector());
    past.memory.load(0, line_at(1), true);
    past.memory.store(0, line_at(2));
    CHECK(repeated(past.memory, SharedUse::store) == 0);
  }
}

TEST_CASE("stores repeat for copies to shared memory", "[shared_repeats]") {
  SmParameters f = one_repeat_per_sector();
  f.repeats.line = 0;
  Path past(f);
  past.memory.copy(0, line_at(1), true);
  CHECK(repeated(past.memory, SharedUse::store) == Approx(4));
  Path through_l1(f);
  through_l1.memory.copy(0, line_at(1), false);
  CHECK(repeated(through_l1.memory, SharedUse::store) == 0);
  // A sector that arrives while its line uses the data stage delays no other access.
  f.behind.l2_read_clocks = 1;
  Path bulk(f);
  bulk.memory.copy_in(0, 4096, 256);
  const double met = repeated(bulk.memory, SharedUse::store);
  CHECK(met > 5.9);
  CHECK(met < 8.1);
  CHECK(repeated(bulk.memory, SharedUse::load) == 0);
}

TEST_CASE("loads repeat for stores to lines that L1 does not hold", "[shared_repeats]") {
  Path stored(one_repeat_per_sector());
  stored.memory.store(0, line_at(1));
  CHECK(repeated(stored.memory, SharedUse::load) == Approx(4));
  CHECK(repeated(stored.memory, SharedUse::store) == 0);
  Path there(one_repeat_per_sector());
  there.memory.load(0, line_at(1), false);
  there.memory.store(1, line_at(1));
  CHECK(repeated(there.memory, SharedUse::load) == 0);
}

TEST_CASE("loads repeat for reads by the copy engine", "[shared_repeats]") {
  Path copied(one_repeat_per_sector());
  copied.memory.copy_out(0, 4096, 512, 1);
  CHECK(repeated(copied.memory, SharedUse::load) == Approx(12).margin(0.5));  // as above
  CHECK(repeated(copied.memory, SharedUse::store) == 0);
}

TEST_CASE("without figures nothing repeats", "[shared_repeats]") {
  Path path(parameters());
  path.memory.load(0, line_at(1), false);
  path.memory.store(0, line_at(2));
  path.memory.copy_in(0, 4096, 256);
  path.memory.copy_out(0, 8192, 256, 1);
  CHECK(repeated(path.memory, SharedUse::store) == 0);
  CHECK(repeated(path.memory, SharedUse::load) == 0);
}

}  // namespace
}  // namespace gpuexp::test
