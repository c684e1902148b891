// Which lines stay in L1 until their second access.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <queue>
#include <random>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "support/timed_run.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("sectors stay in L1 until they are evicted", "[timing]") {
  constexpr std::int64_t kBytes = 16 * 1024;
  SectorCache cache(kBytes);
  CHECK(cache.find(8) == nullptr);
  cache.put(8, 5);
  REQUIRE(cache.find(8));
  CHECK((*cache.find(8))[0] == 5);
  CHECK((*cache.find(9))[1] == SectorCache::kAbsent);  // same line
  for (std::uint64_t sector = 1024; sector < 1024 + 2 * kBytes / 32; ++sector)
    cache.put(sector, 6);
  CHECK(cache.find(8) == nullptr);
  SectorCache none(0);
  none.put(8, 5);
  CHECK(none.find(8) == nullptr);
}

// Hit rate of second accesses on one of 132 SMs: blocks of eight warps in a grid-stride loop, in
// which each warp accesses four lines, waits 12800 cycles, and accesses them again.
double second_uses_that_hit(int warps) {
  constexpr std::uint64_t kSectorsOfLine = 4;
  constexpr std::uint64_t kLinesOfWarp = 4;
  constexpr std::uint64_t kWarpsOfBlock = 8;
  constexpr std::uint64_t kSms = 132;
  struct NextAccess {
    double when;
    std::uint64_t warp;
    std::uint64_t count;  // earlier accesses
    bool operator<(const NextAccess& other) const { return when > other.when; }
  };
  SectorCache cache(229 * 1024);
  cache.fill_with_others();
  std::mt19937 draw(1);
  const auto clocks = [&draw](double most) { return most * static_cast<double>(draw()) / 0x1p32; };
  std::priority_queue<NextAccess> pending;
  for (int warp = 0; warp < warps; ++warp)
    pending.push({clocks(14'000), static_cast<std::uint64_t>(warp), 0});
  int uses = 0;
  int hits = 0;
  while (uses < 200'000) {
    const auto [when, warp, count] = pending.top();
    pending.pop();
    const bool is_second = count % 2 == 1;
    const std::uint64_t in_grid =
        warp / kWarpsOfBlock * kSms * kWarpsOfBlock + warp % kWarpsOfBlock;
    const std::uint64_t first =
        (count / 2 * kSms * static_cast<std::uint64_t>(warps) + in_grid) * kLinesOfWarp;
    for (std::uint64_t i = 0; i < kLinesOfWarp; ++i) {
      uses += is_second;
      hits += is_second && cache.has_line((first + i) * kSectorsOfLine);
      cache.put((first + i) * kSectorsOfLine, 0);
    }
    pending.push({when + (is_second ? 30 : 12'800 + 800 + clocks(400)), warp, count + 1});
  }
  return 100.0 * hits / uses;
}

TEST_CASE("L1 loses as many lines before their second access as an H200", "[timing]") {
  std::ifstream file(GPUEXP_SOURCE_DIR "/docs/studies/caches/l1_second_access.csv");
  std::string text;
  std::getline(file, text);
  REQUIRE(text ==
          "from,warps_per_sm,clocks_until_second_access,second_load_hits_pct,store_hits_pct");
  int compared = 0;
  while (std::getline(file, text)) {
    std::replace(text.begin(), text.end(), ',', ' ');
    std::istringstream fields(text);
    std::string from;
    int warps = 0;
    int clocks = 0;
    double hits_pct = 0;
    REQUIRE(fields >> from >> warps >> clocks >> hits_pct);
    if (clocks != 12'800) continue;
    ++compared;
    INFO(from << ", " << warps << " warps");
    CHECK(second_uses_that_hit(warps) == Approx(hits_pct).margin(2));
  }
  CHECK(compared == 6);
}

// Hit rate of second loads: each of 32 warps loads its own eight lines in a row, and then again.
double second_loads_that_hit(bool after_data) {
  constexpr unsigned kWarps = 32;
  constexpr int kLoads = 8;
  const auto loads = [](bool waits_first) {
    std::string code;
    for (int i = 0; i < kLoads; ++i) {
      Control control = writes(0, 2);
      control.stays = false;  // other warps may issue in between
      if (waits_first && i == 0) control.waits = 1;
      code += line(fmt::format("LDG.E R4, desc[UR4][R2.64+{:#x}]", i * kWarps * 128), control);
    }
    return code;
  };
  const std::string own_line = TimedRun::address() + line("S2R R0, SR_TID.X", stall(12)) +
                               line("SHF.L.U32 R0, R0, 0x2, RZ", stall(6)) +
                               line("IADD3 R2, R2, R0, RZ", stall(6));
  SmParameters f = parameters();
  f.l1_bytes = 16 * 1024;
  const SmTime time =
      TimedRun(own_line + loads(false) + loads(after_data) + kExit, kWarps * sim::kLanes).time(f);
  SectorLookups second;
  for (std::size_t place = time.lookups.size() - 1 - kLoads; place < time.lookups.size(); ++place)
    second += time.lookups[place];
  return second.hits / second.all;
}

TEST_CASE("consecutive loads are issued warp by warp", "[timing]") {
  // Twice as many lines as L1 holds are in flight. Until the queue is full, warps alternate.
  CHECK(second_loads_that_hit(false) > 0.9);
  CHECK(second_loads_that_hit(true) < 0.7);
}

TEST_CASE("a warp's lines all stay in L1 at any stride", "[timing]") {
  constexpr std::int64_t kBytes = 128 * 1024;
  constexpr std::uint64_t kLanes = 32;
  for (std::uint64_t stride = 4; stride <= (std::uint64_t{128} << 20) / 32; stride *= 2) {
    SectorCache cache(kBytes);
    for (std::uint64_t lane = 0; lane < kLanes; ++lane)
      cache.put(lane * stride, 1);
    std::uint64_t there = 0;
    for (std::uint64_t lane = 0; lane < kLanes; ++lane)
      there += cache.has_line(lane * stride) ? 1 : 0;
    INFO(stride << " sectors");
    CHECK(there == kLanes);
  }
}

TEST_CASE("spilled values stay in L1 while it has space", "[timing]") {
  Control stores = stall(2);
  Control loads = stall(1);
  loads.writes = 0;
  Control uses = stall(2);
  uses.waits = 1;
  // Each lane stores `words` words and loads the first one.
  const auto time_of = [&](int words, std::int64_t l1_bytes, unsigned warps = 1) {
    std::string code = line("MOV R1, 0x7f000", stall(6));
    for (int i = 0; i < words; ++i)
      code += line(fmt::format("STL [R1+{:#x}], R1", 4 * i), stores);
    code += line("LDL.LU R0, [R1]", loads) + line("MOV R2, R0", uses) + kExit;
    SmParameters f = parameters();
    f.l1_bytes = l1_bytes;
    return TimedRun(code, warps * sim::kLanes).time(f);
  };
  const SmTime kept = time_of(16, 128 * 1024);
  CHECK(kept.l2_reads == 0);
  CHECK(kept.l2_writes == 0);
  const SmTime lost = time_of(32, 2048);  // sixteen lines
  CHECK(lost.l2_reads == 4);              // sectors of one line
  CHECK(lost.l2_writes == 4);
  CHECK(lost.clocks > kept.clocks + 150);
  // Each warp has its own lines.
  CHECK(time_of(8, 2048, 1).l2_reads == 0);
  CHECK(time_of(8, 2048, 4).l2_reads > 0);
}

}  // namespace
}  // namespace gpuexp::test
