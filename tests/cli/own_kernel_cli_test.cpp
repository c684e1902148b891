// Verdicts on users' kernel files, on the command line.
#include <filesystem>
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/add_kernels.hpp"
#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("the example kernel files verify in the simulator", "[machine_code]") {
  if (!has_compiler()) return;
  const std::map<std::string, std::size_t> rows_of{{"vector_add.cu", 1},
                                                   {"transpose.cu", 6},
                                                   {"sgemm.cu", 8},
                                                   {"layernorm.cu", 2},
                                                   {"momentum.cu", 1}};
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
      KernelFolder::declared(kAddLaunch,
                             "endless = endless<<<1, 32>>>(x, z)\n// gpuexp: " + kAddLaunch) +
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

TEST_CASE("an error of a check is found after many wrong elements", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("late.cu", R"(// gpuexp: n = 4096
// gpuexp: x[n] y[n]
// gpuexp: twice<<<n / 256, 256>>>
// gpuexp: check y[i] = 2 * x[i] + x[i + 1]
__global__ void twice(const float* x, float* y) {
  int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = 2 * x[i];
}
)");
  const Outcome outcome = gpuexp("verify " + file + kSimulated);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 4);
  CHECK_THAT(outcome.output, contains_text("the check of y[4095] reads index 4096 of x, which is "
                                           "out of range; expected 0 to 4095"));
}

TEST_CASE("wrong elements are named with an index for each extent", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("rows.cu", R"(// gpuexp: h = 4
// gpuexp: w = 100
// gpuexp: x[h][w] y[h][w]
// gpuexp: copy<<<h, w>>>
// gpuexp: check y[i][j] = x[i][j]
__global__ void copy(const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = i == 299 ? x[i] + 1 : x[i];
}
)");
  const Outcome outcome = gpuexp("verify " + file + kSimulated);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 3);
  CHECK_THAT(outcome.output, contains_text("1 of 400 elements is wrong; first y[2][99]: expected"));
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
  folder.write("original.cuh", kAddKernel);
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
      "// gpuexp: check z[i] = x[i] + y[i]\n", "// gpuexp: fast = " + kAddLaunch + " vs add\n");
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
    CHECK(row["predicted_band_pct"] >= 15);  // never the narrow band of built-in kernels
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

}  // namespace
}  // namespace gpuexp::test
