// Declarations that are inferred from the text and from executions of kernels (gpuexp init).
#include "infer/initial_declaration.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/foreign_clone.hpp"
#include "sim/init_folder.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

const std::string kKernels = R"(
__global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
__global__ void scale(double* x, unsigned n) {  // pointers without const, and a loop over the grid
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    x[i] *= 2;
}
__global__ void transpose(float* out, float* in, int columns, int rows) {
  __shared__ float tile[32][33];
  const int c = blockIdx.x * 32 + threadIdx.x;
  const int r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(r + j) * columns + c];
  __syncthreads();
  for (int j = 0; j < 32; j += 8)
    out[(blockIdx.x * 32 + threadIdx.y + j) * rows + blockIdx.y * 32 + threadIdx.x] =
        tile[threadIdx.x][threadIdx.y + j];
}
__global__ void blur(const float* in, float* out, int h, int w) {  // in has a halo of one
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) sum += in[(y + j) * (w + 2) + x + i];
  out[y * w + x] = sum / 9;
}
__global__ void interior(const float* in, float* out, int h, int w) {  // leaves out the border
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= w - 1 || y >= h - 1) return;
  out[y * w + x] = in[(y - 1) * w + x] + in[(y + 1) * w + x] + in[y * w + x - 1] + in[y * w + x + 1];
}
template <int TILE>
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k, float beta) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE];
  const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < k; t += TILE) {
    as[threadIdx.y][threadIdx.x] = a[row * k + t + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum + beta * c[row * n + column];
}
__global__ void total(const float* x, float* sum, int n) {
  __shared__ float part[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  for (int s = 128; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(sum, part[0]);
}
__global__ void partial(const float* x, float* sums, int n) {  // one element for each block
  float sum = 0;
  for (int i = blockIdx.x * 256; i < n && i < (blockIdx.x + 1) * 256; ++i) sum += x[i];
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
__global__ void gather(const float* table, const int* idx, float* y, int n, int entries) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = table[idx[i]];
}
__global__ void rows(const int* offsets, const float* values, float* sums, int m) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= m) return;
  float sum = 0;
  for (int i = offsets[r]; i < offsets[r + 1]; ++i) sum += values[i];
  sums[r] = sum;
}
__global__ void unlaunched(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
void launch(float* d_x, float* d_y, float* d_z, float* d_w, double* d_d, int* d_i, int width,
            int height, int w, int h, int m, int n, int k, int M, int entries, float beta) {
  const int N = 1 << 22, threads = 256;
  add<<<(N + threads - 1) / threads, threads>>>(d_x, d_y, d_z, N);
  scale<<<32, threads>>>(d_d, N);
  dim3 tile(32, 8);
  transpose<<<dim3(width / 32, height / 32), tile>>>(d_y, d_x, width, height);
  dim3 block(16, 16), grid(CEIL_DIV(w, block.x), CEIL_DIV(h, block.y));
  blur<<<grid, block>>>(d_x, d_y, h, w);
  interior<<<grid, block>>>(d_x, d_w, h, w);
  matmul<16><<<dim3(n / 16, m / 16), block>>>(d_x, d_y, d_z, m, n, k, beta);
  total<<<CEIL_DIV(N, 256), 256>>>(d_x, d_y, N);
  partial<<<CEIL_DIV(N, 256), 256>>>(d_x, d_y, N);
  gather<<<CEIL_DIV(N, 256), 256>>>(d_x, d_i, d_y, N, entries);
  rows<<<CEIL_DIV(M, 256), 256>>>(d_i, d_x, d_y, M);
}
)";

TEST_CASE("extents, roles and multiples of sizes are found by executing kernels",
          "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("kernels.cu", kKernels);
  INFO(infer::including_file(declaration, "kernels.cu"));
  const std::map<std::string, std::string> expected{
      {"add", "in x[n], in y[n], out z[n]"},
      {"scale", "in_out x[n]"},
      {"transpose", "out out[columns][rows], in in[rows][columns]; columns % 32; rows % 32"},
      {"blur", "in in[h + 2][w + 2], out out[h][w]"},
      {"interior", "in in[h][w], in_out out[h][w]"},
      {"matmul", "in a[m][k], in b[k][n], in_out c[m][n]; m % 16; n % 16; k % 16"},
      {"total", "in x[n], in_out sum_[1] = zeros"},
      {"partial", "in x[n], out sums[ceil_div(n, 256)]"},
      {"gather", "in table[entries], in idx[n] = integers(0, entries), out y[n]"},
      {"rows", "in offsets[m + 1] = iota, in values[m], out sums[m]"},
      {"unlaunched", "in x[n], out y[n]"}};
  const auto found = summaries(declaration);
  for (const auto& [kernel, text] : expected) {
    INFO(kernel);
    REQUIRE(found.contains(kernel));
    CHECK(found.at(kernel) == text);
  }
  CHECK(found.size() == expected.size());
  CHECK_THAT(infer::lines_for_file(declaration),
             contains_text("// gpuexp: matmul<16><<<(n/16, m/16), (16, 16)>>>"));
}

const std::string kInstances = R"(
template <int kRows, int kColumns>
__global__ void fill(float* out, int n) {
  const int i = (blockIdx.x * kRows + threadIdx.y) * kColumns + threadIdx.x;
  if (i < n) out[i] = kRows;
}
__device__ float twice(float x) { return 2 * x; }
template <float (*kFunction)(float)>
__global__ void map(const float* in, float* out, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = kFunction(in[i]);
}
constexpr int kWide = 32;
void launch(float* d_out, const float* d_in, int n) {
  fill<4, 16><<<(n + 63) / 64, dim3(16, 4)>>>(d_out, n);
  fill<4, 16><<<(n + 63) / 64, dim3(16, 4)>>>(d_out, n);
  fill<kWide / 4, kWide><<<(n + 255) / 256, dim3(kWide, 8)>>>(d_out, n);
  map<twice><<<(n + 63) / 64, 64>>>(d_in, d_out, n);
}
)";

TEST_CASE("instances of a template are variants that their arguments distinguish",
          "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("instances.cu", kInstances);
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  CHECK(declaration.variants.size() == 3);
  CHECK_THAT(text,
             contains_text("// gpuexp: fill_4_16 = fill<4, 16><<<ceil_div(n, 64), (16, 4)>>>\n"));
  CHECK_THAT(text, contains_text("// gpuexp: fill_8_32 = fill<8, 32><<<ceil_div(n, 256), (32, 8)>>>"
                                 " vs fill_4_16\n"));
  CHECK_THAT(text, contains_text("// gpuexp: map<twice><<<ceil_div(n, 64), 64>>>"));
}

const std::string kSequences = R"(
__global__ void sums(const float* x, float* out, int n) {
  __shared__ float part[128];
  float sum = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128) sum += x[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
__global__ void scale(float* y, const float* x, int count) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < count) y[i] = 2 * x[i];
}
__global__ void shift(float* y, const float* x, int count) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < count) y[i] = x[i] + 1;
}
void sort(float* data, int n);
void total(const float* d_x, float* d_partial, float* d_sum, int n) {
  const int blocks = (n + 511) / 512;
  sums<<<blocks, 128>>>(d_x, d_partial, n);
  cudaGetLastError();
  sums<<<1, 128>>>(d_partial, d_sum, blocks);
}
)";

TEST_CASE("launches of one function on the same buffers are one variant", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("total.cu", kSequences);
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  CHECK(summaries(declaration).at("total") ==
        "in d_x[n], workspace d_partial[ceil_div(n, 512)], out d_sum[1]");
  CHECK_THAT(text,
             contains_text("// gpuexp: total = sums<<<ceil_div(n, 512), 128>>>(d_x, d_partial, n); "
                           "sums<<<1, 128>>>(d_partial, d_sum, ceil_div(n, 512))\n"));
  CHECK_THAT(text, contains_text("//   check d_sum[i] = EXPRESSION\n"));
  CHECK_THAT(text, !contains_text("check d_partial"));
  CHECK(!summaries(declaration).contains("sums"));
}

TEST_CASE("launches that do not follow from each other are variants of their own",
          "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const std::string scaled = "scale<<<(n + 127) / 128, 128>>>(d_y, d_x, n);";
  const std::string shifted = "shift<<<(n + 127) / 128, 128>>>(d_z, d_y, n);";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"one reads what the other stores", scaled + shifted},
      {"the second reads another buffer", scaled + "shift<<<(n + 127) / 128, 128>>>(d_z, d_x, n);"},
      {"the first reads what the second stores",
       scaled + "shift<<<(n + 127) / 128, 128>>>(d_x, d_z, n);"},
      {"another function uses the buffer between them", scaled + "sort(d_y, n);" + shifted},
      {"they are in different branches", "if (n > 1) {" + scaled + "} else {" + shifted + "}"},
      {"they are in different functions",
       scaled + "} void other(float* d_y, float* d_z, int n) {" + shifted}};
  for (const auto& [what, body] : cases) {
    INFO(what);
    const InitFolder folder;
    const std::string text = infer::lines_for_file(folder.declared(
        "two.cu",
        kSequences + "void two(float* d_x, float* d_y, float* d_z, int n) {" + body + "}\n"));
    INFO(text);
    const bool is_sequence = text.find("// gpuexp: two = scale<<<") != std::string::npos;
    CHECK(is_sequence == (what == cases.front().first));
  }
}

TEST_CASE("a later launch may pass a buffer for several parameters", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const std::string text = infer::lines_for_file(folder.declared(
      "twice.cu", kSequences + R"(
void twice(float* d_x, float* d_y, int n) {
  scale<<<(n + 127) / 128, 128>>>(d_y, d_x, n);
  scale<<<(n + 127) / 128, 128>>>(d_y, d_y, n);
}
)"));
  INFO(text);
  CHECK_THAT(text, contains_text("// gpuexp: twice = scale<<<ceil_div(n, 128), 128>>>(d_y, d_x, n); "
                                 "scale<<<ceil_div(n, 128), 128>>>(d_y, d_y, n)\n"));
}

TEST_CASE("a launch with other arguments that is left out is a comment", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const std::vector<std::pair<std::string, bool>> cases{
      {"scale<<<(n + 127) / 128, 128>>>(d_z, d_x, n);", true},
      {"scale<<<(n + 127) / 128, 128>>>(d_y, d_x, n);", false},  // the same launch again
      {"} void other(float* d_z, float* d_x, int n) { scale<<<(n + 127) / 128, 128>>>(d_z, d_x, n);",
       false}};
  for (const auto& [second, is_comment] : cases) {
    INFO(second);
    const InitFolder folder;
    const infer::InitialDeclaration declaration = folder.declared(
        "left.cu", kSequences + "void left(float* d_x, float* d_y, float* d_z, int n) {\n" +
                       "scale<<<(n + 127) / 128, 128>>>(d_y, d_x, n);\n" + second + "\n}\n");
    const std::string notes = fmt::format("{}", fmt::join(declaration.notes, "\n"));
    INFO(notes);
    CHECK((notes.find("with the arguments (d_z, d_x, n) is not declared; line") !=
           std::string::npos) == is_comment);
  }
}

const std::string kSlow = R"(
__global__ void slow(const float* x, float* y, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k)
        for (int l = 0; l < n; ++l) sum += x[(i + j + k + l) % n];
  if (threadIdx.x < n) y[threadIdx.x] = sum;
}
__global__ void fast(const float* x, float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i < n) y[i] = x[i];
}
void launch(float* d_x, float* d_y, int n) {
  slow<<<1, 32>>>(d_x, d_y, n);
  fast<<<(n + 31) / 32, 32>>>(d_x, d_y, n);
}
)";

TEST_CASE("a kernel that executes too long is a comment with what is known", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const std::string text = infer::lines_for_file(folder.declared("slow.cu", kSlow));
  INFO(text);
  CHECK_THAT(text, contains_text("// slow: not found: the sizes of the buffers: a loop has not"));
  CHECK_THAT(text, contains_text("//   in x[SIZE]\n//   out y[SIZE]\n//   slow<<<1, 32>>>\n"));
  CHECK_THAT(text, contains_text("// gpuexp: fast<<<ceil_div(n, 32), 32>>>\n"));
  CHECK_THAT(text, !contains_text("gpuexp: slow"));
}

const std::string kIntegerTypes = R"(#include <cstdint>
typedef long long index_t;
using byte_t = signed char;
struct Point { float x, y; };
__global__ void convert(const int64_t* wide, const byte_t* bytes, const bool* flags,
                        uint32_t* words, short* shorts, size_t count, index_t shift) {
  const size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (i < count) words[i] = uint32_t(wide[i] + bytes[i]) + (flags[i] ? 1 : 0) + uint32_t(shift);
  if (i < count) shorts[i] = short(i);
}
__global__ void move(Point* points, float by) { points[threadIdx.x].x += by; }
__global__ void set(float* out, Point to) { out[threadIdx.x] = to.x; }
__global__ void each(float** rows) { rows[0][threadIdx.x] = 1; }
void launch(int64_t* w, byte_t* b, bool* f, uint32_t* o, short* s, size_t n) {
  convert<<<(n + 63) / 64, 64>>>(w, b, f, o, s, n, index_t(3));
}
)";

TEST_CASE("typedefs of integers are declared, and structures are refused", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("types.cu", kIntegerTypes);
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  CHECK(declaration.variants.size() == 1);
  for (const char* line : {"in wide[count]\n", "in bytes[count]\n", "in flags[count]\n",
                           "out words[count]\n", "out shorts[count]\n"})
    CHECK_THAT(text, contains_text(std::string("// gpuexp: ") + line));
  const std::string notes = fmt::format("{}", fmt::join(declaration.notes, "\n"));
  CHECK_THAT(notes,
             contains_text("move is not declared: parameter 'Point* points' points to a "
                           "structure or to an unknown type; expected a pointer to numbers"));
  CHECK_THAT(notes, contains_text("set is not declared: parameter 'Point to' is not a number; "
                                  "expected bool, an integer type, float or double"));
  CHECK_THAT(notes, contains_text("each is not declared: parameter 'float** rows' is a pointer to "
                                  "pointers; expected one to numbers"));
  CHECK_THAT(notes, !contains_text("convert is not declared"));
}

// siboehm/SGEMM_CUDA, commit 60cba6f: the launches are in src/runner.cu.
TEST_CASE("matrix products of SGEMM_CUDA have their extents and roles", "[foreign]") {
  const fs::path folder = foreign_clone("siboehm+SGEMM_CUDA");
  if (folder.empty()) return;
  const std::map<std::string, std::string> multiples{
      {"1_naive", ""},
      {"2_kernel_global_mem_coalesce", ""},
      {"3_kernel_shared_mem_blocking", "; M % 32; N % 32; K % 32"},
      {"4_kernel_1D_blocktiling", "; M % 64; N % 64; K % 8"},
      {"5_kernel_2D_blocktiling", "; M % 128; N % 128; K % 8"},
      {"6_kernel_vectorize", "; M % 128; N % 128; K % 8"},
      {"7_kernel_resolve_bank_conflicts", "; M % 128; N % 128; K % 8"},
      {"8_kernel_bank_extra_col", "; M % 128; N % 128; K % 8"},
      {"9_kernel_autotuned", "; M % 128; N % 128; K % 16"},
      {"10_kernel_warptiling", "; M % 128; N % 128; K % 16"}};
  const SourceCompiler compiler(ToolkitTools::found(), "");
  for (const auto& [name, required] : multiples) {
    INFO(name);
    const fs::path file = folder / "src/kernels" / (name + ".cuh");
    const infer::InitialDeclaration declaration =
        infer::initial_declaration({file, {}, {}}, compiler);
    REQUIRE(!declaration.variants.empty());
    // Host code also launches smaller tiles, of which some load only a part of the tile.
    CHECK(summary(declaration.variants[0]) == "in A[M][K], in B[K][N], in_out C[M][N]" + required);
  }
}

}  // namespace
}  // namespace gpuexp::test
