#include "family/warp_access.hpp"

#include <algorithm>
#include <numeric>

#include "family/tag_bank.hpp"

namespace gpuexp {

namespace {

constexpr std::int64_t kSector = 32;
constexpr std::int64_t kBanks = 32;
constexpr std::int64_t kWord = 4;

void keep_distinct(std::vector<std::int64_t>& units) {
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
}

// Units of so many bytes that lanes [begin, end) touch, each once, in ascending order.
std::vector<std::int64_t> touched(std::int64_t unit, int bytes, const LaneOffsets& offsets,
                                  int begin, int end) {
  std::vector<std::int64_t> units;
  units.reserve(kLanes);
  for (int lane = begin; lane < end; ++lane) {
    const std::int64_t first = offsets[static_cast<std::size_t>(lane)];
    for (std::int64_t u = first / unit; u <= (first + bytes - 1) / unit; ++u)
      units.push_back(u);
  }
  keep_distinct(units);
  return units;
}

// Most distinct 4-byte words that lanes [begin, end) touch in any of 32 banks.
double most_words_of_a_bank(int begin, int end, int bytes, const LaneOffsets& offsets) {
  std::array<int, kBanks> words{};
  for (const std::int64_t word : touched(kWord, bytes, offsets, begin, end))
    ++words[static_cast<std::size_t>(word % kBanks)];
  return *std::max_element(words.begin(), words.end());
}

// Lanes i and i^1, or lanes i and i^2, have one address throughout the warp.
bool lanes_are_paired(const LaneOffsets& offsets) {
  const auto paired_by = [&](std::size_t bit) {
    for (std::size_t lane = 0; lane < offsets.size(); ++lane)
      if (offsets[lane] != offsets[lane ^ bit]) return false;
    return true;
  };
  return paired_by(1) || paired_by(2);
}

}  // namespace

double tag_wavefronts(const std::vector<std::int64_t>& lines) {
  std::array<int, kTagBanks> in_bank{};
  for (const std::int64_t line : lines)
    ++in_bank[tag_bank(static_cast<std::uint64_t>(line))];
  return *std::max_element(in_bank.begin(), in_bank.end());
}

Accesses global_access(int bytes, const LaneOffsets& offsets, int lanes) {
  const double wavefronts = tag_wavefronts(touched(kLineBytes, bytes, offsets, 0, lanes));
  return {1, static_cast<double>(touched(kSector, bytes, offsets, 0, lanes).size()),
          std::max(most_words_of_a_bank(0, lanes, bytes, offsets), wavefronts), wavefronts};
}

Accesses global_access_missing(int bytes, const LaneOffsets& offsets) {
  Accesses a = global_access(bytes, offsets);
  constexpr double kLinesPerWavefront = 2;
  const std::size_t lines = touched(kLineBytes, bytes, offsets, 0, kLanes).size();
  if (lines < kLanes) return a;
  a.tag_wavefronts = std::max(a.tag_wavefronts, static_cast<double>(lines) / kLinesPerWavefront);
  a.wavefronts = std::max(a.wavefronts, a.tag_wavefronts);
  return a;
}

Accesses global_access_in_l1(int bytes, const LaneOffsets& offsets, int lanes) {
  Accesses a = global_access(bytes, offsets, lanes);
  a.wavefronts = most_words_of_a_bank(0, lanes, bytes, offsets);
  return a;
}

Accesses column_access_in_l1(std::int64_t pitch, int lanes) {
  constexpr std::int64_t kStarts = 64;
  Accesses sum;
  for (std::int64_t start = 0; start < kStarts; ++start) {
    // Down the rows by one warp each, and along them by a line and a word.
    const std::int64_t first = start * (kLanes * pitch + kLineBytes / kWord + 1);
    const auto row = [=](int lane) { return kWord * (first + pitch * lane); };
    sum = sum + global_access_in_l1(kWord, lane_offsets(row), lanes);
  }
  return 1.0 / kStarts * sum;
}

Accesses rows_access(int rows, std::int64_t bytes, std::int64_t pitch) {
  const auto units = [=](std::int64_t unit) {
    const std::int64_t step = std::gcd(pitch, unit);  // rows start anywhere in multiples of it
    const std::int64_t whole = (bytes + step - 1) / step * step;
    return 1 + static_cast<double>(whole - step) / static_cast<double>(unit);
  };
  const double lines = rows * units(kLineBytes);
  return {1, rows * units(kSector), lines, std::max(1.0, lines / kTagBanks)};
}

Accesses shared_access(int bytes, const LaneOffsets& offsets) {
  constexpr int kTurnBytes = 128;
  const int pairing = lanes_are_paired(offsets) ? 2 : 1;
  const int lanes_per_turn = std::min(kLanes, pairing * kTurnBytes / bytes);
  double wavefronts = 0;
  for (int begin = 0; begin < kLanes; begin += lanes_per_turn)
    wavefronts += most_words_of_a_bank(begin, begin + lanes_per_turn, bytes, offsets);
  return {1, 0, wavefronts};
}

}  // namespace gpuexp
