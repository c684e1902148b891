// L2 is set aside for a launch with an access policy window only while the launch runs.
#include <stdexcept>
#include <vector>

#include "device/device_error.hpp"
#include "family/registry.hpp"
#include "gpu/cache_flush.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST_CASE("L2 is set aside for the lifetime of the object", "[launcher][l2_set_aside]") {
  L2SetAside::clear();
  REQUIRE(L2SetAside::now() == 0);
  {
    const L2SetAside set_aside(4 * kMiB);
    CHECK(L2SetAside::now() >= 4 * kMiB);
  }
  CHECK(L2SetAside::now() == 0);
  {
    const L2SetAside none(0);
    CHECK(L2SetAside::now() == 0);
  }
  CHECK_THROWS_AS(L2SetAside(std::int64_t{1} << 40), DeviceError);
  CHECK(L2SetAside::now() == 0);
}

/// Family l2_persistence that records what is set aside when a launch is enqueued, and fails if
/// `fails` is set.
class Watched {
 public:
  Watched() : family_(*Registry::global().find("l2_persistence")) {
    for (Variant& variant : family_.variants) {
      const auto launch = variant.launch;
      variant.launch = [this, launch](const void* problem, const void* data,
                                      const LaunchContext& context) {
        return launch(problem, data, context) + OpaqueStep{"a look at L2", [this](Stream, int) {
                                                             seen.push_back(L2SetAside::now());
                                                             if (fails)
                                                               throw std::runtime_error("told to");
                                                           }};
      };
    }
  }

  const Variant& variant(const char* id) const { return *family_.find(id); }
  const Family& family() const { return family_; }
  Values values() const {
    return values_with(family_, {{"hot", std::int64_t{1000}},
                                 {"passes", std::int64_t{2}},
                                 {"streamed", std::int64_t{5000}},
                                 {"set_aside_mib", std::int64_t{4}}});
  }

  std::vector<std::int64_t> seen;
  bool fails = false;

 private:
  Family family_;
};

TEST_CASE("L2 is set aside for samples of a variant with a window, and only for them",
          "[launcher][l2_set_aside]") {
  Watched watched;
  const L2SetAside found(8 * kMiB);  // a process may start with L2 set aside
  const auto executor = make_cuda_executor(0, query_device(0, {}).spec);
  CHECK(L2SetAside::now() == 0);
  executor->set_up(watched.family(), watched.values(), 7);
  const Variant& window = watched.variant("window");
  const Variant& other = watched.variant("side_by_side");
  CHECK(executor->verify(window, Mode::warm).passed());
  CHECK(L2SetAside::now() == 0);
  executor->timer()->warm_up(window, Mode::warm, {1, 1});
  executor->timer()->warm_up(other, Mode::warm, {1, 1});
  CHECK(L2SetAside::now() == 0);

  watched.seen.clear();
  executor->timer()->sample({&window, &other, &window, &window}, Mode::warm,
                            [](std::size_t, const Sample&) {});
  CHECK(L2SetAside::now() == 0);
  // Each sample has its own priming launch, because lines do not persist between samples.
  REQUIRE(watched.seen.size() == 8);
  for (std::size_t i = 0; i < watched.seen.size(); ++i) {
    CAPTURE(i);
    const bool is_other = i == 2 || i == 3;
    CHECK((is_other ? watched.seen[i] == 0 : watched.seen[i] >= 4 * kMiB));
  }

  SECTION("also if a launch fails") {
    watched.fails = true;
    CHECK_THROWS(
        executor->timer()->sample({&window}, Mode::warm, [](std::size_t, const Sample&) {}));
    CHECK(watched.seen.back() >= 4 * kMiB);
    CHECK(L2SetAside::now() == 0);
    CHECK_THROWS(executor->launch(window, Mode::warm));
    CHECK(L2SetAside::now() == 0);
  }
}

}  // namespace
}  // namespace gpuexp::test
