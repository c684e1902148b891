// Host code is blanked for compilers that accept device code only.
#include "compile/device_source.hpp"

#include <algorithm>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// The text without blanks and empty lines.
std::string squeezed(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (c != ' ' && c != '\n') result += c;
  return result;
}

std::string device_text(const std::string& source) {
  const std::string text = device_source(source);
  CHECK(text.size() == source.size());
  CHECK(std::count(text.begin(), text.end(), '\n') ==
        std::count(source.begin(), source.end(), '\n'));
  return squeezed(text);
}

bool keeps(const std::string& source) {
  return device_text(source) == squeezed(source);
}
bool blanks(const std::string& source) {
  return device_text(source).empty();
}

TEST_CASE("device code is kept", "[device_source]") {
  for (const char* source :
       {"__global__ void add(const float* x, int n) { if (n > 0) { } }",
        "template <class T, int N = (1 << 3)> __global__ void f(T* x) { x[0] = N; }",
        "template __global__ void f<float, 8>(float*);",
        "extern \"C\" __global__ void k() {}",
        "static __device__ __forceinline__ float square(float x) { return x * x; }",
        "constexpr int round_up(int x) { return (x + 31) / 32 * 32; }",
        "__constant__ float table[4] = {1, 2, 3, 4};",
        "__device__ int counter;",
        "const int kTile = 32;",
        "enum Kind { a, b };",
        "typedef float (*Function)(float);",
        "using Real = float;",
        "static_assert(sizeof(int) == 4, \"size\");",
        "struct Pair { float a, b; __device__ float sum() const { return a + b; } };",
        "struct alignas(16) Vector { float x[4]; };",
        "template <class T> struct Sum;",
        "DEFINE_KERNEL(float, 4)\n__global__ void k() {}",
        "#define MAIN int main() {}\n",
        "BEGIN;",
        "struct Both { std::string name; __device__ int size() const { return 1; } };",
        "#include <cstdio>\n",
        "namespace a { namespace { __device__ int x; } }"}) {
    INFO(source);
    CHECK(keeps(source));
  }
}

TEST_CASE("host code at namespace scope is blanked", "[device_source]") {
  for (const char* source :
       {"int main() { add<<<1, 32>>>(nullptr, 0); return 0; }",
        "int main(int argc, char** argv) { std::vector<float> x(4); if (x.empty()) { } }",
        "main() { }", "static void check(cudaError_t e, const char* file, int line) { }",
        "template <typename T> void launch(T* x) { f<T><<<1, 1>>>(x); }",
        "void launch(const std::vector<float>& x);", "std::vector<int> sizes = {1, 2, 3};",
        "static std::map<int, std::string> names;", "cublasHandle_t handle;",
        "class Error : public std::exception { std::string text; };",
        "using Names = std::vector<std::string>;", "static size_t workspace_size = 32 * 1024;",
        "int a[] = {1, 2}, b;", "struct timeval now() { return timeval(); }",
        "float* make(int n) { float* p; cudaMalloc(&p, n); return p; }",
        "inline std::string name() { return \"}{\"; }"}) {
    INFO(source);
    CHECK(blanks(source));
  }
}

TEST_CASE("host code between device code is blanked, and lines stay", "[device_source]") {
  const std::string source = R"(#include <vector>
namespace a {
int helper(int n) {
  // a comment with }
  return n;
}
__device__ int twice(int n) { return 2 * n; }
}  // namespace a
extern "C" {
void host(void) {}
__global__ void k(int* x) { *x = a::twice(1); }
}
int main() { k<<<1, 1>>>(nullptr); }
)";
  const std::string text = device_source(source);
  CHECK(text.find("helper") == std::string::npos);
  CHECK(text.find("host") == std::string::npos);
  CHECK(text.find("main") == std::string::npos);
  for (const char* kept : {"__device__ int twice(int n) { return 2 * n; }",
                           "__global__ void k(int* x) { *x = a::", "// a comment with }"})
    CHECK(text.find(kept) == source.find(kept));
}

TEST_CASE("unbalanced brackets end somewhere", "[device_source]") {
  for (const char* source : {"void f() {", "}", "template <", "(((", "namespace", "extern \"C\"",
                             "struct {", "void f(", "\"", "int main() { ) } ] }"})
    CHECK(device_source(source).size() == std::string(source).size());
}

TEST_CASE("include directives are found", "[device_source]") {
  const auto found = include_directives(
      "#include <cub/cub.cuh>\n  #  include \"a b.cuh\" // c\n#include MACRO\n#define X\n"
      "// #include <no>\n");
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "cub/cub.cuh");
  CHECK(!found[0].is_quoted);
  CHECK(found[1].name == "a b.cuh");
  CHECK(found[1].is_quoted);
}

}  // namespace
}  // namespace gpuexp::test
