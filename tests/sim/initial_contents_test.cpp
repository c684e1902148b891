// Contents and limits of buffers, and variables of the file, in inferred declarations (gpuexp
// init).
#include <map>
#include <string>

#include "infer/initial_declaration.hpp"
#include "sim/init_folder.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("variables that host code sets are buffers of the declaration", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("variables.cu", R"(
namespace filter {
__constant__ float4 taps[2];
__constant__ int offsets[4];
}
__constant__ int radius;
__constant__ float coef[7];
__constant__ float initialized[3] = {1, 2, 3};
__device__ float factor;
__constant__ float bias;
__global__ void fir(const float* x, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  float sum = filter::taps[i % 2].x + initialized[i % 3] + filter::offsets[i % 4] + radius;
  for (int k = 0; k < 7; ++k) sum += coef[k] * x[i + k];
  y[i] = sum * factor + bias;
}
void launch(const float* h, const float4* taps, const int* o, float* x, float* y, int n) {
  const int r = 3;
  const float b = 4.f / 5.f;  // no integer division
  cudaMemcpyToSymbol(bias, &b, sizeof(float));
  float* p;
  cudaMemcpyToSymbol(coef, h, 7 * sizeof(float));
  cudaMemcpyToSymbolAsync(filter::taps, taps, sizeof(filter::taps), 0, cudaMemcpyHostToDevice, 0);
  cudaMemcpyToSymbol(radius, &r, sizeof(int));
  cudaMemcpyToSymbol(filter::offsets, o, sizeof(filter::offsets));
  cudaGetSymbolAddress((void**)&p, factor);
  fir<<<(n + 63) / 64, 64>>>(x, y, n);
}
)");
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  for (const char* line : {"in coef[7]\n", "in taps[8]\n", "in radius[1] = 3\n",
                           "in offsets[4] = zeros\n", "in factor[1]\n", "in bias[1]\n"})
    CHECK_THAT(text, contains_text(std::string("// gpuexp: ") + line));
  CHECK_THAT(text, contains_text("assumed: the contents of the __constant__ variable coef, which "
                                 "the host code sets in"));
  CHECK_THAT(text, !contains_text("initialized"));
  CHECK_THAT(text, contains_text("// gpuexp: fir<<<ceil_div(n, 64), 64>>>\n"));
}

TEST_CASE("the columns of a sparse matrix are found with the offsets of its rows",
          "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const std::string text = infer::lines_for_file(folder.declared("csr.cu", R"(
__global__ void spmv(int rows, const int* ptr, const int* col, const float* val, const float* x,
                     float* y) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int j = ptr[r]; j < ptr[r + 1]; ++j) sum += val[j] * x[col[j]];
  y[r] = sum;
}
void launch(int rows, const int* ptr, const int* col, const float* val, const float* x, float* y) {
  spmv<<<(rows + 127) / 128, 128>>>(rows, ptr, col, val, x, y);
}
)"));
  INFO(text);
  for (const char* line : {"in ptr[rows + 1] = iota\n", "in col[rows] = integers(0, rows)\n",
                           "in val[rows]\n", "in x[rows]\n", "out y[rows]\n"})
    CHECK_THAT(text, contains_text(std::string("// gpuexp: ") + line));
}

TEST_CASE("contents of signed bytes are numbers of their type", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const std::string text = infer::lines_for_file(folder.declared("bytes.cu", R"(
__global__ void gemv(const signed char* a, const signed char* x, int* y, int cols) {
  int sum = 0;
  for (int i = threadIdx.x; i < cols; i += 32) sum += a[blockIdx.x * cols + i] * x[i];
  for (int o = 16; o > 0; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
void launch(const signed char* a, const signed char* x, int* y, int rows, int cols) {
  gemv<<<rows, 32>>>(a, x, y, cols);
}
)"));
  INFO(text);
  CHECK_THAT(text, contains_text("// gpuexp: in a[rows][cols]"));
  CHECK_THAT(text, !contains_text("integers(0, 256)"));
}

TEST_CASE("the limit of an index is an extent", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("limits.cu", R"(
__global__ void by_size(const float* x, const float* bias, float* y, int n, int c) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = x[i] + bias[i % c];
}
__global__ void by_constant(const float* x, const float* few, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = x[i] + few[i % 256];
}
__global__ void by_more(const float* x, const float* many, float* y, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] = x[i] + many[i % 768];
}
void launch(float* x, float* b, float* y, int n, int c) {
  by_size<<<(n + 63) / 64, 64>>>(x, b, y, n, c);
  by_constant<<<(n + 63) / 64, 64>>>(x, b, y, n);
  by_more<<<(n + 63) / 64, 64>>>(x, b, y, n);
}
)");
  INFO(infer::lines_for_file(declaration));
  const auto found = summaries(declaration);
  CHECK(found.at("by_size") == "in x[n], in bias[c], out y[n]");
  CHECK(found.at("by_constant") == "in x[n], in few[256], out y[n]");
  CHECK(found.at("by_more") == "in x[n], in many[768], out y[n]");
}

TEST_CASE("integers that are indices are below the extent of what they index", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("indices.cu", R"(
constexpr int kBins = 64;
__global__ void histogram(const int* x, unsigned* bins, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i]], 1u);
}
__global__ void bounded(const int* y, int* counts, int n, int bins) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n && y[i] < bins) atomicAdd(&counts[y[i]], 1);
}
__global__ void bytes(const unsigned char* data, unsigned* of_bytes, int n) {
  __shared__ unsigned h[256];
  h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
    atomicAdd(&h[data[i]], 1);
  __syncthreads();
  atomicAdd(&of_bytes[threadIdx.x], h[threadIdx.x]);
}
__global__ void positive(const int* v, int* count, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n && v[i] > 0) atomicAdd(count, 1);
}
__global__ void values(const int* plain, int* sum, int n) {  // no index and no condition
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) atomicAdd(sum, plain[i]);
}
void launch(int* x, unsigned char* d, int* c, int* e, int* f, int n, int bins) {
  unsigned* d_bins;
  cudaMalloc((void**)&d_bins, kBins * sizeof(unsigned));
  cudaMemset(d_bins, 0, kBins * sizeof(unsigned));
  histogram<<<(n + 63) / 64, 64>>>(x, d_bins, n);
  bounded<<<(n + 63) / 64, 64>>>(x, c, n, bins);
  bytes<<<16, 256>>>(d, d_bins, n);
  positive<<<(n + 63) / 64, 64>>>(x, e, n);
  values<<<(n + 63) / 64, 64>>>(x, f, n);
}
)");
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  const auto found = summaries(declaration);
  CHECK(found.at("histogram") == "in x[n] = integers(0, 64), out bins[64]");
  CHECK(found.at("bounded") == "in y[n] = integers(0, bins), in_out counts[bins] = zeros");
  CHECK(found.at("bytes") == "in data[n] = integers(0, 256), in_out of_bytes[256] = zeros");
  CHECK(found.at("positive") == "in v[n] = integers(0, 100), in_out count[1] = zeros");
  CHECK(found.at("values") == "in plain[n], in_out sum_[1] = zeros");
  CHECK_THAT(text, contains_text("bytes: assumed: data has indices; its contents are "
                                 "integers(0, 256)"));
  CHECK_THAT(text, !contains_text("plain has indices"));
}

}  // namespace
}  // namespace gpuexp::test
