// gpuexp watch: files that are saved while it runs.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/steady_clock.hpp"
#include "cli/program.hpp"
#include "cli/running_program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

/// The running command, whose output goes to a pipe.
class Watching : public RunningProgram {
 public:
  Watching(const fs::path& file, const fs::path& temporary,
           const std::vector<std::string>& options = {})
      : RunningProgram(command(file, options), {{"TMPDIR", temporary.string()}}) {}

  /// The output up to the end of the next table.
  std::string table() {
    const std::string before = until(" s after the save: ");
    return before + until("\n\n");
  }

  int interrupted() {
    signal(SIGINT);
    return exit_code();
  }

 private:
  static std::vector<std::string> command(const fs::path& file,
                                          const std::vector<std::string>& options) {
    std::vector<std::string> words{"watch", file.string()};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  }
};

/// A folder with scale.cu, which includes factor.cuh.
class WatchedKernel {
 public:
  WatchedKernel() {
    fs::create_directories(temporary());
    write("factor.cuh", "constexpr float kFactor = 2;\n");
    write("scale.cu", text("kFactor * x[i]"));
  }
  static std::string text(const std::string& value, const std::string& declared = "2*x[i]") {
    return "#include \"factor.cuh\"\n// gpuexp: n = 2^14\n// gpuexp: x[n] y[n]\n"
           "// gpuexp: scale<<<n/256, 256>>>\n// gpuexp: check y[i] = " +
           declared +
           "\n__global__ void scale(const float* x, float* y) {\n"
           "  const int i = blockIdx.x * 256 + threadIdx.x;\n  y[i] = " +
           value + ";\n}\n";
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.path() / name) << text;
  }
  /// As editors save.
  void replace(const std::string& name, const std::string& text) const {
    write(name + ".new", text);
    fs::rename(folder_.path() / (name + ".new"), folder_.path() / name);
  }
  fs::path file() const { return folder_.path() / "scale.cu"; }
  fs::path temporary() const { return folder_.path() / "temporary"; }

 private:
  ScratchFolder folder_;
};

TEST_CASE("watch shows each saved version next to the one before", "[machine_code]") {
  if (!has_compiler()) return;
  const WatchedKernel kernel;
  Watching watching(kernel.file(), kernel.temporary());
  std::string table = watching.table();
  CHECK_THAT(table, contains_text("scale.cu, version 1, "));
  CHECK_THAT(table, contains_text("NVIDIA H200 SXM 141GB; simulated and predicted, not measured"));
  CHECK_THAT(table, contains_text("scale      passed"));
  CHECK(table.find("before") == std::string::npos);
  CHECK(table.find('\033') == std::string::npos);

  kernel.replace("scale.cu", WatchedKernel::text("kFactor * x[i] + 0 * x[(i + 64) % 256]"));
  table = watching.table();
  CHECK_THAT(table, contains_text("version 2") && contains_text("scale    before  passed") &&
                        contains_text("now     passed") && contains_text("ratio"));

  // A header, whose value makes the results wrong.
  kernel.replace("factor.cuh", "constexpr float kFactor = 3;\n");
  CHECK_THAT(watching.table(), contains_text("incorrect"));

  // Several writes are one save, and a save without a change is none.
  for (const char* const part : {"", "constexpr", "constexpr float kFactor = 2;\n"})
    kernel.write("factor.cuh", part);
  CHECK_THAT(watching.table(), contains_text("version 4") && contains_text("now     passed"));
  kernel.replace("factor.cuh", "constexpr float kFactor = 2;\n");
  CHECK(watching.is_quiet(1));
  CHECK(watching.interrupted() == 130);
  CHECK(fs::is_empty(kernel.temporary()));
}

TEST_CASE("watch reports errors and deletions, and continues", "[machine_code]") {
  if (!has_compiler()) return;
  const WatchedKernel kernel;
  kernel.write("scale.cu", WatchedKernel::text("unknown * x[i]"));
  Watching watching(kernel.file(), kernel.temporary(), {"--gpu", "rtx_4090"});
  CHECK_THAT(
      watching.until("\n\n"),
      contains_text("error\n") && contains_text("scale.cu(8): error: identifier \"unknown\""));

  kernel.write("scale.cu", WatchedKernel::text("kFactor * x[i]"));
  CHECK_THAT(watching.table(), contains_text("version 1, ") && contains_text("RTX 4090"));

  kernel.write("scale.cu", WatchedKernel::text("kFactor * x[i]", "2*z[i]"));
  CHECK_THAT(watching.until("\n\n"), contains_text("scale.cu:5:") && contains_text("'z'"));

  fs::remove(kernel.file());
  CHECK_THAT(watching.until("\n\n"), contains_text("there is no such file; waiting for it"));

  // Compared with the last version without an error.
  kernel.write("scale.cu", WatchedKernel::text("x[i] + x[i] + 0 * x[(i + 64) % 256]"));
  CHECK_THAT(watching.table(), contains_text("version 2, ") && contains_text("now     passed"));
  CHECK(watching.interrupted() == 130);
}

TEST_CASE("a save while watch works cancels the work", "[machine_code]") {
  if (!has_compiler()) return;
  const std::string endless = ";\n  for (int k = 0; k < 1000000000; ++k) y[i] = 0.5f * y[i] + x[i]";
  const WatchedKernel kernel;
  kernel.write("scale.cu", WatchedKernel::text("kFactor * x[i]" + endless));
  Watching watching(kernel.file(), kernel.temporary());
  CHECK(watching.is_quiet(4));  // otherwise, the loop would run until the launch is stopped
  kernel.replace("scale.cu", WatchedKernel::text("kFactor * x[i]"));
  const double start_s = steady_seconds();
  CHECK_THAT(watching.table(), contains_text("version 1, ") && contains_text("scale      passed"));
  CHECK(steady_seconds() - start_s < 20);
  kernel.replace("scale.cu", WatchedKernel::text("kFactor * x[i] + 0" + endless));
  CHECK(watching.is_quiet(2));
  CHECK(watching.interrupted() == 130);
  CHECK(fs::is_empty(kernel.temporary()));
}

TEST_CASE("watch refuses what it cannot watch") {
  struct Refused {
    const char* arguments;
    const char* message;
  };
  constexpr Refused kRefused[]{
      {"watch quickstart", "watch quickstart: expected one kernel file, such as my.cu"},
      {"watch docs/none.cu", "docs/none.cu: there is no such file"},
      {"watch docs/examples/transpose.cu --gpu h20", "h20"},
  };
  for (const Refused& refused : kRefused) {
    const Outcome outcome = gpuexp(refused.arguments);
    INFO(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.output, contains_text(refused.message));
  }
}

}  // namespace
}  // namespace gpuexp::test
