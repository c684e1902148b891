// DRAM reads and writes of L2 for consecutive ranges.
#include "model/l2_replay.hpp"

#include <array>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

constexpr std::uint64_t kBase = std::uint64_t{1} << 32;
constexpr ByteRange kAnywhere{0, ~std::uint64_t{0}};

DeviceSpec small_device() {
  DeviceSpec device;
  device.cc_major = 9;
  device.l2_bytes = 1 << 20;
  return device;
}

std::vector<ByteRange> first_bytes(std::uint64_t bytes) {
  return {{kBase, kBase + bytes}};
}

/// Bytes fetched when the range is read again after `between` other bytes.
double read_again(L2Replay& l2, std::uint64_t bytes, std::uint64_t between) {
  l2.read(first_bytes(bytes), 0, kAnywhere);
  constexpr std::int64_t kElsewhere = 1 << 30;
  if (between > 0) l2.read(first_bytes(between), kElsewhere, kAnywhere);
  l2.take();
  l2.read(first_bytes(bytes), 0, kAnywhere);
  return l2.take().read;
}

TEST_CASE("reads fetch pairs of sectors once", "[l2_replay]") {
  L2Replay l2(small_device(), 1);
  l2.read({{kBase, kBase + 4}, {kBase + 60, kBase + 68}}, 0, kAnywhere);
  CHECK(l2.take().read == 128);
  l2.read({{kBase + 32, kBase + 36}}, 0, kAnywhere);
  CHECK(l2.take().read == 0);
  DeviceSpec before_ampere = small_device();
  before_ampere.cc_major = 7;
  L2Replay single(before_ampere, 1);
  single.read({{kBase, kBase + 4}}, 0, kAnywhere);
  CHECK(single.take().read == 32);
}

TEST_CASE("a sector counts as missing if absent when requested", "[l2_replay]") {
  L2Replay l2(small_device(), 1);
  // Both sectors of a pair at once; then one sector of another pair, and later its fetched
  // neighbour.
  l2.read({{kBase, kBase + 4}, {kBase + 32, kBase + 36}}, 0, kAnywhere);
  CHECK(l2.take().read_sectors == 2);
  l2.read({{kBase + 64, kBase + 68}}, 0, kAnywhere);
  l2.read({{kBase + 96, kBase + 100}}, 0, kAnywhere);
  CHECK(l2.take().read_sectors == 1);
  // One sector in two pieces, and one piece of more than a pair.
  l2.read({{kBase + 128, kBase + 132}, {kBase + 136, kBase + 140}}, 0, kAnywhere);
  l2.read({{kBase + 192, kBase + 292}}, 0, kAnywhere);
  CHECK(l2.take().read_sectors == 5);
}

TEST_CASE("data read again is in L2 unless much other data was read in between", "[l2_replay]") {
  constexpr std::uint64_t kFootprint = 64 << 10;
  const auto after = [&](std::uint64_t between) {
    L2Replay l2(small_device(), 1);
    return read_again(l2, kFootprint, between);
  };
  CHECK(after(0) == 0);
  CHECK(after(200 << 10) == 0);
  const double some = after(500 << 10);
  CHECK(some > 0);
  CHECK(some < kFootprint);
  CHECK(after(1 << 20) == kFootprint);
}

TEST_CASE("ranges move and are clipped to their buffer", "[l2_replay]") {
  L2Replay l2(small_device(), 1);
  l2.read(first_bytes(4096), 1024, {kBase + 2048, kBase + 4096});
  CHECK(l2.take().read == 2048);
  l2.read(first_bytes(4096), 8192, {kBase + 2048, kBase + 4096});
  CHECK(l2.take().read == 0);
}

TEST_CASE("a quarter of L2 stays dirty, and a rewritten sector is written back once",
          "[l2_replay]") {
  constexpr std::uint64_t kQuarter = 256 << 10;
  L2Replay l2(small_device(), 1);
  l2.write(first_bytes(kQuarter), 0, kAnywhere);
  l2.write(first_bytes(kQuarter), 0, kAnywhere);
  CHECK(l2.take().written == 0);
  constexpr std::int64_t kElsewhere = 1 << 30;
  l2.write(first_bytes(4096), kElsewhere, kAnywhere);
  const DramBytes bytes = l2.take();
  CHECK(bytes.written == 4096);
  CHECK(bytes.read == 0);
}

TEST_CASE("partly written sectors are read before the write-back", "[l2_replay]") {
  constexpr std::uint64_t kSectors = 64 << 10;
  std::vector<ByteRange> halves;
  std::vector<ByteRange> others;
  for (std::uint64_t i = 0; i < kSectors; ++i) {
    halves.push_back({kBase + 32 * i, kBase + 32 * i + 16});
    others.push_back({kBase + 32 * i + 16, kBase + 32 * i + 32});
  }
  const auto filled = [&](bool whole, bool read) {
    L2Replay l2(small_device(), 1);
    for (std::uint64_t i = 0; i < kSectors; ++i) {
      if (read) l2.read({halves[i]}, 0, kAnywhere);
      l2.write({halves[i]}, 0, kAnywhere);
      if (whole) l2.write({others[i]}, 0, kAnywhere);
    }
    const DramBytes bytes = l2.take();
    return bytes.read / bytes.written;
  };
  CHECK(filled(true, false) == 0);
  CHECK(filled(false, false) == 1);
  // The read has fetched them: only requested bytes are read.
  CHECK(filled(false, true) == Approx(kSectors * 32.0 / (kSectors * 32 - (256 << 10))));
}

TEST_CASE("one of several pages represents the others", "[l2_replay]") {
  constexpr std::uint64_t kFootprint = 8 << 20;
  for (const std::uint64_t one_of : {1, 4}) {
    CAPTURE(one_of);
    L2Replay l2(small_device(), one_of);
    CHECK(read_again(l2, kFootprint, 0) == kFootprint);
    l2.write(first_bytes(kFootprint), 0, kAnywhere);
    CHECK(l2.take().written == Approx(kFootprint - (256 << 10)).epsilon(0.02));
  }
}

// A page of one of 16 is replayed: by chance none of the small buffer's pages. All its reads but
// the first hit, so the estimate for the large buffer must not depend on their number.
TEST_CASE("a small buffer that is read often does not change the bytes of others", "[l2_replay]") {
  constexpr std::uint64_t kLarge = 8 << 20;
  constexpr std::uint64_t kSmall = 4096;
  for (const std::uint64_t small_page : {0, 1, 2, 3, 4, 5, 6, 7}) {
    CAPTURE(small_page);
    L2Replay l2(small_device(), 16);
    const std::uint64_t small = (kBase << 1) + small_page * kSmall;
    for (std::uint64_t at = 0; at < kLarge; at += kSmall) {
      l2.read({{kBase + at, kBase + at + kSmall}}, 0, {kBase, kBase + kLarge});
      for (int i = 0; i < 8; ++i)
        l2.read({{small, small + kSmall}}, 0, {small, small + kSmall});
    }
    CHECK(l2.take().read == Approx(kLarge).epsilon(0.02));
  }
}

TEST_CASE("bytes of an earlier launch count when they are written back", "[l2_replay]") {
  constexpr std::uint64_t kBytes = 8 << 20;
  L2Replay l2(small_device(), 4);
  const ByteRange earlier{kBase, kBase + kBytes};
  const ByteRange later{2 * kBase, 2 * kBase + kBytes};
  l2.write({earlier}, 0, earlier);
  const double written = l2.take().written;
  l2.write({later}, 0, later);
  // What was dirty at the end of the first launch is written back in the second one.
  CHECK(written < kBytes);
  CHECK(l2.take().written == Approx(kBytes).epsilon(0.02));
}

TEST_CASE("the same pages are simulated for any buffer size", "[l2_replay]") {
  const auto fetched = [](const ByteRange& within) {
    L2Replay l2(small_device(), 16);
    std::vector<ByteRange> ranges;
    for (std::uint64_t at = kBase; at < kBase + (32 << 20); at += 30'000)
      ranges.push_back({at, at + 20'000});
    l2.read(ranges, 4096, within);
    l2.write(ranges, 100, within);
    const DramBytes bytes = l2.take();
    return std::array{bytes.read, bytes.read_sectors, bytes.written};
  };
  CHECK(fetched({kBase, kBase + (64 << 20)}) == fetched(kAnywhere));
}

TEST_CASE("scattered accesses to one of several pages represent the others", "[l2_replay]") {
  constexpr std::uint64_t kBuffer = std::uint64_t{8} << 20;  // eight times the size of L2
  constexpr double kAccesses = 1e6;
  const auto fetched = [](std::uint64_t one_of) {
    L2Replay l2(small_device(), one_of);
    l2.read_scattered({kBase, kBase + kBuffer}, kAccesses);
    return l2.take();
  };
  CHECK(fetched(4).read == Approx(fetched(1).read).epsilon(0.01));
  CHECK(fetched(4).read_sectors == Approx(fetched(1).read_sectors).epsilon(0.01));
}

TEST_CASE("scattered accesses hit the part of their buffer that L2 holds", "[l2_replay]") {
  const auto fetched = [](std::uint64_t buffer, double count) {
    L2Replay l2(small_device(), 1);
    const ByteRange anywhere{kBase, kBase + buffer};
    l2.read_scattered(anywhere, 4 * static_cast<double>(buffer) / 64);
    l2.take();
    l2.read_scattered(anywhere, count);
    const DramBytes bytes = l2.take();
    CHECK(bytes.read_scattered == bytes.read);
    return bytes.read / count;
  };
  CHECK(fetched(64 << 10, 1000) < 2);
  CHECK(fetched(64 << 20, 100'000) == Approx(64).epsilon(0.05));
}

TEST_CASE("scattered accesses to one location end, whether its page is simulated or not",
          "[l2_replay]") {
  constexpr std::uint64_t kFollowed = 64;  // simulate one of 64 pages
  constexpr std::uint64_t kPages = 256;
  constexpr std::uint64_t kPage = 4096;
  constexpr double kAccesses = 10'000;
  L2Replay l2(small_device(), kFollowed);
  for (std::uint64_t page = 0; page < kPages; ++page)
    l2.read_scattered({kBase + page * kPage, kBase + page * kPage + 4}, kAccesses);
  // 64 bytes of each page are fetched and then hit.
  const double fetched = l2.take().read;
  CHECK(fetched > 0);
  CHECK(fetched < 4 * kPages * 64);
  // Scattered accesses do not change the bytes read elsewhere.
  constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;
  constexpr std::int64_t kElsewhere = std::int64_t{1} << 40;
  l2.read(first_bytes(kBytes), kElsewhere, kAnywhere);
  l2.read_scattered({kBase, kBase + 4}, 1e7);
  const double read = l2.take().read;
  CHECK(read > 0.8 * kBytes);
  CHECK(read < 1.25 * kBytes);
}

}  // namespace
}  // namespace gpuexp::test
