// Verification of kernel files: faults, costs of checks, long sums, rounding.
#include <chrono>
#include <thread>

#include "own/own_family.hpp"
#include "sim/kernel_folder.hpp"

namespace gpuexp::test {
namespace {

constexpr const char* kAccesses = R"(// gpuexp: in x[64]
// gpuexp: y[64]
// gpuexp: writes_input<<<2, 32>>>
// gpuexp: reads_output<<<2, 32>>>
// gpuexp: traps<<<2, 32>>>
// gpuexp: check y[i] = 2*x[i]
__global__ void writes_input(float* x, float* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] = 2 * x[i];
  if (i == 40) x[i] = 0;
}
__global__ void reads_output(float* x, float* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] += 2 * x[i];
}
__global__ void traps(float* x, float* y) { __trap(); }
)";

TEST_CASE("forbidden accesses and traps fail", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("accesses.cu", kAccesses);
  CHECK(failure(family, "writes_input") == "wrote into input 'x'");
  CHECK_THAT(failure(family, "reads_output"),
             contains_text("accesses.cu:14, block (0, 0, 0), thread (0, 0, 0)"));
  CHECK_THAT(failure(family, "reads_output"),
             contains_text("are read before anything wrote them: byte 0 of buffer y of 256 bytes; "
                           "declare it as 'in y' if the kernel only reads it, as 'in_out y' if the "
                           "kernel reads what is there before the launch and writes it, or begin "
                           "the launch with 'memset(y, 0)' if the kernel adds to zeros"));
  CHECK_THAT(failure(family, "traps"), contains_text("the kernel traps"));
}

constexpr const char* kSharedFlag = R"(// gpuexp: x[256]
// gpuexp: y[2]
// gpuexp: sets = any<<<2, 128>>>(x, y, 1, 1)
// gpuexp: clears = any<<<2, 128>>>(x, y, 1, 0)
// gpuexp: counts = any<<<2, 128>>>(x, y, 2, 1)
// gpuexp: clears_late = clear_and_set<<<2, 128>>>(y)
// gpuexp: check y[b] = b*0 + 1
__global__ void any(const float* x, float* y, int several, int value) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (x[blockIdx.x * 128 + threadIdx.x] > -2) {
    if (value) flag = threadIdx.x / 32 * (several - 1) + 1;
    else flag = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = value ? flag : flag + 1;
}
// Another warp may clear the flag after the last warp has set it.
__global__ void clear_and_set(float* y) {
  __shared__ int flag;
  flag = 0;
  __syncwarp();
  if (threadIdx.x == 127) flag = 1;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = flag;
}
)";

TEST_CASE("warps may store equal values to one address without a barrier", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("flag.cu", kSharedFlag);
  CHECK(failure(family, "sets").empty());
  CHECK(failure(family, "clears").empty());
  for (const char* variant : {"counts", "clears_late"})
    CHECK_THAT(failure(family, variant), contains_text("are written with no barrier since thread"));
}

TEST_CASE("the check of a normalization states the mean within the variance", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("layernorm.cu", R"(// gpuexp: N = 4
// gpuexp: C = 768
// gpuexp: x[N][C] = uniform(0, 1)
// gpuexp: y[N][C]
// gpuexp: right = layernorm<<<N, 1>>>(x, y, C)
// gpuexp: row_is_missing = layernorm<<<N - 1, 1>>>(x, y, C)
// gpuexp: column_is_missing = layernorm<<<N, 1>>>(x, y, C - 1)
// gpuexp: check y[i][j] = (x[i][j] - sum(k < C: x[i][k])/C) / sqrt(sum(k < C: (x[i][k] - sum(l < C: x[i][l])/C)^2)/C + 0.001)
__global__ void layernorm(const float* x, float* y, int C) {
  x += blockIdx.x * C, y += blockIdx.x * C;
  float sum = 0, squares = 0;
  for (int i = 0; i < C; ++i) sum += x[i];
  for (int i = 0; i < C; ++i) squares += (x[i] - sum / C) * (x[i] - sum / C);
  for (int i = 0; i < C; ++i) y[i] = (x[i] - sum / C) / sqrtf(squares / C + 0.001f);
}
)");
  CHECK(failure(family, "right").empty());
  CHECK_THAT(failure(family, "row_is_missing"),
             contains_text("768 of 3072 elements are wrong; first y[2304]: the kernel did not "
                           "write it, expected "));
  CHECK(!failure(family, "column_is_missing").empty());
}

TEST_CASE("checks whose rows share sums are compared completely", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("rows.cu", R"(// gpuexp: N = 64
// gpuexp: C = 1000
// gpuexp: x[N][C] = uniform(0, 1)
// gpuexp: means[N]
// gpuexp: y[N][C]
// gpuexp: right = rows<<<N, 32>>>(x, means, y, C, -1)
// gpuexp: wrong_mean = rows<<<N, 32>>>(x, means, y, C, 63)
// gpuexp: wrong_element = rows<<<N, 32>>>(x, means, y, C, 31)
// gpuexp: check means[i] = sum(k < C: x[i][k])/C
// gpuexp: check y[i][j] = (x[i][j] - sum(k < C: x[i][k])/C) / sqrt(sum(k < C: (x[i][k] - sum(l < C: x[i][l])/C)^2)/C + 0.001)
__global__ void rows(const float* x, float* means, float* y, int C, int wrong) {
  x += blockIdx.x * C, y += blockIdx.x * C;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < C; i += 32) sum += x[i];
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  for (int i = threadIdx.x; i < C; i += 32) squares += (x[i] - sum / C) * (x[i] - sum / C);
  for (int lane = 16; lane > 0; lane /= 2) squares += __shfl_xor_sync(~0u, squares, lane);
  if (threadIdx.x == 0) means[blockIdx.x] = sum / C + (wrong == 63 && blockIdx.x == 63 ? 0.1f : 0);
  for (int i = threadIdx.x; i < C; i += 32) {
    y[i] = (x[i] - sum / C) / sqrtf(squares / C + 0.001f);
    if (wrong == 31 && blockIdx.x == 31 && i == 997) y[i] += 0.1f;
  }
}
)");
  const auto simulated = executor();
  simulated->set_up(family, family.defaults(), 7);
  const Verification right = simulated->verify(*family.find("right"), Mode::cold);
  CHECK(right.passed());
  CHECK(right.elements == 64 * 1001);
  CHECK(right.checked == right.elements);
  CHECK_THAT(failure(family, "wrong_mean"),
             contains_text("1 of 64064 elements is wrong; first means[63]: "));
  CHECK_THAT(failure(family, "wrong_element"),
             contains_text("1 of 64064 elements is wrong; first y[31997]: "));
}

TEST_CASE("the time of a check does not count as that of a launch", "[own_family]") {
  REQUIRE_TOOLKIT();
  constexpr double kLimitS = 2;
  KernelFolder folder;
  Family slow = folder.load("add.cu", kAddFile);
  slow.reference = [reference = slow.reference](const void* problem, const void* data,
                                                const std::vector<ReferenceView>& views) {
    Steps steps = reference(problem, data, views);
    HostLoop& loop = std::get<KernelStep>(steps.all().front().action).on_host;
    loop.run = [run = loop.run](std::int64_t first, std::int64_t end) {
      if (first == 0) std::this_thread::sleep_for(std::chrono::duration<double>(1.2 * kLimitS));
      run(first, end);
    };
    return steps;
  };
  SimulatedOptions options;
  options.launch_timeout_s = kLimitS;
  const auto simulated = make_simulated_executor(device(), no_kernels(), options);
  simulated->set_up(slow, {std::int64_t{1000}}, 7);
  CHECK(simulated->verify(*slow.find("add"), Mode::cold).passed());
}

TEST_CASE("costly checks compare some of the elements", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  // 2^18 elements of 2^16 terms.
  const Family& family = folder.load("scale.cu", R"(// gpuexp: n = 2^18
// gpuexp: m = 2^16
// gpuexp: in x[n] = integers(0, 9)
// gpuexp: out y[n]
// gpuexp: scale<<<n/256, 256>>>
// gpuexp: too_many_terms = scale<<<n/256, 256>>>(x, y, m + 1)
// gpuexp: check y[i] = sum(k < m: x[i])
__global__ void scale(const float* x, float* y, int m) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = m * x[i];
}
)");
  const auto simulated = executor();
  simulated->set_up(family, family.defaults(), 7);
  const Verification right = simulated->verify(*family.find("scale"), Mode::cold);
  CHECK(right.passed());
  CHECK(right.elements == 1 << 18);
  CHECK(right.checked > 100);
  CHECK(right.checked < 8192);
  CHECK(!simulated->verify(*family.find("too_many_terms"), Mode::cold).passed());
}

TEST_CASE("an unwritten integer is found although its check is not drawn", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  // 2^16 elements of 2^12 terms.
  const Family& family = folder.load("sums.cu", R"(// gpuexp: n = 2^16
// gpuexp: m = 2^12
// gpuexp: in x[n] = integers(0, 9)
// gpuexp: out y[n]
// gpuexp: right = sums<<<n/256, 256>>>(x, y, m, -1)
// gpuexp: early = sums<<<n/256, 256>>>(x, y, m, 3)
// gpuexp: late = sums<<<n/256, 256>>>(x, y, m, n - 1)
// gpuexp: check y[i] = sum(k < m: x[i])
__global__ void sums(const int* x, int* y, int m, int missing) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i != missing) y[i] = m * x[i];
}
)");
  const auto simulated = executor();
  simulated->set_up(family, family.defaults(), 7);
  const Verification right = simulated->verify(*family.find("right"), Mode::cold);
  CHECK(right.passed());
  CHECK(right.elements == 1 << 16);
  CHECK(right.checked >= 900);
  CHECK(right.checked < right.elements / 2);
  const auto check_missing = [&](const char* variant, std::int64_t index) {
    const Verification found = simulated->verify(*family.find(variant), Mode::cold);
    CAPTURE(variant);
    CHECK(!found.passed());
    CHECK(found.wrong == 1);
    REQUIRE(found.first_wrong.size() == 1);
    CHECK(found.first_wrong.front().index == index);
    CHECK(found.first_wrong.front().is_unwritten);
  };
  check_missing("early", 3);
  check_missing("late", (1 << 16) - 1);
}

TEST_CASE("large launches and their references are sampled", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("add.cu", kAddFile);
  const auto sampled = make_simulated_executor(device(), no_kernels(), {});
  sampled->set_up(family, {std::int64_t{1} << 25}, 7);
  const Verification result = sampled->verify(family.variants[0], Mode::cold);
  CHECK(result.passed());
  CHECK(result.checked > 0);
  CHECK(result.checked < result.elements);
}

// ---- checks that must find wrong kernels, and must not refuse right ones

/// "" if the variant passes with the inputs for which its sums are exact, otherwise what is wrong.
std::string exact_failure(const KernelFolder& folder, const Family& family,
                          const std::string& variant) {
  const ExactVerification exact =
      folder.registry().kernel_files().exact_verification(family, family.defaults());
  INFO(exact.why_not);
  REQUIRE(exact.family);
  return failure(*exact.family, variant, family.defaults());
}

constexpr const char* kLongSum = R"(// gpuexp: n = 2^20
// gpuexp: in x[n]
// gpuexp: in_out total[1] = zeros
// gpuexp: sum = add_all<<<16, 256>>>
// gpuexp: drops_a_warp = add_all<<<16, 256>>>(x, total, n - 32)
// gpuexp: drops_a_term = add_all<<<16, 256>>>(x, total, n - 1)
// gpuexp: check total[i] = before(total[i]) + sum(k < n: x[k])
__global__ void add_all(const float* x, float* total, int n) {
  float sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 16 * 256) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
)";

TEST_CASE("exact sums show that a long sum omits terms", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("long_sum.cu", kLongSum);
  CHECK(failure(family, "sum").empty());
  CHECK(exact_failure(folder, family, "sum").empty());
  for (const char* variant : {"drops_a_warp", "drops_a_term"}) {
    // The bound on rounding errors exceeds 32 terms.
    CHECK(failure(family, variant).empty());
    CHECK_THAT(exact_failure(folder, family, variant),
               contains_text("1 of 1 element is wrong; first total[0]"));
  }
}

constexpr const char* kLongProduct = R"(#include <cuda_fp16.h>
// gpuexp: K = 4096
// gpuexp: alpha = 0.5
// gpuexp: A[4][K] B[K][8] a[4][K] b[K][8]
// gpuexp: C[4][8] c[4][8]
// gpuexp: product = multiply<<<1, (8, 4)>>>(A, B, C, K, K, alpha)
// gpuexp: omits = multiply<<<1, (8, 4)>>>(A, B, C, K, K - 1, alpha)
// gpuexp: halves = multiply_halves<<<1, (8, 4)>>>(a, b, c, K, K)
// gpuexp: omits_halves = multiply_halves<<<1, (8, 4)>>>(a, b, c, K, K - 16)
// gpuexp: check C[i][j] = alpha*sum(k < K: A[i][k]*B[k][j])
// gpuexp: check c[i][j] = sum(k < K: a[i][k]*b[k][j])
__global__ void multiply(const float* A, const float* B, float* C, int K, int end, float alpha) {
  float sum = 0;
  for (int k = 0; k < end; ++k) sum += A[threadIdx.y * K + k] * B[k * 8 + threadIdx.x];
  C[threadIdx.y * 8 + threadIdx.x] = alpha * sum;
}
__global__ void multiply_halves(const __half* a, const __half* b, __half* c, int K, int end) {
  float sum = 0;
  for (int k = 0; k < end; ++k)
    sum += __half2float(a[threadIdx.y * K + k]) * __half2float(b[k * 8 + threadIdx.x]);
  c[threadIdx.y * 8 + threadIdx.x] = __float2half(sum);
}
)";

TEST_CASE("exact sums show that a product omits terms", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("long_product.cu", kLongProduct);
  for (const char* right : {"product", "halves"}) {
    CHECK(failure(family, right).empty());
    CHECK(exact_failure(folder, family, right).empty());
  }
  for (const char* wrong : {"omits", "omits_halves"})
    CHECK_THAT(exact_failure(folder, family, wrong), contains_text(" of 32 elements are wrong"));
}

/// A product of K terms whose operands lose the 13 last bits of fp32, as those of tf32.
std::string truncating_product(int terms) {
  return "// gpuexp: K = " + std::to_string(terms) + R"(
// gpuexp: A[16][K] B[K][16]
// gpuexp: C[16][16]
// gpuexp: fp32 = multiply<<<1, (16, 16)>>>(A, B, C, K, -1)
// gpuexp: truncated = multiply<<<1, (16, 16)>>>(A, B, C, K, -8192)
// gpuexp: check C[i][j] = sum(k < K: A[i][k]*B[k][j])
__device__ float kept(float x, int mask) { return __int_as_float(__float_as_int(x) & mask); }
__global__ void multiply(const float* A, const float* B, float* C, int K, int mask) {
  float sum = 0;
  for (int k = 0; k < K; ++k)
    sum += kept(A[threadIdx.y * K + k], mask) * kept(B[k * 16 + threadIdx.x], mask);
  C[threadIdx.y * 16 + threadIdx.x] = sum;
}
)";
}

// docs/own_kernel.md states these numbers.
TEST_CASE("operands truncated to tf32 are found in products of up to 2048 terms", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  for (const auto& [terms, is_found] : {std::pair(64, true), {2048, true}, {8192, false}}) {
    CAPTURE(terms);
    const Family& family =
        folder.load("tf32_" + std::to_string(terms) + ".cu", truncating_product(terms));
    const auto device_executor = executor();
    device_executor->set_up(family, family.defaults(), 7);
    const Verification fp32 = device_executor->verify(*family.find("fp32"), Mode::cold);
    CHECK(fp32.passed());
    CHECK(fp32.error_rms_rel < 2e-6);
    const Verification truncated = device_executor->verify(*family.find("truncated"), Mode::cold);
    CHECK(truncated.passed() != is_found);
    CHECK(truncated.error_rms_rel == Approx(7e-4).epsilon(0.1));
  }
}

constexpr const char* kOverflow = R"(// gpuexp: n = 64
// gpuexp: in x[n] = uniform(1, 2)
// gpuexp: y[n]
// gpuexp: right = scale<<<1, 64>>>(x, y, 1e30)
// gpuexp: negative = scale<<<1, 64>>>(x, y, -1e30)
// gpuexp: finite = scale<<<1, 64>>>(x, y, 1)
// gpuexp: check y[i] = i % 2 == 0 ? -1e60*x[i] : 1e60*x[i]
__global__ void scale(const float* x, float* y, float a) {
  const int i = threadIdx.x;
  y[i] = (i % 2 == 0 ? -1e30f : 1e30f) * x[i] * a;
}
)";

TEST_CASE("an overflow to infinity has to have the right sign", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("overflow.cu", kOverflow);
  CHECK(failure(family, "right").empty());
  CHECK_THAT(failure(family, "negative"),
             contains_text("64 of 64 elements are wrong; first y[0]: expected -inf, got inf"));
  CHECK_THAT(failure(family, "finite"), contains_text("64 of 64 elements are wrong"));
}

constexpr const char* kIntegers = R"(// gpuexp: n = 64
// gpuexp: in x[n] = integers(-1000, 1000)
// gpuexp: in u[n] = integers(0, 2^32)
// gpuexp: quotients[n] remainders[n] scaled[n] bytes[n]
// gpuexp: divide<<<1, 64>>>(x, quotients, remainders)
// gpuexp: wrap<<<1, 64>>>(u, scaled, bytes)
// gpuexp: saturate<<<1, 64>>>(u, scaled, bytes)
// gpuexp: check quotients[i] = trunc(x[i] / 7)
// gpuexp: check remainders[i] = x[i] % 7
// gpuexp: check scaled[i] = 1000*u[i] + 1
// gpuexp: check bytes[i] = u[i] - 200
__global__ void divide(const int* x, int* quotients, int* remainders) {
  const int i = threadIdx.x;
  quotients[i] = x[i] / 7;
  remainders[i] = x[i] % 7;
}
__global__ void wrap(const unsigned* u, unsigned* scaled, unsigned char* bytes) {
  const int i = threadIdx.x;
  scaled[i] = 1000 * u[i] + 1;
  bytes[i] = u[i] - 200;
}
__global__ void saturate(const unsigned* u, unsigned* scaled, unsigned char* bytes) {
  const int i = threadIdx.x;
  scaled[i] = 1000 * u[i] + 1;
  bytes[i] = u[i] < 200 ? 0 : min(u[i] - 200, 255u);
}
)";

TEST_CASE("integers divide as in C and wrap around", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("integers.cu", kIntegers);
  CHECK(failure(family, "divide").empty());
  CHECK(failure(family, "wrap").empty());
  CHECK_THAT(failure(family, "saturate"), contains_text("elements are wrong; first bytes["));
}

constexpr const char* kFunctions = R"(// gpuexp: n = 4096
// gpuexp: x[n] = normal
// gpuexp: y[n]
// gpuexp: right = gelu<<<ceil_div(n, 256), 256>>>
// gpuexp: approximate = gelu_tanh<<<ceil_div(n, 256), 256>>>
// gpuexp: check y[i] = 0.5*x[i]*(1 + erf(x[i]*rsqrt(2))) + sin(x[i])*cos(x[i]) + tanh(x[i])
__device__ float rest(float x) { return sinf(x) * cosf(x) + tanhf(x); }
__global__ void gelu(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1 + erff(x[i] * rsqrtf(2))) + rest(x[i]);
}
__global__ void gelu_tanh(const float* x, float* y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  y[i] = 0.5f * v * (1 + tanhf(0.7978846f * (v + 0.044715f * v * v * v))) + rest(v);
}
)";

TEST_CASE("tanh, erf, sin, cos and rsqrt of checks are those of CUDA", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("gelu.cu", kFunctions);
  CHECK(failure(family, "right").empty());
  CHECK_THAT(failure(family, "approximate"), contains_text("elements are wrong"));
}

TEST_CASE("an endless kernel ends at the time limit of launches", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("endless.cu", R"(// gpuexp: n = 64
// gpuexp: x[n] y[n]
// gpuexp: spin<<<1, 64>>>
// gpuexp: poll<<<1, 64>>>
// gpuexp: check y[i] = x[i]
__global__ void spin(const float* x, float* y, int n) {
  volatile float* to = y;
  for (float s = 1; s > 0; s = s > 1e30f ? 1 : s * 1.0001f) to[threadIdx.x] = x[threadIdx.x];
}
// Each load of a flag ends the warp's turn.
__global__ void poll(const float* x, float* y, int n) {
  volatile const float* flag = x;
  while (*flag != 2) y[threadIdx.x] = x[threadIdx.x];
}
)");
  SimulatedOptions options;
  options.launch_timeout_s = 0.2;
  const auto limited = make_simulated_executor(device(), no_kernels(), options);
  limited->set_up(family, family.defaults(), 7);
  const auto began = std::chrono::steady_clock::now();
  for (const auto& [variant, line] : {std::pair{"spin", 8}, {"poll", 13}}) {
    INFO(variant);
    CHECK_THROWS_WITH(limited->verify(*family.find(variant), Mode::cold),
                      "did not end within 0.2 s of simulation (--launch-timeout); a warp was at "
                      "endless.cu:" +
                          std::to_string(line));
  }
  // The instruction limit, 2^28 per warp, would take minutes.
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
}

}  // namespace
}  // namespace gpuexp::test
