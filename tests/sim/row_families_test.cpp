// Cases that small problems of the row-wise families lack: rows with several vectors per thread,
// several blocks or any alignment, scores too large for a softmax without maximum, and means too
// large for sums of squares.
#include <algorithm>
#include <cmath>
#include <map>

#include "sim/execution.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

// A prime, a multiple of a vector plus one, the capacity of one block, and that of eight.
TEST_CASE("long rows are correct at any alignment", "[rows]") {
  if (!has_machine_code()) return;
  constexpr std::int64_t kFewRows = 3;
  constexpr std::int64_t kColumns[] = {1009, 4104, 8193, 32768, 65536, 131071, 262144};
  // Minimum number of variants that support every row length.
  const std::map<std::string, std::size_t> families{
      {"softmax", 3},       {"softmax_backward", 3}, {"cross_entropy", 3},
      {"normalization", 5}, {"residual_norm", 1},    {"normalization_backward", 1}};
  for (const auto& [id, least] : families) {
    const Family& family = family_of(id.c_str());
    for (const char* type : {"fp32", "bf16"}) {
      for (const std::int64_t columns : kColumns) {
        const std::size_t ran = check_variants(
            family,
            Changed{{"rows", kFewRows}, {"columns", columns}, {"dtype", std::string(type)}});
        CHECK(ran >= (columns < 8192 ? std::max<std::size_t>(least, 3) : least));
      }
    }
  }
}

// Several rows per block, in both norms, test the values that blocks keep between rows.
TEST_CASE("norms whose blocks process several rows are correct", "[rows]") {
  if (!has_machine_code()) return;
  constexpr std::int64_t kManyRows = 1200, kLongRow = 1024;
  for (const char* id : {"normalization", "normalization_backward"}) {
    for (const char* norm : {"layernorm", "rmsnorm"}) {
      CHECK(check_variants(family_of(id), Changed{{"rows", kManyRows},
                                                  {"columns", kLongRow},
                                                  {"dtype", std::string("bf16")},
                                                  {"norm", std::string(norm)}}) >= 5);
    }
  }
}

/// Verification of a variant that is executed even if it refuses the problem.
Verification verified(const Family& family, const char* variant, const Changed& changed) {
  const auto executor = make_simulated_executor(device(), kernels(), {});
  executor->set_up(family, values_with(family, changed), 7);
  return executor->verify(*family.find(variant), Mode::cold);
}
bool is_refused(const Family& family, const char* variant, const char* parameter, double value) {
  const auto problem = family.make_problem(values_with(family, {{parameter, value}}));
  return family.find(variant)->unsupported(problem.get(), device()).has_value();
}

// Rows arrive while earlier ones are processed. Each persistent block has enough rows to reuse
// every slot of its ring; rows are handled by one, two and eight blocks.
TEST_CASE("rows copied into rings are correct", "[rows]") {
  if (!has_machine_code()) return;
  const std::pair<std::int64_t, std::int64_t> shapes[] = {{1200, 136}, {300, 49152}, {60, 262144}};
  for (const char* id : {"softmax", "softmax_backward"}) {
    for (const auto& [rows, columns] : shapes) {
      CAPTURE(id, rows, columns);
      CHECK(verified(family_of(id), "bulk_ring",
                     {{"rows", rows}, {"columns", columns}, {"dtype", std::string("bf16")}})
                .passed());
    }
  }
}

TEST_CASE("without the maximum, large scores become NaN", "[rows]") {
  if (!has_machine_code()) return;
  const Family& family = family_of("softmax");
  const auto scores = [](double scale) {
    return Changed{{"rows", std::int64_t{5}}, {"columns", std::int64_t{100}}, {"scale", scale}};
  };
  CHECK_FALSE(is_refused(family, "naive", "scale", 80));
  CHECK(is_refused(family, "naive", "scale", 1000));
  CHECK(verified(family, "naive", scores(80)).passed());
  const Verification wrong = verified(family, "naive", scores(1000));
  CHECK_FALSE(wrong.passed());
  CHECK(std::any_of(wrong.first_wrong.begin(), wrong.first_wrong.end(),
                    [](const Mismatch& m) { return std::isnan(m.got); }));
  CHECK(verified(family, "three_pass", scores(1000)).passed());
}

TEST_CASE("sums of squares lose precision with a large mean", "[rows]") {
  if (!has_machine_code()) return;
  const Family& family = family_of("normalization");
  // Enough elements that their individual errors exceed the allowed total.
  const auto numbers = [](double offset) {
    return Changed{{"rows", std::int64_t{64}}, {"columns", std::int64_t{4096}}, {"offset", offset}};
  };
  CHECK_FALSE(is_refused(family, "sums", "offset", 1));
  CHECK(is_refused(family, "sums", "offset", 100));
  CHECK(verified(family, "sums", numbers(1)).passed());
  CHECK_FALSE(verified(family, "sums", numbers(100)).passed());
  for (const char* variant : {"two_pass", "welford", "vectors", "one_wait"})
    CHECK(verified(family, variant, numbers(100)).passed());
}

}  // namespace
}  // namespace gpuexp::test
