// Launches of kernel templates, and macros with several values: which code each problem executes.
#include "config/config_reader.hpp"
#include "plan/runnable.hpp"
#include "sass/loaded_kernels.hpp"
#include "sim/kernel_folder.hpp"

namespace gpuexp::test {
namespace {

constexpr const char* kTemplateProduct = R"(// gpuexp: m = 64
// gpuexp: n = 128
// gpuexp: k = 48
// gpuexp: BM = 32, 64, 128
// gpuexp: BN = 32, 64
// gpuexp: define BK = 8, 16
// gpuexp: require m % BM == 0 && n % BN == 0
// gpuexp: in a[m][k]
// gpuexp: in b[k][n]
// gpuexp: c[m][n]
// gpuexp: sgemm<BM, BN, float><<<(n/BN, m/BM), 256>>>
// gpuexp: check c[i][j] = sum(l < k: a[i][l]*b[l][j])
#include <cstdio>
namespace blas {
namespace {
template <int BM, int BN, class T>
__global__ void sgemm(const T* a, const T* b, T* c, int m, int n, int k) {
  static_assert(BM * BN <= 2048, "the tile is too large");
  __shared__ T as[BM][BK];
  __shared__ T bs[BK][BN];
  constexpr int kPer = BM * BN / 256;
  T sum[kPer] = {};
  for (int k0 = 0; k0 < k; k0 += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += 256)
      as[i / BK][i % BK] = a[(blockIdx.y * BM + i / BK) * k + k0 + i % BK];
    for (int i = threadIdx.x; i < BN * BK; i += 256)
      bs[i / BN][i % BN] = b[(k0 + i / BN) * n + blockIdx.x * BN + i % BN];
    __syncthreads();
    for (int l = 0; l < BK; ++l)
      for (int p = 0; p < kPer; ++p)
        sum[p] += as[(threadIdx.x + p * 256) / BN][l] * bs[l][(threadIdx.x + p * 256) % BN];
    __syncthreads();
  }
  for (int p = 0; p < kPer; ++p) {
    const int e = threadIdx.x + p * 256;
    c[(blockIdx.y * BM + e / BN) * n + blockIdx.x * BN + e % BN] = sum[p];
  }
}
}
}
int main() { printf("never compiled\n"); }
)";

Values tile_values(std::int64_t bm, std::int64_t bn, std::int64_t bk) {
  return {std::int64_t{64}, std::int64_t{128}, std::int64_t{48}, bm, bn, bk};
}

const LoadedKernel& kernel_at(const Family& family, const Values& values) {
  const auto problem = family.make_problem(values);
  const std::vector<Shape> shapes = family.variants.at(0).shapes(problem.get(), device());
  const LoadedKernel* const kernel = LoadedKernels::global().find(shapes.at(0).kernel);
  REQUIRE(kernel);
  return *kernel;
}

TEST_CASE("the values of a problem choose the instantiation and the macros", "[own_templates]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("product.cu", kTemplateProduct);
  CHECK(family.find_parameter("BK")->doc.find("macro") != std::string::npos);
  CHECK(failure(family, "sgemm", tile_values(32, 32, 8)).empty());
  CHECK(failure(family, "sgemm", tile_values(64, 32, 16)).empty());
  const LoadedKernel& small = kernel_at(family, tile_values(32, 32, 8));
  const LoadedKernel& deep = kernel_at(family, tile_values(32, 32, 16));
  CHECK(small.name == "blas::sgemm<32, 32, float>");
  CHECK(small.code(90).resource->static_shared_bytes == 4 * 2 * 32 * 8);
  CHECK(deep.code(90).resource->static_shared_bytes == 4 * 2 * 32 * 16);
  CHECK(small.code(90).hash != deep.code(90).hash);
  CHECK(small.code(80).resource->architecture == 80);
  CHECK(&kernel_at(family, tile_values(32, 32, 8)) == &small);
}

TEST_CASE("a point that does not compile is skipped, and others run", "[own_templates]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const std::string file = folder.write("product.cu", kTemplateProduct);
  const Config config =
      parse_config(folder.files().config_text(file), "own.json", folder.registry());
  const Plan plan = make_plan(config, device(), no_kernels(), device().memory_bytes);
  std::map<std::string, std::size_t> reasons;
  for (const Group& group : plan.groups)
    for (const Cell& cell : group.cells)
      ++reasons[cell.skip_reason];
  CHECK(reasons.size() == 3);
  CHECK(reasons[""] == 6);
  CHECK(reasons["requires m % BM == 0 && n % BN == 0"] == 4);
  CHECK(reasons["does not compile for sm_90a: product.cu(18): error: static assertion failed with "
                "\"the tile is too large\""] == 2);
}

TEST_CASE("excluded values are not compiled", "[own_templates]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  // 3 would not compile, and is the first value.
  const Family& family =
      folder.load("f.cu",
                  "// gpuexp: N = 3, 4\n// gpuexp: z[N]\n// gpuexp: require N % 4 == 0\n"
                  "// gpuexp: f<N><<<1, N>>>\n// gpuexp: check z[i] = N\n"
                  "template <int N> __global__ void f(float* z) {\n"
                  "  static_assert(N == 4, \"4\");\n  z[threadIdx.x] = N;\n}\n");
  CHECK(failure(family, "f", {std::int64_t{4}}).empty());
}

TEST_CASE("a file of which no point compiles is refused with the first error", "[own_templates]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const std::string error =
      folder.error("f.cu",
                   "// gpuexp: N = 3, 5\n// gpuexp: z[4]\n// gpuexp: f<N><<<1, 4>>>\n"
                   "// gpuexp: check z[i] = N\ntemplate <int N> __global__ void f(float* z) {\n"
                   "  static_assert(N == 4, \"only 4\");\n}\n");
  CHECK_THAT(error, contains_text("nvcc cannot compile f<3> for sm_90a:\n"));
  CHECK_THAT(error, contains_text("f.cu(6): error: static assertion failed with \"only 4\""));
  CHECK_THAT(error,
             contains_text("\n1 other combination of the declared values was tried, too, without "
                           "success"));
}

// Two kernels of which the second compiles for no value.
constexpr const char* kHalfCompiled = R"(// gpuexp: N = 1, 2
// gpuexp: in x[8]
// gpuexp: z[8]
// gpuexp: out w[8]
// gpuexp: good = f<N><<<1, 8>>>(x, z)
// gpuexp: bad = memset(w, 0); g<N><<<1, 8>>>(z, w)
// gpuexp: check z[i] = N*x[i]
// gpuexp: check w[i] = 1
template <int N> __global__ void f(const float* x, float* z) { z[threadIdx.x] = N * x[threadIdx.x]; }
template <int N> __global__ void g(float* z, float* w) {
  static_assert(N > 2, "N is too small");
}
)";

TEST_CASE("a variant of which no point compiles costs only itself", "[own_templates]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const std::string file = folder.write("half.cu", kHalfCompiled);
  const Config config =
      parse_config(folder.files().config_text(file), "own.json", folder.registry());
  const Plan plan = make_plan(config, device(), no_kernels(), device().memory_bytes);
  REQUIRE(plan.groups.size() == 2);
  for (const Group& group : plan.groups) {
    CHECK(group.cells.at(0).skip_reason.empty());
    CHECK(
        group.cells.at(1).skip_reason ==
        "does not compile for sm_90a: half.cu(11): error: static assertion failed with \"N is too "
        "small\"");
  }
  const std::vector<Cell> missing = without_code(plan);
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].variant->id == "bad");
  const Family& family = folder.files().load(file);
  CHECK(family.buffers.size() == 2);
  CHECK(failure(family, "good", {std::int64_t{2}}).empty());

  std::string with_reference = kHalfCompiled;
  with_reference.replace(with_reference.find("check w[i] = 1"), 14,
                         "reference g<N><<<1, 8>>>(z, w)");
  CHECK_THAT(folder.error("reference.cu", with_reference),
             contains_text("nvcc cannot compile g<1> for sm_90a:\n"));
}

TEST_CASE("errors of template arguments name the launch's line", "[own_templates]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const auto error = [&](const std::string& launch) {
    return folder.error("f.cu", "// gpuexp: N = 4\n// gpuexp: z[N]\n// gpuexp: " + launch +
                                    "<<<1, N>>>\n// gpuexp: check z[i] = N\n"
                                    "template <int N, class T> __global__ void f(T* z) {}\n"
                                    "__global__ void plain(float* z) {}\n");
  };
  CHECK_THAT(error("f<M, float>"), contains_text("f.cu(3): error: identifier \"M\" is undefined"));
  CHECK_THAT(error("f<M, float>"), !contains_text("gpuexp_instantiation"));
  CHECK_THAT(error("f<N>"), contains_text("f.cu(3): error: "));
  CHECK_THAT(error("f<M + 1, float>"), contains_text("f.cu:3:14: 'M' has no value; declare it"));
  CHECK_THAT(error("f<N/3, float>"), contains_text("4 / 3 leaves the remainder 1"));
  CHECK_THAT(error("plain<N>"),
             contains_text("f.cu:3:12: kernel 'plain' is no template, but the launch has the "
                           "template arguments <N>; expected plain<<<GRID, BLOCK>>>"));
  CHECK_THAT(error("ff<N>"),
             contains_text("f.cu:3:12: the file has no kernel 'ff'; did you mean 'f'?"));
}

TEST_CASE("types and names of C++ are template arguments", "[own_templates]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load(
      "types.cu",
      "// gpuexp: n = 40\n"
      "// gpuexp: in x[n]\n"
      "// gpuexp: y[n]\n"
      "// gpuexp: twice = apply<Kind::second, Twice, (n > 8)><<<1, n>>>\n"
      "// gpuexp: same = apply<Kind::second, ops::Sum<float, 2>, true><<<1, n>>>\n"
      "// gpuexp: check y[i] = 2*x[i]\n"
      "enum class Kind { first, second };\n"
      "struct Twice { __device__ float operator()(float x) { return 2 * x; } };\n"
      "namespace ops { template <class T, int N> struct Sum { __device__ T operator()(T x) {\n"
      "  T sum = 0; for (int i = 0; i < N; ++i) sum += x; return sum; } }; }\n"
      "template <Kind K, class F, bool B, class T = float>\n"
      "__global__ void apply(const T* x, T* y, int n) {\n"
      "  if (threadIdx.x < n) y[threadIdx.x] = K == Kind::second && B ? F()(x[threadIdx.x]) : 0;\n"
      "}\n");
  CHECK(failure(family, "twice").empty());
  CHECK(failure(family, "same").empty());
}

TEST_CASE("a macro may change the kernels of a file", "[own_templates]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("macro.cu",
                                     "// gpuexp: define N = 2, 3, 4\n"
                                     "// gpuexp: z[8]\n"
                                     "// gpuexp: f<<<1, 8>>>\n"
                                     "// gpuexp: check z[i] = N\n"
                                     "#if N == 3\n"
                                     "__global__ void f(float* z, float* more) {}\n"
                                     "#else\n"
                                     "__global__ void f(float* z) { z[threadIdx.x] = N; }\n"
                                     "#endif\n");
  CHECK(failure(family, "f", {std::int64_t{2}}).empty());
  CHECK(failure(family, "f", {std::int64_t{4}}).empty());
  CHECK_THROWS_WITH(kernel_at(family, {std::int64_t{3}}).code(90),
                    contains_text("-DN=3 has the parameters (float*, float*), but (float*) at "
                                  "other values"));
}

TEST_CASE("a file is first compiled for the requested GPU", "[own_templates]") {
  REQUIRE_TOOLKIT();
  const std::string only_80 =
      "// gpuexp: z[4]\n// gpuexp: f<<<1, 4>>>\n// gpuexp: check z[i] = 1\n"
      "__global__ void f(float* z) {\n"
      "#if __CUDA_ARCH__ >= 900\n#error needs 8.0\n#endif\n  z[threadIdx.x] = 1;\n}\n";
  KernelFolder folder;
  CHECK_THAT(folder.error("f.cu", only_80), contains_text("#error needs 8.0"));
  folder.files().compile_first_for([] { return std::vector<int>{90, 80}; });
  const Family& family = folder.load("f.cu", only_80);
  CHECK(kernel_at(family, {}).code(80).resource->architecture == 80);
  CHECK_THROWS_AS(kernel_at(family, {}).code(90), InputError);
}

}  // namespace
}  // namespace gpuexp::test
