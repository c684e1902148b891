#include "simulated/ptx_compiler.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuexp {

namespace fs = std::filesystem;

namespace {

/// A folder for the tools' files, removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "gpuexp-ptx-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error(fmt::format("cannot make the folder {}", pattern));
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// In `folder`; what the tool prints goes to the file `output` there, and cuobjdump finds nvdisasm
/// in the folders of `path`.
void run(const std::vector<std::string>& command, const TemporaryFolder& folder,
         const std::string& output, const std::string& path) {
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::string path_variable = "PATH=" + path;
  std::array<char*, 2> environment{path_variable.data(), nullptr};
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
      posix_spawn(&process, arguments[0], &files, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  if (failed == 0) {
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
      continue;
  }
  if (failed == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  std::string why = read_file(errors);
  why.erase(why.find_last_not_of("\n") + 1);
  throw std::runtime_error(fmt::format("its PTX was not compiled: {} failed: {}", command[0], why));
}

}  // namespace

PtxCompiler::PtxCompiler(std::string binary, std::vector<std::string> folders,
                         int compute_capability)
    : binary_(std::move(binary)),
      folders_(std::move(folders)),
      compute_capability_(compute_capability) {
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');)
    folders_.push_back(folder);
}

const KernelResource& PtxCompiler::code_of(const KernelResource& known) {
  const Kernels& kernels = module(known.module);
  const auto found = kernels.find(known.lowered_name);
  if (found == kernels.end())
    throw std::runtime_error(
        fmt::format("the PTX of {} has no kernel {}", known.module, known.lowered_name));
  return found->second;
}

const PtxCompiler::Kernels& PtxCompiler::module(const std::string& name) {
  const auto known = modules_.find(name);
  if (known != modules_.end()) return known->second;
  std::string& failure = failures_[name];
  if (failure.empty()) {
    try {
      return modules_.emplace(name, compile(name)).first->second;
    } catch (const std::runtime_error& error) {
      failure = fmt::format(
          "this binary holds no machine code of the kernel for compute capability {}.{}, and {}",
          compute_capability_ / 10, compute_capability_ % 10, error.what());
    }
  }
  throw std::runtime_error(failure);
}

PtxCompiler::Kernels PtxCompiler::compile(const std::string& name) {
  const std::string cuobjdump = tool("cuobjdump");
  const std::string ptxas = tool("ptxas");
  const std::string path = fs::path(tool("nvdisasm")).parent_path().string();
  const TemporaryFolder folder;
  run({cuobjdump, "--extract-ptx", "all", binary_}, folder, "extracted", path);
  const std::string cubin = folder / "module.cubin";
  run({ptxas, fmt::format("-arch=sm_{}", compute_capability_), "--generate-line-info",
       ptx_of(name, folder.path()), "-o", cubin},
      folder, "compiled", path);
  ObjectDump dump{name, {}, {}, {}, {}};
  const auto dumped = [&](const char* option) {
    run({cuobjdump, option, cubin}, folder, "dump", path);
    return read_file(folder / "dump");
  };
  // Of a cubin, cuobjdump says for which architecture it is in the listing alone.
  const std::string architecture = fmt::format("arch = sm_{}\n", compute_capability_);
  dump.resource_usage = architecture + dumped("--dump-resource-usage");
  dump.sass = dumped("--dump-sass");
  dump.elf = architecture + dumped("--dump-elf");
  Kernels kernels;
  for (CompiledKernel& made : read_kernels(dump, GPUEXP_SOURCE_ROOT)) {
    const CompiledKernel& kernel = owned_.emplace_back(std::move(made));
    KernelResource& row = kernels[kernel.lowered_name];
    row.lowered_name = kernel.lowered_name.c_str();
    row.architecture = compute_capability_;
    row.registers = kernel.registers;
    row.static_shared_bytes = kernel.static_shared_bytes;
    row.local_bytes = kernel.local_bytes;
    row.stack_bytes = kernel.stack_bytes;
    row.instructions = kernel.instructions.c_str();
    row.code = kernel.code;
  }
  return kernels;
}

std::string PtxCompiler::tool(const std::string& name) const {
  for (const std::string& folder : folders_) {
    const std::string path = (fs::path(folder) / name).string();
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  throw std::runtime_error(fmt::format(
      "its PTX was not compiled: there is no {} of the CUDA Toolkit in PATH (ptxas, cuobjdump and "
      "nvdisasm are needed)",
      name));
}

// The newest that the GPU runs, of the module's files "matmul.sm_80.ptx".
std::string PtxCompiler::ptx_of(const std::string& module, const std::string& folder) const {
  std::string best;
  int newest = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    const std::string prefix = module + ".sm_";
    if (!file.starts_with(prefix) || !file.ends_with(".ptx")) continue;
    int capability = 0;
    const auto [end, error] =
        std::from_chars(file.data() + prefix.size(), file.data() + file.size(), capability);
    // That of sm_90a runs on no other.
    if (error != std::errc() || *end != '.' || capability > compute_capability_) continue;
    if (capability > newest) best = entry.path().string();
    newest = std::max(newest, capability);
  }
  if (best.empty()) throw std::runtime_error("no PTX that this GPU runs");
  return best;
}

const KernelResource& compiled_from_ptx(const KernelResource& known, int compute_capability) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static std::map<int, PtxCompiler> compilers;
  const auto [compiler, is_new] =
      compilers.try_emplace(compute_capability, fs::read_symlink("/proc/self/exe").string(),
                            std::vector<std::string>{GPUEXP_TOOL_FOLDERS}, compute_capability);
  return compiler->second.code_of(known);
}

}  // namespace gpuexp
