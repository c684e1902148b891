// Commands that take users' kernel files.
#include <filesystem>
#include <map>
#include <sstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/add_kernels.hpp"
#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a command takes several kernel files", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  folder.write("other.cu", KernelFolder::declared());
  const std::string files = folder.path("add.cu") + " " + folder.path("other.cu");
  const auto rows = verified_rows(files);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["family"] == "add.cu");
  CHECK(rows[1]["family"] == "other.cu");
  const std::string out = folder.path("out");
  CHECK(gpuexp("run " + files + kSimulated + " --quiet --out " + out).exit_code == 0);
  CHECK_THAT(gpuexp("plan " + files + " --gpu h200").output, contains_text("other.cu/add/n=1000"));
  for (const char* gpus : {"h200", "h200,rtx_4090"})
    CHECK_THAT(gpuexp("predict " + files + " --gpu " + gpus).output,
               contains_text("other.cu/add/n=1000"));
}

TEST_CASE("times of a kernel file are predicted for another GPU", "[machine_code]") {
  if (!has_compiler()) return;
  const Outcome outcome = gpuexp("predict " + kExamples + "vector_add.cu --gpu rtx_4090 --json");
  INFO(outcome.output);
  REQUIRE(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("vector_add.cu/add/n=16777216/cold"));
  CHECK_THAT(gpuexp("predict " + kExamples + "vector_add.cu --gpu rtx_4090").output,
             contains_text("computed for NVIDIA GeForce RTX 4090 24GB, not measured"));
  CHECK(gpuexp("predict " + kExamples + "sgemm.cu --gpu h200,a100_sxm4_80gb").exit_code == 0);
}

TEST_CASE("describe lists a kernel file's parameters, variants and machine code",
          "[machine_code]") {
  if (!has_compiler()) return;
  const Outcome outcome = gpuexp("describe " + kExamples + "transpose.cu");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  for (const char* text :
       {"  rows = 1024: declared in docs/examples/transpose.cu:", "  tile (compare to naive)\n",
        "  padded (compare to tile)\n", "4096 B of shared memory",
        "\nbuffers\n  input[rows][columns]: input, uniform, fp32 (docs/examples/transpose.cu:",
        "\nlaunches\n  naive = transpose_naive<<<(columns/32, rows/32), (32, 32)>>>(",
        "\nchecks\n  output[c][r] = input[r][c] (docs/examples/transpose.cu:",
        "\nwork\n  assumed: each buffer is read or written once\n",
        "Lanes are neighbours along the rows of `input`"})
    CHECK_THAT(outcome.output, contains_text(text));
  const auto json =
      nlohmann::json::parse(gpuexp("describe " + kExamples + "transpose.cu --json").output);
  CHECK(json["declaration"]["launches"].size() == 3);
}

TEST_CASE("a config names a kernel file by a path relative to the current folder",
          "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const auto config = [&](const std::string& family) {
    return folder.write(
        "c.json",
        nlohmann::json{
            {"name", "c"},
            {"experiments",
             {{{"family", family}, {"axes", {{"n", {100, 300}}}}, {"modes", {"cold", "warm"}}}}}}
            .dump());
  };
  const std::string json = folder.path("report.json");
  const std::string in_folder = "true; cd '" + folder.path("") + "';";
  for (const std::string& family : {std::string("./add.cu"), folder.path("add.cu")}) {
    const Outcome outcome =
        gpuexp("verify " + config(family) + kSimulated + " --quiet --json " + json, in_folder);
    INFO(outcome.output);
    REQUIRE(outcome.exit_code == 0);
    const auto rows = nlohmann::json::parse(read_file(json))["rows"];
    REQUIRE(rows.size() == 4);
    for (const auto& row : rows)
      CHECK(row["status"] == "passed");
  }
  check_refused(config("./absent.cu"), "absent.cu: there is no such file");
}

TEST_CASE("results are explained and reported without the file, and resumed only with it",
          "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string text = KernelFolder::declared(
      kAddLaunch, kAddLaunch + "\n// gpuexp: small = add<<<ceil_div(n, 32), 32>>> vs add");
  const std::string file = folder.write("two.cu", text);
  const std::string out = folder.path("out");
  const Outcome run = gpuexp("run " + file + kSimulated + " --counters --quiet --out " + out);
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  const std::string resume = "run --resume " + out + kSimulated + " --quiet";
  CHECK(gpuexp(resume).exit_code == 0);

  folder.write("two.cu", text + "// changed\n");
  const Outcome changed = gpuexp(resume);
  INFO(changed.output);
  CHECK(changed.exit_code == 2);
  CHECK_THAT(changed.output,
             contains_text("two.cu has changed since the run began: its SHA-256 begins with"));

  fs::remove(file);
  CHECK(gpuexp(resume).exit_code == 2);
  const Outcome explained = gpuexp("explain " + out);
  INFO(explained.output);
  CHECK(explained.exit_code == 0);
  CHECK_THAT(explained.output, contains_text(" small and add "));
  const Outcome reported = gpuexp("report " + out + " --format csv");
  CHECK(reported.exit_code == 0);
  CHECK_THAT(reported.output, contains_text("two.cu/small/n=1000/cold"));
  const nlohmann::json report = nlohmann::json::parse(read_file(out + "/results.json"));
  const auto& inputs = report["provenance"]["inputs"];
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0]["path"] == file);
}

TEST_CASE("results hold the source of a kernel file, unless --no-source leaves it out",
          "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  folder.write("sum.cuh", "__device__ float sum(float a, float b) { return a + b; }\n");
  const std::string file =
      folder.write("add.cu", "#include \"sum.cuh\"\n" +
                                 KernelFolder::declared("x[i] + y[i];", "sum(x[i], y[i]);"));
  const auto inputs = [&](const std::string& options) {
    const ScratchFolder out;
    const std::string results = (out.path() / "out").string();
    const Outcome run = gpuexp("run " + file + kSimulated + " --quiet --out " + results + options);
    INFO(run.output);
    REQUIRE(run.exit_code == 0);
    return nlohmann::json::parse(read_file(results + "/results.json"))["provenance"]["inputs"];
  };
  const nlohmann::json with_source = inputs("");
  REQUIRE(with_source.size() == 2);
  CHECK(with_source[0]["path"] == file);
  CHECK(with_source[0]["text"] == read_file(file));
  CHECK(with_source[1]["path"] == folder.path("sum.cuh"));
  CHECK(with_source[1]["text"] == read_file(folder.path("sum.cuh")));
  for (const auto& input : inputs(" --no-source")) {
    CHECK(input["text"].is_null());
    CHECK(input["sha256"].get<std::string>().size() == 64);
  }
}

TEST_CASE("PTX may have its declaration in a JSON file", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  folder.write("scale.ptx", R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y) {
  .reg .f32 %f<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f1, [%rd4];
  add.f32 %f1, %f1, %f1;
  st.global.f32 [%rd5], %f1;
  ret;
}
)");
  folder.write("scale.gpuexp.json", R"json({
  "source": "scale.ptx", "parameters": {"n": 64},
  "buffers": {"x": "in float [n]", "y": "out float [n]"},
  "variants": {"scale": "scale<<<1, n>>>(x, y)"}, "check": "y[i] = 2*x[i]"
})json");
  CHECK(verified_rows(folder.path("scale.ptx"))[0]["status"] == "passed");
  const Outcome predicted = gpuexp("predict " + folder.path("scale.ptx") + " --gpu h200,rtx_4090");
  INFO(predicted.output);
  CHECK(predicted.exit_code == 0);
}

TEST_CASE("predictions for several GPUs say why times are missing", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("beyond.cu", R"(
// gpuexp: n = 128
// gpuexp: in x[n]
// gpuexp: out y[n]
// gpuexp: shift<<<1, n>>>
__global__ void shift(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x + 1]; }
)");
  const Outcome outcome = gpuexp("predict " + file + " --gpu h200,rtx_4090");
  CHECK_THAT(outcome.output, contains_text("1 cell has no predicted time on h200: "));
  CHECK_THAT(outcome.output, contains_text("1 cell has no predicted time on rtx_4090: "));
  CHECK_THAT(outcome.output, contains_text("past the end of buffer x"));
  CHECK_THAT(gpuexp("predict " + kExamples + "vector_add.cu --gpu h200,rtx_4090").output,
             !contains_text("no predicted time"));
}

TEST_CASE("a kernel template is verified by a plain kernel", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("twice.cu", R"(
// gpuexp: n = 128
// gpuexp: T = 32, 64
// gpuexp: in x[n]
// gpuexp: out y[n]
// gpuexp: fast<T><<<n/T, T>>>(x, y)
// gpuexp: reference slow<<<1, 1>>>(x, y, n)
// gpuexp: tolerance 1e-6
template <int T> __global__ void fast(const float* x, float* y) {
  const int i = blockIdx.x * T + threadIdx.x;
  y[i] = x[i] + x[i];
}
__global__ void slow(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
)");
  const nlohmann::json rows = verified_rows(file);
  REQUIRE(rows.size() == 2);
  for (const auto& row : rows)
    CHECK(row["status"] == "passed");
}

TEST_CASE("a macro and a template argument are parameters everywhere", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("tuned.cu", kTuned);
  CHECK_THAT(gpuexp("describe " + file).output, contains_text("macro declared in "));
  const Outcome planned = gpuexp("plan " + file + " --gpu h200 --set PER=4 --set THREADS=32,256");
  CHECK_THAT(planned.output, contains_text("tuned/tuned.cu/add/n=16384,PER=4,THREADS=32/cold"));
  CHECK_THAT(planned.output, contains_text("tuned/tuned.cu/add/n=16384,PER=4,THREADS=256/cold"));
  const Outcome none = gpuexp("predict " + file + " --gpu h200 --set PER=64 --set THREADS=256");
  CHECK(none.exit_code == 2);
  CHECK_THAT(
      none.output,
      contains_text("no cell of tuned.cu has code for NVIDIA H200 SXM 141GB: does not compile "
                    "for sm_90a: tuned.cu(11): error: static assertion failed"));
  const Outcome wrong = gpuexp("tune matmul --gpu h200");
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.output,
             contains_text("tune matmul: expected one kernel file, such as sgemm.cu"));
}

/// `by_macro` uses TILE, `by_template` is compiled for BM, and `naive` depends on neither.
const std::string kAxes = R"(
// gpuexp: n = 4096, 8192
// gpuexp: BM = 2, 4
// gpuexp: define TILE = 16, 32
// gpuexp: x[n] y[n]
// gpuexp: require BM*TILE <= 128
// gpuexp: naive       = copy<<<n/256, 256>>>
// gpuexp: by_macro    = tiled<<<n/256, 256>>> vs naive
// gpuexp: by_template = several<BM><<<n/(256*BM), 256>>> vs naive
// gpuexp: check y[i] = x[i]
__global__ void copy(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
__global__ void tiled(const float* x, float* y, int n) {
  __shared__ float tile[256 * TILE];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x * TILE] = x[i];
  __syncthreads();
  y[i] = tile[threadIdx.x * TILE];
}
template <int kCount>
__global__ void several(const float* x, float* y, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * kCount;
  for (int i = 0; i < kCount; ++i) y[first + i] = x[first + i];
}
)";

TEST_CASE("a variant runs once for all values of an axis that it does not use", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("axes.cu", kAxes);
  const std::string out = folder.path("out");
  const Outcome run = gpuexp("run " + file + kSimulated + " --out " + out);
  INFO(run.output);
  CHECK(run.exit_code == 0);
  std::map<std::string, int> rows;
  const auto results = nlohmann::json::parse(read_file(out + "/results.json"));
  for (const auto& row : results["rows"]) {
    const std::string variant = row["variant"];
    ++rows[variant];
    CHECK(row["status"] == "passed");
    CHECK(row["param.BM"].is_null() == (variant != "by_template"));
    CHECK(row["param.TILE"].is_null() == (variant != "by_macro"));
  }
  CHECK(rows == std::map<std::string, int>{{"naive", 2}, {"by_macro", 4}, {"by_template", 4}});
  const Outcome explained = gpuexp("explain --all " + out);
  INFO(explained.output);
  CHECK_THAT(explained.output, contains_text("8 predicted comparisons"));
  CHECK_THAT(gpuexp("plan " + file + " --gpu h200").output,
             contains_text("axes/axes.cu/naive/n=4096/cold"));
  CHECK_THAT(gpuexp("run --resume " + out + kSimulated).output,
             contains_text("10 rows: 10 passed"));
}

}  // namespace
}  // namespace gpuexp::test
