// Runs the GPU tests. Without a usable GPU it exits with kSkipped, which ctest shows as skipped, or
// fails if GPUEXP_REQUIRE_GPU=1.
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "gpu/broken_family.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "gpu/nvtx_tracer.hpp"
#include "support/skip.hpp"
#include "base/process.hpp"
#include "worker/serve.hpp"

namespace {

// Worker for tests of faults, with the broken family registered.
[[noreturn]] void work() {
  gpuexp::Registry registry;
  registry.add(gpuexp::test::broken_family());
  gpuexp::Channel channel(gpuexp::ChildProcess::kChannelDescriptor);
  channel.send("ready");
  gpuexp::serve(
      channel, registry,
      [] { return gpuexp::make_cuda_executor(0, gpuexp::query_device(0, {}).spec); },
      *gpuexp::make_nvtx_tracer());
  std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "worker") == 0) work();
  if (const auto reason = gpuexp::no_device_reason()) {
    const bool must_run = gpuexp::test::is_required(gpuexp::test::Tier::gpu);
    std::cerr << (must_run ? "failed" : "skipped") << ": no GPU: " << *reason << "\n";
    return must_run ? 1 : gpuexp::test::kSkipped;
  }
  return gpuexp::test::run_tests(argc, argv);
}
