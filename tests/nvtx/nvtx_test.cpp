// NVTX ranges of a run without a GPU: a fake executor, with the real runner and tracer.
#include <cstdlib>

#include <dlfcn.h>

#include "gpu/nvtx_tracer.hpp"
#include "run/runner.hpp"
#include "support/catch.hpp"
#include "support/fake_executor.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("a run marks its cells and their phases as NVTX ranges in the domain gpuexp") {
  REQUIRE(setenv("NVTX_INJECTION64_PATH", GPUEXP_NVTX_INJECTION, 1) == 0);
  const Family family = toy_family();
  Config config;
  Experiment e;
  e.name = "lesson";
  e.family = &family;
  e.variants = {family.find("first"), family.find("vendor")};
  e.modes = {Mode::warm};
  e.measure.min_samples = 1;
  e.measure.max_samples = 1;
  config.experiments.push_back(e);
  const KernelResources resources;
  const Plan plan = make_plan(config, toy_device(), resources, std::int64_t{1} << 40);
  FakeExecutor executor;
  RunObserver observer;
  run_plan(plan, resources, executor, *make_nvtx_tracer(), observer, {});

  void* injection = dlopen(GPUEXP_NVTX_INJECTION, RTLD_NOW | RTLD_NOLOAD);
  INFO("NVTX did not load the injection library");
  REQUIRE(injection != nullptr);
  const auto recorded =
      reinterpret_cast<const char* (*)()>(dlsym(injection, "recorded_nvtx_events"));
  const std::string key = "push gpuexp lesson/toy/first/n=1024,share=0.5,width=narrow/warm\n";
  const std::string pop = "pop gpuexp\n";
  CHECK(std::string(recorded()) ==
        "domain gpuexp\n"
        "push gpuexp floor\n" +
            pop +                                                                 //
            key + "push gpuexp verify\npush gpuexp set-up\n" + pop + pop + pop +  //
            key + "push gpuexp warm-up\n" + pop + pop +                           //
            key + "push gpuexp measure\n" + pop + pop +                           //
            key + "push gpuexp verify\n" + pop + pop);
}

}  // namespace
}  // namespace gpuexp::test
