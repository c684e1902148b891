#include "compile/ptx_compiler.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace fs = std::filesystem;

PtxCompiler::PtxCompiler(std::string binary, ToolkitTools tools, int compute_capability)
    : binary_(std::move(binary)),
      tools_(std::move(tools)),
      compute_capability_(compute_capability) {}

const KernelResource& PtxCompiler::code_of(const KernelResource& known) {
  const KernelResource* const found = module(known.module).find(known.lowered_name);
  if (!found)
    throw std::runtime_error(
        fmt::format("the PTX of {} has no kernel {}", known.module, known.lowered_name));
  return *found;
}

const CubinKernels& PtxCompiler::module(const std::string& name) {
  const auto known = modules_.find(name);
  if (known != modules_.end()) return known->second;
  Failure& failure = failures_[name];
  if (failure.why.empty()) {
    const std::string no_code = fmt::format(
        "this binary holds no machine code of the kernel for compute capability {}.{}, and ",
        compute_capability_ / 10, compute_capability_ % 10);
    try {
      return modules_.emplace(name, compile(name)).first->second;
    } catch (const ToolError& error) {
      failure = {no_code + "its PTX was not compiled: " + error.what(), true};
    } catch (const std::runtime_error& error) {
      failure = {no_code + error.what(), false};
    }
  }
  if (failure.is_of_tool) throw ToolError(failure.why);
  throw std::runtime_error(failure.why);
}

CubinKernels PtxCompiler::compile(const std::string& name) {
  ToolLimits limits;
  limits.time_s =
      1800;  // a module of this program has many kernels, and tests share the processors
  const TemporaryFolder folder;
  tools_.run("cuobjdump", {"--extract-ptx", name + ".sm_", binary_}, folder, "extracted", limits);
  const std::string architecture = fmt::format("sm_{}", compute_capability_);
  const std::string cubin = folder / "module.cubin";
  tools_.run(
      "ptxas",
      {"-arch=" + architecture, "--generate-line-info", ptx_of(name, folder.path()), "-o", cubin},
      folder, "compiled", limits);
  return CubinKernels(dump_cubin(cubin, architecture, name, tools_, folder, limits));
}

// Newest of the module's PTX files, such as "matmul.sm_80.ptx", that the GPU can run.
std::string PtxCompiler::ptx_of(const std::string& module, const std::string& folder) const {
  std::string best;
  int newest = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    const std::string prefix = module + ".sm_";
    if (!file.starts_with(prefix) || !file.ends_with(".ptx")) continue;
    std::string_view rest = std::string_view(file).substr(prefix.size());
    const auto capability = take_number<int>(rest);
    // Skips PTX for sm_90a, which runs only on that architecture.
    if (!capability || !rest.starts_with('.') || *capability > compute_capability_) continue;
    if (*capability > newest) best = entry.path().string();
    newest = std::max(newest, *capability);
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
                            ToolkitTools::found(), compute_capability);
  return compiler->second.code_of(known);
}

}  // namespace gpuexp
