// mma.sync when only addresses and times matter: the simulator sums products in fp32.
#include <cmath>
#include <cstring>

#include "sim/cluster.hpp"
#include "sim/recorded.hpp"

namespace gpuexp::test {
namespace {

/// All elements of the product that variant mma_sync computes from small matrices.
std::vector<double> product_of(const Changed& types, bool is_approximate) {
  const Family& family = family_of("matmul_tensor");
  const std::int64_t side = 64;
  Changed changed = types;
  for (const char* extent : {"m", "n", "k"})
    changed[extent] = side;
  Problem problem(family, values_with(family, changed));
  const Variant& variant = *family.find("mma_sync");
  const Steps steps = problem.host.steps(variant);
  for (const Step& step : steps.all()) {
    const auto& kernel = std::get<KernelStep>(step.action);
    sim::LaunchState launch = problem.simulator.launch_of(kernel);
    launch.is_approximate = is_approximate;
    for (std::int64_t y = 0; y < launch.grid.y; ++y) {
      for (std::int64_t x = 0; x < launch.grid.x; ++x)
        sim::Cluster(launch, {x, y, 0}).run();
    }
  }
  std::vector<double> elements;
  for (std::size_t i = 0; i < family.buffers.size(); ++i) {
    const Buffer& buffer = family.buffers[i];
    if (!is_output(buffer.role)) continue;
    const auto made = family.make_problem(values_with(family, changed));
    const DataType type = buffer.type(made.get());
    const auto* const bytes = reinterpret_cast<const unsigned char*>(problem.host.buffer(i).data());
    for (std::int64_t e = 0; e < buffer.count(made.get()); ++e)
      elements.push_back(to_double(bytes + static_cast<std::size_t>(e) * size_of(type), type));
  }
  REQUIRE(elements.size() == static_cast<std::size_t>(side * side));
  return elements;
}

TEST_CASE("products summed in fp32 match those of tensor cores except for rounding") {
  if (!has_machine_code()) return;
  struct Types {
    const char* dtype;
    const char* accumulate;
    double max_error;  ///< relative to the largest element
  };
  const auto [dtype, accumulate, max_error] =
      GENERATE(Types{"fp16", "fp32", 1e-6}, Types{"bf16", "fp32", 1e-6},
               Types{"tf32", "fp32", 1e-6}, Types{"fp16", "fp16", 1e-2});
  INFO(dtype << " in " << accumulate);
  const Changed types{
      {"dtype", std::string(dtype)},
      {"accumulate", std::string(accumulate)},
      {"output", std::string(std::strcmp(accumulate, "fp32") == 0 ? "fp32" : "same")}};
  const std::vector<double> exact = product_of(types, false);
  const std::vector<double> rough = product_of(types, true);
  double largest = 0;
  double most = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    REQUIRE(std::isfinite(exact[i]));
    largest = std::max(largest, std::abs(exact[i]));
    most = std::max(most, std::abs(rough[i] - exact[i]));
  }
  CHECK(largest > 1);
  CHECK(most > 0);  // the two results are computed differently
  CHECK(most <= max_error * largest);
}

}  // namespace
}  // namespace gpuexp::test
