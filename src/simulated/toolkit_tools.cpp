#include "simulated/toolkit_tools.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuexp {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "gpuexp-tools-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    throw std::runtime_error(fmt::format("cannot make the folder {}", pattern));
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

ToolkitTools::ToolkitTools(std::vector<std::string> folders) : folders_(std::move(folders)) {
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');)
    folders_.push_back(folder);
}

namespace {

// An installed program may run on a machine without the build's folders.
bool is_in_build_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path build = GPUEXP_BUILD_FOLDER;
  return !error &&
         std::mismatch(build.begin(), build.end(), program.begin(), program.end()).first ==
             build.end();
}

}  // namespace

ToolkitTools ToolkitTools::found() {
  std::vector<std::string> folders;
  if (is_in_build_folder()) folders = {GPUEXP_TOOL_FOLDERS};
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/bin");
  ToolkitTools tools(std::move(folders));
  tools.folders_.emplace_back("/usr/local/cuda/bin");
  return tools;
}

std::string ToolkitTools::path_of(const std::string& name) const {
  for (const std::string& folder : folders_) {
    const std::string path = (fs::path(folder) / name).string();
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  throw ToolError(fmt::format(
      "there is no {} of the CUDA Toolkit in CUDA_HOME or PATH (ptxas, cuobjdump and nvdisasm are "
      "needed)",
      name));
}

std::string ToolkitTools::identity() const {
  std::string text;
  for (const char* name : {"ptxas", "cuobjdump", "nvdisasm"}) {
    std::string tool = "none";
    std::error_code error;
    try {
      const std::string path = path_of(name);
      const auto changed = fs::last_write_time(path, error).time_since_epoch().count();
      tool = fmt::format("{} {} {}", path, fs::file_size(path, error), changed);
    } catch (const ToolError&) {
    }
    text += fmt::format("; {} {}", name, tool);
  }
  return text;
}

// cuobjdump runs nvdisasm from PATH.
void ToolkitTools::run(const std::string& tool, const std::vector<std::string>& arguments,
                       const TemporaryFolder& folder, const std::string& output) const {
  std::vector<std::string> words{path_of(tool)};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> command;
  for (std::string& word : words)
    command.push_back(word.data());
  command.push_back(nullptr);
  std::string path = "PATH=" + fs::path(path_of("nvdisasm")).parent_path().string();
  std::array<char*, 2> environment{path.data(), nullptr};
  const std::string errors = folder / "errors";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addchdir_np(&files, folder.path().c_str());
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, (folder / output).c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), flags, 0600);
  pid_t process = 0;
  const int failed =
      posix_spawn(&process, command[0], &files, nullptr, command.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  if (failed == 0) {
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
      continue;
  }
  if (failed == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::string why = text_of_file(errors);
  why.erase(why.find_last_not_of("\n") + 1);
  throw ToolError(fmt::format("{} failed: {}", command[0], why));
}

}  // namespace gpuexp
