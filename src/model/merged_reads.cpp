#include "model/merged_reads.hpp"

#include <algorithm>

#include "timing/latency_spread.hpp"

namespace gpuexp {

namespace {

constexpr std::size_t kMaxMergedReads = 4;  // eight simultaneous reads become two reads of L2

/// Time for which other reads can join a read, and the share of reads with a longer time.
template <std::size_t kKnots>
struct Window {
  std::array<double, kKnots> clocks;
  std::array<double, kKnots> shares;

  double ns_at(double share) const {
    constexpr double kClocksPerNs = 1.98;  // clock of the measured SMs
    std::size_t i = 1;
    while (i + 1 < kKnots && shares[i] > share)
      ++i;
    const double part = (shares[i - 1] - share) / (shares[i - 1] - shares[i]);
    return (clocks[i - 1] + part * (clocks[i] - clocks[i - 1])) / kClocksPerNs;
  }
};

// Measured on an H200, and similar on an H100 (docs/studies/caches/l2_merge_window.csv). Three in
// ten lines in L2 have longer times than other lines; the cause is not known.
constexpr Window<11> kFromL2{{0, 16, 32, 64, 96, 128, 160, 192, 224, 256, 320},
                             {1.001, 1, 0.955, 0.667, 0.296, 0.283, 0.281, 0.269, 0.193, 0.083, 0}};
constexpr Window<8> kFromDram{{0, 256, 384, 512, 640, 768, 1024, 1200},
                              {1.001, 1, 0.565, 0.276, 0.095, 0.063, 0.010, 0}};

// Number of the reads at these ascending times that reach L2. The time for which reads can join is
// a property of the line.
std::size_t reads_of_l2(const double* begin, const double* end, double dram_share,
                        ShareDraw& draw) {
  const double share = draw.next();
  std::size_t reads = 0;
  while (begin != end) {
    const bool is_from_dram = draw.next() < dram_share;
    const double until = *begin + (is_from_dram ? kFromDram.ns_at(share) : kFromL2.ns_at(share));
    const double* const last = std::min(end, begin + kMaxMergedReads);
    begin = std::find_if(begin + 1, last, [&](double when) { return when > until; });
    ++reads;
  }
  return reads;
}

}  // namespace

std::int64_t gpc_of(std::int64_t sm, std::int64_t sms) {
  constexpr auto kSms = static_cast<std::int64_t>(kSmsOfGpc);
  const std::int64_t gpcs = std::max<std::int64_t>(1, (sms + kSms / 2) / kSms);
  return sm * gpcs / sms;
}

void ReadsBySms::add(std::size_t sms, double sectors) {
  sectors_[std::min(sms, kSmsOfGpc)] += sectors;
}

ReadsBySms& ReadsBySms::operator+=(const ReadsBySms& more) {
  for (std::size_t i = 0; i < sectors_.size(); ++i)
    sectors_[i] += more.sectors_[i];
  return *this;
}

ReadsBySms& ReadsBySms::operator*=(double times) {
  for (double& sectors : sectors_)
    sectors *= times;
  return *this;
}

double share_to_l2(std::size_t sms, double spread_ns, double dram_share) {
  if (sms < 2) return 1;
  constexpr std::size_t kDraws = 2000;
  ShareDraw draw;
  std::array<double, kSmsOfGpc> times{};
  const std::size_t count = std::min(sms, kSmsOfGpc);
  std::size_t reads = 0;
  for (std::size_t i = 0; i < kDraws; ++i) {
    std::generate_n(times.begin(), count, [&] { return spread_ns * draw.next(); });
    std::sort(times.begin(), times.begin() + count);
    reads += reads_of_l2(times.data(), times.data() + count, dram_share, draw);
  }
  return static_cast<double>(reads) / static_cast<double>(kDraws * count);
}

double share_to_l2(const ReadsBySms& reads, double spread_ns, double dram_share) {
  const auto share_of = [&](double share_of_dram) {
    double requested = 0;
    double reach = 0;
    for (std::size_t sms = 1; sms <= kSmsOfGpc; ++sms) {
      if (reads.of(sms) == 0) continue;
      requested += reads.of(sms);
      reach += reads.of(sms) * share_to_l2(sms, spread_ns, share_of_dram);
    }
    return requested > 0 ? reach / requested : 1;
  };
  // If fewer reads reach L2, device memory still delivers the same number of sectors.
  const double share = share_of(dram_share);
  const double share_of_fewer = std::min(1.0, dram_share / share);
  return share_of_fewer == dram_share ? share : share_of(share_of_fewer);
}

}  // namespace gpuexp
