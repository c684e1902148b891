// Kernel files that a test writes, compiles and verifies on the CPU.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "own/own_files.hpp"
#include "sim/execution.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {

/// Why this machine cannot compile kernel files; empty if it can.
inline std::string lacks_toolkit() {
  try {
    for (const char* tool : {"nvcc", "cuobjdump", "nvdisasm"})
      ToolkitTools::found().path_of(tool);
  } catch (const ToolError& missing) {
    return missing.what();
  }
  return "";
}

// Ends a test case with a skip.
#define REQUIRE_TOOLKIT()                      \
  if (!lacks_toolkit().empty()) {              \
    skip(Tier::machine_code, lacks_toolkit()); \
    return;                                    \
  }

/// A program without kernels: kernel files are compiled when they are loaded.
inline const KernelResources& no_kernels() {
  static const KernelResources resources(nullptr, 0);
  return resources;
}

/// A folder with kernel files, and a registry with their families.
class KernelFolder {
 public:
  KernelFolder() : KernelFolder(SourceCompiler(ToolkitTools::found(), "")) {}
  explicit KernelFolder(SourceCompiler compiler) : files_(registry_, std::move(compiler)) {
    registry_.set_kernel_files(files_.callbacks());
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((scratch_.path() / name).parent_path());
    std::ofstream(scratch_.path() / name, std::ios::binary) << text;
    return (scratch_.path() / name).string();
  }
  const Family& load(const std::string& name, const std::string& text) {
    const Family& family = files_.load(write(name, text));
    CHECK(registry_.errors().empty());
    return family;
  }
  std::string error(const std::string& name, const std::string& text) {
    try {
      files_.load(write(name, text));
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }
  own::OwnFiles& files() { return files_; }
  const Registry& registry() const { return registry_; }
  std::string folder() const { return scratch_.path().string(); }

 private:
  ScratchFolder scratch_;
  Registry registry_;
  own::OwnFiles files_;
};

inline std::unique_ptr<Executor> executor(const DeviceSpec& on = device()) {
  SimulatedOptions options;
  options.blocks = {ExecutedBlocks::kAll};
  options.launch_timeout_s = 300;  // other processes may use the CPU, too
  return make_simulated_executor(on, no_kernels(), options);
}

/// "" if the variant passes, otherwise what is wrong.
inline std::string failure(const Family& family, const std::string& variant, const Values& values,
                           const DeviceSpec& on = device()) {
  INFO(variant << " " << describe(family, values));
  const Variant* const found = family.find(variant);
  REQUIRE(found);
  const auto device_executor = executor(on);
  try {
    device_executor->set_up(family, values, 7);
    const Verification result = device_executor->verify(*found, Mode::cold);
    CHECK(result.checked > 0);
    return result.passed() ? "" : failure_of(result);
  } catch (const DeviceError& error) {
    return error.what();
  }
}
inline std::string failure(const Family& family, const std::string& variant) {
  return failure(family, variant, family.defaults());
}

/// A file that declares a vector sum.
inline constexpr const char* kAddFile = R"(// gpuexp: n = 1000, 2^10..2^11
// gpuexp: x[n] y[n] z[n]
// gpuexp: add<<<ceil_div(n, 256), 256>>>
// gpuexp: check z[i] = x[i] + y[i]
__global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
int main() { add<<<1, 256>>>(nullptr, nullptr, nullptr, 0); }
)";

}  // namespace gpuexp::test
