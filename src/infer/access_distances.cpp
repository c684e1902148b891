#include "infer/access_distances.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace gpuexp::infer {

namespace {

/// Elements between neighbouring indices of each dimension in one sample, outermost first.
std::vector<std::int64_t> pitches_of(const std::vector<Dimension>& ordered, std::size_t sample) {
  std::vector<std::int64_t> pitches(ordered.size(), 1);
  for (std::size_t d = ordered.size(); d-- > 1;)
    pitches[d - 1] = pitches[d] * ordered[d].values[sample];
  return pitches;
}

struct Sample {
  std::vector<std::int64_t> pitches;
  const Distances* distances = nullptr;
};

class DistanceExplainer {
 public:
  DistanceExplainer(const std::vector<Dimension>& ordered, const std::vector<BlockSets>& blocks) {
    for (const BlockSets& block : blocks)
      if (block.distances) samples_.push_back({pitches_of(ordered, block.sample), block.distances});
  }

  double share() {
    double explained = 0;
    double all = 0;
    if (samples_.size() < 2) return 0;
    for (const auto& [distance, count] : *samples_.front().distances) {
      if (occurs_everywhere(distance)) continue;
      all += static_cast<double>(count);
      factors_.assign(samples_.front().pitches.size(), 0);
      explained += static_cast<double>(count) * best_share(0, distance);
    }
    return all > 0 ? explained / all : 0;
  }

 private:
  bool occurs_everywhere(std::int64_t distance) const {
    return std::ranges::all_of(
        samples_, [&](const Sample& sample) { return sample.distances->contains(distance); });
  }

  /// The largest share of the other samples with the same combination as `rest` in the first one,
  /// whose factors before `d` are chosen.
  double best_share(std::size_t d, std::int64_t rest) {
    const std::vector<std::int64_t>& pitches = samples_.front().pitches;
    if (d + 1 == pitches.size()) {
      factors_[d] = rest;
      return share_of_factors();
    }
    const std::int64_t down =
        rest >= 0 ? rest / pitches[d] : -((-rest + pitches[d] - 1) / pitches[d]);
    double best = 0;
    for (const std::int64_t factor : {down, down + 1}) {
      factors_[d] = factor;
      best = std::max(best, best_share(d + 1, rest - factor * pitches[d]));
    }
    return best;
  }

  double share_of_factors() const {
    std::size_t found = 0;
    for (std::size_t s = 1; s < samples_.size(); ++s) {
      std::int64_t distance = 0;
      for (std::size_t d = 0; d < factors_.size(); ++d)
        distance += factors_[d] * samples_[s].pitches[d];
      found += samples_[s].distances->contains(std::abs(distance)) ? 1 : 0;
    }
    return static_cast<double>(found) / static_cast<double>(samples_.size() - 1);
  }

  std::vector<Sample> samples_;
  std::vector<std::int64_t> factors_;  ///< one for each pitch
};

}  // namespace

double explained_distances(const std::vector<Dimension>& ordered,
                           const std::vector<BlockSets>& blocks) {
  return DistanceExplainer(ordered, blocks).share();
}

}  // namespace gpuexp::infer
