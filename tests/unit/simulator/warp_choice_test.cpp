// The warp that a scheduler issues next, compared with an exhaustive search.
#include "timing/warp_choice.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

constexpr std::size_t kQueue = 8;  // queue of the memory units

double could_issue(const Scheduler& scheduler, const ResidentWarp& warp) {
  const auto free_at = [&](IssuedTo to) {
    return scheduler.pipe_free[static_cast<std::size_t>(to)];
  };
  double pipe = 0;
  const auto to = static_cast<IssuedTo>(warp.turn().to);
  switch (to) {
    case IssuedTo::none:
    case IssuedTo::products: break;  // no warp here is in a warpgroup
    case IssuedTo::fma: pipe = std::min(free_at(to), free_at(IssuedTo::fma_heavy)); break;
    case IssuedTo::fma_wide:
      pipe = std::max(free_at(IssuedTo::fma_heavy), free_at(IssuedTo::alu));
      break;
    case IssuedTo::fma_both:
      pipe = std::max(free_at(IssuedTo::fma), free_at(IssuedTo::fma_heavy));
      break;
    case IssuedTo::memory: {
      const std::size_t queued = scheduler.queue.size();
      pipe = queued < kQueue ? free_at(to) : scheduler.queue[queued - kQueue];
      break;
    }
    default: pipe = free_at(to); break;
  }
  return std::max({warp.turn().ready_at, scheduler.free_at, pipe});
}

/// The choice of an exhaustive search; empty if no warp can ever issue.
Choice plain_choice(const Scheduler& scheduler) {
  if (scheduler.last && could_issue(scheduler, *scheduler.last) <= scheduler.free_at)
    return {scheduler.last, scheduler.free_at};
  Choice choice;
  std::tuple<double, bool, double> first{kNever, true, kNever};
  for (ResidentWarp* const warp : scheduler.turns.warps) {
    const double when = could_issue(scheduler, *warp);
    const Turn turn = warp->turn();
    const double since = when > turn.ready_at ? turn.waits_since : turn.ready_at;
    const std::tuple<double, bool, double> key{when, warp != scheduler.last, since};
    if (when == kNever || key >= first) continue;
    first = key;
    choice = {warp, when};
  }
  return choice;
}

TEST_CASE("a scheduler's choice equals that of an exhaustive search", "[timing]") {
  std::mt19937 draw(1);
  const auto below = [&](unsigned count) { return static_cast<unsigned>(draw() % count); };
  // Few distinct times, so that warps tie.
  const auto time = [&] { return 100.0 + below(8); };
  int sleeping = 0;
  for (int turn = 0; turn < 5000; ++turn) {
    Scheduler scheduler;
    std::vector<std::unique_ptr<ResidentWarp>> warps;
    const unsigned count = 1 + below(20);
    for (unsigned i = 0; i < count; ++i) {
      ResidentWarp& warp = *warps.emplace_back(std::make_unique<ResidentWarp>());
      scheduler.add(warp);
      warp.turn().ready_at = below(3) == 0 ? kNever : time();
      warp.turn().waits_since = 90.0 + below(8);
      warp.turn().to = below(unsigned{kIssuedTo});
    }
    scheduler.free_at = time();
    for (double& free_at : scheduler.pipe_free)
      free_at = time();
    for (unsigned i = below(12); i > 0; --i)
      scheduler.queue.push_back(time());
    if (below(2) == 0) scheduler.last = warps[below(count)].get();
    // Some warps have left.
    if (below(4) == 0)
      scheduler.drop_if(
          [&](const ResidentWarp& w) { return &w != scheduler.last && below(2) == 0; });
    choose(scheduler);
    const Choice expected = plain_choice(scheduler);
    INFO("turn " << turn << ", " << scheduler.turns.warps.size() << " warps");
    CHECK_FALSE(scheduler.is_changed);
    CHECK(scheduler.choice.warp == expected.warp);
    CHECK(scheduler.choice.when == expected.when);
    sleeping += expected.warp == nullptr;
  }
  CHECK(sleeping > 10);
  CHECK(sleeping < 1000);
}

TEST_CASE("a scheduler's idle cycles are those of its gaps", "[timing]") {
  Scheduler scheduler;
  scheduler.gaps.push_back({10, 14});
  scheduler.gaps.push_back({20, 21});
  CHECK(scheduler.idle_since(0) == 5);
  CHECK(scheduler.idle_since(12) == 3);
  CHECK(scheduler.idle_since(15) == 1);
  CHECK(scheduler.idle_since(21) == 0);
}

TEST_CASE("a short queue behaves like std::deque", "[timing]") {
  ShortQueue<int> queue;
  std::deque<int> expected;
  std::mt19937 draw(2);
  for (int i = 0; i < 20'000; ++i) {
    // Grows and shrinks alternately.
    if (expected.empty() || draw() % 16 < (i / 1000 % 2 == 0 ? 10u : 6u)) {
      queue.push_back(i);
      expected.push_back(i);
    } else {
      queue.pop_front();
      expected.pop_front();
    }
    REQUIRE(queue.size() == expected.size());
    REQUIRE(queue.empty() == expected.empty());
    if (expected.empty()) continue;
    REQUIRE(queue.front() == expected.front());
    REQUIRE(queue[queue.size() / 2] == expected[expected.size() / 2]);
    REQUIRE(queue.end()[-1] == expected.back());
  }
}

TEST_CASE("skipped shares are those that would have been drawn", "[timing]") {
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, ShareDraw::kMaxSkipped}) {
    ShareDraw one(5);
    ShareDraw other(5);
    double last = 0;
    for (std::size_t i = 0; i < count; ++i)
      last = one.next();
    CHECK(other.peek(count) == last);
    other.pass(count);
    CHECK(other.next() == one.next());
  }
  ShareDraw draw;
  draw.pass(0);
  CHECK(draw.next() == ShareDraw().next());
}

}  // namespace
}  // namespace gpuexp::test
