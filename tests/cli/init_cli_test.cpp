// gpuexp init: declarations for kernel files without one.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

const std::string kInit = "init ";

/// Whether kernel files can be compiled; if not, reports a skipped test.
bool can_compile() {
  const std::string described = gpuexp("describe docs/examples/vector_add.cu").output;
  const std::size_t missing = described.find("there is no ");
  if (missing == std::string::npos) return knows_machine_code(gpuexp("describe matmul").output);
  skip(Tier::machine_code, described.substr(missing, described.find('\n', missing) - missing));
  return false;
}

class SourceFolder {
 public:
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return scratch_.path() / name; }

 private:
  ScratchFolder scratch_;
};

void check_refuses_init(const std::string& arguments, const std::string& message) {
  const Outcome outcome = gpuexp(kInit + arguments);
  INFO(arguments << "\n" << outcome.output);
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.output, contains_text(message));
}

/// The file verifies in the simulator once its outputs have checks.
void check_verifies(const std::string& file) {
  const Outcome outcome = gpuexp("verify " + file + " --simulate h200");
  INFO(read_file(file) << outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("passed"));
}

std::string with_check(std::string text, const std::string& check) {
  const std::size_t at = text.find("#include") < text.find("__global__") ? text.find("#include")
                                                                         : text.find("__global__");
  REQUIRE(at != std::string::npos);
  return text.insert(at, "// gpuexp: check " + check + "\n");
}

const std::string kScale = R"(__global__ void scale(const float* x, float* y, int n, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
int main() {
  const int N = 1 << 14, threads = 128;
  float *d_x = nullptr, *d_y = nullptr;
  scale<<<(N + threads - 1) / threads, threads>>>(d_x, d_y, N, 2.5f);
}
)";

const std::string kScaleDeclaration =
    "// gpuexp: n = 2^14\n"
    "// gpuexp: a = 2.5\n"
    "// gpuexp: in x[n]\n"
    "// gpuexp: out y[n]\n";

TEST_CASE("init --new writes a file that runs and never overwrites one", "[machine_code]") {
  if (!can_compile()) return;
  const SourceFolder folder;
  const std::string file = folder.path("first.cu");
  const Outcome outcome = gpuexp(kInit + "--new " + file);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("gpuexp verify " + file + " --simulate h200"));
  check_verifies(file);
  std::ofstream(file, std::ios::app) << "// mine\n";
  const std::string kept = read_file(file);
  check_refuses_init("--new " + file, "first.cu: exists already; --new does not overwrite a file");
  CHECK(read_file(file) == kept);
}

TEST_CASE("init refuses wrong arguments before it compiles") {
  const SourceFolder folder;
  check_refuses_init("", "expected a kernel file, or --new FILE.cu");
  check_refuses_init("--new " + folder.path("a.cpp"), "a.cpp: expected the name of a new file");
  check_refuses_init("--new " + folder.path("none/a.cu"), "none/a.cu: cannot create it: ");
  fs::create_symlink("nowhere", folder.path("link.cu"));
  check_refuses_init("--new " + folder.path("link.cu"), "link.cu: exists already");
  check_refuses_init("a.cu --write --new b.cu", "--write and --new exclude each other");
  check_refuses_init(folder.path("absent.cu"), "absent.cu: there is no such file");
  check_refuses_init(folder.write("host.cu", "int main() {}\n"),
                     "host.cu: found no kernel; expected a __global__ function");
  check_refuses_init(folder.write("done.cu", "\n// gpuexp: n = 1\n" + kScale),
                     "done.cu:2: the file has a declaration already");
  check_refuses_init(folder.write("a.cu", kScale) + " --launches " + folder.path("absent.cu"),
                     "absent.cu: there is no such file");
  check_refuses_init(folder.path("a.cu") + " --option -ccbin", "-ccbin");
}

TEST_CASE("init prints a declaration and inserts it with --write", "[machine_code]") {
  if (!can_compile()) return;
  const SourceFolder folder;
  const std::string file = folder.write("scale.cu", kScale);
  const Outcome printed = gpuexp(kInit + file);
  INFO(printed.output);
  CHECK(printed.exit_code == 0);
  CHECK_THAT(printed.output, contains_text(kScaleDeclaration));
  CHECK_THAT(printed.output,
             contains_text("scale.cu:8\n// gpuexp: scale<<<ceil_div(n, 128), 128>>>\n"));
  CHECK_THAT(printed.output, contains_text("//   check y[i] = EXPRESSION\n"));
  CHECK(read_file(file) == kScale);

  CHECK(gpuexp(kInit + file + " --write").exit_code == 0);
  const std::string written = read_file(file);
  CHECK(written == printed.output + "\n" + kScale);
  std::ofstream(file, std::ios::binary) << with_check(written, "y[i] = a*x[i]");
  check_verifies(file);
  check_refuses_init(file, "the file has a declaration already");
}

TEST_CASE("init writes a new file that includes a header and instantiates its templates",
          "[machine_code]") {
  if (!can_compile()) return;
  const SourceFolder folder;
  const std::string header = folder.write("tile.cuh", R"(#pragma once
template <typename T, int TILE>
__global__ void add(const T* x, const T* y, T* z, int n) {
  const int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
)");
  folder.write("run.cu", R"(#include "tile.cuh"
constexpr int kTile = 64;
void run(const float* x, const float* y, float* z, int n) {
  add<float, kTile><<<(n + kTile - 1) / kTile, kTile>>>(x, y, z, n);
}
)");
  check_refuses_init(header + " --write", "gpuexp takes files that end in .cu");
  const std::string file = folder.path("add.cu");
  const Outcome outcome = gpuexp(kInit + header + " --new " + file);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  const std::string text = read_file(file);
  CHECK_THAT(text, contains_text("#include \"tile.cuh\"\n"));
  CHECK_THAT(text, contains_text("run.cu:4\n"));
  CHECK_THAT(text, contains_text("add<float, 64>"));
  std::ofstream(file, std::ios::binary) << with_check(text, "z[i] = x[i] + y[i]");
  check_verifies(file);
}

/// The text between two marks in the section of the manual, after position `from`.
std::string block_after(const std::string& page, std::size_t from, const std::string& open) {
  const std::size_t begin = page.find(open, from) + open.size();
  return page.substr(begin, page.find("```", begin) - begin);
}

TEST_CASE("the manual's example has the declaration that init prints", "[machine_code]") {
  if (!can_compile()) return;
  const std::string page = read_file(fs::path(GPUEXP_SOURCE_DIR) / "docs/own_kernel.md");
  const std::size_t section = page.find("### Write a declaration");
  REQUIRE(section != std::string::npos);
  const SourceFolder folder;
  const std::string file = folder.write("matmul.cu", block_after(page, section, "```cpp\n"));
  const std::string shown = block_after(page, section, "$ gpuexp init matmul.cu\n");
  std::string printed = gpuexp(kInit + file).output;
  const std::size_t path = printed.find(file);
  REQUIRE(path != std::string::npos);
  CHECK(printed.replace(path, file.size(), "matmul.cu") == shown);

  const std::string check = "c[i][j] = sum(l < k: a[i][l]*b[l][j]) + beta*before(c[i][j])";
  CHECK(gpuexp(kInit + file + " --write").exit_code == 0);
  std::ofstream(file, std::ios::app) << "// gpuexp: check " << check << "\n";
  const Outcome verified =
      gpuexp("verify " + file + " --simulate h200 --set m=48 --set n=32 --set k=80");
  INFO(verified.output);
  CHECK(verified.exit_code == 0);
}

TEST_CASE("a file without a declaration names its kernels and init") {
  const SourceFolder folder;
  const std::string file = folder.write("scale.cu", kScale);
  const Outcome outcome = gpuexp("verify " + file + " --simulate h200");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.output, contains_text("launch one of its kernels: scale; 'gpuexp init " +
                                           file + "' prints such lines, and --write inserts them"));
}

}  // namespace
}  // namespace gpuexp::test
