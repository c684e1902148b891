#include "family/warp_access.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("global accesses: sectors and wavefronts as an H200 counts them") {
  const auto strided = [](int bytes, std::int64_t stride, std::int64_t first = 0) {
    const Accesses a = global_access(bytes, stride, first);
    CHECK(a.requests == 1);
    return std::pair{a.sectors, a.wavefronts};
  };
  CHECK(strided(4, 1) == std::pair{4.0, 1.0});
  CHECK(strided(4, 1, 1) == std::pair{5.0, 1.0});
  CHECK(strided(4, 1, 8) == std::pair{4.0, 1.0});
  CHECK(strided(4, 2) == std::pair{8.0, 2.0});
  CHECK(strided(4, 8) == std::pair{32.0, 8.0});
  CHECK(strided(4, 16) == std::pair{32.0, 16.0});
  CHECK(strided(4, 32) == std::pair{32.0, 32.0});
  CHECK(strided(4, 0) == std::pair{1.0, 1.0});
  CHECK(strided(8, 1) == std::pair{8.0, 2.0});
  CHECK(strided(16, 1) == std::pair{16.0, 4.0});
  CHECK(strided(2, 1) == std::pair{2.0, 0.5 + 0.5});
}

TEST_CASE("L1 looks up four lines per turn where they lie in different banks of its tags") {
  const auto wavefronts = [](int count, int apart) {
    std::vector<std::int64_t> lines;
    for (int i = 0; i < count; ++i)
      lines.push_back(std::int64_t{i} * apart);
    return tag_wavefronts(lines);
  };
  CHECK(wavefronts(1, 1) == 1);
  CHECK(wavefronts(4, 1) == 1);
  CHECK(wavefronts(8, 1) == 2);
  CHECK(wavefronts(32, 1) == 8);
  CHECK(wavefronts(32, 32) == 8);
  CHECK(wavefronts(32, 5) > 8);
  CHECK(global_access(4, 32).tag_wavefronts == 8);
  CHECK(rows_access(1, 128, 4096).tag_wavefronts == 1);
  CHECK(rows_access(16, 128, 4096).tag_wavefronts == 4);
}

TEST_CASE("data that L1 lacks take a wavefront for each one of its tags") {
  const auto column = [](int pitch) { return [=](int lane) { return 4 * pitch * lane; }; };
  const auto missed = global_access(4, column(1023));
  const auto found = global_access_in_l1(4, lane_offsets(column(1023)));
  CHECK(missed.sectors == 32);
  CHECK(missed.wavefronts == missed.tag_wavefronts);
  CHECK(found.wavefronts == 1);
  CHECK(found.tag_wavefronts == missed.tag_wavefronts);
  CHECK(found.tag_wavefronts >= 8);
  CHECK(global_access_in_l1(4, lane_offsets(column(1024))).wavefronts == 32);
}

TEST_CASE("tag-stage wavefronts down a column are those that an H200 counts") {
  // docs/results/h200/all.csv, matmul.row_pitch: l1_tag_wavefronts per step of `naive`, less one
  // for B.
  const std::pair<int, double> counted[] = {{992, 11.95}, {1008, 10.24}, {1016, 10.68},
                                            {1020, 9.19}, {1022, 9.17},  {1023, 9.01},
                                            {1024, 8.82}, {1025, 9.00}};
  for (const auto& [pitch, wavefronts] : counted) {
    CAPTURE(pitch);
    CHECK(column_access_in_l1(pitch).tag_wavefronts == Approx(wavefronts).epsilon(0.15));
  }
  CHECK(column_access_in_l1(1023).wavefronts == 1);
  CHECK(column_access_in_l1(1024).wavefronts == 32);
  CHECK(column_access_in_l1(1024, 5).sectors == 5);
}

TEST_CASE("lines that all lanes miss are looked up again") {
  CHECK(global_access_missing(4, 32).tag_wavefronts == 16);
  CHECK(global_access_missing(4, 33).wavefronts == 16);
  CHECK(global_access_missing(4, 32).wavefronts == 32);  // all in one bank
  CHECK(global_access_missing(4, 8).tag_wavefronts == global_access(4, 8).tag_wavefronts);
}

TEST_CASE("shared accesses: bank conflicts") {
  CHECK(shared_access(4).wavefronts == 1);
  CHECK(shared_access(4, 0).wavefronts == 1);
  CHECK(shared_access(4, 2).wavefronts == 2);
  CHECK(shared_access(4, 32).wavefronts == 32);
  CHECK(shared_access(4, 33).wavefronts == 1);
  CHECK(shared_access(8).wavefronts == 2);
  CHECK(shared_access(16).wavefronts == 4);
  // A broadcast, which goes in halves.
  CHECK(shared_access(16, [](int) { return 0; }).wavefronts == 2);
  CHECK(shared_access(2).wavefronts == 1);
}

TEST_CASE("accesses add up") {
  const Accesses a = 3.0 * global_access(4) + 2.0 * Accesses{1, 1, 1};
  CHECK(a.requests == 5);
  CHECK(a.sectors == 14);
  CHECK(a.wavefronts == 5);
}

}  // namespace
}  // namespace gpuexp::test
