// Running the toolkit's programs, with shell scripts in their place.
#include "compile/toolkit_tools.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <unistd.h>

#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

/// A folder with one program, ptxas.
class FakeTool {
 public:
  explicit FakeTool(const std::string& script) {
    const fs::path path = scratch_.path() / "ptxas";
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(path, fs::perms::owner_all);
  }
  ToolkitTools tools() const { return ToolkitTools({scratch_.path().string()}); }
  std::string path() const { return (scratch_.path() / "ptxas").string(); }

  /// Standard output of a run.
  std::string run(const std::vector<std::string>& arguments = {},
                  const ToolLimits& limits = {}) const {
    const TemporaryFolder folder;
    tools().run("ptxas", arguments, folder, "out", limits);
    return text_of_file(folder / "out");
  }
  std::string error(const ToolLimits& limits = {}) const {
    try {
      run({}, limits);
    } catch (const ToolError& e) {
      return e.what();
    }
    return "";
  }

 private:
  ScratchFolder scratch_;
};

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Variable() { before_.empty() ? unsetenv(name_) : setenv(name_, before_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

TEST_CASE("a tool gets its arguments without a shell, and no input", "[tools]") {
  CHECK(FakeTool("printf '%s|' \"$@\"; cat").run({"$(echo a)", "b c", "`d`", "; e"}) ==
        "$(echo a)|b c|`d`|; e|");
}

TEST_CASE("a tool gets only the variables that it needs", "[tools]") {
  const Variable flags("NVCC_APPEND_FLAGS", "-DLEAKED");
  const std::string text = FakeTool("/usr/bin/env").run();
  CHECK_THAT(text, contains_text("PATH=") && contains_text("TMPDIR="));
  CHECK_THAT(text, !contains_text("LEAKED"));
}

TEST_CASE("a tool gets no open files of this program", "[tools]") {
  constexpr int kOpened = 200;  // a shell opens its script with a lower number
  REQUIRE(::dup2(STDOUT_FILENO, kOpened) == kOpened);
  CHECK(FakeTool("[ -e /proc/self/fd/" + std::to_string(kOpened) + " ] && echo open").error() !=
        "");
  ::close(kOpened);
}

TEST_CASE("a tool runs in its private folder", "[tools]") {
  const FakeTool tool("pwd; touch made");
  const TemporaryFolder folder;
  tool.tools().run("ptxas", {}, folder, "out");
  CHECK(text_of_file(folder / "out") == fs::canonical(folder.path()).string() + "\n");
  CHECK(fs::exists(folder / "made"));
}

/// Its existence interrupts a tool; the name is that of no other process's tests.
std::string interrupting_file() {
  return (fs::temp_directory_path() / ("gpuexp-interrupts-" + std::to_string(::getpid()))).string();
}

bool is_running(int process) {
  const std::string state = text_of_file("/proc/" + std::to_string(process) + "/stat");
  return !state.empty() && state.find(") Z ") == std::string::npos;
}

TEST_CASE("a tool that runs too long, or is interrupted, is killed with its children", "[tools]") {
  struct Limited {
    double time_s;
    bool (*interrupted)();
    const char* how;
  };
  constexpr Limited kLimited[]{{0.3, nullptr, "stopped after 0.3 s"},
                               {60, [] { return fs::exists(interrupting_file()); }, "interrupted"}};
  for (const Limited& limited : kLimited) {
    INFO(limited.how);
    const FakeTool tool("sleep 100 & echo $! ; touch " + interrupting_file() + "; wait");
    const TemporaryFolder folder;
    ToolLimits limits;
    limits.time_s = limited.time_s;
    limits.interrupted = limited.interrupted;
    CHECK_THROWS_WITH(tool.tools().run("ptxas", {}, folder, "out", limits),
                      tool.path() + " failed: " + limited.how);
    fs::remove(interrupting_file());
    const int child = std::stoi(text_of_file(folder / "out"));
    for (int attempt = 0; attempt < 100 && is_running(child); ++attempt)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(!is_running(child));
  }
}

TEST_CASE("a tool's memory and files are limited", "[tools]") {
  ToolLimits limits;
  limits.memory_bytes = std::uint64_t{1} << 30;
  CHECK(FakeTool("ulimit -v").run({}, limits) == "1048576\n");
  limits.file_bytes = 2048;
  CHECK_THAT(FakeTool("exec head -c 5000 /dev/zero > big").error(limits),
             contains_text(" failed: signal 25 (") &&
                 contains_text("): it wrote a file of more than 2 KiB"));
}

TEST_CASE("the error of a tool has the beginning of its messages", "[tools]") {
  const FakeTool tool("echo wrong >&2; exit 3");
  CHECK(tool.error() == tool.path() + " failed: wrong");
  CHECK_THAT(FakeTool("exit 3").error(), contains_text(" failed: exit code 3"));
  CHECK_THAT(FakeTool("echo half >&2; kill -SEGV $$").error(),
             contains_text(" failed: signal 11 (Segmentation fault): half"));
  const std::string error =
      FakeTool("i=0; while [ $i -lt 1000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1").error();
  CHECK(error.size() < 4200);
  CHECK_THAT(error, contains_text("line 0\nline 1\n") && contains_text("\n(more lines follow)"));
}

TEST_CASE("the error of a missing tool says where it was searched and what contains it",
          "[tools]") {
  const Variable path("PATH", "/nowhere");
  CHECK_THROWS_WITH(ToolkitTools({"/opt/none"}).path_of("nvcc"),
                    "there is no nvcc of the CUDA Toolkit; searched: /opt/none; PATH. Install the "
                    "toolkit, or the Python package nvidia-cuda-nvcc and set CUDA_HOME to its "
                    "folder that contains bin/nvcc (the packages of all tools: nvidia-cuda-nvcc, "
                    "nvidia-cuda-cuobjdump, nvidia-cuda-nvdisasm; instead of nvcc, the library NVRTC of nvidia-cuda-nvrtc can compile)");
  CHECK_THROWS_WITH(ToolkitTools({}).path_of("ptxas"), contains_text(" nvidia-cuda-nvcc "));
  CHECK_THROWS_WITH(ToolkitTools({}).path_of("cuobjdump"),
                    contains_text(" nvidia-cuda-cuobjdump "));
  CHECK_THROWS_WITH(ToolkitTools({}).path_of("nvdisasm"), contains_text(" nvidia-cuda-nvdisasm "));
}

TEST_CASE("CUDA_HOME comes before PATH", "[tools]") {
  ScratchFolder home;
  fs::create_directories(home.path() / "bin");
  const fs::path tool = home.path() / "bin/nvcc";
  std::ofstream(tool) << "#!/bin/sh\n";
  fs::permissions(tool, fs::perms::owner_all);
  const Variable variable("CUDA_HOME", home.path().c_str());
  // A program in its build folder prefers the build's tools.
  if (ToolkitTools::found().identity().find("none") != std::string::npos)
    CHECK(ToolkitTools::found().path_of("nvcc") == tool.string());
}

TEST_CASE("a tool's version is read from its output", "[tools]") {
  const FakeTool tool(
      "echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'\n"
      "echo 'Cuda compilation tools, release 13.0, V13.0.88'\n"
      "echo 'Build cuda_13.0.r13.0/compiler.36424714_0'");
  CHECK(tool.tools().version_of("ptxas") == "13.0.88");
  CHECK(FakeTool("echo other").tools().version_of("ptxas") == "unknown");
  CHECK(FakeTool("exit 1").tools().version_of("ptxas") == "unknown");
}

}  // namespace
}  // namespace gpuexp::test
