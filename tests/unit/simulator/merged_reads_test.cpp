// Reads of several SMs that reach L2.
#include "model/merged_reads.hpp"

#include <utility>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

constexpr double kClocksPerNs = 1.98;

double share_within(std::size_t sms, double clocks, double dram_share = 0) {
  return share_to_l2(sms, clocks / kClocksPerNs, dram_share);
}

TEST_CASE("at most four simultaneous reads merge", "[merged_reads]") {
  CHECK(share_within(2, 1) == Approx(0.5).margin(0.01));
  CHECK(share_within(4, 1) == Approx(0.25).margin(0.01));
  CHECK(share_within(8, 1) == Approx(0.25).margin(0.01));
  CHECK(share_within(16, 1) == Approx(0.25).margin(0.01));
}

TEST_CASE("reads far apart in time, or of one SM, do not merge", "[merged_reads]") {
  CHECK(share_within(1, 1) == 1);
  CHECK(share_within(1, 1, 1) == 1);
  CHECK(share_within(2, 1e6) > 0.999);
  CHECK(share_within(16, 1e6) > 0.98);
}

TEST_CASE("reads from device memory can merge for longer", "[merged_reads]") {
  CHECK(share_within(2, 800, 1) < share_within(2, 800, 0) - 0.1);
  CHECK(share_within(2, 250, 1) == Approx(0.5).margin(0.01));
}

TEST_CASE("the share of merged reads equals an H200's", "[merged_reads]") {
  // docs/studies/caches/l2_merge_spread.csv
  constexpr std::pair<double, double> kOfSixteen[] = {{100, 0.258}, {200, 0.273},  {400, 0.333},
                                                      {800, 0.451}, {1600, 0.612}, {3200, 0.762}};
  for (const auto& [clocks, share] : kOfSixteen) {
    INFO(clocks);
    CHECK(share_within(16, clocks) == Approx(share).epsilon(0.1));
  }
  constexpr std::pair<double, double> kOfTwo[] = {{50, 0.5},    {100, 0.553}, {200, 0.682},
                                                  {400, 0.768}, {800, 0.861}, {1600, 0.931}};
  for (const auto& [clocks, share] : kOfTwo) {
    INFO(clocks);
    CHECK(share_within(2, clocks) == Approx(share).epsilon(0.05));
  }
}

TEST_CASE("the share of all reads is the mean by sectors", "[merged_reads]") {
  ReadsBySms reads;
  CHECK(share_to_l2(reads, 1, 0) == 1);
  reads.add(1, 100);
  CHECK(share_to_l2(reads, 1, 0) == 1);
  reads.add(4, 300);
  CHECK(share_to_l2(reads, 0.5, 0) == Approx((100 + 300 / 4.0) / 400).margin(0.01));
  ReadsBySms twice = reads;
  twice += reads;
  twice *= 0.5;
  CHECK(twice.of(4) == 300);
  CHECK(twice.of(1) == 100);
  CHECK(twice.of(2) == 0);
}

TEST_CASE("the first blocks fill one GPC after another", "[merged_reads]") {
  CHECK(gpc_of(0, 132) == 0);
  CHECK(gpc_of(15, 132) == 0);
  CHECK(gpc_of(17, 132) == 1);
  CHECK(gpc_of(131, 132) == 7);
  CHECK(gpc_of(3, 4) == 0);
}

}  // namespace
}  // namespace gpuexp::test
