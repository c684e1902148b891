// Kernels that compute with instructions the built-in families do not use. Each result is compared
// with plain arithmetic, compiled for several compute capabilities.
#include <fstream>
#include <string>
#include <vector>

#include "own/own_files.hpp"
#include "sim/decoder.hpp"
#include "sim/execution.hpp"
#include "support/scratch_folder.hpp"
#include "support/toolkit.hpp"

namespace gpuexp::test {
namespace {

std::string lacks_nvcc() {
  return missing_tool({"nvcc", "cuobjdump", "nvdisasm"});
}

/// A kernel file whose families are loaded from a scratch folder.
class LoadedFile {
 public:
  explicit LoadedFile(const std::string& text) {
    const auto file = scratch_.path() / "kernels.cu";
    std::ofstream(file) << text;
    family_ = &files_.load(file);
    CHECK(registry_.errors().empty());
  }
  const Family& family() const { return *family_; }

 private:
  ScratchFolder scratch_;
  Registry registry_;
  own::OwnFiles files_{registry_, SourceCompiler(ToolkitTools::found(), "")};
  const Family* family_ = nullptr;
};

std::unique_ptr<Executor> executor_of(const DeviceSpec& device) {
  static const KernelResources none(nullptr, 0);
  SimulatedOptions options;
  options.blocks = {ExecutedBlocks::kAll};
  options.launch_timeout_s = 300;  // other processes may use the CPU, too
  return make_simulated_executor(device, none, options);
}

/// "" if the variant passes on the device, otherwise what is wrong.
std::string failure(const Family& family, const Variant& variant, const DeviceSpec& device) {
  const auto executor = executor_of(device);
  try {
    executor->set_up(family, family.defaults(), 7);
    const Verification result = executor->verify(variant, Mode::cold);
    CHECK(result.checked > 0);
    return result.passed() ? "" : failure_of(result);
  } catch (const DeviceError& error) {
    return error.what();
  }
}

/// One for each generation of machine code.
const std::vector<const char*> kDevices{"a100_sxm4_80gb", "rtx_4090", "h200", "rtx_5090"};

void check_on_devices(const std::vector<const char*>& devices, const std::string& text) {
  if (const std::string missing = lacks_nvcc(); !missing.empty())
    return skip(Tier::machine_code, missing);
  const LoadedFile file(text);
  for (const char* id : devices) {
    const DeviceSpec device = device_of(id);
    for (const Variant& variant : file.family().variants) {
      INFO(id << " " << variant.id);
      CHECK(failure(file.family(), variant, device).empty());
    }
  }
}

std::string text_of_test_file(const char* name) {
  return text_of_file(std::string(GPUEXP_SOURCE_DIR) + "/tests/sim/" + name);
}

TEST_CASE("instructions compute what their definitions say", "[instructions]") {
  check_on_devices(kDevices, text_of_test_file("instruction_kernels.cu"));
}

TEST_CASE("tiles of several warps synchronize in memory of the system", "[instructions]") {
  check_on_devices({"a100_sxm4_80gb", "h200"}, R"(
// gpuexp: n = 128
// gpuexp: x[n] = integers(0, 50)
// gpuexp: y[n]
// gpuexp: tiles<<<1, n>>>
// gpuexp: check y[i] = sum(k < 64: x[floor_div(i, 64)*64 + k]) + sum(k < n: x[k])
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void tiles(const int* x, int* y) {
  __shared__ int sums[128];
  const auto block = cg::this_thread_block();
  const auto half = cg::tiled_partition<64>(block);
  sums[threadIdx.x] = x[threadIdx.x];
  for (int step = 32; step > 0; step /= 2) {
    half.sync();
    if (half.thread_rank() < step) sums[threadIdx.x] += sums[threadIdx.x + step];
  }
  half.sync();
  const auto all = cg::tiled_partition<128>(block);
  y[threadIdx.x] = sums[64 * half.meta_group_rank()] +
                   cg::reduce(all, x[threadIdx.x], cg::plus<int>());
}
)");
}

TEST_CASE("variables of a module have their initial contents in each launch",
          "[instructions][module_variables]") {
  check_on_devices(kDevices, text_of_test_file("variable_kernels.cu"));
}

TEST_CASE("variables keep their contents until a launch is verified again",
          "[instructions][module_variables]") {
  if (const std::string missing = lacks_nvcc(); !missing.empty())
    return skip(Tier::machine_code, missing);
  const LoadedFile file(
      "// gpuexp: x[32] = zeros\n// gpuexp: y[32]\n// gpuexp: f<<<1, 32>>>\n"
      "// gpuexp: check y[i] = x[i] + 5\n"
      "__device__ int launches = 5;\n"
      "__global__ void f(const int* x, int* y) {\n"
      "  y[threadIdx.x] = x[threadIdx.x] + launches;\n"
      "  __syncthreads();\n"
      "  if (threadIdx.x == 0) ++launches;\n"
      "}\n");
  const Variant& variant = file.family().variants.front();
  const auto executor = executor_of(device_of("h200"));
  executor->set_up(file.family(), file.family().defaults(), 7);
  CHECK(executor->verify(variant, Mode::cold).passed());
  executor->launch(variant, Mode::cold);
  CHECK(!executor->check(variant, Mode::cold).passed());  // the variable is 6
  CHECK(executor->verify(variant, Mode::cold).passed());
}

TEST_CASE("an access past the end of a variable is a fault", "[instructions][module_variables]") {
  if (const std::string missing = lacks_nvcc(); !missing.empty())
    return skip(Tier::machine_code, missing);
  const LoadedFile file(
      "// gpuexp: n = 33\n// gpuexp: y[32]\n// gpuexp: f<<<1, 32>>>\n// gpuexp: check y[i] = 0\n"
      "__device__ int table[32];\n"
      "__global__ void f(int* y, int n) { y[threadIdx.x] = table[threadIdx.x + n - 32]; }\n");
  CHECK_THAT(failure(file.family(), file.family().variants.front(), device_of("h200")),
             contains_text("4 bytes at") && contains_text("past the end of buffer table of 128"));
}

TEST_CASE("instructions that are not simulated are refused by name", "[instructions]") {
  const auto refusal = [](const std::string& code) -> std::string {
    try {
      sim::decode(read_code_text(code + ";0\nEXIT;0\n"));
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal("TEX.LL RZ, R4, R0, R2, UR4, 2D, 0xf") ==
        "TEX.LL RZ, R4, R0, R2, UR4, 2D, 0xf at 0x0: fetches of textures and surfaces are not "
        "simulated; load through a pointer instead");
  CHECK(
      refusal("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], idesc[UR9]") ==
      "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], idesc[UR9] at 0x0: the tensor memory of tcgen05 "
      "is not simulated; use mma.sync or wmma instead");
  CHECK_THAT(refusal("LDTM.x2 R4, tmem[UR4]"), contains_text("tcgen05 is not simulated"));
  CHECK_THAT(refusal("HMMA.SP.16832.F32 R12, R4, R12, RZ, R10, 0x0"),
             contains_text("products of sparse matrices (mma.sp) are not simulated"));
  CHECK(refusal("R2UR.BROADCAST UR4, R5").empty());
  CHECK(refusal("SYNCS.CCTL.IVALL").empty());
}

}  // namespace
}  // namespace gpuexp::test
