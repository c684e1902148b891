// Launches in templates of host functions, in inferred declarations (gpuexp init).
#include <string>

#include "infer/initial_declaration.hpp"
#include "sim/init_folder.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

const std::string kTile = R"(
template <int B>
__global__ void transpose(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[B][B + 1];
  const int c = blockIdx.x * B + threadIdx.x, r = blockIdx.y * B + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[r * columns + c];
  __syncthreads();
  out[(blockIdx.x * B + threadIdx.y) * rows + blockIdx.y * B + threadIdx.x] =
      tile[threadIdx.x][threadIdx.y];
}
)";

TEST_CASE("each call of a host template has the block and grid of its arguments",
          "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("tile.cu", kTile + R"(
template <int B>
void launch(const float* in, float* out, int rows, int columns) {
  dim3 block(B, B), grid(columns / B, rows / B);
  transpose<B><<<grid, block>>>(in, out, rows, columns);
}
template <int N>
void both(const float* in, float* out) {
  constexpr int kSmall = N;
  launch<kSmall>(in, out, 512, 1024);
  launch<kSmall * 2>(in, out, 512, 1024);
}
int main() {
  float *in, *out;
  both<8>(in, out);
}
)");
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  CHECK(declaration.variants.size() == 2);
  CHECK_THAT(text, contains_text("// gpuexp: transpose_8 = transpose<8><<<(columns/8, rows/8), "
                                 "(8, 8)>>>\n"));
  CHECK_THAT(text, contains_text("// gpuexp: transpose_16 = transpose<16><<<(columns/16, rows/16), "
                                 "(16, 16)>>> vs transpose_8\n"));
  CHECK_THAT(text, contains_text("// gpuexp: in in[rows][columns]\n"));
  CHECK_THAT(text, !contains_text("no launch of the kernel was found"));
  CHECK_THAT(text, !contains_text("is not known"));
}

TEST_CASE("arguments that the compiler deduces are those of its instances", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("deduced.cu", R"(
template <typename T, int B>
__global__ void scale(T* x, int n) {
  const int i = blockIdx.x * B + threadIdx.x;
  if (i < n) x[i] *= 2;
}
template <typename T, int B = 64>
void scale_all(T* x, int n) { scale<T, B><<<(n + B - 1) / B, B>>>(x, n); }
template <typename T>
__global__ void copy(const T* in, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
template <typename T, int B>
struct Copier {
  static constexpr int kThreads = B;
  void operator()(const T* in, T* out, int n) const {
    copy<<<(n + kThreads - 1) / kThreads, kThreads>>>(in, out, n);
  }
};
int main() {
  float* f; double* d;
  scale_all(f, 1000);
  scale_all<double, 96>(d, 1000);
  Copier<float, 32>{}(f, f, 1000);
  Copier<double, 128>()(d, d, 1000);
}
)");
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  CHECK(declaration.variants.size() == 4);
  CHECK_THAT(text, contains_text("scale_float_64 = scale<float, 64><<<ceil_div(n, 64), 64>>>"));
  CHECK_THAT(text, contains_text("scale_double_96 = scale<double, 96><<<ceil_div(n, 96), 96>>>"));
  CHECK_THAT(text, contains_text("copy_float = copy<float><<<ceil_div(n, 32), 32>>>"));
  CHECK_THAT(text, contains_text("copy_double = copy<double><<<ceil_div(n, 128), 128>>>"));
  CHECK_THAT(text, !contains_text("assumed: blocks"));
}

TEST_CASE("launches of one instance of a host template are one variant", "[machine_code]") {
  if (!missing_toolkit().empty()) return skip(Tier::machine_code, missing_toolkit());
  const InitFolder folder;
  const infer::InitialDeclaration declaration = folder.declared("two.cu", R"(
template <int B>
__global__ void sums(const float* x, float* out, int n) {
  __shared__ float part[B];
  float sum = 0;
  for (int i = blockIdx.x * B + threadIdx.x; i < n; i += gridDim.x * B) sum += x[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = B / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
template <int B>
void total(const float* d_x, float* d_part, float* d_sum, int n) {
  const int blocks = (n + 4 * B - 1) / (4 * B);
  sums<B><<<blocks, B>>>(d_x, d_part, n);
  sums<B><<<1, B>>>(d_part, d_sum, blocks);
}
template void total<64>(const float*, float*, float*, int);
template void total<128>(const float*, float*, float*, int);
)");
  const std::string text = infer::lines_for_file(declaration);
  INFO(text);
  CHECK_THAT(text,
             contains_text("// gpuexp: total_64 = sums<64><<<ceil_div(n, 256), 64>>>(d_x, d_part, "
                           "n); sums<64><<<1, 64>>>(d_part, d_sum, ceil_div(n, 256))\n"));
  CHECK_THAT(text, contains_text("// gpuexp: total_128 = sums<128><<<ceil_div(n, 512), 128>>>("));
}

}  // namespace
}  // namespace gpuexp::test
