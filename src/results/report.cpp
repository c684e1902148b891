#include "results/report.hpp"

#include <algorithm>
#include <array>

namespace gpuexp {

std::string utc_text(std::time_t at, const char* format) {
  std::array<char, 32> text{};
  std::tm parts{};
  gmtime_r(&at, &parts);
  const std::size_t length = std::strftime(text.data(), text.size(), format, &parts);
  return {text.data(), length};
}

void keep_rank(std::vector<RankProvenance>& ranks, const RankProvenance& rank) {
  const auto at = std::lower_bound(
      ranks.begin(), ranks.end(), rank,
      [](const RankProvenance& one, const RankProvenance& other) { return one.rank < other.rank; });
  if (at != ranks.end() && at->rank == rank.rank) {
    *at = rank;
  } else {
    ranks.insert(at, rank);
  }
}

}  // namespace gpuexp
