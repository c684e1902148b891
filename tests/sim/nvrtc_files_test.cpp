// Kernel files as users write them, with host code and standard headers, compiled by NVRTC where
// nvcc is missing.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "compile/nvrtc.hpp"
#include "compile/nvrtc_server.hpp"
#include "sim/foreign_kernels.hpp"
#include "sim/kernel_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

// Ends a test case with a skip.
#define REQUIRE_NVRTC()                           \
  if (!find_nvrtc()) {                            \
    skip(Tier::nvrtc, "there is no libnvrtc");    \
    return;                                       \
  }                                               \
  if (!lacks_code_tools().empty()) {              \
    skip(Tier::machine_code, lacks_code_tools()); \
    return;                                       \
  }

/// A folder with the toolkit's programs except for nvcc, and with kernel files.
class WithoutNvcc {
 public:
  WithoutNvcc() {
    fs::create_directories(tools());
    for (const char* tool : {"ptxas", "cuobjdump", "nvdisasm"})
      fs::create_symlink(ToolkitTools::found().path_of(tool), tools() / tool);
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(scratch_.path() / name) << text;
    return (scratch_.path() / name).string();
  }
  SourceCompiler compiler(const ToolLimits& limits = {}) const {
    const std::string path = std::getenv("PATH");
    setenv("PATH", "/nowhere", 1);
    SourceCompiler compiler(ToolkitTools({tools().string()}), (scratch_.path() / "store").string(),
                            limits);
    setenv("PATH", path.c_str(), 1);
    compiler.use_nvrtc("/proc/self/exe");
    return compiler;
  }
  std::string error(const std::string& file, const ToolLimits& limits = {}) const {
    try {
      compiler(limits).compile(file, {}, 90);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }

 private:
  fs::path tools() const { return scratch_.path() / "tools"; }

  ScratchFolder scratch_;
};

const std::string kWithHostCode = R"(#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <type_traits>
#include <vector>
#include <cuda_runtime.h>
#include "scale.cuh"
// gpuexp: n = 1000
// gpuexp: x[n] y[n]
// gpuexp: add<<<ceil_div(n, 256), 256>>>
// gpuexp: check y[i] = 2*max(x[i], 0)
template <class T>
__device__ T positive(T value) {
  static_assert(std::is_floating_point<T>::value, "a real number");
  return std::max(value, -std::numeric_limits<T>::max() * 0);
}
__global__ void add(const float* x, float* y, int32_t n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scale(positive(x[i])) + std::fabs(0.0f);
}
static void check(cudaError_t error) {
  if (error != cudaSuccess) std::abort();
}
int main() {
  std::vector<float> x(1000, 1.0f);
  std::printf("%zu\n", x.size());
  add<<<4, 256>>>(x.data(), nullptr, 1000);
  check(cudaDeviceSynchronize());
}
)";
const std::string kHeader = R"(#pragma once
#include <string>
inline std::string name_of(int n) { return std::to_string(n); }
__device__ inline float scale(float x) { return 2 * x; }
)";

TEST_CASE("a file with host code is compiled by NVRTC, and verified", "[nvrtc_files]") {
  REQUIRE_NVRTC();
  const WithoutNvcc place;
  place.write("scale.cuh", kHeader);
  const std::string file = place.write("add.cu", kWithHostCode);
  Registry registry;
  own::OwnFiles files(registry, place.compiler());
  CHECK(failure(files.load(file), "add") == "");

  const auto module = place.compiler().compile(file, {}, 90);
  CHECK(module->was_kept());
  REQUIRE(module->dependencies().size() == 2);
  CHECK(fs::path(module->dependencies()[1].path).filename() == "scale.cuh");
  const KernelResource* const kernel = module->kernels().find("_Z3addPKfPfi");
  REQUIRE(kernel);
  const KernelCode code = read_code_text(kernel->code.text());
  CHECK(std::any_of(code.instructions.begin(), code.instructions.end(),
                    [](const auto& i) { return i.file == "add.cu" && i.line == 22; }));
}

const std::string kTemplate = R"(#include <vector>
// gpuexp: n = 1000
// gpuexp: kCount = 1, 2
// gpuexp: x[n] y[n]
// gpuexp: several = several<kCount, float><<<ceil_div(n, 64*kCount), 64>>>
// gpuexp: check y[i] = kCount*x[i]
namespace tools {
template <int kTimes, class T>
__global__ void several(const T* x, T* y, int n) {
  static_assert(kTimes < 9, "too many");
  for (int k = 0; k < kTimes; ++k) {
    const int i = (blockIdx.x * kTimes + k) * blockDim.x + threadIdx.x;
    if (i < n) y[i] = kTimes * x[i];
  }
}
}  // namespace tools
int main() { std::vector<float> x(1000); }
)";

TEST_CASE("kernel templates are compiled by NVRTC for the arguments of launches", "[nvrtc_files]") {
  REQUIRE_NVRTC();
  const WithoutNvcc place;
  const std::string file = place.write("several.cu", kTemplate);
  Registry registry;
  own::OwnFiles files(registry, place.compiler());
  CHECK(failure(files.load(file), "several") == "");

  const std::vector<Instantiation> instances{{"tools::several", "1, float", 5},
                                             {"tools::several", "2, double", 6}};
  const auto module = place.compiler().compile(file, {}, 90, instances);
  for (std::size_t i = 0; i < instances.size(); ++i) {
    const KernelResource* const kernel = instantiated_kernel(module->kernels(), i);
    REQUIRE(kernel);
    CHECK(kernel_name(kernel->lowered_name) ==
          (i == 0 ? "several<1, float>" : "several<2, double>"));
  }
  try {
    place.compiler().compile(file, {}, 90, {{"tools::several", "9, float", 5}});
    FAIL("the instantiation has an error");
  } catch (const CompileError& error) {
    CHECK_THAT(error.what(), contains_text("several.cu(10): error: static assertion failed"));
  }
}

TEST_CASE("a changed header is compiled again by NVRTC", "[nvrtc_files]") {
  REQUIRE_NVRTC();
  const WithoutNvcc place;
  place.write("scale.cuh", kHeader);
  const std::string file = place.write("add.cu", kWithHostCode);
  const std::string before = place.compiler().compile(file, {}, 90)->hash();
  place.write("scale.cuh", kHeader + "// changed\n");
  const auto after = place.compiler().compile(file, {}, 90);
  CHECK(!after->was_kept());
  CHECK(after->hash() != before);
}

TEST_CASE("errors of NVRTC have the file's lines", "[nvrtc_files]") {
  REQUIRE_NVRTC();
  const WithoutNvcc place;
  const std::string file =
      place.write("wrong.cu", "int main() {}\n__global__ void k(int* x) { *x = unknown; }\n");
  CHECK_THAT(
      place.error(file),
      contains_text("wrong.cu: NVRTC cannot compile it for sm_90a (nvcc, which compiles more "
                    "files, is not installed):\n" +
                    file + "(2): error: identifier \"unknown\" is undefined"));
  CHECK_THAT(place.error(place.write("none.cu", "#include \"none.cuh\"\n")),
             contains_text("none.cu(1): ") && contains_text("none.cuh"));
  const ToolLimits short_time{0.01};
  CHECK_THAT(place.error(place.write("slow.cu", "__global__ void k() {}\n"), short_time),
             contains_text("slow.cu: NVRTC (") && contains_text("failed: stopped after 0.01 s"));
}

TEST_CASE("a server compiles files with precompiled headers as NVRTC compiles them",
          "[nvrtc_files]") {
  REQUIRE_NVRTC();
  if (!fs::exists(find_nvrtc()->parent_path().parent_path() / "include/cccl"))
    return skip(Tier::nvrtc, "the toolkit's headers are not installed");
  const WithoutNvcc place;
  const auto text = [](const std::string& value) {
    return "#include <cooperative_groups.h>\n#include <cstdio>\n#include \"twice.cuh\"\n"
           "namespace cg = cooperative_groups;\nint main() { return printf(\"host\"); }\n"
           "__global__ void k(float* x) {\n  cg::this_thread_block().sync();\n"
           "  x[threadIdx.x] = twice(" +
           value + ");\n}\n";
  };
  place.write("twice.cuh", "__device__ float twice(float x) { return 2 * x; }\n");
  const auto server = std::make_shared<NvrtcServer>(*find_nvrtc());
  const auto compiled = [&](const std::string& file, bool is_served,
                            const ToolLimits& limits = {}) {
    SourceCompiler compiler = place.compiler(limits);
    if (is_served) compiler.use_nvrtc_server(*find_nvrtc(), server);
    return compiler.compile(file, {}, 90);
  };
  for (const char* const value : {"1.f", "x[0]", "x[threadIdx.x]"}) {
    const auto served =
        compiled(place.write(std::string("served") + value[0] + ".cu", text(value)), true);
    CHECK_FALSE(served->was_kept());
    CHECK(served->is_by_nvrtc());
    const auto alone =
        compiled(place.write(std::string("alone") + value[0] + ".cu", text(value)), false);
    const KernelResource* const a = served->kernels().find("_Z1kPf");
    const KernelResource* const b = alone->kernels().find("_Z1kPf");
    REQUIRE(a != nullptr);
    REQUIRE(b != nullptr);
    CHECK(std::string(a->instructions) == b->instructions);
    CHECK(a->registers == b->registers);
  }
  const std::string wrong = place.write("wrong.cu", text("unknown"));
  CHECK_THROWS_WITH(compiled(wrong, true),
                    contains_text(wrong + "(8): error: identifier \"unknown\" is undefined"));
  ToolLimits limits;
  limits.interrupted = [] { return true; };
  CHECK_THROWS_WITH(compiled(place.write("stopped.cu", text("2.f")), true, limits),
                    contains_text("failed: interrupted"));
  CHECK(compiled(place.write("after.cu", text("3.f")), true)->is_by_nvrtc());
}

TEST_CASE("kernels compiled by NVRTC may print and assert", "[nvrtc_files]") {
  REQUIRE_NVRTC();
  const WithoutNvcc place;
  CHECK(place.error(place.write("print.cu", R"(#include <cassert>
#include <cstdio>
__global__ void k(int n) {
  assert(n > 0);
  std::printf("%d %f\n", n, INFINITY);
}
)")) == "");
}

TEST_CASE("the toolkit's headers serve NVRTC, too", "[nvrtc_files]") {
  REQUIRE_NVRTC();
  const WithoutNvcc place;
  if (!fs::exists(GPUEXP_CUDA_INCLUDE_DIR "/cooperative_groups.h"))
    return skip(Tier::nvrtc, "the toolkit has no headers");
  CHECK(place.error(place.write("half.cu", R"(#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cooperative_groups.h>
#include <iostream>
#include <utility>
namespace cg = cooperative_groups;
__global__ void k(const __half* x, __nv_bfloat16* y) {
  cg::thread_block block = cg::this_thread_block();
  uint i = block.thread_rank();
  y[std::move(i)] = __float2bfloat16(__half2float(x[std::forward<uint>(i)]));
}
int main() { std::cout << "host\n"; }
)")) == "");
}

TEST_CASE("NVRTC compiles kernels that include all of CUB", "[nvrtc_files]") {
  REQUIRE_NVRTC();
  const WithoutNvcc place;
  if (!fs::exists(GPUEXP_CUDA_INCLUDE_DIR "/cccl/cub/cub.cuh"))
    return skip(Tier::nvrtc, "the toolkit has no CUB");
  CHECK(place.error(place.write("sum.cu", R"(#include <cub/cub.cuh>
__global__ void k(const float* x, float* sums) {
  using Block = cub::BlockReduce<float, 256>;
  __shared__ typename Block::TempStorage storage;
  __shared__ typename cub::WarpScan<int>::TempStorage warps[8];
  int before = 0;
  cub::WarpScan<int>(warps[threadIdx.x / 32]).ExclusiveSum(1, before);
  const float sum = Block(storage).Sum(x[threadIdx.x] + before);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
int main() { return cub::DeviceReduce::Sum(nullptr, 0, nullptr, nullptr, 0); }
)")) == "");
}

}  // namespace
}  // namespace gpuexp::test
