// Counts of accesses and instructions.
#include "sim/access_counts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <random>
#include <set>

#include "sass/issue_pipe.hpp"
#include "sim/decoder.hpp"
#include "sim/kernel_counters.hpp"
#include "sim/tag_bank.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using sim::Access;
using sim::kAllLanes;
using sim::LaneMask;
using sim::MemoryCounts;
using sim::Space;

/// Counts of an access in which lane i accesses offset(i).
template <class Offset>
MemoryCounts counted(Space space, Access kind, unsigned width, const Offset& offset,
                     LaneMask lanes = kAllLanes) {
  sim::Lanes64 address;
  for (unsigned l = 0; l < sim::kLanes; ++l)
    address[l] = static_cast<std::uint64_t>(offset(static_cast<int>(l)));
  MemoryCounts counts;
  count(counts, {space, kind, width, lanes, address});
  return counts;
}

TEST_CASE("global accesses are counted by requests, sectors and wavefronts", "[sim]") {
  const auto load = [](unsigned width, const auto& offset, LaneMask lanes = kAllLanes) {
    return counted(Space::global, Access::load, width, offset, lanes);
  };
  const MemoryCounts packed = load(4, [](int lane) { return 4 * lane; });
  CHECK(packed.load_requests == 1);
  CHECK(packed.load_sectors == 4);
  CHECK(packed.tag_wavefronts == 1);
  CHECK(packed.global_wavefronts == 1);
  CHECK(packed.store_requests == 0);
  CHECK(packed.shared_load_wavefronts == 0);
  CHECK(load(4, [](int lane) { return 4 * lane + 4; }).load_sectors == 5);
  CHECK(load(4, [](int lane) { return 124 - 4 * lane; }).load_sectors == 4);
  CHECK(load(2, [](int lane) { return 2 * lane; }).load_sectors == 2);
  CHECK(load(4, [](int) { return 96; }).load_sectors == 1);
  CHECK(load(
            4, [](int lane) { return 4 * lane; }, 0xff)
            .load_sectors == 1);
  CHECK(load(
            4, [](int lane) { return 4 * lane; }, 0)
            .load_requests == 0);
  const MemoryCounts stored =
      counted(Space::global, Access::store, 16, [](int lane) { return 16 * lane; });
  CHECK(stored.store_requests == 1);
  CHECK(stored.store_sectors == 16);
  CHECK(stored.load_requests == 0);
  // An atomic is neither a load nor a store.
  const MemoryCounts atomic =
      counted(Space::global, Access::atomic, 4, [](int lane) { return 4 * lane; });
  CHECK(atomic.load_requests + atomic.store_requests + atomic.tag_wavefronts == 0);
  CHECK(atomic.other_accesses == 1);
  CHECK(atomic.other_tag_accesses == 1);
}

TEST_CASE("an atomic instruction of a warp is one request for any addresses", "[sim]") {
  const auto one = [](int) { return 0; };
  const auto scattered = [](int lane) { return 4096 * lane; };
  const MemoryCounts atomic = counted(Space::global, Access::atomic, 4, scattered);
  CHECK(atomic.atomic_requests == 1);
  CHECK(atomic.reduction_requests == 0);
  const MemoryCounts reduction = counted(Space::global, Access::reduction, 4, one);
  CHECK(reduction.atomic_requests == 0);
  CHECK(reduction.reduction_requests == 1);
  CHECK(reduction.store_requests + reduction.load_requests == 0);
  CHECK(reduction.other_tag_accesses == 1);
  // Shared memory, loads and stores have their own counters.
  CHECK(counted(Space::shared, Access::atomic, 4, one).atomic_requests == 0);
  CHECK(counted(Space::global, Access::store, 4, one).reduction_requests == 0);
}

TEST_CASE("strided accesses have the sectors and wavefronts counted on an H200", "[sim]") {
  struct Case {
    unsigned bytes;
    int stride;  ///< in accesses
    unsigned sectors;
    unsigned wavefronts;  ///< wavefronts of L1's data stage
    unsigned shared_wavefronts;
  };
  const Case cases[] = {{4, 0, 1, 1, 1},   {4, 1, 4, 1, 1},     {4, 2, 8, 2, 2},
                        {4, 8, 32, 8, 8},  {4, 16, 32, 16, 16}, {4, 32, 32, 32, 32},
                        {4, 31, 32, 8, 1}, {8, 1, 8, 2, 2},     {16, 1, 16, 4, 4},
                        {16, 0, 1, 1, 2},  {4, 33, 32, 8, 1}};
  for (const Case& c : cases) {
    INFO(c.bytes << " bytes, stride " << c.stride);
    const auto offset = [=](int lane) { return static_cast<int>(c.bytes) * c.stride * lane; };
    const MemoryCounts loaded = counted(Space::global, Access::load, c.bytes, offset);
    CHECK(loaded.load_sectors == c.sectors);
    CHECK(loaded.global_wavefronts == c.wavefronts);
    CHECK(counted(Space::shared, Access::load, c.bytes, offset).shared_load_wavefronts ==
          c.shared_wavefronts);
  }
}

TEST_CASE("L1 looks up four lines per wavefront if they map to different tag banks", "[sim]") {
  const auto tags = [](int lines, int stride) {
    return counted(Space::global, Access::load, 4,
                   [=](int lane) { return 128 * stride * (lane % lines); })
        .tag_wavefronts;
  };
  CHECK(tags(1, 1) == 1);
  CHECK(tags(4, 1) == 1);
  CHECK(tags(8, 1) == 2);
  CHECK(tags(32, 1) == 8);
  CHECK(tags(32, 32) == 8);
  CHECK(tags(32, 5) > 8);
}

TEST_CASE("cp.async past L1 has wavefronts by destination, as counted on an H200", "[sim]") {
  constexpr int kPitch = 4096;
  // Rows of 16-byte pieces at `stride` bytes in shared memory.
  const auto tags = [](int rows, int stride, int swizzle = 0) {
    const int per_row = static_cast<int>(sim::kLanes) / rows;
    sim::Lanes64 from;
    sim::Lanes64 to;
    for (int lane = 0; lane < static_cast<int>(sim::kLanes); ++lane) {
      const int row = lane / per_row;
      const int piece = lane % per_row;
      const auto l = static_cast<unsigned>(lane);
      from[l] = static_cast<std::uint64_t>(row * kPitch + 16 * piece);
      to[l] = static_cast<std::uint64_t>(row * stride + 16 * (piece ^ row * swizzle % per_row));
    }
    sim::MemoryAccess access{Space::global, Access::async_load, 16, kAllLanes, from};
    access.destination = &to;
    MemoryCounts counts;
    count(counts, access);
    return counts.async_tag_wavefronts - 1;
  };
  // Contiguous rows.
  CHECK(tags(4, 128) == 1);
  CHECK(tags(8, 64) == 4);
  CHECK(tags(16, 32) == 16);
  CHECK(tags(32, 16) == 32);
  CHECK(tags(8, 64, 1) == 4);
  // Stride 128: wavefronts of the tag banks.
  CHECK(tags(8, 128) == 2);
  CHECK(tags(16, 128) == 4);
  CHECK(tags(32, 128) == 8);
  CHECK(tags(8, 128, 1) == 2);
}

TEST_CASE("tag-stage wavefronts of column accesses equal those counted on an H200", "[sim]") {
  // docs/results/h200/all.json.zst, matmul.row_pitch: l1_tag_wavefronts per step of `naive`, minus
  // one for B.
  const std::pair<int, double> recorded[] = {{992, 11.95}, {1008, 10.24}, {1016, 10.68},
                                             {1020, 9.19}, {1022, 9.17},  {1023, 9.01},
                                             {1024, 8.82}, {1025, 9.00}};
  for (const auto& [pitch, wavefronts] : recorded) {
    CAPTURE(pitch);
    // Mean over starting addresses: one warp further down the rows, and one line and one word along
    // them.
    constexpr int kStarts = 64;
    double sum = 0;
    for (int start = 0; start < kStarts; ++start) {
      const int first = start * (32 * pitch + 33);
      sum += static_cast<double>(counted(Space::global, Access::load, 4, [&](int lane) {
                                   return 4 * (first + pitch * lane);
                                 }).tag_wavefronts);
    }
    CHECK(sum / kStarts == Approx(wavefronts).epsilon(0.15));
  }
}

TEST_CASE("different words of a bank conflict, and broadcasts do not", "[sim]") {
  const auto words = [](int stride) {
    return counted(Space::shared, Access::store, 4, [=](int lane) { return 4 * stride * lane; });
  };
  CHECK(words(1).shared_store_wavefronts == 1);
  CHECK(words(1).shared_conflicts == 0);
  CHECK(words(0).shared_store_wavefronts == 1);
  CHECK(words(0).shared_conflicts == 0);
  CHECK(words(2).shared_store_wavefronts == 2);
  CHECK(words(2).shared_conflicts == 1);
  CHECK(words(32).shared_conflicts == 31);
  CHECK(words(33).shared_conflicts == 0);
  // 8-byte accesses execute per half-warp: the minimum of two wavefronts is not a conflict.
  const MemoryCounts wide =
      counted(Space::shared, Access::load, 8, [](int lane) { return 8 * (lane ^ 1); });
  CHECK(wide.shared_load_wavefronts == 2);
  CHECK(wide.shared_conflicts == 0);
}

TEST_CASE("cp.async counts as a load and not as a store", "[sim]") {
  const auto packed = [](int lane) { return 16 * lane; };
  const MemoryCounts from = counted(Space::global, Access::async_load, 16, packed);
  CHECK(from.load_requests == 1);
  CHECK(from.load_sectors == 16);
  CHECK(from.tag_wavefronts == 0);
  CHECK(from.async_tag_wavefronts == 2);  // one looks up lines, one writes to shared memory
  const MemoryCounts to = counted(Space::shared, Access::async_store, 16, packed);
  CHECK(to.shared_store_wavefronts == 0);
  CHECK(to.global_wavefronts == 1);
  CHECK(to.shared_conflicts == 0);
  CHECK(counted(Space::shared, Access::async_store, 4, [](int lane) {
          return 128 * lane;
        }).shared_conflicts == 31);
}

TEST_CASE("a word of local memory is contiguous across the lanes of a warp", "[sim]") {
  const auto one = [](int) { return 512 * 1024 - 16; };
  const auto own = [](int lane) { return 512 * 1024 - 512 + 16 * lane; };
  const MemoryCounts spill = counted(Space::local, Access::store, 4, one);
  CHECK(spill.local_store_requests == 1);
  CHECK(spill.local_store_sectors == 4);
  CHECK(spill.store_requests + spill.store_sectors == 0);
  CHECK(spill.tag_wavefronts == 1);
  CHECK(spill.global_wavefronts == 1);
  CHECK(spill.other_accesses + spill.other_tag_accesses == 0);
  const MemoryCounts fill = counted(Space::local, Access::load, 4, one);
  CHECK(fill.local_load_requests == 1);
  CHECK(fill.local_load_sectors == 4);
  CHECK(counted(Space::local, Access::load, 1, one).local_load_sectors == 4);
  CHECK(counted(Space::local, Access::load, 4, one, 0x00000101).local_load_sectors == 2);
  const MemoryCounts wide = counted(Space::local, Access::load, 16, one);
  CHECK(wide.local_load_requests == 1);
  CHECK(wide.local_load_sectors == 16);  // four lines
  CHECK(wide.global_wavefronts == 4);
  CHECK(wide.other_tag_accesses == 1);
  // Different words per lane are in different lines: one sector per lane.
  const MemoryCounts indexed = counted(Space::local, Access::load, 4, own);
  CHECK(indexed.local_load_sectors == 32);
  CHECK(indexed.other_accesses == 1);
  CHECK(indexed.other_tag_accesses == 1);
  CHECK(counted(Space::local, Access::load, 4, [](int lane) {
          return 4 * (lane / 16);
        }).local_load_sectors == 4);
  CHECK(counted(Space::local, Access::load, 8, [](int lane) {
          return 8 * (lane % 2);
        }).local_load_sectors == 16);
}

TEST_CASE("wavefronts of atomics are unknown", "[sim]") {
  const auto packed = [](int lane) { return 4 * lane; };
  const MemoryCounts atomic = counted(Space::shared, Access::atomic, 4, packed);
  CHECK(atomic.shared_load_wavefronts + atomic.shared_store_wavefronts == 0);
  CHECK(atomic.other_accesses == 1);
  CHECK(atomic.other_tag_accesses == 0);
  CHECK(counted(Space::global, Access::load, 4, packed).other_accesses == 0);
}

/// Number of known metrics of a kernel that executes one instruction in one warp.
std::ptrdiff_t metrics_with(const char* opcode, const MemoryCounts& memory = {}) {
  sim::Program program;
  program.classes.push_back(sim::class_of({0, {}, opcode, {}}));
  const sim::OpCount once{1, 32, 32};
  const sim::MetricValues values = sim::metric_values(program, {&once, 1}, memory);
  return std::count_if(values.begin(), values.end(), [](double v) { return !std::isnan(v); });
}

TEST_CASE("metrics with an unknown part are left out", "[sim]") {
  const std::ptrdiff_t all = metrics_with("FFMA");
  CHECK(all == 25);
  CHECK(metrics_with("MATCH.ANY") == all - 5);
  CHECK(metrics_with("REDUX.SUM") == all - 5);
  MemoryCounts atomics;
  atomics.other_accesses = 1;
  CHECK(metrics_with("ATOMS.ADD", atomics) == all - 2);  // data-stage wavefronts, bank conflicts
  atomics.other_tag_accesses = 1;
  CHECK(metrics_with("ATOMG.E.ADD", atomics) == all - 3);
  CHECK(metrics_with("MATCH.ANY", atomics) == all - 7);
}

TEST_CASE("neighbouring lines map to different tag banks", "[sim]") {
  for (std::uint64_t first : {0u, 4u, 64u, 1024u}) {
    unsigned banks = 0;
    for (std::uint64_t line = first; line < first + kTagBanks; ++line)
      banks |= 1u << tag_bank(line);
    CHECK(banks == 0xf);
  }
  CHECK(tag_bank(1) == tag_bank(4));
  CHECK(tag_bank(5) == tag_bank(0));
}

TEST_CASE("a memo gives the same counts as a new computation", "[sim]") {
  std::mt19937_64 random(1);
  const std::uint64_t units[] = {1, 4, 8, 32, 96, 128, 1024};
  sim::AccessMemo memos[2];
  for (int turn = 0; turn < 4000; ++turn) {
    const unsigned width = 1u << random() % 5;
    const std::uint64_t unit = std::max<std::uint64_t>(width, units[random() % std::size(units)]);
    const std::uint64_t range = 1 + random() % 40;
    sim::Lanes64 offsets;
    for (unsigned l = 0; l < sim::kLanes; ++l)
      offsets[l] = unit * (random() % range);
    const LaneMask lanes = random() % 2 == 0 ? kAllLanes : static_cast<LaneMask>(random() | 1);
    // Moves under which the memo may reuse counts, and others.
    for (int move = 0; move < 6; ++move) {
      const std::uint64_t begin = (std::uint64_t{1} << 33) + width * (random() % 300);
      sim::Lanes64 address;
      for (unsigned l = 0; l < sim::kLanes; ++l)
        address[l] = begin + offsets[l];
      const sim::MemoryAccess global(Space::global, Access::load, width, lanes, address);
      const auto touch = memos[0].touch(global);
      const auto expected = sim::touch_of(global);
      REQUIRE(touch.count == expected.count);
      REQUIRE(std::equal(touch.sectors.begin(), touch.sectors.begin() + touch.count,
                         expected.sectors.begin()));
      REQUIRE(touch.tag_wavefronts == expected.tag_wavefronts);
      REQUIRE(touch.bank_wavefronts == expected.bank_wavefronts);
      REQUIRE(touch.missed_wavefronts == expected.missed_wavefronts);
      std::set<std::uint64_t> sectors;
      sim::for_each_lane(lanes, [&](unsigned l) { sectors.insert(address[l] / 32); });
      if (global.shape.pattern == sim::AccessShape::Pattern::other)
        REQUIRE(std::equal(sectors.begin(), sectors.end(), touch.sectors.begin(),
                           touch.sectors.begin() + touch.count));
      const sim::MemoryAccess shared(Space::shared, Access::load, width, lanes, address);
      const auto wavefronts = memos[1].wavefronts(shared);
      REQUIRE(wavefronts.all == sim::AccessMemo().wavefronts(shared).all);
      REQUIRE(wavefronts.conflicts == sim::AccessMemo().wavefronts(shared).conflicts);
    }
  }
}

TEST_CASE("opcodes determine the pipe", "[sim]") {
  CHECK(issue_pipe("FFMA", "R0, R1, R2, R3") == IssuePipe::fma);
  CHECK(issue_pipe("IMAD.WIDE.U32", "R2, R0, 0x4, R2") == IssuePipe::fma);
  CHECK(issue_pipe("VIADD", "R0, R1, 0x1") == IssuePipe::fma);
  CHECK(issue_pipe("IADD3.X", "R0, R1, R2, RZ") == IssuePipe::alu);
  CHECK(issue_pipe("UIADD3", "UR4, UR5, 0x1, URZ") == IssuePipe::other);
  CHECK(issue_pipe("CS2R", "R2, SRZ") == IssuePipe::alu);
  CHECK(issue_pipe("HFMA2", "R0, R1, R2, R3") == IssuePipe::fma);
  CHECK(issue_pipe("HFMA2.MMA", "R7, -RZ, RZ, 0, 0") == IssuePipe::tensor);
  CHECK(issue_pipe("DFMA", "R0, R2, R4, R6") == IssuePipe::fp64);
  CHECK(issue_pipe("MUFU.EX2", "R0, R1") == IssuePipe::xu);
  CHECK(issue_pipe("F2FP.BF16.F32.PACK_AB", "R0, R1, R2") == IssuePipe::alu);
  CHECK(issue_pipe("S2R", "R0, SR_TID.X") == IssuePipe::lsu);
  CHECK(issue_pipe("S2R", "R0, SR_CTAID.X") == IssuePipe::other);
  CHECK(issue_pipe("BAR.SYNC.DEFER_BLOCKING", "0x0") == IssuePipe::other);
  CHECK(issue_pipe("LDC", "R1, c[0x0][0x28]") == IssuePipe::other);
  CHECK(issue_pipe("MATCH.ANY.U64", "R0, R2") == IssuePipe::unknown);
  CHECK(issue_pipe("POPC", "R0, R1") == IssuePipe::xu);
  CHECK(issue_pipe("UPOPC", "UR4, UR5") == IssuePipe::other);
  CHECK(issue_pipe("ATOMS.ADD", "R0, [R1], R2") == IssuePipe::lsu);
  CHECK(is_branch("BRA"));
  CHECK(is_branch("BSYNC"));
  CHECK(!is_branch("BSSY"));
  CHECK(!is_branch("BAR.SYNC.DEFER_BLOCKING"));
  CHECK(is_load_store_without_access("SHFL.DOWN"));
  CHECK(!is_load_store_without_access("LDS.128"));
}

}  // namespace
}  // namespace gpuexp::test
