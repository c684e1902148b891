// What the addresses of a warp come to in the memory system. C++17, free of CUDA.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <type_traits>

#include "core/traffic.hpp"

namespace gpuexp {

inline constexpr int kLanes = 32;
inline constexpr std::int64_t kLineBytes = 128;

constexpr Accesses operator*(double times, const Accesses& a) {
  return {times * a.requests, times * a.sectors, times * a.wavefronts, times * a.tag_turns};
}
constexpr Accesses operator+(const Accesses& a, const Accesses& b) {
  return {a.requests + b.requests, a.sectors + b.sectors, a.wavefronts + b.wavefronts,
          a.tag_turns + b.tag_turns};
}

/// All lanes touch one element.
inline constexpr Accesses kOneElement{1, 1, 1, 1};

/// Most distinct 4-byte words that lanes [begin, end) touch in any of 32 banks, lane i touching
/// `bytes` bytes from offset(i) on.
template <class Offset>
double most_words_of_a_bank(int begin, int end, int bytes, Offset offset) {
  constexpr std::int64_t kBanks = 32;
  constexpr std::int64_t kWord = 4;
  std::array<std::set<std::int64_t>, kBanks> words;
  for (int lane = begin; lane < end; ++lane) {
    const std::int64_t first = offset(lane);
    for (std::int64_t w = first / kWord; w <= (first + bytes - 1) / kWord; ++w)
      words[static_cast<std::size_t>(w % kBanks)].insert(w);
  }
  std::size_t most = 0;
  for (const auto& bank : words)
    most = std::max(most, bank.size());
  return static_cast<double>(most);
}

/// Turns in which L1 looks these lines up. Its tags lie in four banks, of which each finds one line
/// per turn, and which hold lines by a hash: an XOR of the digits to the base of four of a line's
/// number gives the turns that an H200 counts (l1tex__t_output_wavefronts) for the rows of a matrix
/// at ten pitches within 15 %: 8.8 of 32 lines that lie 32 lines apart, 12 of 32 that lie 31 apart.
inline double tag_turns(const std::set<std::int64_t>& lines) {
  std::array<int, 4> in_bank{};
  for (const std::int64_t line : lines) {
    std::size_t bank = 0;
    for (auto digits = static_cast<std::uint64_t>(line); digits > 0; digits /= in_bank.size())
      bank ^= digits % in_bank.size();
    ++in_bank[bank];
  }
  return *std::max_element(in_bank.begin(), in_bank.end());
}

/// Units of so many bytes that lanes before `lanes` touch, lane i touching `bytes` bytes from
/// offset(i) on.
template <class Offset>
std::set<std::int64_t> touched(std::int64_t unit, int bytes, Offset offset, int lanes = kLanes) {
  std::set<std::int64_t> units;
  for (int lane = 0; lane < lanes; ++lane) {
    const std::int64_t first = offset(lane);
    for (std::int64_t u = first / unit; u <= (first + bytes - 1) / unit; ++u)
      units.insert(u);
  }
  return units;
}

/// One access of a warp to global memory: lane i touches `bytes` bytes from offset(i) on, counted
/// from a 128-byte line. Sectors are those that any lane touches. L1's data lies in 32 banks as
/// shared memory's does. Data that L1 does not hold takes a turn of the data stage for each turn of
/// the tag stage, if that is more than the banks ask for: on an H200 4-byte lanes 31 words apart,
/// which meet in no bank, take 13 of each. Lanes from `lanes` on take no part.
template <class Offset, class = std::enable_if_t<!std::is_arithmetic_v<Offset>>>
Accesses global_access(int bytes, Offset offset, int lanes = kLanes) {
  constexpr std::int64_t kSector = 32;
  const double turns = tag_turns(touched(kLineBytes, bytes, offset, lanes));
  return {1, static_cast<double>(touched(kSector, bytes, offset, lanes).size()),
          std::max(most_words_of_a_bank(0, lanes, bytes, offset), turns), turns};
}

/// The same access of a kernel whose warps all wait for what L1 does not hold. Where each lane asks
/// for a line of its own, lines are looked up again until they are on their way: an H200 counts two
/// lines per turn (15.1 to 16.4 turns at strides of 32 and 64 words and at random places, however
/// they lie in the banks of the tags), and as many as of hits where only 16 warps per SM ask at
/// all.
template <class Offset, class = std::enable_if_t<!std::is_arithmetic_v<Offset>>>
Accesses global_access_missing(int bytes, Offset offset) {
  Accesses a = global_access(bytes, offset);
  constexpr double kLinesPerTurn = 2;
  const std::size_t lines = touched(kLineBytes, bytes, offset).size();
  if (lines < kLanes) return a;
  a.tag_turns = std::max(a.tag_turns, static_cast<double>(lines) / kLinesPerTurn);
  a.wavefronts = std::max(a.wavefronts, a.tag_turns);
  return a;
}

/// The same access where L1 holds what most of its lanes touch: banks alone set its wavefronts.
template <class Offset>
Accesses global_access_in_l1(int bytes, Offset offset, int lanes = kLanes) {
  Accesses a = global_access(bytes, offset, lanes);
  a.wavefronts = most_words_of_a_bank(0, lanes, bytes, offset);
  return a;
}

/// Lane i touches element first + i × stride of `bytes` bytes.
inline Accesses global_access(int bytes, std::int64_t stride = 1, std::int64_t first = 0) {
  return global_access(bytes, [=](int lane) { return (first + lane * stride) * bytes; });
}
inline Accesses global_access_missing(int bytes, std::int64_t stride, std::int64_t first = 0) {
  return global_access_missing(bytes, [=](int lane) { return (first + lane * stride) * bytes; });
}

/// Lane i reads 4 bytes of row i, of rows `pitch` words apart, where L1 holds most of them: the
/// mean over the places at which such an access may start.
inline Accesses column_access_in_l1(std::int64_t pitch, int lanes = kLanes) {
  constexpr std::int64_t kWord = 4;
  constexpr std::int64_t kStarts = 64;
  Accesses sum;
  for (std::int64_t start = 0; start < kStarts; ++start) {
    // Down the rows by one warp each, and along them by a line and a word.
    const std::int64_t first = start * (kLanes * pitch + kLineBytes / kWord + 1);
    sum = sum + global_access_in_l1(
                    kWord, [=](int lane) { return kWord * (first + pitch * lane); }, lanes);
  }
  return 1.0 / kStarts * sum;
}

/// One access of a warp to `rows` rows of `bytes` bytes each, whole in every row. What a row
/// touches depends on where it starts: counted is the mean over rows that start `pitch` bytes
/// apart. Tags are as evenly spread over their banks as they can be.
inline Accesses rows_access(int rows, std::int64_t bytes, std::int64_t pitch) {
  constexpr std::int64_t kSector = 32;
  const auto units = [=](std::int64_t unit) {
    const std::int64_t step = std::gcd(pitch, unit);  // rows start anywhere in multiples of it
    const std::int64_t touched = (bytes + step - 1) / step * step;
    return 1 + static_cast<double>(touched - step) / static_cast<double>(unit);
  };
  constexpr double kTagBanks = 4;
  const double lines = rows * units(kLineBytes);
  return {1, rows * units(kSector), lines, std::max(1.0, lines / kTagBanks)};
}

/// The same loads made by cp.async, for which an H200 counts about two turns of the tags where
/// other loads take one.
constexpr Accesses by_cp_async(const Accesses& a) {
  return {a.requests, a.sectors, a.wavefronts, 2 * a.tag_turns};
}

/// Lanes i and i^1, or lanes i and i^2, have one address throughout the warp.
template <class Offset>
bool lanes_are_paired(Offset offset) {
  const auto paired_by = [&](int bit) {
    for (int lane = 0; lane < kLanes; ++lane)
      if (offset(lane) != offset(lane ^ bit)) return false;
    return true;
  };
  return paired_by(1) || paired_by(2);
}

/// One access of a warp to shared memory: lane i touches `bytes` (4, 8 or 16) bytes from offset(i)
/// on. 32 banks serve a word of 4 bytes each per turn; lanes that touch the same word share it.
/// Accesses of 8 bytes go in halves of a warp, of 16 in quarters; where lanes are paired, twice as
/// many go together (NVIDIA developer forum, topic 77228; on an H200 a broadcast of 16 bytes takes
/// 2 turns, and 8 pieces of 16 bytes take 2 where neighbouring lanes share them, 4 where lanes i
/// and i^8 do).
template <class Offset, class = std::enable_if_t<!std::is_arithmetic_v<Offset>>>
Accesses shared_access(int bytes, Offset offset) {
  constexpr int kTurnBytes = 128;
  const int pairing = lanes_are_paired(offset) ? 2 : 1;
  const int lanes_per_turn = std::min(kLanes, pairing * kTurnBytes / bytes);
  double turns = 0;
  for (int begin = 0; begin < kLanes; begin += lanes_per_turn)
    turns += most_words_of_a_bank(begin, begin + lanes_per_turn, bytes, offset);
  return {1, 0, turns};
}

inline Accesses shared_access(int bytes, std::int64_t stride = 1) {
  return shared_access(bytes, [=](int lane) { return lane * stride * bytes; });
}

}  // namespace gpuexp
