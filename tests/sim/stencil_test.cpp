// Cases that small stencil problems lack: interior blocks with accesses of every width, and several
// blocks that walk along z.
#include <array>
#include <map>

#include "family/registry.hpp"
#include "sim/recorded.hpp"
#include "simulated/simulated_executor.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

void check(const char* family_id, const std::map<std::string, Value>& extents) {
  const Family& family = *Registry::global().find(family_id);
  SimulatedOptions options;
  options.blocks = {ExecutedBlocks::kAll};
  const auto executor = make_simulated_executor(device(), kernels(), options);
  const Values values = values_with(family, extents);
  INFO(describe(family, values));
  executor->set_up(family, values, 7);
  for (const Variant& variant : family.variants) {
    INFO(variant.id);
    const Verification result = executor->verify(variant, Mode::cold);
    INFO((result.passed() ? "" : failure_of(result)));
    CHECK(result.passed());
  }
}

// Row lengths divisible by vectors of four, two and one; more than three blocks along each axis.
constexpr std::array<std::int64_t, 3> kRows{400, 398, 397};

TEST_CASE("planes with interior blocks are correct", "[stencil]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const std::int64_t nx : kRows) {
    for (std::int64_t radius = 1; radius <= 4; ++radius)
      check("stencil_2d", {{"nx", nx}, {"ny", std::int64_t{201}}, {"radius", radius}});
  }
}

TEST_CASE("volumes with interior blocks are correct", "[stencil]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const std::int64_t nx : kRows)
    check("stencil_3d", {{"nx", nx}, {"ny", std::int64_t{25}}, {"nz", std::int64_t{99}}});
}

}  // namespace
}  // namespace gpuexp::test
