// Results of the executor on the CPU: correct, wrong and refused launches.
#include "simulated/simulated_executor.hpp"

#include <map>

#include "sim/execution.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

const DeviceSpec& spec_of(const std::string& id) {
  static std::map<std::string, DeviceSpec> specs;
  const auto [found, is_new] = specs.try_emplace(id);
  if (is_new)
    found->second =
        read_device_spec(std::string(GPUEXP_SOURCE_DIR) + "/configs/devices/" + id + ".json").spec;
  return found->second;
}

/// A matrix product of 64 × 64 × 64, with a variant whose launch the tests replace.
struct Bench {
  Bench() : family(*Registry::global().find("matmul")) {
    for (Variant& v : family.variants) {
      if (v.id == "naive") naive = &v;
    }
    REQUIRE(naive);
    values = values_with(
        family, {{"m", std::int64_t{64}}, {"n", std::int64_t{64}}, {"k", std::int64_t{64}}});
    problem = family.make_problem(values);
  }

  Verification verify() {
    const auto executor = make_simulated_executor(device(), kernels(), options);
    executor->set_up(family, values, 1);
    return executor->verify(*naive, Mode::cold);
  }

  std::string refusal(const std::string& gpu = "h200") {
    return SimulationLimits(spec_of(gpu), kernels(), options).refusal(*naive, problem.get());
  }

  bool lacks_code_of(const std::string& gpu) {
    return SimulationLimits(spec_of(gpu), kernels(), options)
        .lacks_code_of_gpu(*naive, problem.get());
  }

  Family family;
  Variant* naive = nullptr;
  Values values;
  std::shared_ptr<const void> problem;
  SimulatedOptions options;
};

TEST_CASE("a simulated launch is compared with the host's reference", "[executor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  Bench b;
  SECTION("a correct launch passes") {
    const Verification v = b.verify();
    CHECK(v.passed());
    CHECK(v.checked == 64 * 64);
    CHECK(v.error_rms_rel > 0);
    CHECK(v.error_rms_rel < 1e-5);
  }
  SECTION("a launch that writes nothing is wrong in every element") {
    b.naive->launch = [](const void*, const void*, const LaunchContext&) { return Steps(); };
    const Verification v = b.verify();
    CHECK(!v.passed());
    CHECK(v.wrong == 64 * 64);
    REQUIRE(!v.first_wrong.empty());
    CHECK(v.first_wrong.front().index == 0);
  }
  SECTION("a launch that omits its last row is wrong there") {
    const auto right = b.naive->launch;
    const auto smaller = values_with(
        b.family, {{"m", std::int64_t{63}}, {"n", std::int64_t{64}}, {"k", std::int64_t{64}}});
    const auto problem = b.family.make_problem(smaller);
    b.naive->launch = [right, problem](const void*, const void* data, const LaunchContext& x) {
      return right(problem.get(), data, x);
    };
    const Verification v = b.verify();
    CHECK(v.wrong == 64);
    REQUIRE(!v.first_wrong.empty());
    CHECK(v.first_wrong.front().index == 63 * 64);
  }
  SECTION("a launch that writes to an input is reported") {
    const auto right = b.naive->launch;
    const auto data_of = b.family.make_data;
    void* input = nullptr;
    b.family.make_data = [&](const RankBuffers& buffers) {
      input = buffers.of_ranks.front().front();
      return data_of(buffers);
    };
    b.naive->launch = [&](const void* problem, const void* data, const LaunchContext& x) {
      return right(problem, data, x) + Steps(MemsetStep{input, 1, 4});
    };
    CHECK(b.verify().changed_input == b.family.buffers.front().name);
  }
  SECTION("a launch that reads beyond its buffers has a fault that names kernel and block") {
    const auto right = b.naive->launch;
    const auto larger = values_with(
        b.family, {{"m", std::int64_t{4096}}, {"n", std::int64_t{64}}, {"k", std::int64_t{64}}});
    const auto problem = b.family.make_problem(larger);
    b.naive->launch = [right, problem](const void*, const void* data, const LaunchContext& x) {
      return right(problem.get(), data, x);
    };
    try {
      b.verify();
      FAIL("no fault");
    } catch (const DeviceError& fault) {
      CHECK(fault.fault() == DeviceFault::refused);
      CHECK_THAT(fault.what(), contains_text("naive_kernel"));
      CHECK_THAT(fault.what(), contains_text("block ("));
    }
  }
  SECTION("a launch that takes too long is ended") {
    b.options.launch_timeout_s = 1e-9;
    try {
      b.verify();
      FAIL("no timeout");
    } catch (const DeviceError& fault) {
      CHECK(fault.fault() == DeviceFault::timed_out);
      CHECK_THAT(fault.what(), contains_text("--launch-timeout"));
    }
  }
  SECTION("an interrupt ends a launch") {
    b.options.interrupted = [] { return true; };
    try {
      b.verify();
      FAIL("not interrupted");
    } catch (const DeviceError& fault) {
      CHECK(fault.fault() == DeviceFault::interrupted);
    }
  }
}

TEST_CASE("every refusal has a reason", "[executor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  Bench b;
  CHECK(b.refusal() == "");
  SECTION("a library call") {
    b.naive->is_vendor = true;
    CHECK_THAT(b.refusal(), contains_text("library"));
  }
  SECTION("a problem that takes minutes and has dependent kernels") {
    b.problem = b.family.make_problem(values_with(
        b.family,
        {{"m", std::int64_t{4096}}, {"n", std::int64_t{4096}}, {"k", std::int64_t{4096}}}));
    CHECK(b.refusal() == "");
    const auto once = b.naive->launch;
    b.naive->launch = [once](const void* problem, const void* data, const LaunchContext& x) {
      return once(problem, data, x) + once(problem, data, x);
    };
    CHECK_THAT(b.refusal(), contains_text("several kernels"));
    b.options.blocks = {ExecutedBlocks::kAll};
    CHECK(b.refusal() == "");
  }
  SECTION("a GPU without machine code in the binary") {
    CHECK_FALSE(b.lacks_code_of("h200"));
    CHECK(b.lacks_code_of("t4"));
    CHECK_THAT(b.refusal("t4"),
               contains_text("no machine code of the kernel for compute capability 7.5"));
  }
}

}  // namespace
}  // namespace gpuexp::test
