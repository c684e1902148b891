#include "support/fake_family.hpp"

#include <vector>

#include "support/catch.hpp"

namespace gpuexp {

TEST_CASE("the fake registry is valid", "[fake]") {
  const Registry& registry = fake::registry();
  CHECK(registry.errors().empty());
  REQUIRE(registry.families().size() == 3);
  CHECK(registry.families().front().id == "matmul");
}

// Tests of verification depend on correct launches.
TEST_CASE("fake launches match their references", "[fake]") {
  for (const Family& family : fake::registry().families()) {
    Values values;
    for (const Parameter& p : family.parameters)
      values.push_back(p.is_extent ? Value(std::int64_t{13}) : p.default_value);
    const auto problem = family.make_problem(values);
    std::vector<std::vector<float>> buffers;
    std::vector<void*> pointers;
    for (const Buffer& b : family.buffers)
      buffers.emplace_back(static_cast<std::size_t>(b.count(problem.get())));
    for (auto& buffer : buffers)
      pointers.push_back(buffer.data());
    const auto data = family.make_data(pointers);
    fake::run_on_host(family.inputs(problem.get(), data.get(), 7));
    std::vector<double> value(buffers.back().size());
    std::vector<double> magnitude(buffers.back().size());
    family.host_reference(problem.get(), data.get(), {{value.data(), magnitude.data()}});
    const Tolerance tolerance = family.tolerance(problem.get());
    for (const Variant& variant : family.variants) {
      CAPTURE(family.id, variant.id);
      std::fill(buffers.back().begin(), buffers.back().end(), NAN);
      fake::run_on_host(variant.launch(problem.get(), data.get(), {DeviceSpec{}, nullptr}));
      for (std::size_t i = 0; i < value.size(); ++i) {
        const double error = std::abs(static_cast<double>(buffers.back()[i]) - value[i]);
        REQUIRE(error <= tolerance.absolute + tolerance.relative * magnitude[i]);
      }
    }
  }
}

}  // namespace gpuexp
