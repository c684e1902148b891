// Cases that small attention problems lack: several key tiles, some hidden and some cut by the
// mask, queries with no visible key, heads that share keys, and dropout at each head dimension.
#include "sim/execution.hpp"

namespace gpuexp::test {
namespace {

const std::string kTypes[] = {"bf16", "fp16"};
constexpr std::int64_t kDims[] = {64, 96, 128};

Changed problem_of(std::int64_t queries, std::int64_t keys, std::int64_t dim,
                   const std::string& type, const std::string& mask) {
  return {{"heads", std::int64_t{2}}, {"queries", queries}, {"keys", keys},
          {"head_dim", dim},          {"dtype", type},      {"mask", mask}};
}

// More keys than queries, as with a key/value cache, and fewer: then the first queries are fully
// masked.
TEST_CASE("attention over several key tiles is correct", "[attention]") {
  if (!has_machine_code()) return;
  const Family& family = family_of("attention");
  for (const std::string& type : kTypes) {
    for (const std::int64_t dim : kDims) {
      for (const char* mask : {"full", "causal", "window"}) {
        Changed problem = problem_of(200, 333, dim, type, mask);
        problem["window"] = std::int64_t{70};
        CHECK(check_variants(family, problem) == 8);
      }
      CHECK(check_variants(family, problem_of(300, 129, dim, type, "causal")) == 8);
    }
  }
}

TEST_CASE("grouped-query attention is correct", "[attention]") {
  if (!has_machine_code()) return;
  Changed problem = problem_of(131, 140, 64, "fp16", "causal");
  problem["batch"] = std::int64_t{2};
  problem["heads"] = std::int64_t{6};
  problem["group"] = std::int64_t{3};
  CHECK(check_variants(family_of("attention"), problem) == 8);
}

TEST_CASE("every variant drops the same attention weights", "[attention]") {
  if (!has_machine_code()) return;
  for (const std::int64_t dim : kDims) {
    Changed problem = problem_of(150, 301, dim, "bf16", "causal");
    problem["dropout"] = 0.25;
    CHECK(check_variants(family_of("attention"), problem) == 3);
  }
}

TEST_CASE("partial results over ranges of keys are combined", "[attention]") {
  if (!has_machine_code()) return;
  const Family& family = family_of("attention_decode");
  for (const std::int64_t dim : kDims) {
    for (const std::int64_t queries : {1, 3}) {
      Changed problem = problem_of(queries, 1300, dim, "fp16", "window");
      problem["heads"] = std::int64_t{8};
      problem["group"] = std::int64_t{4};
      problem["window"] = std::int64_t{500};
      CHECK(check_variants(family, problem) == 3);
    }
  }
}

TEST_CASE("a number of heads that is not a multiple of the group is refused", "[attention]") {
  const Family& family = family_of("attention");
  const auto problem = family.make_problem(
      values_with(family, {{"heads", std::int64_t{6}}, {"group", std::int64_t{4}}}));
  CHECK(family.unsupported(problem.get(), device()));
}

}  // namespace
}  // namespace gpuexp::test
