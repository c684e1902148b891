#include "compile/toolkit_tools.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string pattern = fs::absolute(fs::temp_directory_path() / "gpuexp-tools-XXXXXX").string();
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

namespace {

// A name of a tool, and the Python package that contains it.
constexpr std::array<std::pair<const char*, const char*>, 4> kTools{{
    {"nvcc", "nvidia-cuda-nvcc"},
    {"ptxas", "nvidia-cuda-nvcc"},
    {"cuobjdump", "nvidia-cuda-cuobjdump"},
    {"nvdisasm", "nvidia-cuda-nvdisasm"},
}};

std::string packages_text() {
  std::vector<std::string> packages;
  for (const auto& [tool, package] : kTools)
    if (std::ranges::find(packages, package) == packages.end()) packages.emplace_back(package);
  return fmt::format("{}", fmt::join(packages, ", "));
}

// An installed program may run on a machine without the build's folders.
bool is_in_build_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path build = GPUEXP_BUILD_FOLDER;
  return !error &&
         std::mismatch(build.begin(), build.end(), program.begin(), program.end()).first ==
             build.end();
}

// The first bytes of a tool's messages, cut at a line if possible.
std::string beginning_of(const std::string& path) {
  constexpr std::size_t kMaxBytes = 4096;
  std::ifstream in(path, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxBytes) {
    text.resize(kMaxBytes);
    const std::size_t line_end = text.rfind('\n');
    if (line_end != std::string::npos) text.resize(line_end);
    text += "\n(more lines follow)";
  }
  text.erase(text.find_last_not_of("\n") + 1);
  return text;
}

}  // namespace

// Tools run in another working folder, so relative folders become absolute.
ToolkitTools::ToolkitTools(const std::vector<std::string>& folders)
    : folders_(folders), places_(folders) {
  places_.emplace_back("PATH");
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) {
    if (!folder.empty()) folders_.push_back(folder);
  }
  for (std::string& folder : folders_)
    folder = fs::absolute(folder).string();
}

ToolkitTools ToolkitTools::found() {
  std::vector<std::string> folders;
  if (is_in_build_folder()) folders = {GPUEXP_TOOL_FOLDERS};
  const char* const home = std::getenv("CUDA_HOME");
  const bool has_home = home && *home;
  if (has_home) folders.push_back((fs::path(home) / "bin").string());
  ToolkitTools tools(folders);
  constexpr const char* kDefault = "/usr/local/cuda/bin";
  tools.folders_.emplace_back(kDefault);
  tools.places_.emplace_back(kDefault);
  if (!has_home) tools.places_.emplace_back("CUDA_HOME, which is not set");
  return tools;
}

std::string ToolkitTools::searched() const {
  std::vector<std::string> once;
  std::set<fs::path> known;
  for (const std::string& place : places_) {
    std::error_code error;
    const fs::path target = fs::weakly_canonical(place, error);  // several names of one folder
    if (known.insert(error ? fs::path(place) : target).second) once.push_back(place);
  }
  return fmt::format("{}", fmt::join(once, "; "));
}

// Empty if there is none.
std::string ToolkitTools::find(const std::string& name) const {
  for (const std::string& folder : folders_) {
    const std::string path = (fs::path(folder) / name).string();
    if (access(path.c_str(), X_OK) == 0 && !fs::is_directory(path)) return path;
  }
  return "";
}

std::string ToolkitTools::path_of(const std::string& name) const {
  const std::string path = find(name);
  if (!path.empty()) return path;
  std::string package;
  for (const auto& [tool, brought_by] : kTools)
    if (name == tool) package = brought_by;
  throw ToolError(fmt::format(
      "there is no {0} of the CUDA Toolkit; searched: {1}. Install the toolkit, or the Python "
      "package {2} and set CUDA_HOME to its folder that contains bin/{0} (the packages of all "
      "tools: {3}; instead of nvcc, the library NVRTC of nvidia-cuda-nvrtc can compile)",
      name, searched(), package, packages_text()));
}

std::string ToolkitTools::identity() const {
  std::string text;
  for (const auto& [name, package] : kTools) {
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

std::string ToolkitTools::version_of(const std::string& tool) const {
  const TemporaryFolder folder;
  try {
    run(tool, {"--version"}, folder, "version");
  } catch (const ToolError&) {
    return "unknown";
  }
  // "Cuda compilation tools, release 13.0, V13.0.88"
  const std::string text = text_of_file(folder / "version");
  std::string_view rest = text;
  take_until(rest, ", V");
  const std::string_view version = take_until(rest, "\n");
  return version.empty() ? "unknown" : std::string(version);
}

// cuobjdump runs nvdisasm, and nvcc the host's compiler, from PATH. nvcc takes more options from
// variables of the environment, which are not passed on, and writes to TMPDIR.
std::vector<std::string> ToolkitTools::environment(const std::string& tool_path,
                                                   const TemporaryFolder& folder) const {
  std::string path = "PATH=" + fs::path(tool_path).parent_path().string();
  if (fs::path(tool_path).filename() == "cuobjdump")
    path = "PATH=" + fs::path(path_of("nvdisasm")).parent_path().string();
  for (const std::string& searched : folders_)
    path += ":" + searched;
  std::vector<std::string> all{std::move(path), "TMPDIR=" + folder.path(), "LC_ALL=C"};
  if (const char* const compiler = std::getenv("NVCC_CCBIN"))
    all.push_back(std::string("NVCC_CCBIN=") + compiler);
  return all;
}

void ToolkitTools::run(const std::string& tool, const std::vector<std::string>& arguments,
                       const TemporaryFolder& folder, const std::string& output,
                       const ToolLimits& limits) const {
  const std::string path = path_of(tool);
  ToolCommand command;
  command.words = {path};
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  command.environment = environment(path, folder);
  command.folder = folder.path();
  command.output = folder / output;
  command.errors = folder / kErrors;
  const std::string ending = run_process(command, limits);
  if (ending.empty()) return;
  const std::string messages = beginning_of(command.errors);
  const bool has_exit_code = ending.starts_with("exit code");
  const std::string why = messages.empty() ? ending
                          : has_exit_code  ? messages
                                           : ending + ": " + messages;
  const std::string text = fmt::format("{} failed: {}", path, why);
  if (has_exit_code) throw ToolFailure(text);
  throw ToolError(text);
}

}  // namespace gpuexp
