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

// ---- source lines

TEST_CASE("annotate shows the source of a variant of a kernel file", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.path("add.cu");
  for (const std::string& name : {file, file + ":add"}) {
    const Outcome outcome = gpuexp("annotate " + name + " --set n=2000");
    INFO(outcome.output);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.output, contains_text("add.cu/add on NVIDIA H200"));
    CHECK_THAT(outcome.output, contains_text("n=2000"));
    CHECK_THAT(outcome.output, contains_text("|   if (i < n) z[i] = x[i] + y[i];\n"));
    CHECK_THAT(outcome.output, contains_text("→ load of x\n"));
  }
  check_refuses("annotate " + kExamples + "transpose.cu",
                "does not name a variant; expected " + kExamples +
                    "transpose.cu:VARIANT with one of: naive, tile, padded");
  check_refuses("annotate " + kExamples + "transpose.cu:til",
                "family 'transpose.cu' has no variant 'til'; did you mean 'tile'?");
}

TEST_CASE("compare shows which lines of two kernel files differ in time", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  fs::create_directory(folder.path("new"));
  const std::string strided = folder.write(
      "new/add.cu", KernelFolder::declared("z[i] = x[i] + y[i];", "z[i] = x[i * 7 % n] + y[i];"));
  const Outcome outcome =
      gpuexp("compare " + folder.path("add.cu") + " " + strided + " --set n=2097152");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("simulated and predicted, not measured"));
  CHECK_THAT(outcome.output, contains_text("The predicted time changes by +"));
  CHECK_THAT(outcome.output, contains_text("| if (i < n) z[i] = x[i * 7 % n] + y[i];\n"));

  // All of 1000 blocks, or a sample of many: counts are those of all blocks.
  const std::string twice = "compare " + folder.path("add.cu") + " " + folder.path("add.cu");
  for (const auto& [n, sectors] : {std::pair{"256000", " 96000 "}, {"16777216", " 6291456 "}}) {
    const Outcome counted = gpuexp(twice + " --set n=" + n);
    INFO(counted.output);
    CHECK_THAT(counted.output, contains_text(sectors));
  }

  const Outcome sizes =
      gpuexp("compare " + folder.path("add.cu") + " " +
             folder.write("new/other.cu", KernelFolder::declared("n = 1000", "n = 500")));
  INFO(sizes.output);
  CHECK(sizes.exit_code == 0);
  CHECK_THAT(sizes.output, contains_text("different problems, n=1000 and n=500 (--set gives both "
                                         "the same values), NVIDIA H200 SXM"));

  const Outcome same = gpuexp(twice);
  INFO(same.output);
  CHECK_THAT(same.output, !contains_text("different problems"));
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.output, contains_text("The predicted time does not change."));
  CHECK_THAT(same.output, contains_text("No line changed; "));
  CHECK_THAT(same.output, !contains_text("changed:"));
}

TEST_CASE("compare refuses kernel files that cannot be compared", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.path("add.cu");
  const std::string transpose = kExamples + "transpose.cu";
  check_refuses("compare " + file + " results.json", "expected two results, or two kernel files");
  check_refuses("compare " + file, "expected two results, or two kernel files");
  check_refuses("compare " + file + " " + file + " --format html",
                "with kernel files, only --gpu, --device, --set and --all apply");
  check_refuses("compare a.json b.json --gpu h200",
                "--gpu, --device and --set need two kernel files");
  check_refuses("compare " + file + " " + transpose,
                "have no variant of the same name; choose one of each, as FILE:VARIANT: add; and "
                "naive, tile, padded");
}

const std::string kTuned = R"(
// gpuexp: n = 2^14
// gpuexp: x[n] y[n] z[n]
// gpuexp: PER = 1, 4, 3, 64
// gpuexp: define THREADS = 32, 256
// gpuexp: require PER != 3
// gpuexp: add<PER><<<ceil_div(n, THREADS*PER), THREADS>>>
// gpuexp: check z[i] = x[i] + y[i]
template <int PER>
__global__ void add(const float* x, const float* y, float* z, int n) {
  static_assert(PER * THREADS < 16384, "too many elements per block");
  for (int p = 0; p < PER; ++p) {
    const int i = (blockIdx.x * PER + p) * THREADS + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
  }
}
)";

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
