// The errors of users' kernel files: each names the file, the line, what was found and what is
// allowed, and ends the command with exit code 2 before anything runs.
#include <filesystem>
#include <vector>

#include "cli/error_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

const std::string kKernel = kAdd.substr(kAdd.find("__global__"));

/// A file whose launch of `f` has these arguments. Line 4 is the first line of the kernels.
std::string launch_of_f(const std::string& arguments, const std::string& kernels) {
  return "// gpuexp: z[8]\n// gpuexp: f<<<1, 8>>>" + arguments + "\n// gpuexp: check z[i] = 1\n" +
         kernels;
}

const std::string kPtx = R"(// gpuexp: float z[8]
// gpuexp: fill<<<1, 8>>>(z)
// gpuexp: check z[i] = 1
.version 8.0
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 z) { ret; }
)";

/// A .npy file with 999 elements of fp64.
std::string wrong_array() {
  const std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (999,), }\n";
  std::string text("\x93NUMPY\1\0", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  return text + header + std::string(999 * sizeof(double), '\0');
}

struct ErrorCase {
  std::string file;
  std::string text;          ///< written to the file, unless it is empty
  std::string error;         ///< part of the output after "gpuexp: "
  std::string command = {};  ///< default: plan for an H200
};

void check_errors(const std::vector<ErrorCase>& cases) {
  const ErrorFolder folder;
  fs::create_directory(folder.path("folder.cu"));
  folder.write("empty.cu", "");
  folder.write("x.npy", wrong_array());
  for (const ErrorCase& c : cases) {
    if (!c.text.empty()) folder.write(c.file, c.text);
    const Outcome outcome = folder.outcome(c.file, c.command);
    INFO(c.file << "\n" << outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.output, contains_text("gpuexp: " + c.error));
  }
}

TEST_CASE("a file that cannot be read as a kernel file is refused") {
  check_errors({
      {"absent.cu", "", "absent.cu: there is no such file; expected a CUDA source file"},
      {"folder.cu", "", "folder.cu: is a folder without a cubin; expected "},
      {"empty.cu", "\n",
       "empty.cu:1:1: the file has neither a declaration nor a kernel; expected "},
      {"large.cu", std::string((4 << 20) + 1, ' '),
       "large.cu: has 4194305 bytes; expected a CUDA source file of at most 4194304 bytes"},
      {"bytes.cu", "// \xff\n", "bytes.cu: line 1 is not UTF-8 text"},
      {"kernel.cpp", kAdd,
       "kernel.cpp: is neither a config, which is a JSON object, nor a kernel "
       "file, whose name ends in .cu, .cuh, .ptx, .cubin or .gpuexp.json"},
      {"none.cu", kKernel,
       "none.cu:1:1: the file has no declaration; expected comment lines that begin with '// "
       "gpuexp:' and launch one of its kernels: add; 'gpuexp init "},
      {"none.ptx", kPtx.substr(kPtx.find(".version")),
       "none.ptx:1:1: the file has no declaration; expected comment lines that begin with '// "
       "gpuexp:' and launch one of its kernels: fill; or the same statements in none.gpuexp.json"},
  });
}

TEST_CASE("errors of statements", "[machine_code]") {
  if (!has_compiler()) return;
  check_errors({
      {"k.cu", "// gpuexp: hello world\n" + kAdd,
       "k.cu:1:12: 'hello world' is not a statement; expected NAME = VALUES, "},
      {"k.cu", "// gpuexp: tolerence 1e-3\n" + kAdd,
       "k.cu:1:12: 'tolerence 1e-3' is not a statement; did you mean 'tolerance'? expected "},
      {"k.cu", "// gpuexp: n = 4\n" + kAdd,
       "k.cu:2:12: parameter 'n' is declared twice, first in line 1"},
      {"k.cu", add_with("256>>>", "256>>>\n// gpuexp: add<<<1, 1>>>"),
       "k.cu:4:12: variant 'add' is declared twice, first in line 3"},
      {"k.cu", add_with("x[n] y", "x[n] = unifrom\n// gpuexp: y"),
       "k.cu:2:19: unknown fill 'unifrom'; did you mean 'uniform'?"},
      {"k.cu", add_with("ceil_div", "ceil_dib"),
       "k.cu:3:18: unknown function 'ceil_dib'; did you mean 'ceil_div'?"},
      {"k.cu", "// gpuexp: option -ccbin=/bin/sh\n" + kAdd,
       "k.cu:1:19: compile option '-ccbin=/bin/sh': not allowed for a kernel file; allowed: "
       "-DNAME"},
      {"k.cu", add_with("x[n]", "x"),
       "k.cu:2:14: expected the extent of x, such as x[n], found 'y[n] z[n]'"},
      {"k.cu", add_with("x[n]", "x[m]"),
       "k.cu:2:14: 'm' has no value; declare it, such as in m = "
       "1024, or use a declared parameter; allowed: n"},
      {"k.cu", add_with("x[n]", "x[n^7]"),
       "k.cu:2:15: 1000 ^ 7 is out of the range of 64-bit integers"},
      {"k.cu", add_with("256>>>", "256/(n - 1000)>>>"), "k.cu:3:39: division by zero in 256 / 0"},
      {"k.cu", add_with("x[n]", "x[n - 1001]"),
       "k.cu:2:14: the extent of x 'n - 1001' is -1; expected at least 1"},
      {"k.cu", add_with("ceil_div(n, 256)", "n/256"),
       "k.cu:3:19: 1000 / 256 leaves the remainder 232; use ceil_div(1000, 256), or floor_div for "
       "the whole part"},
  });
}

TEST_CASE("each command refuses a wrong declaration before anything runs", "[machine_code]") {
  if (!has_compiler()) return;
  for (const std::string& command :
       {"verify" + kSimulated, "run" + kSimulated, std::string("predict --gpu h200"),
        std::string("describe"), std::string("tune --gpu h200"), std::string("annotate")})
    check_errors({{"k.cu", "// gpuexp: hello world\n" + kAdd,
                   "k.cu:1:12: 'hello world' is not a statement; ", command}});
}

TEST_CASE("errors of launches", "[machine_code]") {
  if (!has_compiler()) return;
  check_errors({
      {"k.cu", add_with("add<<<", "ad<<<"),
       "k.cu:3:12: the file has no kernel 'ad'; did you mean 'add'? allowed: add"},
      {"k.cu", "// gpuexp: n = 8\n// gpuexp: z[n]\n// gpuexp: f<<<n, 1>>>\nint main() {}\n",
       "k.cu:3:12: the file has no kernel 'f': it defines no __global__ function"},
      {"k.cu", kAdd + "__global__ void add(float* z) {}\n",
       "k.cu:3:12: the file has 2 kernels 'add': "},
      {"k.cu",
       launch_of_f("(z)",
                   "template <int N> __global__ void f(float* z) { z[threadIdx.x] = N; }\n"
                   "__global__ void g() {}\n"),
       "k.cu:2:12: kernel 'f' is in the source but not in the compiled code; if it is a template, "
       "name its arguments, as in f<64><<<GRID, BLOCK>>>"},
      {"k.cu", add_with("256>>>", "256>>>(x, y, z)"),
       "k.cu:3:12: add(const float* x, const float* y, float* z, int n) has 4 parameters, but the "
       "launch has 3 arguments"},
      {"k.cu", add_with("256>>>", "256>>>(x, y, z, n*2^30)"),
       "k.cu:3:52: 'n*2^30', for the parameter n of add of type int, is 1073741824000; expected "
       "-2147483648 to 2147483647"},
      {"k.cu", launch_of_f("", "__global__ void f(float* z, int count) {}\n"),
       "k.cu:2:12: parameter 'int count' of f has no value; declare it, such as in count = 1024, "
       "or "
       "write the arguments out: f<<<GRID, BLOCK>>>(…)"},
      {"k.cu",
       launch_of_f("(z, 0)",
                   "__global__ void f(float* z, cudaTextureObject_t t) {\n"
                   "  z[threadIdx.x] = tex1Dfetch<float>(t, 0);\n}\n"),
       "k.cu:2:27: parameter 'cudaTextureObject_t t' of f is a texture or surface, which is not "
       "supported; pass a pointer"},
      {"k.cu", launch_of_f("(z, 0)", "__global__ void f(float* z, cudaSurfaceObject_t t) {}\n"),
       "k.cu:2:27: parameter 'cudaSurfaceObject_t t' of f is a texture or surface, "},
      {"k.cu",
       launch_of_f("(z, 0)",
                   "struct Pair { int a, b, c; };\n"
                   "__global__ void f(float* z, Pair p) { z[0] = p.c; }\n"),
       "k.cu:2:27: parameter 'Pair p' of f has a type that is not supported; expected a pointer, "
       "an integer, bool, float or double"},
      {"k.cu", launch_of_f("", "__global__ void f(float4* z) {}\n"),
       "k.cu:2:12: 'z' has elements of type float4, because of parameter 'float4* z' of f; declare "
       "'float z[4*8]' instead; "},
      {"k.cu",
       launch_of_f("",
                   "__global__ void g(float* z) { z[0] = 1; }\n"
                   "__global__ void f(float* z) { g<<<1, 1>>>(z); }\n"),
       "k.cu: nvcc cannot compile it for sm_90a:\nk.cu(5): error: kernel launch from __device__ or "
       "__global__ functions requires separate compilation mode"},
      {"k.cu", add_with("void add", "void __cluster_dims__(2, 1, 1) add"),
       "k.cu:3:12: add has clusters of blocks (__cluster_dims__), which are not supported; "
       "expected a kernel without"},
  });
}

TEST_CASE("launches and buffers beyond the limits of the GPU", "[machine_code]") {
  if (!has_compiler()) return;
  const std::string tile =
      "__shared__ float tile[4096];\n  tile[threadIdx.x] = x[0];\n  "
      "if (tile[5] == 7) return;\n  const int i";
  std::string with_tile = add_with("256>>>", "256, 225*1024>>>");
  with_tile.replace(with_tile.find("const int i"), 11, tile);
  check_errors({
      {"k.cu", add_with("x[n]", "x[n*2^30]"),
       "k.cu:2:12: x has 1073741824000 elements of type fp32, 4000 GiB; the buffers and the "
       "expected "
       "values need 4000 GiB, but NVIDIA H200 SXM 141GB has "},
      {"k.cu", add_with("ceil_div(n, 256)", "(1, 2^16)"),
       "k.cu:3:22: the grid has 65536 along y; expected at most 65535"},
      {"k.cu", add_with("256>>>", "2048>>>"),
       "k.cu:3:36: the block has 2048 along x; expected at most 1024"},
      {"k.cu", add_with("256>>>", "256, 2^20>>>"),
       "k.cu:3:41: a block of add needs 1048576 bytes of shared memory, 1048576 of the launch and "
       "0 of the kernel's variables; expected at most 232448 on NVIDIA H200"},
      {"k.cu", with_tile,
       "k.cu:3:41: a block of add needs 246784 bytes of shared memory, 230400 of the launch and "
       "16384 of the kernel's variables; expected at most 232448 on NVIDIA H200"},
      {"k.cu", add_with("void add", "void __launch_bounds__(128) add"),
       "k.cu:3:36: the block has 256 threads; expected at most 128, which __launch_bounds__ of add "
       "declares"},
  });
}

TEST_CASE("errors of checks and arrays", "[machine_code]") {
  if (!has_compiler()) return;
  check_errors({
      {"k.cu", add_with("z[i] =", "z[i][j] ="), "k.cu:4:18: 'z' has 1 dimension, found 2 indices"},
      {"k.cu", add_with("z[i] = x[i] + y[i]\n_", "x[i] = 1\n_"),
       "k.cu:4:18: 'x' is an input, and not an output, because launches pass it only to const "
       "pointers; if a kernel writes it, remove const from its parameter, and declare 'in_out "
       "x[n]'; outputs: z"},
      // The same message if the check reads x.
      {"k.cu", add_with("z[i] = x[i] + y[i]\n_", "x[i] = x[i] + y[i]\n_"),
       "k.cu:4:18: 'x' is an input, and not an output, because launches pass it only to const "},
      {"k.cu", add_with("z[i] = x[i] + y[i]\n_", "x[i] = before(x[i]) + y[i]\n_"),
       "k.cu:4:18: 'x' is an input, and not an output, because launches pass it only to const "},
      {"k.cu", add_with("x[i] + y[i]\n_", "x[i] + y[i];\n_"),
       "k.cu:4:36: found ';' after 'x[i] + y[i]'; remove it, because no ';' ends a statement"},
      {"k.cu", add_with("x[i] + y[i]\n_", "x[i]; y[i]\n_"),
       "k.cu:4:29: found ';' after 'x[i]'; expected an operator or the end"},
      {"k.cu", add_with("= x[i] + y[i]\n_", "= fminf(x[i], y[i])\n_"),
       "k.cu:4:25: unknown function 'fminf'; did you mean 'min'? allowed: "},
      {"k.cu", add_with("z[i] = x[i] + y[i]\n_", "z[i] = z[i] + 1\n_"),
       "k.cu:4:25: 'z' is the output; before(z[...]) is its value before the launch"},
      {"k.cu", add_with("= x[i] + y[i]\n_", "= q[i] + y[i]\n_"),
       "k.cu:4:25: unknown buffer 'q'; allowed: x, y"},
      {"k.cu", add_with("x[n] y", "x[n] = x.npy\n// gpuexp: y"),
       "k.cu:2:19: x.npy has elements of type float64 (<f8) and shape (999,); expected float32 "
       "(<f4) and shape (1000,), as x is declared"},
      {"k.cu", add_with("x[n] y", "x[n] = none.npy\n// gpuexp: y"),
       "k.cu:2:19: none.npy: cannot be read: No such file or directory"},
  });
}

TEST_CASE("errors of compilers", "[machine_code]") {
  if (!has_compiler()) return;
  check_errors({
      {"k.cu", add_with("x[i] + y[i];", "x[i] + k[i];"),
       "k.cu: nvcc cannot compile it for sm_90a:\nk.cu(7): error: identifier \"k\" is undefined"},
      {"k.cu", "#include \"none.cuh\"\n" + kAdd,
       "k.cu: nvcc cannot compile it for sm_90a:\nk.cu:1:10: fatal error: none.cuh: No such file"},
      {"k.ptx", "// gpuexp: option -DN=1\n" + kPtx, "k.ptx: the option -DN=1 is one of a compiler"},
  });
  const ErrorFolder folder;
  std::string newer = kPtx;
  newer.replace(newer.find("8.0"), 3, "99.0");
  folder.write("newer.ptx", newer);
  const Outcome outcome = folder.outcome("newer.ptx", "");
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.output,
             contains_text("gpuexp: newer.ptx:4: is PTX of version 99.0, but ptxas "));
}

}  // namespace
}  // namespace gpuexp::test
