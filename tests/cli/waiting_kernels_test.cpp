// Kernel files whose blocks wait for each other, and launches that do not end.
#include <string>

#include "cli/add_kernels.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// Each block waits until the block after it has stored a flag, except for the last one.
const std::string kWaitsForLater = R"(// gpuexp: n = 4096
// gpuexp: in x[n]
// gpuexp: out z[n]
// gpuexp: workspace flags[n/256]
// gpuexp: wait = memset(flags, 0); wait<<<n/256, 256>>>
// gpuexp: check z[i] = x[i]
__global__ void wait(const float* x, float* z, int* flags) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  z[i] = x[i];
  if (threadIdx.x == 0) {
    volatile int* const next = flags + blockIdx.x + 1;
    while (blockIdx.x + 1 < gridDim.x && *next == 0) {
    }
    atomicExch(flags + blockIdx.x, 1);
  }
  __syncthreads();
}
)";

/// kWaitsForLater with one part replaced.
std::string waiting_with(const std::string& part, const std::string& by) {
  std::string text = kWaitsForLater;
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

const std::string kReason =
    "its block waits for a value in global memory: blocks that wait for blocks that start later "
    "never end in the simulator, which starts blocks in order, each after earlier ones have ended";

std::string verified(const std::string& file) {
  const Outcome outcome = gpuexp("verify " + file + kSimulated + " --launch-timeout 1");
  CHECK(outcome.exit_code == 4);
  return outcome.output;
}

}  // namespace

TEST_CASE("a timeout of blocks that wait for later blocks says so, with the line",
          "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string output = verified(folder.write("wait.cu", kWaitsForLater));
  INFO(output);
  CHECK_THAT(output,
             contains_text("did not end within 1 s of simulation (--launch-timeout); a warp "
                           "was at wait.cu:12; " +
                           kReason));
}

TEST_CASE("a timeout of a kernel that computes does not say that it waits", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string output =
      verified(folder.write("busy.cu", waiting_with("*next == 0", "(*next += 1) != -1")));
  INFO(output);
  CHECK_THAT(output,
             contains_text("did not end within 1 s of simulation (--launch-timeout); a warp "
                           "was at busy.cu:12"));
  CHECK_THAT(output, !contains_text("waits for a value"));
}

TEST_CASE("blocks that wait for earlier blocks pass", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write(
      "wait.cu", waiting_with("flags + blockIdx.x + 1;", "flags + max(int(blockIdx.x) - 1, 0);"));
  std::string text = read_file(file);
  const std::string last = "blockIdx.x + 1 < gridDim.x";
  text.replace(text.find(last), last.size(), "blockIdx.x > 0");
  CHECK(verified_rows(folder.write("wait.cu", text)).at(0)["status"] == "passed");
}

TEST_CASE("annotate of blocks that wait for later blocks says so", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const Outcome outcome = gpuexp("annotate " + folder.write("wait.cu", kWaitsForLater));
  INFO(outcome.output);
  CHECK(outcome.exit_code == 4);
  CHECK_THAT(outcome.output, contains_text("wait.cu:12") && contains_text(kReason));
}

TEST_CASE("a kernel that synchronizes its grid is refused with the reason", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string kernel = R"(// gpuexp: n = 1024
// gpuexp: in x[n]
// gpuexp: out z[n]
// gpuexp: sum<<<n/256, 256>>>
// gpuexp: check z[i] = x[i]
#include <cooperative_groups.h>
__global__ void sum(const float* x, float* z) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  cooperative_groups::this_grid().sync();
  z[i] = x[i];
}
)";
  const std::string file = folder.write("grid.cu", kernel);
  for (const char* gpu : {"h200", "a100_sxm4_80gb", "rtx_4090"}) {
    const Outcome outcome = gpuexp("verify " + file + " --simulate " + gpu);
    INFO(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.output,
               contains_text("grid.cu:4:12: sum synchronizes the whole grid (cooperative groups); "
                             "grid-wide synchronization needs a cooperative launch, which a "
                             "declaration does not make"));
  }
  std::string of_block = kernel;
  const std::string group = "this_grid";
  of_block.replace(of_block.find(group), group.size(), "this_thread_block");
  CHECK(verified_rows(folder.write("block.cu", of_block)).at(0)["status"] == "passed");
}

}  // namespace gpuexp::test
