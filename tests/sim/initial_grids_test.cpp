// Grids of host variables that are no arguments, in inferred declarations (gpuexp init).
#include <map>
#include <string>

#include "infer/initial_declaration.hpp"
#include "sim/init_folder.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

const std::string kRows = R"(
__global__ void norm(const float* x, const float* w, float* y, int dim) {
  float sum = 0;
  for (int i = 0; i < dim; ++i) sum += x[blockIdx.x * dim + i];
  for (int i = threadIdx.x; i < dim; i += 64)
    y[blockIdx.x * dim + i] = x[blockIdx.x * dim + i] * w[i] / sum;
}
__global__ void norm4(const float* u, const float* v, float* z, int dim) {
  const float4* const row = reinterpret_cast<const float4*>(u + blockIdx.x * dim);
  float4* const out = reinterpret_cast<float4*>(z + blockIdx.x * dim);
  for (int i = threadIdx.x; i < dim / 4; i += 64) {
    const float4 a = row[i], b = reinterpret_cast<const float4*>(v)[i];
    out[i] = make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
  }
}
__global__ void row_sums(const float* p, float* sums, int columns) {  // a warp for each row
  const int row = blockIdx.x * 4 + threadIdx.x / 32;
  float sum = 0;
  for (int i = threadIdx.x % 32; i < columns; i += 32) sum += p[row * columns + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x % 32 == 0) sums[row] = sum;
}
__global__ void heads(float* q, int n) {
  for (int i = threadIdx.x; i < n; i += 64) q[blockIdx.x * n + i] *= 2;
}
__global__ void cut(const float* s, float* t, int n) {  // any number of blocks
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) t[i] = s[i];
}
__global__ void covering(const float* c, float* sums_of_blocks, int n) {  // n / 64 blocks
  const int i = blockIdx.x * 64 + threadIdx.x;
  const float sum = __reduce_add_sync(~0u, i < n ? int(c[i]) : 0);
  if (threadIdx.x == 0) sums_of_blocks[blockIdx.x] = sum;
}
struct Config { int rows, dim; };
void constant(float* x, float* w, float* y) {
  const int rows = 48, dim = 4096;
  norm<<<rows, 64>>>(x, w, y, dim);
}
void members(const Config& cfg, const Config* d, float* x, float* w, float* y, int count) {
  norm4<<<cfg.rows, 64>>>(x, w, y, cfg.dim);
  row_sums<<<count / 4, 128>>>(w, y, d->dim);
}
void product(float* x, int n) {
  const int batch = 2;
  int n_heads = 12;
  heads<<<batch * n_heads, 64>>>(x, n);
}
void numbers_of_blocks(float* x, float* y, float* z, int n, cudaDeviceProp prop) {
  const int blocks = 32;
  cut<<<blocks, 64>>>(x, y, n);
  covering<<<prop.multiProcessorCount * 8, 64>>>(x, z, n);
}
)";

TEST_CASE("a grid of rows that are no argument has a parameter", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("rows.cu", kRows);
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  const auto found = summaries(declaration);
  CHECK(found.at("norm") == "in x[rows][dim], in w[dim], out y[rows][dim]");
  CHECK(found.at("norm4") == "in u[rows][dim], in v[dim], out z[rows][dim]; dim % 4");
  CHECK(found.at("row_sums") == "in p[count][columns], out sums[count]; count % 4");
  CHECK(found.at("heads") == "in_out q[batch][n_heads][n]");
  CHECK(found.at("cut") == "in s[n], out t[n]");
  CHECK(found.at("covering") == "in c[n], out sums_of_blocks[ceil_div(n, 64)]");
  CHECK_THAT(text, contains_text("// gpuexp: rows = 48\n"));
  CHECK_THAT(text, contains_text("// gpuexp: norm<<<rows, 64>>>\n"));
  CHECK_THAT(text, contains_text("// gpuexp: norm4<<<rows, 64>>>\n"));
  CHECK_THAT(text, contains_text("// gpuexp: row_sums<<<count/4, 128>>>\n"));
  CHECK_THAT(text, contains_text("// gpuexp: batch = 2\n// gpuexp: n_heads = 12\n"));
  CHECK_THAT(text, contains_text("// gpuexp: heads<<<batch*n_heads, 64>>>\n"));
  CHECK_THAT(text, contains_text("norm4: assumed: rows is a size of its own; only the grid"));
  // A number of blocks on which no size depends stays a constant.
  CHECK_THAT(text, contains_text("// gpuexp: cut<<<32, 64>>>\n"));
  CHECK_THAT(text, !contains_text("blocks = 32"));
  // A number of blocks that must suit n is not declared, and a comment says so.
  CHECK_THAT(text, contains_text("covering: not found: how the grid follows from the kernel's"));
  CHECK_THAT(text, !contains_text("multiProcessorCount ="));
}

const std::string kPartial = R"(
#define FIXED 64
__global__ void partial(const float* x, int n, float* sums) {
  float sum = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) sum += x[i];
  atomicAdd(&sums[blockIdx.x], sum);
}
__global__ void last(const float* part, float* sum, int count) {
  float s = 0;
  for (int i = threadIdx.x; i < count; i += 32) s += part[i];
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (threadIdx.x == 0) *sum = s;
}
__global__ void fixed(float* y) {  // uses the macro, so it stays a constant
  if (blockIdx.x < FIXED) y[blockIdx.x * 64 + threadIdx.x] *= 2;
}
__global__ void split(const float* a, float* parts, int columns) {
  float sum = 0;
  for (int i = blockIdx.x * 32 + threadIdx.x; i < columns; i += gridDim.x * 32)
    sum += a[blockIdx.y * columns + i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}
)";

TEST_CASE("a constant that is the grid and the size of a buffer is one parameter",
          "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("partial.cu", kPartial + R"(
void sum(float* d_x, float* d_partial, float* d_sum) {
  const int n = 1 << 20, blocks = 512;
  cudaMalloc(&d_partial, blocks * sizeof(float));
  partial<<<blocks, 64>>>(d_x, n, d_partial);
  last<<<1, 32>>>(d_partial, d_sum, blocks);
}
void other(float* y, float* a, float* p) {
  fixed<<<FIXED, 64>>>(y);
  const int rows = 16, splits = 8, columns = 4096;
  split<<<dim3(splits, rows), 32>>>(a, p, columns);
}
)");
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  const auto found = summaries(declaration);
  CHECK(found.at("sum") == "in d_x[n], in_out d_partial[blocks] = zeros, out d_sum[1]");
  CHECK_THAT(text, contains_text("// gpuexp: blocks = 512\n"));
  CHECK_THAT(text, contains_text("// gpuexp: sum = partial<<<blocks, 64>>>(d_x, n, d_partial); "
                                 "last<<<1, 32>>>(d_partial, d_sum, blocks)\n"));
  CHECK(found.at("fixed") == "in_out y[4096]");
  CHECK_THAT(text, contains_text("// gpuexp: fixed<<<64, 64>>>\n"));
  CHECK(found.at("split") == "in a[rows][columns], out parts[rows][splits]");
  CHECK_THAT(text, contains_text("// gpuexp: splits = 8\n"));
}

TEST_CASE("constants on which a kernel relies keep their values", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  // Takes the grid for a square.
  const infer::InitialDeclaration declaration = folder.declared("square.cu", R"(
__global__ void transpose(const float* in, float* out) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  out[x * gridDim.x * 16 + y] = in[y * gridDim.x * 16 + x];
}
void launch(const float* in, float* out) {
  const int nx = 256, ny = 256;
  transpose<<<dim3(nx / 16, ny / 16), dim3(16, 16)>>>(in, out);
}
)");
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  CHECK(summaries(declaration).at("transpose") == "in in[65536], out out[65536]");
  CHECK_THAT(text, contains_text("// gpuexp: transpose<<<(16, 16), (16, 16)>>>\n"));
  CHECK_THAT(text, !contains_text("not found"));
}

TEST_CASE("a macro that only host code uses is a parameter of the grid", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const std::string text = infer::lines_for_file(folder.declared("macro.cu", kPartial + R"(
#define BLOCKS 96
void sum(float* d_x, float* d_partial, int n) { partial<<<BLOCKS, 64>>>(d_x, n, d_partial); }
)"));
  INFO(text);
  CHECK_THAT(text, contains_text("// gpuexp: BLOCKS = 96\n"));
  CHECK_THAT(text, contains_text("// gpuexp: in_out sums[BLOCKS] = zeros\n"));
  CHECK_THAT(text, contains_text("// gpuexp: partial<<<BLOCKS, 64>>>\n"));
}

const std::string kOrders = R"(
__global__ void depthwise(const float* in, const float* w, float* out, int H, int W) {
  const int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, c = blockIdx.z;
  if (x >= W || y >= H) return;
  float sum = 0;
  for (int j = -1; j <= 1; ++j)
    for (int i = -1; i <= 1; ++i)
      if (y + j >= 0 && y + j < H && x + i >= 0 && x + i < W)
        sum += in[(c * H + y + j) * W + x + i] * w[c * 9 + (j + 1) * 3 + i + 1];
  out[(c * H + y) * W + x] = sum;
}
__global__ void softmax(const float* a, float* b, int columns, int rows) {  // a thread for each row
  for (int r = threadIdx.x; r < rows; r += 32) {
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += a[r * columns + i];
    for (int i = 0; i < columns; ++i) b[r * columns + i] = a[r * columns + i] / sum;
  }
}
__global__ void channels_last(const float* p, float* q, int H, int W, int C) {
  const int c = blockIdx.x * 32 + threadIdx.x;
  if (c < C) q[(blockIdx.z * W + blockIdx.y) * C + c] = p[(blockIdx.z * W + blockIdx.y) * C + c];
}
__global__ void flat(const float* s, float* t, int columns, int rows) {  // no order is visible
  for (int i = threadIdx.x; i < rows * columns; i += 32) t[i] = s[i];
}
void launch(float* x, float* w, float* y) {
  const int C = 64, H = 64, W = 64;
  dim3 block(8, 8);
  depthwise<<<dim3((W + 7) / 8, (H + 7) / 8, 64), block>>>(x, w, y, H, W);
  softmax<<<1, 32>>>(x, y, 64, 64);
  channels_last<<<dim3((C + 31) / 32, W, H), 32>>>(x, y, H, W, C);
  flat<<<1, 32>>>(x, y, 64, 64);
}
)";

TEST_CASE("extents of equal sizes have the order of the kernel's accesses", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("orders.cu", kOrders);
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  const auto found = summaries(declaration);
  CHECK(found.at("depthwise") == "in in[64][H][W], in w[576], out out[64][H][W]");
  CHECK(found.at("softmax") == "in a[rows][columns], out b[rows][columns]");
  CHECK(found.at("channels_last") == "in p[H][W][C], out q[H][W][C]");
  CHECK_THAT(text, contains_text("flat: assumed: the order of the extents of s[columns][rows]"));
  for (const char* const known : {"depthwise", "softmax", "channels_last"})
    CHECK_THAT(text, !contains_text(std::string(known) + ": assumed: the order"));
}

}  // namespace
}  // namespace gpuexp::test
