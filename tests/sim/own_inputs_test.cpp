// PTX, machine code and Triton's cache as kernel files: translated, launched as they declare, and
// verified on the CPU.
#include <algorithm>
#include <regex>

#include "base/json.hpp"
#include "base/output.hpp"
#include "base/random_bits.hpp"
#include "sass/loaded_kernels.hpp"
#include "sim/foreign_kernels.hpp"
#include "sim/kernel_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

#define REQUIRE_CODE_TOOLS()                      \
  if (!lacks_code_tools().empty()) {              \
    skip(Tier::machine_code, lacks_code_tools()); \
    return;                                       \
  }

const std::string kStatements = R"(n = 1000
a = 0.5
in float x[n]
in_out float y[n]
axpy<<<ceil_div(n, 256), 256>>>(x, y, a, n)
check y[i] = a*x[i] + before(y[i])
)";

// Without types in its name, as extern "C" kernels have.
const std::string kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n) {
  .reg .pred %p<2>; .reg .f32 %f<4>; .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];
  ld.param.f32 %f1, [a]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra END;
  mul.wide.s32 %rd3, %r5, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f3, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f3;
END: ret;
}
)";

std::string replaced(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

std::string as_comments(const std::string& statements) {
  return std::regex_replace(statements, std::regex("([^\n]+)\n"), "// gpuexp: $1\n");
}

/// The PTX with its declaration, of which one part is replaced.
std::string ptx_file(const std::string& part = "n", const std::string& by = "n") {
  return replaced(as_comments(kStatements) + kPtx, part, by);
}

/// The same declaration for a source that cannot hold it.
std::string json_for(const std::string& source) {
  return "{\"source\": \"" + source + R"json(",
  "parameters": {"n": 1000, "a": {"type": "float", "values": 0.5}},
  "buffers": {"x": "in float [n]", "y": "in_out float [n]"},
  "variants": {"axpy": "axpy<<<ceil_div(n, 256), 256>>>(x, y, a, n)"},
  "check": "y[i] = a*x[i] + before(y[i])"
})json";
}

/// Writes the machine code of PTX to the folder.
std::string write_cubin(const KernelFolder& folder, const std::string& name, const std::string& ptx,
                        const std::string& architecture) {
  const TemporaryFolder scratch;
  std::ofstream(scratch / "module.ptx") << ptx;
  std::string cubin = folder.write(name, "");
  ToolkitTools::found().run("ptxas", {"-arch=" + architecture, scratch / "module.ptx", "-o", cubin},
                            scratch, "assembled");
  return cubin;
}

std::string load_error(KernelFolder& folder, const std::string& file) {
  try {
    folder.files().load(file);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("a PTX file is verified, and wrong results in it are found", "[own_inputs]") {
  REQUIRE_CODE_TOOLS();
  KernelFolder folder;
  const Family& family = folder.load("axpy.ptx", ptx_file());
  CHECK(family.id == "axpy.ptx");
  for (const std::int64_t n : {1, 256, 1000}) {
    CHECK(failure(family, "axpy", {n, 0.5}).empty());
  }
  const Family& product = folder.load(
      "product.ptx", ptx_file("fma.rn.f32 %f3, %f1, %f2, %f3", "mul.rn.f32 %f3, %f1, %f2"));
  CHECK_THAT(failure(product, "axpy"), contains_text("1000 of 1000 elements are wrong"));
}

TEST_CASE("numbers and buffers without types get them from the declaration", "[own_inputs]") {
  REQUIRE_CODE_TOOLS();
  KernelFolder folder;
  int file = 0;
  const auto result = [&](const std::string& part, const std::string& by) {
    const std::string name = "k" + std::to_string(++file) + ".ptx";
    const std::string error = folder.error(name, ptx_file(part, by));
    return error.empty() ? failure(folder.files().load(folder.folder() + "/" + name), "axpy")
                         : error;
  };
  CHECK(result("a = 0.5", "float a = 2").empty());
  CHECK(result("n = 1000", "unsigned int n = 1000").empty());
  CHECK(result("y, a, n)", "y, 0.25 + a/2, n)").empty());
  // An integer without a type is passed as an int, whose bits are a small float.
  CHECK_THAT(result("a = 0.5", "a = 2"), contains_text("elements are wrong"));
  CHECK_THAT(
      result("a = 0.5", "double a = 2"),
      contains_text(":5:50: a is declared as double, but the parameter of axpy has 4 bytes"));
  CHECK_THAT(result("a = 0.5", "int a = 0.5"),
             contains_text(":2:12: a number of type int cannot be 0.5; expected a whole number"));
  CHECK_THAT(result("a = 0.5", "half a = 0.5"),
             contains_text(":2:12: a number of type half is not supported; expected bool, "));
  CHECK_THAT(result("in float x", "in x"),
             contains_text(":3:15: the type of the elements of 'x' is unknown, because the code of "
                           "axpy has only sizes of parameters; declare it, such as 'float x[n]'"));
  CHECK_THAT(result("in float x", "in float4 x"),
             contains_text(":3:15: elements of type float4 are not supported; expected float, ") &&
                 contains_text("; declare 4 times as many elements of type float instead, as in "
                               "'float x[4*n]'"));
  CHECK_THAT(result("in float x", "in double x"), contains_text("elements are wrong"));
  CHECK_THAT(result("(x, y, a, n)", "(x, y, y, n)"),
             contains_text(":5:50: 'y' is a pointer, but the parameter of axpy has 4 bytes; "
                           "expected a number"));
  CHECK_THAT(result("(x, y, a, n)", "(x, y, a)"),
             contains_text("axpy(8 bytes, 8 bytes, 4 bytes, 4 bytes) has 4 parameters, but the "
                           "launch has 3 arguments"));
  CHECK_THAT(result("(x, y, a, n)", "(nullptr, y, a, n)"), contains_text("no launch uses the"));
  CHECK_THAT(
      result(", 256>>>", ">>>"),
      contains_text(":5:12: the launch of axpy has no block; expected axpy<<<GRID, BLOCK>>>"));
}

TEST_CASE("declared types complete and check the types of a CUDA C++ file", "[own_inputs]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const std::string text = R"(// gpuexp: n = 1000
// gpuexp: in float x[4*n]
// gpuexp: float y[4*n]
// gpuexp: twice<<<ceil_div(n, 256), 256>>>(x, y, n, nullptr)
// gpuexp: check y[i] = 2*x[i]
__global__ void twice(const float4* x, float4* y, int n, const int* unused) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || unused) return;
  const float4 v = x[i];
  y[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}
)";
  CHECK(failure(folder.load("vector.cu", text), "twice").empty());
  const std::string other = std::regex_replace(text, std::regex("float4\\*"), "double*");
  CHECK_THAT(
      folder.error("other.cu", std::regex_replace(other, std::regex("const float4 v[^}]*"), "")),
      contains_text("other.cu:4:45: 'x' is declared with elements of type float, but "
                    "parameter 'const double* x' of twice has elements of type double"));
}

/// Finds or makes the machine code of the first variant's kernels, as a plan for the device does.
void find_code(const Family& family, const DeviceSpec& spec) {
  const auto problem = family.make_problem(family.defaults());
  for (const Shape& shape : family.variants.front().shapes(problem.get(), spec))
    LoadedKernels::global().find(shape.kernel)->code(spec.compute_capability());
}

TEST_CASE("errors of PTX files name the versions and targets", "[own_inputs]") {
  REQUIRE_CODE_TOOLS();
  KernelFolder folder;
  CHECK_THAT(folder.error("newer.ptx", ptx_file(".version 8.0", ".version 99.0")),
             contains_text("newer.ptx:7: is PTX of version 99.0, but ptxas " +
                           ToolkitTools::found().version_of("ptxas")) &&
                 contains_text(" knows PTX up to version "));
  CHECK_THAT(folder.error("wrong.ptx", ptx_file("fma.rn.f32", "fma.rn.f33")),
             contains_text("wrong.ptx: ptxas cannot assemble it:\n") &&
                 contains_text("wrong.ptx, line 20; error"));
  CHECK_THAT(folder.error("text.ptx", as_comments(kStatements) + "hello\n"),
             contains_text("text.ptx: has no directive .version, so it is not PTX"));
  CHECK_THAT(folder.error("none.ptx", kPtx),
             contains_text("none.ptx:1:1: the file has no declaration; expected comment lines that "
                           "begin with '// gpuexp:' and launch one of its kernels: axpy; or the "
                           "same statements in ") &&
                 contains_text("/none.gpuexp.json"));
  CHECK_THAT(folder.error("option.ptx", "// gpuexp: option -DN=1\n" + ptx_file()),
             contains_text("option.ptx: the option -DN=1 is one of a compiler of CUDA C++; a PTX "
                           "file can have only -maxrregcount=N"));
  const Family& specific = folder.load("specific.ptx", ptx_file(".target sm_80", ".target sm_90a"));
  CHECK_NOTHROW(find_code(specific, device()));
  CHECK_THROWS_WITH(find_code(specific, device_of("a100_sxm4_80gb")),
                    contains_text("specific.ptx: is PTX for sm_90a, but sm_80 is needed; it serves "
                                  "only its own target"));
}

TEST_CASE("a cubin is verified on its own architecture, and refused on others", "[own_inputs]") {
  REQUIRE_CODE_TOOLS();
  KernelFolder folder;
  folder.write("axpy.gpuexp.json", json_for("axpy.cubin"));
  const Family& family = folder.files().load(write_cubin(folder, "axpy.cubin", kPtx, "sm_90a"));
  CHECK(failure(family, "axpy").empty());
  // Results record these files, so that a run is not resumed with others.
  const auto sources = folder.files().sources();
  REQUIRE(sources.size() == 1);
  CHECK(sources.begin()->first == folder.folder() + "/axpy.gpuexp.json");
  CHECK(folder.files().other_inputs() == std::vector<std::string>{folder.folder() + "/axpy.cubin"});
  CHECK_NOTHROW(find_code(family, device()));
  CHECK_THROWS_WITH(
      find_code(family, device_of("rtx_4090")),
      contains_text("axpy.cubin: has machine code for sm_90, but sm_89 is needed; gpuexp uses a "
                    "cubin only on its own architecture: compile it for sm_89"));

  folder.write("older.gpuexp.json", json_for("older.cubin"));
  const Family& older = folder.files().load(write_cubin(folder, "older.cubin", kPtx, "sm_80"));
  CHECK_NOTHROW(find_code(older, device_of("a100_sxm4_80gb")));
  CHECK_THROWS_WITH(find_code(older, device()),
                    contains_text("older.cubin: has machine code for sm_80, but sm_90a is needed"));
  CHECK_THROWS_WITH(
      find_code(older, device_of("rtx_4090")),
      contains_text("has machine code for sm_80, but sm_89 is needed; gpuexp uses a cubin only on "
                    "its own architecture, although CUDA executes code for sm_80 on sm_89, too"));
}

TEST_CASE("damaged cubins, and cubins without a declaration, are refused", "[own_inputs]") {
  REQUIRE_CODE_TOOLS();
  KernelFolder folder;
  const std::string bytes = text_of_file(write_cubin(folder, "whole.cubin", kPtx, "sm_90a"));
  CHECK_THAT(load_error(folder, folder.folder() + "/whole.cubin"),
             contains_text("whole.cubin: machine code cannot hold a declaration; write one to ") &&
                 contains_text("/whole.gpuexp.json that names it as \"source\" and launches one of "
                               "its kernels: axpy ("));
  for (const char* name : {"text", "half", "unknown"})
    folder.write(std::string(name) + ".gpuexp.json", json_for(std::string(name) + ".cubin"));
  CHECK_THAT(folder.error("text.cubin", "no machine code"),
             contains_text("text.cubin: is not a cubin: it does not begin as a 64-bit ELF file "
                           "does; expected a file that nvcc -cubin, "));
  // Also if the file has no declaration.
  CHECK_THAT(folder.error("bare.cubin", "no machine code"),
             contains_text("bare.cubin: is not a cubin: it does not begin as ") &&
                 !contains_text("declaration"));
  CHECK_THAT(folder.error("bare.cubin", bytes.substr(0, 40)),
             contains_text("bare.cubin: is not a cubin: it ends in the header; "));
  std::string for_host = bytes;
  for_host[18] = 62;  // x86-64
  CHECK_THAT(folder.error("bare.cubin", for_host),
             contains_text("bare.cubin: is not a cubin: it is an ELF file of another machine; "));
  CHECK_THAT(folder.error("bare.cubin", bytes.substr(0, 64)),
             contains_text("bare.cubin: the cubin has no kernels"));
  CHECK_THAT(folder.error("half.cubin", bytes.substr(0, bytes.size() / 2)),
             contains_text("half.cubin: ") && contains_text("cuobjdump failed: "));
  folder.write("unknown.gpuexp.json", replaced(json_for("unknown.cubin"), "axpy<<<", "axpi<<<"));
  CHECK_THAT(folder.error("unknown.cubin", bytes),
             contains_text("unknown.gpuexp.json: $.variants.axpy: ") &&
                 contains_text("the file has no kernel 'axpi'; did you mean 'axpy'?"));
}

/// The cubin may be refused, fault, end or be stopped after a second.
void execute_mutated(const KernelFolder& folder, const std::string& name,
                     const std::string& bytes) {
  folder.write(name + ".gpuexp.json", json_for(name + ".cubin"));
  Registry registry;
  own::OwnFiles files(registry, SourceCompiler(ToolkitTools::found(), ""));
  SimulatedOptions options;
  options.launch_timeout_s = 1;
  const auto device_executor = make_simulated_executor(device(), no_kernels(), options);
  try {
    const Family& family = files.load(folder.write(name + ".cubin", bytes));
    device_executor->set_up(family, family.defaults(), 7);
    device_executor->verify(family.variants.front(), Mode::cold);
  } catch (const std::runtime_error&) {
  }
}

TEST_CASE("machine code with flipped bits does not crash the program", "[own_inputs]") {
  REQUIRE_CODE_TOOLS();
  const KernelFolder folder;
  const std::string bytes = text_of_file(write_cubin(folder, "whole.cubin", kPtx, "sm_90a"));
  constexpr std::uint64_t kMutations = 10;
  for (std::uint64_t seed = 0; seed < kMutations; ++seed) {
    std::string mutated = bytes;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t bits = random_bits(seed, i);
      mutated[bits % mutated.size()] ^= static_cast<char>(1 << (bits >> 32) % 8);
    }
    INFO(seed);
    CHECK_NOTHROW(execute_mutated(folder, "m" + std::to_string(seed), mutated));
  }
}

// ---- Triton

/// A folder as in Triton's cache, with the code of one of the stored launches.
class TritonCache {
 public:
  /// `declaration` has the members of the JSON declaration besides the source.
  TritonCache(const KernelFolder& folder, const std::string& kernel, const std::string& declaration)
      : folder_(folder), kernel_(kernel) {
    const Json kept = Json::parse(
        read_text(std::string(GPUEXP_SOURCE_DIR) + "/tests/sim/data/triton_kernels.json"));
    const auto& launches = kept.at("launches").items();
    const auto launch = std::find_if(launches.begin(), launches.end(), [&](const Json& l) {
      return l.at("kernel").get<std::string>() == kernel;
    });
    REQUIRE(launch != launches.end());
    const Json& module = kept.at("modules").at(launch->at("module").get<std::string>());
    write_cubin(folder, file(".cubin"), module.at("ptx").get<std::string>(),
                module.at("target").get<std::string>());
    constexpr std::int64_t kWarpSize = 32;
    metadata_["name"] = kernel;
    metadata_["num_warps"] = launch->at("block_threads").get<std::int64_t>() / kWarpSize;
    metadata_["num_ctas"] = 1;
    metadata_["shared"] = launch->at("shared_bytes");
    metadata_["global_scratch_size"] = 0;
    write(declaration);
  }

  void write(const std::string& declaration) const {
    folder_.write(file(".gpuexp.json"),
                  "{\"source\": \"" + kernel_ + ".cubin\",\n" + declaration + "}");
    folder_.write(file(".json"), metadata_.dump());
  }
  void set(const std::string& key, const Json& value) { metadata_[key] = value; }
  std::string file(const std::string& extension) const {
    return kernel_ + "/" + kernel_ + extension;
  }
  std::string path() const { return folder_.folder() + "/" + kernel_; }

 private:
  const KernelFolder& folder_;
  std::string kernel_;
  Json metadata_ = Json::object();
};

const std::string kElu = R"json("parameters": {"n": 1000},
"buffers": {"x": "in float [n]", "y": "out float [n]"},
"variants": {"elu_kernel": "elu_kernel<<<ceil_div(n, 1024)>>>(x, y, n)"},
"check": "y[i] = x[i] > 0 ? x[i] : 1.6732631921768188*(exp(x[i]) - 1)"
)json";

TEST_CASE("a kernel of Triton's cache needs a grid and arguments only", "[own_inputs]") {
  REQUIRE_CODE_TOOLS();
  KernelFolder folder;
  const TritonCache elu(folder, "elu_kernel", kElu);
  const Family& family = folder.files().load(elu.path());
  CHECK(family.id == "elu_kernel.cubin");
  CHECK(failure(family, "elu_kernel").empty());
  CHECK(folder.files().other_inputs() == std::vector<std::string>{elu.path() + "/elu_kernel.cubin",
                                                                  elu.path() + "/elu_kernel.json"});
  // A kernel with shared memory.
  const TritonCache transpose(folder, "transpose_kernel",
                              R"json("parameters": {"rows": 512, "columns": 256},
"buffers": {"x": "in float [rows][columns]", "y": "out float [columns][rows]"},
"variants": {"transpose_kernel": "transpose_kernel<<<(rows/64)*(columns/64)>>>(x, y, rows, columns)"},
"check": "y[c][r] = x[r][c]"
)json");
  CHECK(
      failure(folder.files().load(transpose.path() + "/transpose_kernel.cubin"), "transpose_kernel")
          .empty());
}

TEST_CASE("launches that contradict Triton's metadata are refused", "[own_inputs]") {
  REQUIRE_CODE_TOOLS();
  KernelFolder folder;
  TritonCache cache(folder, "elu_kernel", replaced(kElu, "1024)>>>", "1024), 256>>>"));
  CHECK_THAT(load_error(folder, cache.path()),
             contains_text("elu_kernel.gpuexp.json: $.variants.elu_kernel: ") &&
                 contains_text(": column 33: elu_kernel has 128 threads per block and 0 "
                               "bytes of shared memory, as Triton compiled it; leave both out: "
                               "elu_kernel<<<GRID>>>"));
  cache.write(replaced(kElu, "(x, y, n)", "(x, n)"));
  CHECK_THAT(load_error(folder, cache.path()), contains_text("has 5 parameters, but the launch has "
                                                             "2 arguments"));
  cache.set("num_ctas", 2);
  cache.write(kElu);
  CHECK_THAT(load_error(folder, cache.path()),
             contains_text("elu_kernel.json: num_ctas is 2; clusters are not supported"));
  cache.set("num_ctas", 1);
  cache.set("global_scratch_size", 64);
  cache.write(kElu);
  CHECK_THAT(load_error(folder, cache.path()), contains_text("global_scratch_size is set"));
  folder.write(cache.file(".json"), "{\"num_warps\": 4}");
  CHECK_THAT(load_error(folder, cache.path()),
             contains_text("elu_kernel.json: is not a JSON file of Triton's cache"));
  folder.write("elu_kernel/second.cubin", "");
  CHECK_THAT(load_error(folder, cache.path()),
             contains_text("the folder has 2 cubins (elu_kernel.cubin, second.cubin); expected "
                           "one, or name the file"));
}

}  // namespace
}  // namespace gpuexp::test
