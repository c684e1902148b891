// Users' kernel files on a GPU: compiled with the installed nvcc, loaded, verified and timed.
#include <algorithm>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "family/registry.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "gpu/own_kernels.hpp"
#include "own/own_files.hpp"
#include "run/runner.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/skip.hpp"
#include "support/toolkit.hpp"

namespace gpuexp::test {
namespace {

/// Why this machine cannot compile; empty if it can.
std::string lacks_compiler() {
  return missing_tool({"nvcc", "ptxas", "cuobjdump", "nvdisasm"});
}

// Ends a test case with a skip.
#define REQUIRE_COMPILER()                      \
  if (!lacks_compiler().empty()) {              \
    skip(Tier::machine_code, lacks_compiler()); \
    return;                                     \
  }

/// Verifies and times all variants of a kernel file, by default values of its parameters.
class OwnRun {
 public:
  /// `array` is the contents of array.npy in the folder of the file.
  explicit OwnRun(const std::string& text, Mode mode = Mode::cold, const std::string& array = "") {
    const auto file = scratch_.path() / "user.cu";
    std::ofstream(scratch_.path() / "array.npy", std::ios::binary) << array;
    std::ofstream(file) << text;
    provide_own_kernels();
    const Family& family = files_.load(file);
    Experiment& e = config_.experiments.emplace_back();
    e.name = "user";
    e.family = &family;
    for (const Variant& variant : family.variants)
      e.variants.push_back(&variant);
    e.modes = {mode};
    e.measure.min_samples = e.measure.max_samples = 5;
    e.measure.min_seconds = 0;
    const DeviceSpec device = query_device(0, {}).spec;
    const KernelResources resources;
    plan_ = make_plan(config_, device, resources, device.memory_bytes);
    struct : Tracer {
      void push(const std::string&) override {}
      void pop() override {}
    } tracer;
    RunObserver observer;
    const auto executor = make_cuda_executor(0, device);
    const KernelFiles verification = files_.callbacks();
    RunOptions options;
    options.kernel_files = &verification;
    for (Row& row : run_plan(plan_, resources, *executor, tracer, observer, options))
      rows_.emplace(row.cell->variant->id, std::move(row));
  }

  const Row& row(const std::string& variant) const { return rows_.at(variant); }

 private:
  ScratchFolder scratch_;
  Registry registry_;
  // Modules are compiled again in each test: the store is a folder of the test.
  own::OwnFiles files_{registry_, SourceCompiler(ToolkitTools::found(), scratch_.path() / "kept")};
  Config config_;
  Plan plan_;
  std::map<std::string, Row> rows_;
};

void check_passed(const Row& row) {
  INFO(row.key << ": " << row.reason);
  CHECK(row.status == Status::passed);
  REQUIRE(row.time_us.has_value());
  CHECK(row.time_us->median > 0);
}

void check_incorrect(const Row& row) {
  INFO(row.key << ": " << row.reason);
  CHECK(row.status == Status::incorrect);
  CHECK(!row.time_us.has_value());
}

// The variant `negated` is wrong in every element, `unwritten` in its last block.
constexpr const char* kScaledSum = R"(
// gpuexp: n = 100003
// gpuexp: scale = 0.5
// gpuexp: x[n] = normal
// gpuexp: y[n]
// gpuexp: in_out z[n]
// gpuexp: right = scaled_sum<<<ceil_div(n, 256), 256>>>
// gpuexp: negated = scaled_sum<<<ceil_div(n, 256), 256>>>(x, y, z, -scale, n) vs right
// gpuexp: unwritten = scaled_sum<<<floor_div(n, 256), 256>>> vs right
// gpuexp: check z[i] = scale*x[i] + y[i] + before(z[i])
__global__ void scaled_sum(const float* x, const float* y, float* z, float scale, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] += scale * x[i] + y[i];
}
int main() { return 0; }
)";

TEST_CASE("a user's kernel is verified and timed, and wrong launches are rejected",
          "[own_kernel]") {
  REQUIRE_COMPILER();
  for (const Mode mode : {Mode::cold, Mode::warm, Mode::graph}) {
    const OwnRun run(kScaledSum, mode);
    check_passed(run.row("right"));
    check_incorrect(run.row("negated"));
    check_incorrect(run.row("unwritten"));
  }
}

TEST_CASE("a kernel that omits the last warp of a long sum is found on the GPU", "[own_kernel]") {
  REQUIRE_COMPILER();
  const OwnRun run(R"(
// gpuexp: n = 2^20
// gpuexp: in x[n]
// gpuexp: in_out total[1] = zeros
// gpuexp: right = add_all<<<64, 256>>>
// gpuexp: omits = add_all<<<64, 256>>>(x, total, n - 32)
// gpuexp: check total[i] = before(total[i]) + sum(k < n: x[k])
__global__ void add_all(const float* x, float* total, int n) {
  float sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 64 * 256) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
)");
  check_passed(run.row("right"));
  check_incorrect(run.row("omits"));
  CHECK_THAT(run.row("omits").reason, contains_text("whose sums are exact"));
}

// Functions, integers, infinity and contents on the device, which are those of the host.
TEST_CASE("checks have the functions and integers of CUDA on the GPU", "[own_kernel]") {
  REQUIRE_COMPILER();
  const OwnRun run(R"(
// gpuexp: n = 4096
// gpuexp: x[n] = uniform(-3, 3)
// gpuexp: u[n] = integers(0, 2^32)
// gpuexp: y[n] f[n] w[n]
// gpuexp: right = kernel<<<ceil_div(n, 256), 256>>>(x, u, y, f, w, 1)
// gpuexp: wrong = kernel<<<ceil_div(n, 256), 256>>>(x, u, y, f, w, -1)
// gpuexp: check y[i] = tanh(x[i]) + erf(x[i]) + sin(x[i])*cos(x[i]) + rsqrt(abs(x[i]) + 1)
// gpuexp: check f[i] = x[i] < 0 ? -1e60 : 1e60
// gpuexp: check w[i] = 1000*u[i] + trunc(u[i] / 7) - 1
__global__ void kernel(const float* x, const unsigned* u, float* y, float* f, unsigned* w, float s) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = tanhf(x[i]) + erff(x[i]) + sinf(x[i]) * cosf(x[i]) + rsqrtf(fabsf(x[i]) + 1);
  f[i] = s * (x[i] < 0 ? -1e30f : 1e30f) * 1e30f;
  w[i] = 1000 * u[i] + u[i] / 7 - 1;
}
)");
  check_passed(run.row("right"));
  check_incorrect(run.row("wrong"));
}

TEST_CASE("an index of a check that is out of range is an error of the check", "[own_kernel]") {
  REQUIRE_COMPILER();
  const OwnRun run(R"(
// gpuexp: x[64] y[64]
// gpuexp: shift<<<1, 64>>>
// gpuexp: check y[i] = x[i + 1]
__global__ void shift(const float* x, float* y) {
  if (threadIdx.x < 63) y[threadIdx.x] = x[threadIdx.x + 1];
}
)");
  CHECK(run.row("shift").status == Status::failed);
  CHECK_THAT(run.row("shift").reason,
             contains_text("user.cu:4:25: the check of y[63] reads index 64 of x, which is out of "
                           "range; expected 0 to 63"));
}

// The type conversions of fills and checks on the device, which are those of the host.
TEST_CASE("buffers of 16-bit, integer and fp64 elements are filled and checked on the GPU",
          "[own_kernel]") {
  REQUIRE_COMPILER();
  const OwnRun run(R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
// gpuexp: n = 10007
// gpuexp: h[n] = normal
// gpuexp: b[n]
// gpuexp: idx[n] = integers(0, n)
// gpuexp: table[n] = iota
// gpuexp: sum[n]
// gpuexp: large[n]
// gpuexp: gather<<<ceil_div(n, 128), 128>>>
// gpuexp: check sum[i] = h[i] + b[i]
// gpuexp: check large[i] = table[idx[i]] > n/2 ? 1 : 0
__global__ void gather(const __half* h, const __nv_bfloat16* b, const int* idx,
                       const double* table, float* sum, unsigned char* large, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  sum[i] = __half2float(h[i]) + __bfloat162float(b[i]);
  large[i] = table[idx[i]] > n / 2.0;
}
)");
  check_passed(run.row("gather"));
}

TEST_CASE("a user's kernel is compared with a reference kernel on the GPU", "[own_kernel]") {
  REQUIRE_COMPILER();
  for (const Mode mode : {Mode::cold, Mode::graph}) {
    const OwnRun run(R"(
// gpuexp: n = 100003
// gpuexp: x[n] = normal
// gpuexp: in_out z[n]
// gpuexp: out count[1]
// gpuexp: right = scaled<<<ceil_div(n, 256), 256>>>(x, z, count, 2, n)
// gpuexp: zeros = scaled<<<ceil_div(n, 256), 256>>>(x, z, count, 0, n) vs right
// gpuexp: unwritten = scaled<<<floor_div(n, 256), 256>>>(x, z, count, 2, n) vs right
// gpuexp: reference serial<<<1, 1>>>
// gpuexp: tolerance 1e-6
__global__ void scaled(const float* x, float* z, int* count, float factor, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) z[i] = factor * (z[i] + x[i]);
  if (i == 0) *count = n;
}
__global__ void serial(const float* x, float* z, int* count, int n) {
  for (int i = 0; i < n; ++i) z[i] = 2.0 * ((double)z[i] + x[i]);
  *count = n;
}
)",
                     mode);
    check_passed(run.row("right"));
    check_incorrect(run.row("zeros"));
    check_incorrect(run.row("unwritten"));
  }
}

TEST_CASE("contents and expected values of a user's kernel are read from a file", "[own_kernel]") {
  REQUIRE_COMPILER();
  // Three little-endian numbers of fp32: 1, 2 and -3.
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}\n";
  const std::string array = std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) +
                            std::string(1, '\0') + header +
                            std::string("\0\0\x80\x3f\0\0\0\x40\0\0\x40\xc0", 12);
  const OwnRun run(R"(
// gpuexp: x[3] = array.npy
// gpuexp: y[3]
// gpuexp: copied<<<1, 32>>>(x, y, 1)
// gpuexp: scaled = copied<<<1, 32>>>(x, y, 1.001)
// gpuexp: check y = array.npy
// gpuexp: tolerance 1e-6
__global__ void copied(const float* x, float* y, float factor) {
  if (threadIdx.x < 3) y[threadIdx.x] = factor * x[threadIdx.x];
}
)",
                   Mode::cold, array);
  check_passed(run.row("copied"));
  check_incorrect(run.row("scaled"));
}

TEST_CASE("a user's kernel may use all shared memory that the device allows a block",
          "[own_kernel]") {
  REQUIRE_COMPILER();
  constexpr std::int64_t kWithoutOptIn = 48 * 1024;
  const std::int64_t most = query_device(0, {}).spec.sm.shared_bytes_per_block;
  REQUIRE(most > kWithoutOptIn);
  const auto with_bytes = [&](const std::string& bytes) {
    return fmt::format(R"(
// gpuexp: words = {}
// gpuexp: x[words] y[words]
// gpuexp: reversed<<<1, 256, {}>>>
// gpuexp: check y[i] = x[words - 1 - i]
__global__ void reversed(const float* x, float* y, int words) {{
  extern __shared__ float kept[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) kept[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += blockDim.x) y[i] = kept[words - 1 - i];
}}
)",
                       most / 4, bytes);
  };
  check_passed(OwnRun(with_bytes("4*words")).row("reversed"));
  CHECK_THROWS_WITH(OwnRun(with_bytes("4*words + 4")),
                    contains_text(fmt::format("needs {} bytes of shared memory", most + 4)) &&
                        contains_text(fmt::format("expected at most {} on ", most)));
}

// The variant `other` reads another coefficient, and `unwritten` leaves the histogram as it is.
TEST_CASE("variables of a file have the contents of buffers", "[own_kernel]") {
  REQUIRE_COMPILER();
  const OwnRun run(R"(
// gpuexp: n = 1024
// gpuexp: in coefficients[5] = integers(1, 9)
// gpuexp: in_out histogram[16] = integers(0, 3)
// gpuexp: out largest[1]
// gpuexp: x[n] = integers(-8, 8)
// gpuexp: y[n]
// gpuexp: right = weighted<<<ceil_div(n, 256), 256>>>(x, y, n, 0, 1)
// gpuexp: other = weighted<<<ceil_div(n, 256), 256>>>(x, y, n, 1, 1) vs right
// gpuexp: unwritten = weighted<<<ceil_div(n, 256), 256>>>(x, y, n, 0, 0) vs right
// gpuexp: check y[i] = x[i]*coefficients[i % 5]
// gpuexp: check histogram[b] = before(histogram[b]) + n/16
// gpuexp: check largest[i] = n - 1
namespace filter { __constant__ float coefficients[5]; }
__device__ int histogram[16];
__device__ int largest;
__global__ void weighted(const float* x, float* y, int n, int shift, int adds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] * filter::coefficients[(i + shift) % 5];
  if (adds) atomicAdd(&histogram[i % 16], 1);
  if (i == n - 1) largest = i;
}
)");
  check_passed(run.row("right"));
  check_incorrect(run.row("other"));
  check_incorrect(run.row("unwritten"));
}

TEST_CASE("the examples of docs are verified and timed", "[own_kernel]") {
  REQUIRE_COMPILER();
  const std::map<std::string, std::vector<std::string>> examples{
      {"vector_add", {"add"}},
      {"transpose", {"naive", "tile", "padded"}},
      {"sgemm", {"sgemm"}},
      {"layernorm", {"layernorm"}},
      {"momentum", {"step"}}};
  for (const auto& [example, variants] : examples) {
    std::ifstream in(std::string(GPUEXP_SOURCE_DIR) + "/docs/examples/" + example + ".cu");
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const OwnRun run(text);
    for (const std::string& variant : variants) {
      const Row& row = run.row(variant);
      INFO(row.key << ": " << row.reason);
      CHECK((row.status == Status::passed || row.status == Status::sampled));
      CHECK(row.time_us.has_value());
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
