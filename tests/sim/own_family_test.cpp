// Users' kernel files: compiled, launched as they declare, and verified on the CPU.
#include "own/own_family.hpp"

#include <iterator>

#include "config/config_reader.hpp"
#include "model/ceiling_source.hpp"
#include "plan/plan.hpp"
#include "sim/kernel_folder.hpp"
#include "simulated/code_predictor.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a vector sum is verified at even and odd sizes", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("add.cu", kAddFile);
  CHECK(family.id == "add.cu");
  for (const std::int64_t n : {1, 31, 256, 257, 1000}) {
    CHECK(failure(family, "add", {n}).empty());
  }
}

TEST_CASE("a config has the file's variants and axes", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const std::string file = folder.write("add.cu", kAddFile);
  const Config config =
      parse_config(folder.files().config_text(file), "add.json", folder.registry());
  const Plan plan = make_plan(config, device(), no_kernels(), device().memory_bytes);
  REQUIRE(plan.cell_count() % 3 == 0);
  CHECK(plan.groups.front().values == Values{std::int64_t{1000}});
  CHECK(plan.groups.front().cells.front().skip_reason.empty());
}

TEST_CASE("a config of a file without parameters and with a long name is valid", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const std::string text =
      "// gpuexp: x[32] y[32]\n// gpuexp: f<<<1, 32>>>\n// gpuexp: check y[i] = x[i]\n"
      "__global__ void f(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }\n";
  for (const char* name : {"My Kernel-v2.final.cu", "\xC3\xA9t\xC3\xA9.cu"}) {
    const std::string file = folder.write(name, text);
    const Config config =
        parse_config(folder.files().config_text(file), "own.json", folder.registry());
    CHECK(config.experiments.size() == 1);
    CHECK(config.experiments[0].family->id == name);
  }
  CHECK_THROWS_WITH(folder.files().config_text(folder.write("\xFF.cu", text)),
                    contains_text("the path is not UTF-8; rename the file"));
}

TEST_CASE("a file is loaded once, and file names are unique", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("add.cu", kAddFile);
  CHECK(&folder.load("add.cu", kAddFile) == &family);
  CHECK(&folder.files().load(folder.folder() + "/./add.cu") == &family);
  CHECK(folder.files().paths() == std::vector<std::string>{folder.folder() + "/add.cu"});
  CHECK_THAT(folder.error("other/add.cu", kAddFile),
             contains_text("other/add.cu: another kernel file is called add.cu, too; rename one"));
  CHECK(folder.registry().families().size() == 1);
}

TEST_CASE("kernels of included files have arguments by name", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  folder.write("kernels/add.cuh", R"(#pragma once
__global__ void add(const float* first, const float* second, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = first[i] + second[i];
}
)");
  const std::string declaration =
      "// gpuexp: count = 100\n// gpuexp: first[count] second[count] sum[count]\n"
      "// gpuexp: add<<<ceil_div(count, 32), 32>>>\n// gpuexp: check sum[i] = first[i] + "
      "second[i]\n";
  const Family& family =
      folder.load("src/uses.cu", declaration + "#include \"../kernels/add.cuh\"\n");
  CHECK(failure(family, "add").empty());
}

constexpr const char* kTranspose = R"(// gpuexp: width = 64
// gpuexp: height = 96
// gpuexp: in idata[height][width]
// gpuexp: odata[width][height]
// gpuexp: naive = transpose_naive<<<(width/32, height/32), (32, 8)>>>
// gpuexp: tile = transpose_tile<<<(width/32, height/32), (32, 8)>>> vs naive
// gpuexp: padded = transpose_padded<<<(width/32, height/32), (32, 8)>>> vs tile
// gpuexp: check odata[c][r] = idata[r][c]
// gpuexp: require width % 32 == 0 && height % 32 == 0
__global__ void transpose_naive(float* odata, float* idata, int width, int height) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) odata[c * height + r + j] = idata[(r + j) * width + c];
}
template <int PITCH>
__device__ void transpose(float* odata, const float* idata, int width, int height) {
  __shared__ float tile[32][PITCH];
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = idata[(r + j) * width + c];
  __syncthreads();
  const int to_c = blockIdx.y * 32 + threadIdx.x, to_r = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    odata[(to_r + j) * height + to_c] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void transpose_tile(float* odata, float* idata, int width, int height) {
  transpose<32>(odata, idata, width, height);
}
__global__ void transpose_padded(float* odata, float* idata, int width, int height) {
  transpose<33>(odata, idata, width, height);
}
)";

TEST_CASE("a transpose has three variants", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("transpose.cu", kTranspose);
  REQUIRE(family.variants.size() == 3);
  CHECK(family.variants[2].compare_to == "tile");
  for (const char* variant : {"naive", "tile", "padded"})
    CHECK(failure(family, variant).empty());
  const auto unmet = family.make_problem({std::int64_t{33}, std::int64_t{32}});
  CHECK(family.unsupported(unmet.get(), device()) ==
        "requires width % 32 == 0 && height % 32 == 0");
}

constexpr const char* kProduct = R"(// gpuexp: M = 33
// gpuexp: N = 17
// gpuexp: K = 65
// gpuexp: alpha = 0.5
// gpuexp: beta = 3
// gpuexp: A[M][K] B[K][N]
// gpuexp: in_out C[M][N] = normal
// gpuexp: gemm<<<(ceil_div(N, 16), ceil_div(M, 16)), (16, 16)>>>
// gpuexp: forgets = gemm<<<(ceil_div(N, 16), ceil_div(M, 16)), (16, 16)>>>(A, B, C, M, N, K, alpha, 0)
// gpuexp: check C[i][j] = alpha*sum(k < K: A[i][k]*B[k][j]) + beta*before(C[i][j])
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K, float alpha,
                     float beta) {
  const int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
  if (i >= M || j >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
  C[i * N + j] = alpha * sum + beta * C[i * N + j];
}
)";

TEST_CASE("a product reads its output's value before the launch", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("gemm.cu", kProduct);
  CHECK(failure(family, "gemm").empty());
  CHECK_THAT(failure(family, "forgets"), contains_text("elements are wrong; first C[0]"));
  const auto problem = family.make_problem(family.defaults());
  const Work work = family.variants[0].work(problem.get());
  CHECK(work.bytes_read == 4.0 * (33 * 65 + 65 * 17 + 33 * 17));
  CHECK(work.bytes_written == 4.0 * 33 * 17);
}

TEST_CASE("launches may follow each other on an in_out buffer", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("gemm.cu", kProduct);
  const auto device_executor = executor();
  device_executor->set_up(family, family.defaults(), 3);
  for (int i = 0; i < 3; ++i)
    CHECK(device_executor->verify(family.variants[0], Mode::cold).passed());
}

constexpr const char* kSoftmax = R"(// gpuexp: rows = 5
// gpuexp: columns = 300
// gpuexp: x[rows][columns] = normal
// gpuexp: out y[rows][columns]
// gpuexp: softmax<<<rows, 32>>>
// gpuexp: zeros = softmax_zeros<<<rows, 32>>>
// gpuexp: nans = softmax_nans<<<rows, 32>>>
// gpuexp: close = softmax_close<<<rows, 32>>>
// gpuexp: check y[i][j] = exp(x[i][j]) / sum(k < columns: exp(x[i][k]))
__device__ float total_of(const float* row, int columns) {
  float total = 0;
  for (int j = 0; j < columns; ++j) total += expf(row[j]);
  return total;
}
__global__ void softmax(const float* x, float* y, int columns) {
  const float total = total_of(x + blockIdx.x * columns, columns);
  for (int j = threadIdx.x; j < columns; j += 32)
    y[blockIdx.x * columns + j] = expf(x[blockIdx.x * columns + j]) / total;
}
__global__ void softmax_zeros(const float* x, float* y, int columns) {
  for (int j = threadIdx.x; j < columns; j += 32) y[blockIdx.x * columns + j] = 0;
}
__global__ void softmax_nans(const float* x, float* y, int columns) {
  for (int j = threadIdx.x; j < columns; j += 32) y[blockIdx.x * columns + j] = nanf("");
}
__global__ void softmax_close(const float* x, float* y, int columns) {
  const float total = total_of(x + blockIdx.x * columns, columns);
  for (int j = threadIdx.x; j < columns; j += 32)
    y[blockIdx.x * columns + j] = 1.001f * expf(x[blockIdx.x * columns + j]) / total;
}
)";

TEST_CASE("zeros, NaN and errors of a thousandth fail a softmax", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("softmax.cu", kSoftmax);
  CHECK(failure(family, "softmax").empty());
  for (const char* variant : {"zeros", "nans", "close"})
    CHECK_THAT(failure(family, variant), contains_text("1500 of 1500 elements are wrong"));
}

constexpr const char* kSum = R"(// gpuexp: n = 100000
// gpuexp: in x[n] = integers(0, 100)
// gpuexp: in_out total[1] = zeros
// gpuexp: sum = add_all<<<8, 256>>>
// gpuexp: nothing<<<1, 32>>>
// gpuexp: misses_one = add_all<<<8, 256>>>(x, total, n - 1)
// gpuexp: check total[i] = before(total[i]) + sum(k < n: x[k])
__global__ void add_all(const float* x, float* total, int n) {
  float sum = 0;
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 2048) sum += x[i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
__global__ void nothing(float* total) {}
)";

TEST_CASE("a sum with atomics passes, and zero fails", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("sum.cu", kSum);
  CHECK(failure(family, "sum").empty());
  CHECK(failure(family, "misses_one", {std::int64_t{50}}) != "");
  CHECK_THAT(failure(family, "nothing"), contains_text("1 of 1 element is wrong; first total[0]"));
}

constexpr const char* kSums = R"(// gpuexp: n = 1000
// gpuexp: blocks = 4
// gpuexp: x[n] = integers(0, 10)
// gpuexp: workspace sums[blocks]
// gpuexp: total[1]
// gpuexp: two = sum<<<blocks, 256>>>(x, sums, n); sum<<<1, 256>>>(sums, total, blocks)
// gpuexp: one = memset(total, 0); add<<<blocks, 256>>>(x, total, n) vs two
// gpuexp: forgets = add<<<blocks, 256>>>(x, total, n)
// gpuexp: swapped = add<<<blocks, 256>>>(x, total, n); memset(total, 0)
// gpuexp: early = keep<<<1, 32>>>(sums, total); sum<<<blocks, 256>>>(x, sums, n)
// gpuexp: check total[i] = sum(k < n: x[k])
__global__ void sum(const float* x, float* sums, int n) {
  __shared__ float partial[256];
  float sum = 0;
  for (int i = blockIdx.x + threadIdx.x * gridDim.x; i < n; i += blockDim.x * gridDim.x) sum += x[i];
  partial[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}
__global__ void add(const float* x, float* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, x[i]);
}
__global__ void keep(float* sums, float* total) { total[0] = sums[0]; }
)";

TEST_CASE("the steps of a variant run in order", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("sums.cu", kSums);
  CHECK(failure(family, "two").empty());
  CHECK(failure(family, "two", {1023, 7}).empty());
  CHECK(failure(family, "one").empty());
  for (const char* wrong : {"forgets", "swapped"})
    CHECK_THAT(failure(family, wrong),
               contains_text("are read before anything wrote them: byte 0 of buffer total"));
}

// A variant that reads the results of another variant's launch would seem right.
TEST_CASE("a workspace has no contents before each launch", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("sums.cu", kSums);
  const auto device_executor = executor();
  device_executor->set_up(family, family.defaults(), 7);
  CHECK(device_executor->verify(*family.find("two"), Mode::cold).passed());
  try {
    device_executor->verify(*family.find("early"), Mode::cold);
    FAIL("the launch read what an earlier one wrote");
  } catch (const DeviceError& error) {
    CHECK_THAT(error.what(),
               contains_text("are read before anything wrote them: byte 0 of buffer sums"));
  }
}

TEST_CASE("products that are too large to execute are sampled", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("gemm.cu", kProduct);
  const auto is_sampled = [&](std::int64_t size) {
    Values values = family.defaults();
    for (const char* name : {"M", "N", "K"})
      values[static_cast<std::size_t>(family.find_parameter(name) - family.parameters.data())] =
          size;
    const auto problem = family.make_problem(values);
    return sampling_of(family.variants.at(0), problem.get(), {}, 1).has_value();
  };
  CHECK(!is_sampled(512));
  CHECK(is_sampled(2048));
}

constexpr const char* kFaults = R"(// gpuexp: n = 100
// gpuexp: x[n] y[n]
// gpuexp: scale<<<ceil_div(n, 32), 32>>>
// gpuexp: one_off<<<ceil_div(n, 32), 32>>>
// gpuexp: beyond<<<ceil_div(n, 32), 32>>>
// gpuexp: partial<<<1, 32>>>
// gpuexp: check y[i] = 2*x[i]
__global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
__global__ void one_off(const float* x, float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = i == 37 ? x[i] : 2 * x[i];
}
__global__ void beyond(const float* x, float* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  y[i] = 2 * x[i];
}
__global__ void partial(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
)";

TEST_CASE("wrong elements and accesses out of bounds fail", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("faults.cu", kFaults);
  CHECK(failure(family, "scale").empty());
  CHECK_THAT(failure(family, "one_off"), contains_text("1 of 100 elements is wrong; first y[37]"));
  CHECK_THAT(failure(family, "beyond"), contains_text("beyond"));
  CHECK_THAT(failure(family, "partial"), contains_text("68 of 100 elements are wrong"));
}

constexpr const char* kTypes = R"(#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
// gpuexp: n = 77
// gpuexp: h[n] b[n] d[n] i[n] u[n]
// gpuexp: in_out bytes[n] = integers(250, 256)
// gpuexp: words[n] w[n] k[n] hs[n] bs[n] ds[n] is[n]
// gpuexp: halves<<<ceil_div(n, 32), 32>>>(h, hs, n)
// gpuexp: bfloats<<<ceil_div(n, 32), 32>>>(b, bs, n)
// gpuexp: a = 0.1
// gpuexp: doubles<<<ceil_div(n, 32), 32>>>(d, ds, a, n)
// gpuexp: ints<<<ceil_div(n, 32), 32>>>(i, is, n)
// gpuexp: unsigneds<<<ceil_div(n, 32), 32>>>(u, words, n)
// gpuexp: increment<<<ceil_div(n, 32), 32>>>(bytes, n)
// gpuexp: sums<<<ceil_div(n, 32), 32>>>(w, k, n)
// gpuexp: small[n] = integers(-128, 128)
// gpuexp: in_out letters[n] = integers(-128, 128)
// gpuexp: shorts[n] = integers(-32768, 32768)
// gpuexp: flags[n]
// gpuexp: index[n] = integers(0, n)
// gpuexp: negated[n] tripled[n] below[n] gathered[n]
// gpuexp: negate<<<ceil_div(n, 32), 32>>>(small, negated, letters, n)
// gpuexp: triple<<<ceil_div(n, 32), 32>>>(shorts, tripled, n)
// gpuexp: select<<<ceil_div(n, 32), 32>>>(flags, index, below, gathered, n)
// gpuexp: check hs[e] = h[e] / 3000
// gpuexp: check bs[e] = 3*b[e]
// gpuexp: check ds[e] = a*d[e] / 3
// gpuexp: check is[e] = 2*i[e] - 1
// gpuexp: check words[e] = u[e] * u[e]
// gpuexp: check bytes[e] = before(bytes[e]) == 255 ? 0 : before(bytes[e]) + 1
// gpuexp: check k[e] = w[e] + 2^33
// gpuexp: check negated[e] = -small[e]
// gpuexp: check letters[e] = before(letters[e]) - 1
// gpuexp: check tripled[e] = 3*shorts[e]
// gpuexp: check below[e] = index[e] < e
// gpuexp: check gathered[e] = flags[e] ? index[index[e]] - 2^40 : -1
#define INDEX const int e = blockIdx.x * 32 + threadIdx.x; if (e >= n) return
__global__ void halves(const __half* x, __half* y, int n) { INDEX; y[e] = __float2half(__half2float(x[e]) / 3000); }
__global__ void bfloats(const __nv_bfloat16* x, __nv_bfloat16* y, int n) { INDEX; y[e] = __float2bfloat16(3 * __bfloat162float(x[e])); }
__global__ void doubles(const double* x, double* y, float a, int n) { INDEX; y[e] = a * x[e] / 3; }
__global__ void ints(const int* x, int* y, int n) { INDEX; y[e] = 2 * x[e] - 1; }
__global__ void unsigneds(const unsigned* x, unsigned* y, int n) { INDEX; y[e] = x[e] * x[e]; }
__global__ void increment(unsigned char* x, int n) { INDEX; ++x[e]; }
__global__ void sums(const unsigned long long* x, unsigned long long* y, int n) { INDEX; y[e] = x[e] + (1ull << 33); }
__global__ void negate(const signed char* x, std::int8_t* y, char* z, int n) { INDEX; y[e] = -x[e]; --z[e]; }
__global__ void triple(const short* x, std::int16_t* y, int n) { INDEX; y[e] = 3 * x[e]; }
__global__ void select(const bool* flags, const std::int64_t* index, bool* below, long long* gathered, int n) { INDEX; below[e] = index[e] < e; gathered[e] = flags[e] ? index[index[e]] - (1ll << 40) : -1; }
)";

TEST_CASE("buffers of all types are filled and checked", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("types.cu", kTypes);
  for (const Variant& variant : family.variants)
    CHECK(failure(family, variant.id).empty());
}

TEST_CASE("errors name the file, line and column", "[own_family]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const std::string kernel =
      "\n__global__ void f(float* z) {}\ntemplate <int N> __global__ void "
      "g(float* z) {}\n";
  CHECK_THAT(folder.error("a.cu", "// gpuexp: ff<<<1, 32>>>" + kernel),
             contains_text("a.cu:1:12: the file has no kernel 'ff'; did you mean 'f'? allowed: f"));
  CHECK_THAT(folder.error("b.cu", "// gpuexp: g<<<1, 32>>>" + kernel),
             contains_text("b.cu:1:12: kernel 'g' is in the source but not in the compiled code"));
  CHECK_THAT(folder.error("c.cu", kernel),
             contains_text("c.cu:1:1: the file has no declaration; expected comment lines that "
                           "begin with '// gpuexp:' and launch one of its kernels: f, g"));
  CHECK(folder.registry().families().empty());
}

/// Time in the mode warm of each variant of the file, with predictions kept in `kept_in`.
std::map<std::string, double> predicted_us(KernelFolder& folder, const std::string& file,
                                           const fs::path& kept_in) {
  const Config config =
      parse_config(folder.files().config_text(file), "own.json", folder.registry());
  Plan plan = make_plan(config, device(), no_kernels(), device().memory_bytes);
  plan.ceiling_source =
      choose_ceiling_source(plan.device, "h200", std::string(GPUEXP_SOURCE_DIR) + "/configs", {});
  CodePredictorOptions options;
  options.kept_in = kept_in;
  options.build_id = "1";
  CodePredictor predictor(plan, no_kernels(), options);
  std::map<std::string, double> times;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) {
      auto prediction = predict_cell(plan, group, cell, no_kernels());
      REQUIRE(prediction);
      predictor.refine(cell, *prediction);
      INFO(prediction->why_no_time);
      REQUIRE(prediction->time_us);
      times[cell.variant->id] = *prediction->time_us;
    }
  }
  return times;
}

TEST_CASE("a changed launch line changes the prediction", "[own_family]") {
  REQUIRE_TOOLKIT();
  const auto source = [](const std::string& block) {
    return "// gpuexp: n = 2^16\n// gpuexp: x[n] y[n]\n// gpuexp: copy<<<n/" + block + ", " +
           block + ">>>\n// gpuexp: check y[i] = x[i]\n" +
           "__global__ void copy(const float* x, float* y) {\n"
           "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  y[i] = x[i];\n}\n";
  };
  const ScratchFolder kept;
  const auto files_kept = [&] {
    return std::distance(fs::directory_iterator(kept.path()), fs::directory_iterator());
  };
  KernelFolder first, second, again;
  const double of_256 =
      predicted_us(first, first.write("copy.cu", source("256")), kept.path()).at("copy");
  const auto predictions = files_kept();
  const double of_32 =
      predicted_us(second, second.write("copy.cu", source("32")), kept.path()).at("copy");
  CHECK(of_32 > of_256);
  CHECK(files_kept() == 2 * predictions);
  CHECK(predicted_us(again, again.write("copy.cu", source("256")), kept.path()).at("copy") ==
        of_256);
  CHECK(files_kept() == 2 * predictions);
}

}  // namespace
}  // namespace gpuexp::test
