// `tune` of users' kernel files.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/add_kernels.hpp"
#include "cli/program.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// The lines of the text that begin with the prefix, blanks before it ignored.
std::vector<std::string> lines_with(const std::string& text, const std::string& prefix) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != std::string::npos && line.compare(begin, prefix.size(), prefix) == 0)
      found.push_back(line);
  }
  return found;
}

TEST_CASE("tune ranks the points by predicted time and names the skipped ones", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("tuned.cu", kTuned);
  const Outcome ranked = gpuexp("tune " + file + " --gpu h200 --best 2");
  INFO(ranked.output);
  CHECK(ranked.exit_code == 0);
  CHECK_THAT(ranked.output,
             contains_text("tuning of tuned.cu for NVIDIA H200 SXM 141GB: 8 points; predictions "));
  CHECK_THAT(ranked.output, contains_text("\nn = 16384, cold\n"));
  CHECK_THAT(ranked.output, contains_text("rank  PER  THREADS  predicted  bound by\n"));
  CHECK(lines_with(ranked.output, "1 ").size() == 1);
  CHECK(lines_with(ranked.output, "2 ").size() == 1);
  CHECK(lines_with(ranked.output, "3 slower points (--best 5)").size() == 1);
  CHECK_THAT(
      ranked.output,
      contains_text("skipped: PER=64, THREADS=256: does not compile for sm_90a: tuned.cu(11): "
                    "error: static assertion failed with \"too many elements per block\""));
  CHECK_THAT(ranked.output, contains_text("skipped: 2 points: requires PER != 3\n"));
  CHECK_THAT(
      ranked.output,
      contains_text("predicted only: no point was verified or measured; with --simulate h200 "
                    "instead of --gpu, the best points are verified\n"));
  CHECK_THAT(ranked.output, !contains_text("measured  status"));
}

TEST_CASE("tune executes the best points, and writes results like run", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("tuned.cu", kTuned);
  const std::string out = folder.path("out");
  const Outcome tuned = gpuexp("tune " + file + kSimulated + " --best 2 --out " + out);
  INFO(tuned.output);
  CHECK(tuned.exit_code == 0);
  CHECK_THAT(tuned.output,
             contains_text("executed in the simulator: the best 2 points were verified, no point "
                           "was measured"));
  const auto rows = nlohmann::json::parse(read_file(out + "/results.json"))["rows"];
  std::map<std::string, int> statuses;
  for (const auto& row : rows)
    ++statuses[row["status"]];
  CHECK(rows.size() == 8);
  CHECK(statuses["passed"] == 2);
  CHECK(statuses["skipped"] == 6);
  CHECK_THAT(rows.dump(), contains_text(": only the best 2 are executed"));
  const Outcome all = gpuexp("tune " + file + kSimulated +
                             " --set PER=4 --set THREADS=32,256 --out " + folder.path("all"));
  CHECK_THAT(all.output,
             contains_text("executed in the simulator: 2 points were verified, no point was "
                           "measured") &&
                 !contains_text("the best 10"));
}

/// `tiled` ends with a trap if PER is 8, stores beyond the output if it is 4, and reads what
/// nothing has written if it is 16. `plain` does not use PER.
const std::string kBeyond = R"(
// gpuexp: n = 4096
// gpuexp: PER = 1, 2, 4, 8, 16
// gpuexp: x[n] y[n]
// gpuexp: plain = plain<<<n/256, 256>>>
// gpuexp: tiled = tiled<PER><<<n/256, 256>>>
// gpuexp: check y[i] = x[i]
__global__ void plain(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i];
}
template <int PER>
__global__ void tiled(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (PER == 8) __trap();
  y[PER == 4 ? i + 1 : i] = PER == 16 ? y[i] + 1 : x[i];
}
)";

TEST_CASE("tune does not rank points that fault, and shows parameters without use as -",
          "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("beyond.cu", kBeyond);
  const Outcome ranked = gpuexp("tune " + file + " --gpu h200");
  INFO(ranked.output);
  CHECK(ranked.exit_code == 0);
  CHECK(lines_with(ranked.output, "1 ").size() == 1);
  CHECK_THAT(ranked.output, contains_text("  plain      -  ") && contains_text("  tiled      2  "));
  CHECK_THAT(ranked.output, !contains_text("  tiled      8  "));
  CHECK_THAT(ranked.output, contains_text("skipped: tiled, PER=8: its kernel faults: "));
  CHECK_THAT(ranked.output, !contains_text("  tiled      4  "));
  CHECK_THAT(
      ranked.output,
      contains_text("skipped: tiled, PER=4: its kernel faults: beyond.cu:16, block (15, 0, 0)") &&
          contains_text("are outside of every buffer"));
  CHECK_THAT(ranked.output, contains_text("  tiled     16  "));
  const Outcome verified = gpuexp("tune " + file + kSimulated + " --out " + folder.path("out"));
  INFO(verified.output);
  CHECK(verified.exit_code == 4);
  CHECK_THAT(verified.output, !contains_text("  tiled      4  "));
  CHECK_THAT(verified.output, contains_text("not ranked: tiled, PER=16: failed: "));
  CHECK_THAT(verified.output,
             contains_text("executed in the simulator: 3 of 4 points were verified"));
}

}  // namespace
}  // namespace gpuexp::test
