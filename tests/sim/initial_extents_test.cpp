// Vectors, divided extents, memsets and grids in inferred declarations (gpuexp init).
#include <map>
#include <string>

#include "infer/initial_declaration.hpp"
#include "sim/init_folder.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

const std::string kVectors = R"(#include <cuda_fp16.h>
__global__ void add(const float4* x, const float4* __restrict__ y, float4* z, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) z[i] = make_float4(x[i].x + y[i].x, x[i].y + y[i].y, x[i].z + y[i].z, x[i].w + y[i].w);
}
__global__ void add_quarters(const float4* x, float4* w, int n) {  // n numbers
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n / 4) w[i] = x[i];
}
__global__ void pack(const half2* pairs, const int2* offsets, uchar4* bytes, int rows, int columns) {
  const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r >= rows || c >= columns) return;
  const int2 o = offsets[r * columns + c];
  bytes[r * columns + c] = make_uchar4(o.x, o.y, __half2int_rz(pairs[r * columns + c].x), 0);
}
__global__ void widen(const float* x, float* sums, float2* both, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) both[i] = make_float2(x[i], 0);
  if (i < n) sums[i] = x[i];
}
void launch(float4* x, float4* y, float4* z, half2* h, int2* o, uchar4* b, float* f, float2* g,
            int n, int rows, int columns) {
  add<<<(n + 63) / 64, 64>>>(x, y, z, n);
  add_quarters<<<(n / 4 + 63) / 64, 64>>>(x, z, n);
  pack<<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(h, o, b, rows, columns);
  widen<<<(n + 63) / 64, 64>>>(f, f, g, n);
}
)";

TEST_CASE("pointers to vectors take buffers of numbers", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("vectors.cu", kVectors);
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  const auto found = summaries(declaration);
  CHECK(found.at("add") == "in x[n][4], in y[n][4], out z[n][4]");
  CHECK(found.at("add_quarters") == "in x[n], out w[n]; n % 4");
  CHECK(found.at("pack") ==
        "in pairs[rows][columns][2], in offsets[rows][columns][2], "
        "out bytes[rows][columns][4]");
  CHECK(found.at("widen") == "in x[n], out sums[n], out both[n][2]");
  for (const char* line :
       {"in float x[n][4]\n", "out float z[n][4]\n", "in __half pairs[rows][columns][2]\n",
        "in int offsets[rows][columns][2]\n", "out unsigned char bytes[rows][columns][4]\n",
        "out sums[n]\n"})
    CHECK_THAT(text, contains_text(std::string("// gpuexp: ") + line));
}

const std::string kDivided = R"(
__device__ float average(const float* in, int x, int y, int w) {
  const float* const at = in + 2 * y * w + 2 * x;
  return (at[0] + at[1] + at[w] + at[w + 1]) / 4;
}
__global__ void tiles(const float* in, float* out, int H, int W) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  out[y * (W / 2) + x] = average(in, x, y, W);
}
__global__ void bounded(const float* in, float* out, int H, int W) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < W / 2 && y < H / 2) out[y * (W / 2) + x] = average(in, x, y, W);
}
__global__ void rounded_up(const float* in, float* out, int H, int W) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  const int w = (W + 1) / 2;
  if (2 * x < W && 2 * y < H) out[y * w + x] = in[2 * y * W + 2 * x];
}
__global__ void of_output(const float* in, float* out, int h, int w) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = average(in, x, y, 2 * w);
}
__global__ void thirds(const float* in, float* out, int H, int W) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= W / 3 || y >= H / 3) return;
  float sum = 0;
  for (int j = 0; j < 3; ++j)
    for (int i = 0; i < 3; ++i) sum += in[(3 * y + j) * W + 3 * x + i];
  out[y * (W / 3) + x] = sum / 9;
}
__global__ void quarter_rows(const float* in, float* out, int H, int W) {  // W/4, not W/2 and H/2
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x >= W / 4 || y >= H) return;
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += in[y * W + 4 * x + i];
  out[y * (W / 4) + x] = sum;
}
__global__ void images(const float* in, float* out, int N, int C, int H, int W) {
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  const int image = blockIdx.z;
  if (x >= W / 2 || y >= H / 2) return;
  out[(image * (H / 2) + y) * (W / 2) + x] = average(in + image * H * W, x, y, W);
}
__global__ void halves(const float* in, float* out, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = in[i] + in[i + n / 2];
}
__global__ void gray(const unsigned char* rgb, unsigned char* out, int bytes) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < bytes / 3) out[i] = (rgb[3 * i] + rgb[3 * i + 1] + rgb[3 * i + 2]) / 3;
}
void launch(float* a, float* b, unsigned char* c, int N, int C, int H, int W, int n) {
  halves<<<n / 2 / 256, 256>>>(a, b, n);
  gray<<<(n + 191) / 192, 64>>>(c, c, n);
  dim3 block(16, 16), grid(W / 2 / 16, H / 2 / 16);
  tiles<<<grid, block>>>(a, b, H, W);
  const int h = H / 2, w = W / 2;
  dim3 up((w + 15) / 16, (h + 15) / 16);
  bounded<<<up, block>>>(a, b, H, W);
  rounded_up<<<dim3((W + 31) / 32, (H + 31) / 32), block>>>(a, b, H, W);
  of_output<<<up, block>>>(a, b, h, w);
  thirds<<<dim3((W / 3 + 15) / 16, (H / 3 + 15) / 16), block>>>(a, b, H, W);
  quarter_rows<<<dim3((W / 4 + 15) / 16, (H + 15) / 16), block>>>(a, b, H, W);
  images<<<dim3((w + 15) / 16, (h + 15) / 16, N * C), block>>>(a, b, N, C, H, W);
}
)";

TEST_CASE("extents may be multiples and fractions of parameters", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("divided.cu", kDivided);
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  const std::map<std::string, std::string> expected{
      {"tiles", "in in[H][W], out out[H/2][W/2]; H % 32; W % 32"},
      {"bounded", "in in[H][W], out out[H/2][W/2]; H % 2; W % 2"},
      {"of_output", "in in[2*h][2*w], out out[h][w]"},
      {"thirds", "in in[H][W], out out[H/3][W/3]; H % 3; W % 3"},
      {"quarter_rows", "in in[H][W], out out[H][W/4]; W % 4"},
      {"halves", "in in[n], out out[n/2]; n % 512"},
      {"gray", "in rgb[bytes], out out[bytes/3]; bytes % 3"},
      {"images", "in in[N][C][H][W], out out[N][C][H/2][W/2]; H % 2; W % 2"}};
  const auto found = summaries(declaration);
  for (const auto& [kernel, extents] : expected) {
    INFO(kernel);
    CHECK(found.at(kernel) == extents);
  }
  CHECK_THAT(found.at("rounded_up"), contains_text("out[ceil_div(H, 2)][ceil_div(W, 2)]"));
  CHECK_THAT(text, contains_text("// gpuexp: tiles<<<(W/2/16, H/2/16), (16, 16)>>>"));
  CHECK_THAT(text, contains_text("// gpuexp: bounded<<<(ceil_div(W/2, 16), ceil_div(H/2, 16)), "));
}

const std::string kMemsets = R"(
__global__ void total(const float* x, float* sum, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) atomicAdd(sum, x[i]);
}
__global__ void interior(const float* x, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x + 1;
  if (i < n - 1) y[i] = x[i - 1] + x[i + 1];
}
__global__ void copy(const float* x, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = x[i];
}
)";

TEST_CASE("a memset of the host code makes an output of what a kernel adds to", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("set.cu", kMemsets + R"(
void launch(float* d_x, float* d_sum, float* d_y, int n) {
  cudaMemset(d_sum, 0, sizeof(float));
  cudaMemset(d_y, 0xff, n * sizeof(float));
  total<<<(n + 63) / 64, 64>>>(d_x, d_sum, n);
  interior<<<(n + 63) / 64, 64>>>(d_x, d_y, n);
}
void other(float* d_x, float* d_y, int n) {
  cudaMemset(d_x, 0, n * sizeof(float));
  cudaMemset(d_y, 0, n * sizeof(float));
  copy<<<(n + 63) / 64, 64>>>(d_x, d_y, n);
}
)");
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  const auto found = summaries(declaration);
  CHECK(found.at("total") == "in x[n], out sum_[1]");
  CHECK(found.at("interior") == "in x[n], out y[n]");
  CHECK_THAT(text, contains_text("// gpuexp: memset(sum_, 0); total<<<ceil_div(n, 64), 64>>>(x, "
                                 "sum_, n)\n"));
  CHECK_THAT(text, contains_text("// gpuexp: memset(y, 255); interior<<<ceil_div(n, 64), 64>>>"));
  CHECK_THAT(text, !contains_text("assumed: y is in_out"));
  // The kernel stores to all of y, and only reads x.
  CHECK(found.at("copy") == "in x[n], out y[n]");
  CHECK_THAT(text, contains_text("// gpuexp: copy<<<"));
}

TEST_CASE("a buffer without a memset keeps its role", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("kept.cu", kMemsets + R"(
void launch(float* d_x, float* d_sum, float* d_y, int n) {
  cudaMemset(d_sum, 0, sizeof(float));
  cudaMemcpy(d_sum, &n, sizeof(float), cudaMemcpyHostToDevice);
  total<<<(n + 63) / 64, 64>>>(d_x, d_sum, n);
  cudaMemset(d_x, 0, sizeof(float));
  interior<<<(n + 63) / 64, 64>>>(d_x, d_y, n);
}
)");
  INFO(infer::lines_for_file(declaration));
  CHECK(summaries(declaration).at("total") == "in x[n], in_out sum_[1] = zeros");
  CHECK(summaries(declaration).at("interior") == "in x[n], in_out y[n]");
  CHECK_THAT(infer::lines_for_file(declaration), !contains_text("memset("));
}

const std::string kBatches = R"(
__global__ void batch_z(const float* x, float* y, int h, int w) {
  const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r < h && c < w) y[(blockIdx.z * h + r) * w + c] = x[(blockIdx.z * h + r) * w + c];
}
__global__ void batch_y(float* z, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) z[blockIdx.y * n + i] *= 2;
}
__global__ void no_size(float* v) { v[blockIdx.x * 64 + threadIdx.x] *= 2; }
__global__ void parts(const float* u, float* t, int n) {  // any number of rows of blocks
  const int blocks = gridDim.x * gridDim.y;
  for (int i = (blockIdx.y * gridDim.x + blockIdx.x) * 64 + threadIdx.x; i < n; i += blocks * 64)
    t[i] = u[i];
}
void launch(float* x, float* y, float* z, float* v, float* u, float* t, int h,
            int w, int n, int m, char** argv) {
  int batch = atoi(argv[1]);
  dim3 grid((w + 15) / 16, (h + 15) / 16, batch);
  batch_z<<<grid, dim3(16, 16)>>>(x, y, h, w);
  batch_y<<<dim3((n + 63) / 64, m), 64>>>(z, n);
  no_size<<<m / 64, 64>>>(v);
  parts<<<dim3((n + 255) / 256, m), 64>>>(u, t, n);
}
)";

TEST_CASE("a dimension of the grid may be a size that is no argument", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("batches.cu", kBatches);
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  const auto found = summaries(declaration);
  CHECK(found.at("batch_z") == "in x[batch][h][w], out y[batch][h][w]");
  CHECK(found.at("batch_y") == "in_out z[m][n]");
  CHECK(found.at("no_size") == "in_out v[m]; m % 64");
  CHECK(found.at("parts") == "in u[n], out t[n]");
  CHECK_THAT(text,
             contains_text("batch_z<<<(ceil_div(w, 16), ceil_div(h, 16), batch), (16, 16)>>>"));
  CHECK_THAT(text, contains_text("batch_z: assumed: batch is a size of its own"));
  CHECK_THAT(text, contains_text("parts: not found: how the grid follows from the kernel's "
                                 "arguments; the host code computes"));
  CHECK_THAT(text, !contains_text("parts<<<(ceil_div(n, 256), m)"));
}

TEST_CASE("a kernel that leaves out its first block has whole buffers", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("sums.cu", R"(
__global__ void add_sums(float* y, const float* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (blockIdx.x > 0 && i < n) y[i] += sums[blockIdx.x - 1];
}
__global__ void only_large(float* z, int n) {
  const int i = blockIdx.x * 1024 + threadIdx.x;
  if (blockIdx.x > 0 && i < n) z[i] += 1;
}
void launch(float* y, float* sums, float* z, int n) {
  add_sums<<<(n + 511) / 512, 512>>>(y, sums, n);
  only_large<<<(n + 1023) / 1024, 1024>>>(z, n);
}
)");
  INFO(infer::lines_for_file(declaration));
  const auto found = summaries(declaration);
  CHECK(found.at("add_sums") == "in_out y[n], in sums[floor_div(n, 512)]");
  CHECK(found.at("only_large") == "in_out z[n]");
}

}  // namespace
}  // namespace gpuexp::test
