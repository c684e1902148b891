#include "results/report.hpp"

#include <algorithm>

namespace gpuexp {

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
