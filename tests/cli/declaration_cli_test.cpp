// Declarations of kernel files outside of their comments: JSON files, arrays and references.
#include <filesystem>
#include <fstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

class DeclaredFolder {
 public:
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return folder_.path() / name; }

 private:
  ScratchFolder folder_;
};

/// An array of little-endian fp32 numbers.
std::string npy(const std::vector<float>& numbers) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                             std::to_string(numbers.size()) + ",), }\n";
  std::string text("\x93NUMPY\1\0", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  text += header;
  text.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  return text;
}

// The kernel is in a header that must not change, and takes its factor from a macro.
const std::string kSource = R"(#include "factor.cuh"
template <int N> __device__ float scaled(float x) { return N * x; }
__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scaled<FACTOR>(x[i]) + kAdded;
}
)";
const std::string kJson = R"({
  "source": "kernels/scale.cuh", "include": "include", "define": {"FACTOR": 3},
  "parameters": {"n": [5, 100]},
  "buffers": {"x": "in [n] = iota", "y": "[n]"},
  "variants": {"one": "scale<<<n, 1>>>", "many": "scale<<<ceil_div(n, 32), 32>>> vs one"},
  "check": "y[i] = 3*x[i] + 1"
})";

void write_scale(const DeclaredFolder& folder, const std::string& json = kJson) {
  folder.write("kernels/scale.cuh", kSource);
  folder.write("include/factor.cuh", "constexpr float kAdded = 1;\n");
  folder.write("scale.gpuexp.json", json);
}

TEST_CASE("a JSON file declares the kernels of a header", "[machine_code]") {
  if (!has_compiler()) return;
  const DeclaredFolder folder;
  write_scale(folder);
  const Outcome verified = gpuexp("verify " + folder.path("scale.gpuexp.json") + kSimulated);
  INFO(verified.output);
  CHECK(verified.exit_code == 0);
  CHECK_THAT(verified.output, contains_text("scale: scale.cuh"));
  CHECK_THAT(verified.output, contains_text("4 rows: 4 passed"));
  std::string json = kJson;
  json.replace(json.find("+ 1\""), 4, "+ 2\"");
  write_scale(folder, json);
  CHECK(gpuexp("verify " + folder.path("scale.gpuexp.json") + kSimulated).exit_code == 3);
}

TEST_CASE("a JSON file next to its source is found by the source's name", "[machine_code]") {
  if (!has_compiler()) return;
  const DeclaredFolder folder;
  write_scale(folder);
  std::string json = kJson;
  json.replace(json.find("kernels/"), 8, "");
  json.replace(json.find(": \"include"), 10, ": \"../include");
  folder.write("kernels/scale.gpuexp.json", json);
  for (const char* name : {"kernels/scale.cuh", "kernels/scale.gpuexp.json"}) {
    const Outcome planned = gpuexp("plan " + folder.path(name) + " --gpu h200");
    INFO(planned.output);
    CHECK(planned.exit_code == 0);
    CHECK_THAT(planned.output, contains_text("scale/scale.cuh/many/n=100/cold"));
  }
  // Both files name one family.
  CHECK(gpuexp("plan " + folder.path("kernels/scale.cuh") + " " +
               folder.path("kernels/scale.gpuexp.json") + " --gpu h200")
            .exit_code == 0);
  folder.write("kernels/scale.cuh", "// gpuexp: n = 4\n" + kSource);
  const Outcome both = gpuexp("plan " + folder.path("kernels/scale.cuh") + " --gpu h200");
  INFO(both.output);
  CHECK(both.exit_code == 2);
  CHECK_THAT(both.output, contains_text("kernels/scale.cuh:1:12: "));
  CHECK_THAT(both.output, contains_text("kernels/scale.cuh and "));
  CHECK_THAT(both.output,
             contains_text("kernels/scale.gpuexp.json both have a declaration; remove one"));
}

TEST_CASE("errors of a JSON declaration name the entry", "[machine_code]") {
  if (!has_compiler()) return;
  const DeclaredFolder folder;
  const auto check = [&](const std::string& from, const std::string& to, const std::string& error) {
    std::string json = kJson;
    json.replace(json.find(from), from.size(), to);
    write_scale(folder, json);
    const Outcome outcome = gpuexp("plan " + folder.path("scale.gpuexp.json") + " --gpu h200");
    INFO(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.output,
               contains_text("gpuexp: " + folder.path("scale.gpuexp.json") + ": " + error));
  };
  check("in [n]", "in [m]", "$.buffers.x: 'in [m] = iota': column 5: 'm' has no value; ");
  check("scale<<<n, 1", "scales<<<n, 1",
        "$.variants.one: 'scales<<<n, 1>>>': column 1: the file has no kernel 'scales'; did you "
        "mean 'scale'?");
  check("ceil_div(n, 32)", "n/32",
        "$.variants.many: 'scale<<<n/32, 32>>> vs one': column 10: 5 / 32 leaves the remainder 5");
  check("3*x[i]", "3*z[i]", "$.check: 'y[i] = 3*z[i] + 1': column 10: unknown buffer 'z'; ");
  check("\"check\"", "\"chek\"", "$.chek: unknown key; did you mean 'check'?");
}

TEST_CASE("results name the JSON file and arrays, and resume only with them", "[machine_code]") {
  if (!has_compiler()) return;
  const DeclaredFolder folder;
  std::string json = kJson;
  json.replace(json.find("[5, 100]"), 8, "4").replace(json.find("iota"), 4, "data/x.npy");
  json.replace(json.find("y[i] = 3*x[i] + 1\""), 18, "y = y.npy\", \"tolerance\": 1e-6");
  write_scale(folder, json);
  folder.write("data/x.npy", npy({1, 2, 3, 4}));
  folder.write("y.npy", npy({4, 7, 10, 13}));
  const std::string out = folder.path("out");
  const Outcome run =
      gpuexp("run " + folder.path("scale.gpuexp.json") + kSimulated + " --quiet --out " + out);
  INFO(run.output);
  REQUIRE(run.exit_code == 0);
  const auto results = nlohmann::json::parse(read_file(out + "/results.json"));
  std::vector<std::string> inputs;
  for (const auto& input : results["provenance"]["inputs"])
    inputs.push_back(input["path"]);
  CHECK(inputs == std::vector<std::string>{folder.path("kernels/scale.cuh"),
                                           folder.path("scale.gpuexp.json"),
                                           folder.path("data/x.npy"), folder.path("y.npy")});
  const std::string resume = "run --resume " + out + kSimulated + " --quiet";
  CHECK(gpuexp(resume).exit_code == 0);
  folder.write("y.npy", npy({4, 7, 10, 14}));
  const Outcome changed = gpuexp(resume);
  INFO(changed.output);
  CHECK(changed.exit_code == 2);
  CHECK_THAT(changed.output, contains_text("y.npy has changed since the run began"));
  folder.write("y.npy", npy({4, 7, 10, 13}));
  folder.write("scale.gpuexp.json", json + "\n");
  CHECK_THAT(gpuexp(resume).output,
             contains_text("scale.gpuexp.json has changed since the run began"));
}

TEST_CASE("a large problem with a reference kernel is skipped with the reason", "[machine_code]") {
  if (!has_compiler()) return;
  const DeclaredFolder folder;
  const std::string file = folder.write("twice.cu", R"(// gpuexp: n = 1000
// gpuexp: x[n] y[n]
// gpuexp: twice<<<ceil_div(n, 256), 256>>>
// gpuexp: reference serial<<<1, 1>>>
// gpuexp: tolerance 1e-6
__global__ void twice(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
__global__ void serial(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + x[i];
}
)");
  const Outcome small = gpuexp("verify " + file + kSimulated);
  INFO(small.output);
  CHECK(small.exit_code == 0);
  const Outcome large = gpuexp("verify " + file + kSimulated + " --set n=33554432");
  INFO(large.output);
  CHECK_THAT(large.output, contains_text("results of a kernel cannot be sampled"));
  CHECK(gpuexp("predict " + file + " --gpu h200 --set n=16777216").exit_code == 0);
}

}  // namespace
}  // namespace gpuexp::test
