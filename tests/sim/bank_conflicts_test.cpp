// Wavefronts that bank_conflicts computes for its layouts, compared with those that the simulator
// counts.
#include <map>
#include <numeric>
#include <string>

#include "family/registry.hpp"
#include "sim/recorded.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kBlocks = 3;
constexpr std::int64_t kPasses = 7;
constexpr std::int64_t kWarps = 8;  // per block
constexpr std::int64_t kLoads = 8;  // per warp and pass
constexpr std::int64_t kLargestStride = 33;

const Family& family() {
  return *Registry::global().find("bank_conflicts");
}

Values values_of_stride(std::int64_t stride) {
  return values_with(family(), {{"blocks", kBlocks}, {"passes", kPasses}, {"stride", stride}});
}

std::map<std::string, double> metrics_of(const Variant& variant, const void* problem) {
  std::map<std::string, double> metrics;
  for (const auto& [name, value] : variant.metrics(problem, device()))
    metrics[name] = value;
  return metrics;
}

bool is_supported(const Variant& variant, const void* problem) {
  return !variant.unsupported || !variant.unsupported(problem, device());
}

TEST_CASE("each layout takes the computed number of requests and wavefronts", "[bank_conflicts]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (std::int64_t stride = 1; stride <= kLargestStride; ++stride) {
    Problem problem(family(), values_of_stride(stride));
    for (const Variant& variant : family().variants) {
      if (!is_supported(variant, problem.host.problem())) continue;
      INFO(variant.id << " at stride " << stride);
      const auto executions = problem.host.launch(variant);
      REQUIRE(executions.size() == 1);
      const sim::MemoryCounts& counted = executions.front().memory;
      auto metrics = metrics_of(variant, problem.host.problem());
      CHECK(metrics["requests"] == kBlocks * kPasses * kWarps * kLoads);
      CHECK(static_cast<double>(counted.shared_load_wavefronts) ==
            metrics["requests"] * metrics["wavefronts_per_request"]);
      CHECK((counted.shared_conflicts == 0) == (metrics["conflict_degree"] == 1));
      // Stores that fill the tile, without bank conflicts.
      CHECK(counted.shared_store_wavefronts == kBlocks * kWarps * kLoads);
    }
  }
}

TEST_CASE("conflict degrees match the layouts", "[bank_conflicts]") {
  const auto degree = [](const char* variant, std::int64_t stride) {
    const auto problem = family().make_problem(values_of_stride(stride));
    return metrics_of(*family().find(variant), problem.get())["conflict_degree"];
  };
  const auto wavefronts = [](const char* variant, std::int64_t stride) {
    const auto problem = family().make_problem(values_of_stride(stride));
    return metrics_of(*family().find(variant), problem.get())["wavefronts_per_request"];
  };
  for (std::int64_t stride = 1; stride <= kLargestStride; ++stride) {
    INFO(stride);
    const auto conflicting = static_cast<double>(std::gcd(stride, std::int64_t{32}));
    CHECK(degree("load_4b", stride) == conflicting);
    CHECK(wavefronts("load_4b", stride) == conflicting);
    if (stride % 2 == 0) {
      CHECK(degree("load_8b", stride) == conflicting / 2);
      CHECK(wavefronts("load_8b", stride) == conflicting);
    }
    if (stride % 4 == 0) {
      CHECK(degree("load_16b", stride) == conflicting / 4);
      CHECK(wavefronts("load_16b", stride) == conflicting);
    }
  }
  for (const char* variant : {"contiguous", "broadcast", "column_padded", "column_xor",
                              "ldmatrix_padded", "ldmatrix_xor"}) {
    INFO(variant);
    CHECK(degree(variant, 1) == 1);
  }
  CHECK(degree("column", 1) == 32);
  CHECK(degree("ldmatrix", 1) == 8);
  CHECK(wavefronts("ldmatrix", 1) == 32);
  CHECK(wavefronts("ldmatrix_xor", 1) == 4);
}

TEST_CASE("requests per SM are those of the busiest SM", "[bank_conflicts]") {
  const auto requests = [](std::int64_t blocks) {
    const auto problem =
        family().make_problem(values_with(family(), {{"blocks", blocks}, {"passes", kPasses}}));
    return metrics_of(*family().find("contiguous"), problem.get())["requests_per_sm"];
  };
  CHECK(device().sm_count == 132);
  CHECK(requests(1) == kPasses * kWarps * kLoads);
  CHECK(requests(132) == kPasses * kWarps * kLoads);
  CHECK(requests(133) == 2 * kPasses * kWarps * kLoads);
}

}  // namespace
}  // namespace gpuexp::test
