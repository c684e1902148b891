// Errors of users' kernel files that cost only a variant, a cell or a GPU.
#include <filesystem>

#include "cli/error_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("points beyond a limit are skipped, if others of the variant fit", "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  const auto planned = [&](const std::string& part, const std::string& by,
                           const std::string& values, const std::string& reason) {
    folder.write("k.cu", "// gpuexp: p = " + values + "\n" + add_with(part, by));
    const Outcome outcome = folder.outcome("k.cu", "");
    INFO(outcome.output);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.output, contains_text("k.cu:4:" + reason));
    CHECK_THAT(outcome.output, contains_text("2 cells in 2 groups, 1 skipped; "));
  };
  planned("256>>>", "p>>>", "256, 2048", "36: the block has 2048 along x; expected at most 1024");
  planned("256>>>", "256, p>>>", "256, 2^20", "41: a block of add needs 1048576 bytes of shared ");
  planned("ceil_div(n, 256)", "(4, p)", "1, 2^16", "22: the grid has 65536 along y; ");
}

const std::string kHalfCompiled = R"(// gpuexp: N = 1, 2
// gpuexp: in x[8]
// gpuexp: z[8] w[8]
// gpuexp: good = f<N><<<1, 8>>>(x, z)
// gpuexp: bad = g<N><<<1, 8>>>(z, w)
// gpuexp: worse = g<N><<<1, 8>>>(z, w)
// gpuexp: check z[i] = N*x[i]
// gpuexp: check w[i] = 1
template <int N> __global__ void f(const float* x, float* z) { z[threadIdx.x] = N * x[threadIdx.x]; }
template <int N> __global__ void g(float* z, float* w) {
  static_assert(N > 2, "N is too small");
}
)";

TEST_CASE("a variant without code costs only itself, and the exit code shows it",
          "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  folder.write("half.cu", kHalfCompiled);
  const std::string reason =
      "does not compile for sm_90a: half.cu(11): error: static assertion failed with \"N is too "
      "small\"";
  for (const std::string& command :
       {"verify" + kSimulated, "run --out " + folder.path("out") + kSimulated}) {
    const Outcome outcome = folder.outcome("half.cu", command);
    INFO(outcome.output);
    CHECK(outcome.exit_code == 4);
    CHECK_THAT(outcome.output, contains_text("6 rows: 2 passed, 4 skipped"));
    CHECK_THAT(outcome.output, contains_text("gpuexp: no cell of bad, worse has code: " + reason));
  }
  const Outcome predicted = folder.outcome("half.cu", "predict --gpu h200");
  INFO(predicted.output);
  CHECK(predicted.exit_code == 4);
  CHECK_THAT(predicted.output, contains_text("gpuexp: no cell of bad, worse has code: " + reason));
  CHECK(folder.outcome("half.cu", "predict --gpu h200 --filter '*/good'").exit_code == 0);
  CHECK(folder.outcome("half.cu", "plan --gpu h200").exit_code == 0);
  CHECK(folder.outcome("half.cu", "verify --filter '*/good'" + kSimulated).exit_code == 0);
  // Each glob selects variants.
  const Outcome two =
      folder.outcome("half.cu", "verify --filter '*/good' --filter '*/bad'" + kSimulated);
  CHECK_THAT(two.output, contains_text("4 rows: 2 passed, 2 skipped"));
  CHECK_THAT(two.output, !contains_text("worse"));
  const Outcome none = folder.outcome("half.cu", "verify --filter '*/bad'" + kSimulated);
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.output, contains_text("gpuexp: no cell of half.cu has code for NVIDIA H200"));
  CHECK_THAT(none.output, contains_text(reason));
  const Outcome described = folder.outcome("half.cu", "describe");
  INFO(described.output);
  CHECK(described.exit_code == 0);
  CHECK_THAT(described.output, contains_text("  bad, worse: skipped: " + reason));
  CHECK_THAT(described.output, contains_text("  good: f<1>\n"));
}

TEST_CASE("describe shows the error of a first point that does not compile", "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  folder.write("k.cu", R"(// gpuexp: N = 1, 4
// gpuexp: z[8]
// gpuexp: f<N><<<1, 8>>>(z)
// gpuexp: check z[i] = N
template <int N> __global__ void f(float* z) {
  static_assert(N > 2, "N is too small");
  z[threadIdx.x] = N;
}
)");
  const Outcome outcome = folder.outcome("k.cu", "describe");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("z[8]: output, fp32 (k.cu:2)"));
  CHECK_THAT(outcome.output,
             contains_text("f: skipped: does not compile for sm_90a: k.cu(6): error: static "));
  CHECK(folder.outcome("k.cu", "describe --set N=4").exit_code == 0);
}

TEST_CASE("a GPU without code costs only its column", "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  folder.write(
      "k.cu",
      add_with("  const int i",
               "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900\n#error needs 9.0\n#endif\n"
               "  const int i"));
  folder.write("large.cu", add_with("256>>>", "256, 200*1024>>>"));
  const auto check_column = [&](const std::string& file, const std::string& reason) {
    const Outcome both = folder.outcome(file, "predict --gpu a100_sxm4_80gb,h200");
    INFO(both.output);
    CHECK(both.exit_code == 0);
    CHECK_THAT(both.output, contains_text(" skipped "));
    CHECK_THAT(both.output, contains_text("µs ± "));
    CHECK_THAT(both.output, contains_text("1 cell skipped on a100_sxm4_80gb: " + reason));
    const Outcome alone = folder.outcome(file, "predict --gpu a100_sxm4_80gb");
    CHECK(alone.exit_code == 2);
  };
  check_column("k.cu", "does not compile for sm_80: k.cu:7:2: error: #error needs 9.0");
  check_column("large.cu", "large.cu:3:41: a block of add needs 204800 bytes of shared memory, ");

  // The machine code that the program keeps is a cubin.
  const std::string cache = folder.path("cache");
  folder.write("add.cu", kAdd);
  CHECK(gpuexp("plan " + folder.path("add.cu") + " --gpu h200", "GPUEXP_CACHE_DIR=" + cache)
            .exit_code == 0);
  for (const auto& entry : fs::recursive_directory_iterator(cache))
    if (entry.path().filename() == "module.cubin") fs::copy(entry.path(), folder.path("k.cubin"));
  const Outcome undeclared = folder.outcome("k.cubin", "predict --gpu h200");
  CHECK(undeclared.exit_code == 2);
  CHECK_THAT(undeclared.output,
             contains_text("gpuexp: k.cubin: machine code cannot hold a declaration; write one to "
                           "k.gpuexp.json that names it as \"source\" and launches one of its "
                           "kernels: add ("));
  folder.write("k.gpuexp.json", R"json({"source": "k.cubin", "parameters": {"n": 1000},
    "buffers": {"x": "in [n]", "y": "in [n]", "z": "[n]"},
    "variants": {"add": "add<<<ceil_div(n, 256), 256>>>(x, y, z, n)"},
    "check": "z[i] = x[i] + y[i]"})json");
  check_column("k.cubin", "k.cubin: has machine code for sm_90, but sm_80 is needed; ");
  CHECK_THAT(
      folder.outcome("k.cubin", "predict --gpu a100_sxm4_80gb").output,
      contains_text("gpuexp: no cell of k.cubin has code for NVIDIA A100 SXM4 80GB: k.cubin: "
                    "has machine code for sm_90, but sm_80 is needed; gpuexp uses a cubin only "
                    "on its own architecture: compile it for sm_80"));
}

TEST_CASE("tables have no empty columns, and pages the source of a kernel file", "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  folder.write("k.cu", kAdd);
  const Outcome verified = folder.outcome("k.cu", "verify" + kSimulated);
  INFO(verified.output);
  CHECK_THAT(verified.output, !contains_text("predicted  ") && !contains_text("bound by"));
  const std::string out = folder.path("out");
  CHECK(folder.outcome("k.cu", "run --quiet --out " + out + kSimulated).exit_code == 0);
  const Outcome page = gpuexp("report --format html " + out);
  CHECK_THAT(page.output, !contains_text("Unknown family"));
  CHECK_THAT(page.output, contains_text("Kernels of the file k.cu."));
  CHECK_THAT(page.output, contains_text("if (i \\u003c n) z[i] = x[i] + y[i];"));
}

TEST_CASE("runs of one second have folders of their own", "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  folder.write("k.cu", kAdd);
  const std::string in_folder = "cd " + folder.path("") + " &&";
  for (int run = 0; run < 3; ++run) {
    const Outcome outcome = gpuexp("run k.cu --blocks 8 --quiet" + kSimulated, in_folder);
    INFO(outcome.output);
    CHECK(outcome.exit_code == 0);
  }
  std::size_t complete = 0;
  for (const auto& results : fs::directory_iterator(folder.path("results"))) {
    INFO(results.path());
    CHECK(fs::exists(results.path() / "results.json"));
    ++complete;
  }
  CHECK(complete == 3);
}

TEST_CASE("a verification that cannot write its output names no results", "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  folder.write("k.cu", kAdd);
  const Outcome outcome = folder.outcome("k.cu", "verify" + kSimulated + " --csv /dev/full");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.output, contains_text("/dev/full: cannot write: No space left on device\n"));
  CHECK(outcome.output.find("--resume") == std::string::npos);
}

TEST_CASE("a variant is not verified by a launch of its own kernel", "[machine_code]") {
  if (!has_compiler()) return;
  const ErrorFolder folder;
  const std::string launch = "add<<<ceil_div(n, 256), 256>>>";
  folder.write("k.cu", add_with("check z[i] = x[i] + y[i]",
                                "reference " + launch + "\n// gpuexp: tolerance 0"));
  const Outcome outcome = folder.outcome("k.cu", "verify" + kSimulated);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.output, contains_text("add: nothing to verify it with, because its expected "
                                           "values come from a launch of the same kernels"));
}

}  // namespace
}  // namespace gpuexp::test
