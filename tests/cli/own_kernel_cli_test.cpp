// Users' kernel files on the command line, and the examples of docs/own_kernel.md.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

const std::string kExamples = "docs/examples/";

const std::string kKernel = R"(
__global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
)";
const std::string kLaunch = "add<<<ceil_div(n, 256), 256>>>";

/// Kernel files whose statements differ from those of a correct file.
class KernelFolder {
 public:
  KernelFolder() { write("add.cu", declared()); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  /// The declaration of the sum with one part replaced, and the kernel.
  static std::string declared(const std::string& part = "", const std::string& by = "") {
    std::string text = "// gpuexp: n = 1000\n// gpuexp: x[n] y[n] z[n]\n// gpuexp: " + kLaunch +
                       "\n// gpuexp: check z[i] = x[i] + y[i]\n";
    text += kKernel;
    if (part.empty()) return text;
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), by);
  }
  std::string path(const std::string& name) const { return folder_.path() / name; }

 private:
  ScratchFolder folder_;
};

nlohmann::json verified_rows(const std::string& file, const std::string& options = "") {
  const ScratchFolder scratch;
  const std::string json = (scratch.path() / "report.json").string();
  const Outcome outcome =
      gpuexp("verify " + file + kSimulated + " --quiet --json " + json + options);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  return nlohmann::json::parse(read_file(json))["rows"];
}

TEST_CASE("the example kernel files verify in the simulator", "[machine_code]") {
  if (!has_compiler()) return;
  const std::map<std::string, std::size_t> rows_of{
      {"vector_add.cu", 1}, {"transpose.cu", 6}, {"sgemm.cu", 8}};
  std::size_t files = 0;
  std::size_t skipped = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(GPUEXP_SOURCE_DIR) / kExamples)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".cu") continue;
    INFO(name);
    REQUIRE(rows_of.count(name) == 1);
    ++files;
    const nlohmann::json rows = verified_rows(kExamples + name);
    CHECK(rows.size() == rows_of.at(name));
    for (const auto& row : rows) {
      INFO(row["key"] << row["reason"]);
      CHECK(row["family"] == name);
      CHECK(row["executed_on"] == "simulated");
      if (row["status"] == "skipped") {
        ++skipped;
        CHECK(row["reason"] == "requires (BM/TM)*(BN/TN) >= 128 && (BM/TM)*(BN/TN) <= 1024");
      } else {
        CHECK((row["status"] == "passed" || row["status"] == "sampled"));
      }
    }
  }
  CHECK(files == rows_of.size());
  CHECK(skipped == 4);
}

TEST_CASE("kernels with wrong results are incorrect and end with exit code 3", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::pair<const char*, const char*> changes[] = {
      {"z[i] = x[i] + y[i];", "z[i] = x[i] - y[i];"},            // another operation
      {"z[i] = x[i] + y[i];", "z[i] = 0;"},                      // zeros
      {"z[i] = x[i] + y[i];", "z[i] = nanf(\"\");"},             // NaN
      {"if (i < n)", "if (i < n - 1)"},                          // an element that is not written
      {"ceil_div(n, 256)", "floor_div(n, 256)"},                 // a block too few
      {"z[i] = x[i] + y[i];", "z[i] = x[i] * 1.0001f + y[i];"},  // beyond the tolerance
  };
  for (const auto& [part, by] : changes) {
    const std::string file = folder.write("wrong.cu", KernelFolder::declared(part, by));
    const Outcome outcome = gpuexp("verify " + file + kSimulated);
    INFO(by << "\n" << outcome.output);
    CHECK(outcome.exit_code == 3);
    CHECK_THAT(outcome.output, contains_text(" of 1000 elements "));
    CHECK_THAT(outcome.output, contains_text("1 row: 1 incorrect"));
  }
}

TEST_CASE("an access outside of the buffers fails its cell, with the file's line",
          "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("wrong.cu", KernelFolder::declared("if (i < n) z", "z"));
  const Outcome outcome = gpuexp("verify " + file + kSimulated);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 4);
  CHECK_THAT(outcome.output, contains_text("wrong.cu:8, block (3, 0, 0)"));
  CHECK_THAT(outcome.output, contains_text("outside of every buffer"));
}

/// Verifies the file in the simulator, and aborts the process that executes the first launch.
Outcome verified_with_crash(const std::string& file) {
  // The template of copies and its copy are the only descendants with the program's executable.
  return gpuexp("verify " + file + kSimulated + R"sh( 2>&1 &
    program=$!
    copies() {
      for parent in $(cat /proc/$program/task/$program/children); do
        [ /proc/$parent/exe -ef /proc/$program/exe ] && cat /proc/$parent/task/$parent/children
      done
    }
    while kill -0 $program && [ -z "$(copies)" ]; do sleep 0.05; done
    sleep 0.5
    kill -ABRT $(copies)
    wait $program)sh");
}

TEST_CASE("a crash of the simulation costs one cell", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write(
      "add.cu",
      KernelFolder::declared(kLaunch, "endless = endless<<<1, 32>>>(x, z)\n// gpuexp: " + kLaunch) +
          "__global__ void endless(volatile const float* x, float* z) { while (*x != 2) *z = 2; "
          "}\n");
  const Outcome outcome = verified_with_crash(file);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 4);
  CHECK(outcome.output.find("the worker process ended during launch of endless: signal 6") !=
        std::string::npos);
  CHECK(outcome.output.find("1 failed") != std::string::npos);
}

TEST_CASE("a closed standard output is an error, and no child process uses it", "[machine_code]") {
  if (!has_compiler()) return;
  const Outcome outcome =
      gpuexp("verify docs/examples/vector_add.cu" + kSimulated + " >&- 2>/dev/null; echo code $?");
  CHECK(outcome.output == "code 1\n");
}

TEST_CASE("an endless kernel ends annotate in seconds", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("endless.cu", R"(// gpuexp: n = 32
// gpuexp: x[n] y[n]
// gpuexp: endless<<<1, 32>>>
__global__ void endless(volatile const float* x, float* y) { while (*x != 2) *y = 2; }
)");
  const Outcome outcome = gpuexp("annotate " + file);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 4);
  CHECK(outcome.output.find("a loop has not ended after 1677") != std::string::npos);
}

TEST_CASE("an error of a check is not reported as an error of the kernel", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file =
      folder.write("wrong.cu", KernelFolder::declared("= x[i] + y[i]", "= x[i] + y[i + 1]"));
  const Outcome outcome = gpuexp("verify " + file + kSimulated);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 4);
  CHECK_THAT(outcome.output, contains_text("wrong.cu:4:32: the check of z[999] reads index 1000 of "
                                           "y, which is out of range; expected 0 to 999"));
  CHECK_THAT(outcome.output, contains_text("1 row: 1 failed"));
}

TEST_CASE("a kernel that omits the last warp of a long sum is incorrect", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const auto sum = [&](const std::string& check) {
    return folder.write("sum.cu",
                        "// gpuexp: n = 2^18\n// gpuexp: in x[n] = uniform(0, 1)\n"
                        "// gpuexp: in_out total[1] = zeros\n"
                        "// gpuexp: all = add<<<4, 256>>>\n"
                        "// gpuexp: fewer = add<<<4, 256>>>(x, total, n - 32)\n"
                        "// gpuexp: check total[i] = before(total[i]) + " +
                            check + R"(
__global__ void add(const float* x, float* total, int n) {
  float sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 4 * 256) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
)");
  };
  const Outcome outcome = gpuexp("verify " + sum("sum(k < n: x[k])") + kSimulated);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.output, contains_text("1 passed, 1 incorrect"));
  CHECK_THAT(outcome.output,
             contains_text("with small whole numbers as inputs, whose sums are exact"));
  // Divisions round with all contents.
  const std::string file = sum("sum(k < n: 3*x[k]/3)");
  CHECK_THAT(gpuexp("verify " + file + kSimulated).output,
             contains_text("a  hidden_terms: a kernel that omits a term of a sum could pass"));
  const nlohmann::json rows = verified_rows(file);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1]["status"] == "passed");
  CHECK(rows[1]["flags"] == "hidden_terms");
}

TEST_CASE("a kernel that writes its input is incorrect, and the reason says how to permit it",
          "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  std::string text = KernelFolder::declared("const float* x,", "float* x,");
  text.replace(text.find("x[n] y[n]"), 4, "in x[n]\n// gpuexp:");
  const std::string sum = "z[i] = x[i] + y[i];";
  text.replace(text.find(sum), sum.size(), "{ x[0] = 2; " + sum + " }");
  const Outcome outcome = gpuexp("verify " + folder.write("writes.cu", text) + kSimulated);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.output, contains_text("wrote into input 'x'"));
  CHECK_THAT(outcome.output,
             contains_text("declare it as 'in_out x' if the kernel is to write it"));
}

void check_refuses(const std::string& command, const std::string& message) {
  const Outcome outcome = gpuexp(command);
  INFO(command << "\n" << outcome.output);
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.output, contains_text(message));
}

/// Checks that a command that takes a kernel file refuses this one.
void check_refused(const std::string& file, const std::string& message) {
  check_refuses("plan " + file + " --gpu h200", message);
}

TEST_CASE("host code that nvcc cannot compile is left to NVRTC", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string host =
      "#include <cuda_runtime.h>\nint main() { return missing_member().clockRate; }\n";
  const Outcome right =
      gpuexp("verify " + folder.write("add.cu", KernelFolder::declared() + host) + kSimulated);
  if (right.exit_code == 2) return skip(Tier::nvrtc, right.output);
  CHECK(right.exit_code == 0);
  const Outcome outcome = gpuexp(
      "verify " +
      folder.write("wrong.cu", KernelFolder::declared("x[i] + y[i];", "k[i] + y[i];") + host) +
      kSimulated);
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.output.find("nvcc cannot compile it for sm_90a:") != std::string::npos);
}

TEST_CASE("values of an axis are numbers and ranges", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const auto values_of = [&](const std::string& values) {
    const std::string file =
        folder.write("add.cu", KernelFolder::declared("n = 1000", "n = " + values));
    std::vector<std::int64_t> found;
    for (const auto& row : verified_rows(file))
      found.push_back(row["param.n"]);
    return found;
  };
  CHECK(values_of("1000, 2^10..2^12") == std::vector<std::int64_t>{1000, 1024, 2048, 4096});
  CHECK(values_of("5..7, 0x10") == std::vector<std::int64_t>{5, 6, 7, 16});
}

TEST_CASE("cells that do not meet a requirement are skipped with the condition", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file =
      folder.write("add.cu", "// gpuexp: require n % 32 == 0\n" +
                                 KernelFolder::declared("n = 1000", "n = 1000, 1024"));
  const nlohmann::json rows = verified_rows(file);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["status"] == "skipped");
  CHECK(rows[0]["reason"] == "requires n % 32 == 0");
  CHECK(rows[1]["status"] == "passed");
}

// Buffers of each role and of several types, sums, conditions and indices from a buffer.
TEST_CASE("checks read inputs, parameters and the values before the launch", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("types.cu", R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
// gpuexp: n = 1000
// gpuexp: bins = 16
// gpuexp: scale = 0.5
// gpuexp: h[n] = normal
// gpuexp: b[n]
// gpuexp: in in[n] = integers(0, bins)
// gpuexp: table[bins] = iota
// gpuexp: out out[n]
// gpuexp: in_out counts[bins] = zeros
// gpuexp: f<<<ceil_div(n, 128), 128>>>(h, b, in, table, out, counts, n, scale, 1)
// gpuexp: check out[i] = scale*h[i] + b[i]*table[in[i]] + (i > 0 ? h[i - 1] : 0)
// gpuexp: check counts[k] = before(counts[k]) + sum(i < n: in[i] == k)
// gpuexp: tolerance 1e-5
// gpuexp: option -DTILE=128
__global__ void f(const __half* h, const __nv_bfloat16* b, const int* in, const double* table,
                  float* out, unsigned* counts, int n, float scale, bool adds) {
  const int i = blockIdx.x * TILE + threadIdx.x;
  if (i >= n) return;
  float sum = scale * __half2float(h[i]) + __bfloat162float(b[i]) * (float)table[in[i]];
  if (adds && i > 0) sum += __half2float(h[i - 1]);
  out[i] = sum;
  atomicAdd(counts + in[i], 1);
}
)");
  const nlohmann::json rows = verified_rows(file);
  REQUIRE(rows.size() == 1);
  INFO(rows[0]["reason"]);
  CHECK(rows[0]["status"] == "passed");
}

TEST_CASE("a check reads several buffers as they were before the launch", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("momentum.cu", R"(
// gpuexp: n = 1000
// gpuexp: beta = 0.9
// gpuexp: rate = 0.01
// gpuexp: g[n]
// gpuexp: in_out p[n]
// gpuexp: in_out m[n]
// gpuexp: right = momentum<0><<<ceil_div(n, 128), 128>>>
// gpuexp: wrong = momentum<1><<<ceil_div(n, 128), 128>>>
// gpuexp: check m[i] = beta*before(m[i]) + g[i]
// gpuexp: check p[i] = before(p[i]) - rate*(beta*before(m[i]) + g[i])
template <int kWrong>
__global__ void momentum(const float* g, float* p, float* m, float beta, float rate, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i >= n) return;
  const float old = m[i];
  m[i] = beta * old + g[i];
  p[i] -= rate * (kWrong ? old : m[i]);
}
)");
  const Outcome outcome = gpuexp("verify " + file + kSimulated);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.output.find("wrong    incorrect: ") != std::string::npos);
  CHECK(outcome.output.find("2 rows: 1 passed, 1 incorrect") != std::string::npos);
}

TEST_CASE("a kernel with an expensive check is executed if the kernel is small", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const nlohmann::json rows = verified_rows(folder.write("histogram.cu", R"(
// gpuexp: n = 65536
// gpuexp: in v[n] = integers(0, n)
// gpuexp: in_out h[n] = zeros
// gpuexp: histogram<<<ceil_div(n, 256), 256>>>
// gpuexp: check h[q] = sum(i < n: v[i] == q)
__global__ void histogram(const int* v, int* h, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) atomicAdd(&h[v[i]], 1);
}
)"));
  REQUIRE(rows.size() == 1);
  INFO(rows[0]["reason"]);
  CHECK(rows[0]["status"] == "sampled");
}

TEST_CASE("a wrapper declares kernels of a file that it includes", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  folder.write("original.cuh", kKernel);
  const std::string file =
      folder.write("wrapper.cu",
                   "#include \"original.cuh\"\n// gpuexp: n = 1000\n// gpuexp: a[n] b[n] c[n]\n"
                   "// gpuexp: add<<<ceil_div(n, 256), 256>>>(a, b, c, n)\n"
                   "// gpuexp: check c[i] = a[i] + b[i]\n");
  CHECK(verified_rows(file)[0]["status"] == "passed");
}

TEST_CASE("results without a check are unverified", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string without_check = KernelFolder::declared(
      "// gpuexp: check z[i] = x[i] + y[i]\n", "// gpuexp: fast = " + kLaunch + " vs add\n");
  const std::string file = folder.write("free.cu", without_check);
  const std::string out = folder.path("out");
  const Outcome run = gpuexp("run " + file + kSimulated + " --out " + out);
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK_THAT(run.output, contains_text("2 rows: 2 unverified"));
  CHECK_THAT(run.output, contains_text("unverified: no check of z"));
  CHECK_THAT(run.output,
             contains_text("gpuexp: 2 rows are unverified, because the kernel file has no check of "
                           "an output: declare one, such as '// gpuexp: check y[i] = 2*x[i]'"));
  CHECK_THAT(run.output, !contains_text("passed"));
  const auto rows = nlohmann::json::parse(read_file(out + "/results.json"))["rows"];
  REQUIRE(rows.size() == 2);
  for (const auto& row : rows) {
    CHECK(row["status"] == "unverified");
    CHECK(row["reason"] == "no check of z");
    CHECK(row["predicted_time_us"] > 0);
    CHECK(row["speedup"].is_null());
    CHECK(row["verified_pct"].is_null());
  }
  CHECK_THAT(gpuexp("report " + out).output, contains_text("Unverified rows are not compared."));
  CHECK_THAT(gpuexp("explain " + out).output, !contains_text("as fast as"));
  CHECK_THAT(gpuexp("compare " + out + " " + out).output, !contains_text("same"));
  CHECK_THAT(gpuexp("run --resume " + out + kSimulated).output, contains_text("2 unverified"));
  const Outcome verify = gpuexp("verify " + file + kSimulated);
  CHECK(verify.exit_code == 2);
  CHECK_THAT(verify.output,
             contains_text("gpuexp: free.cu/add: nothing to verify z with; declare the expected "
                           "values, such as '// gpuexp: check z[i] = …'"));
}

// Checks of other outputs still apply, and a variant that writes only these is verified.
TEST_CASE("a variant is verified if all its outputs are", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const auto statuses = [&](const std::string& operation) {
    std::string text =
        KernelFolder::declared("y[n] z[n]\n",
                               "y[n] z[n] w[n]\n// gpuexp: both = add<<<4, 256>>>(x, y, z, n); "
                               "add<<<4, 256>>>(y, y, w, n)\n");
    const std::string sum = "x[i] + y[i];";
    text.replace(text.rfind(sum), sum.size(), operation);
    const std::string file = folder.write("both.cu", text);
    const std::string json = folder.path("report.json");
    const Outcome outcome = gpuexp("run " + file + kSimulated + " --quiet --json " + json +
                                   " --out " + folder.path("r"));
    fs::remove_all(folder.path("r"));
    std::map<std::string, std::string> found;
    const nlohmann::json report = nlohmann::json::parse(read_file(json));
    for (const auto& row : report["rows"])
      found[row["variant"]] = row["status"];
    return std::pair(outcome.exit_code, found);
  };
  const auto [code, right] = statuses("x[i] + y[i];");
  CHECK(code == 0);
  CHECK(right.at("add") == "passed");
  CHECK(right.at("both") == "unverified");
  const auto [wrong_code, wrong] = statuses("x[i] - y[i];");
  CHECK(wrong_code == 3);
  CHECK(wrong.at("both") == "incorrect");
}

TEST_CASE("declared work sets the limit", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const auto predicted = [&](const std::string& work) {
    const std::string file = folder.write(
        "add.cu", KernelFolder::declared("// gpuexp: check", work + "// gpuexp: check"));
    const Outcome outcome = gpuexp("predict " + file + " --gpu h200");
    INFO(outcome.output);
    CHECK(outcome.exit_code == 0);
    return outcome.output;
  };
  const std::string note = "1 cell with assumed work: each buffer is read or written once";
  CHECK_THAT(predicted(""), contains_text(note));
  CHECK_THAT(predicted(""), contains_text(" dram "));
  const std::string declared = predicted("// gpuexp: work fp32 = 10^6*n\n");
  CHECK_THAT(declared, !contains_text(note));
  CHECK_THAT(declared, contains_text(" fp32 "));
}

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
      kLaunch, kLaunch + "\n// gpuexp: small = add<<<ceil_div(n, 32), 32>>> vs add");
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

  const Outcome same = gpuexp("compare " + folder.path("add.cu") + " " + folder.path("add.cu"));
  INFO(same.output);
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.output, contains_text("The predicted time does not change."));
  CHECK_THAT(same.output, contains_text("0 of "));
}

TEST_CASE("compare refuses kernel files that cannot be compared", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.path("add.cu");
  const std::string transpose = kExamples + "transpose.cu";
  check_refuses("compare " + file + " results.json", "expected two results, or two kernel files");
  check_refuses("compare " + file, "expected two results, or two kernel files");
  check_refuses("compare " + file + " " + file + " --format html",
                "with kernel files, only --gpu, --set and --all apply");
  check_refuses("compare a.json b.json --gpu h200", "--gpu and --set need two kernel files");
  check_refuses("compare " + file + " " + transpose,
                "have no variant of the same name; choose one of each, as FILE:VARIANT: add; and "
                "naive, tile, padded");
}

// ---- docs/own_kernel.md

const fs::path kPage = fs::path(GPUEXP_SOURCE_DIR) / "docs" / "own_kernel.md";

/// The output without the line that has version and date. Results are in another folder on the
/// page.
std::string shown(std::string output, const std::string& folder) {
  static const std::regex header(R"((^|\n)gpuexp \d[^\n]*\n)");
  output = std::regex_replace(output, header, "$1");
  for (std::size_t at = 0; (at = output.find(folder, at)) != std::string::npos;)
    output.replace(at, folder.size(), "results/transpose");
  return output.substr(std::min(output.find_first_not_of('\n'), output.size()));
}

/// Whether this file holds the block of the page; the test of init holds others.
bool is_held_here(const std::string& page, std::size_t block) {
  const std::string mark = "<!-- held by: ";
  const std::size_t at = page.rfind(mark, block);
  return at == std::string::npos ||
         page.substr(at + mark.size()).starts_with("tests/cli/own_kernel_cli_test.cpp -->");
}

TEST_CASE("the outputs in docs/own_kernel.md match the program's", "[machine_code]") {
  if (!has_compiler()) return;
  const WithoutGpu hidden;
  const ScratchFolder scratch;
  const std::string folder = (scratch.path() / "transpose").string();
  std::string page = read_file(kPage);
  const std::string begin = "```\n$ gpuexp ";
  const std::string fence = "```\n";
  int examples = 0;
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string::npos;) {
    if (!is_held_here(page, at)) {
      at += begin.size();
      continue;
    }
    ++examples;
    const std::size_t command = at + begin.size();
    const std::size_t text = page.find('\n', command) + 1;
    const std::size_t end = page.find(fence, text);
    REQUIRE(end != std::string::npos);
    std::string arguments = page.substr(command, text - 1 - command);
    const std::size_t results = arguments.find("results/transpose");
    if (results != std::string::npos)
      arguments.replace(results, std::string("results/transpose").size(), folder);
    const std::string printed = shown(gpuexp(arguments).output, folder);
    INFO(arguments);
    if (std::getenv("GPUEXP_UPDATE_GOLDEN")) {
      page.replace(text, end - text, printed);
    } else {
      CHECK(page.substr(text, end - text) == printed);
    }
    at = page.find(fence, text);
  }
  CHECK(examples == 7);

  // The table of counters, from the results that the page's command wrote.
  const auto rows = nlohmann::json::parse(read_file(folder + "/results.json"))["rows"];
  for (const std::string counter :
       {"global_store_sectors_per_request", "l2_sectors", "shared_load_wavefronts"}) {
    std::string line = "| " + counter + " |";
    for (const auto& row : rows) {
      if (row["param.columns"] != 4096) continue;
      const double value = row["counter." + counter];
      line += " " + std::to_string(std::llround(value)) + " |";
    }
    const std::size_t at = page.find("| " + counter + " |");
    REQUIRE(at != std::string::npos);
    const std::size_t length = page.find('\n', at) - at;
    if (std::getenv("GPUEXP_UPDATE_GOLDEN")) {
      page.replace(at, length, line);
    } else {
      CHECK(page.substr(at, length) == line);
    }
  }
  if (std::getenv("GPUEXP_UPDATE_GOLDEN")) std::ofstream(kPage) << page;
}

TEST_CASE("the code in docs/own_kernel.md is that of the examples") {
  const std::string page = read_file(kPage);
  std::string examples;
  for (const auto& entry : fs::directory_iterator(fs::path(GPUEXP_SOURCE_DIR) / kExamples))
    examples += read_file(entry.path());
  const std::string begin = "```cpp\n";
  int blocks = 0;
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    if (!is_held_here(page, at)) continue;
    ++blocks;
    const std::string code = page.substr(at, page.find("```\n", at) - at);
    INFO(code);
    CHECK(examples.find(code) != std::string::npos);
  }
  CHECK(blocks == 2);
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
  CHECK_THAT(ranked.output, contains_text("predicted only: no point was executed or measured"));
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
  for (const auto& row : nlohmann::json::parse(read_file(out + "/results.json"))["rows"]) {
    const std::string variant = row["variant"];
    ++rows[variant];
    CHECK(row["status"] == "passed");
    CHECK(row["param.BM"].is_null() == (variant != "by_template"));
    CHECK(row["param.TILE"].is_null() == (variant != "by_macro"));
  }
  CHECK(rows == std::map<std::string, int>{{"naive", 2}, {"by_macro", 4}, {"by_template", 4}});
  const Outcome explained = gpuexp("explain --all " + out);
  INFO(explained.output);
  CHECK(lines_with(explained.output, "between by_macro and naive").size() +
            lines_with(explained.output, "as naive").size() ==
        8);
  CHECK_THAT(gpuexp("plan " + file + " --gpu h200").output,
             contains_text("axes/axes.cu/naive/n=4096/cold"));
  CHECK_THAT(gpuexp("run --resume " + out + kSimulated).output,
             contains_text("10 rows: 10 passed"));
}

}  // namespace
}  // namespace gpuexp::test
