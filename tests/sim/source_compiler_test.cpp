// Compiling kernel files with the installed nvcc, keeping their code, and the errors.
#include "compile/source_compiler.hpp"

#include <cstdlib>
#include <fstream>

#include "base/demangled_name.hpp"
#include "compile/kernel_symbols.hpp"
#include "sass/code_listing.hpp"
#include "sim/logged_tools.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/skip.hpp"
#include "support/toolkit.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVectorAdd = R"(#include "scale.cuh"
__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + SCALE * b[i];
}
int main() { add<<<1, 32>>>(nullptr, nullptr, nullptr, 0); }
)";
constexpr const char* kLoweredName = "_Z3addPKfS0_Pfi";

/// Why this machine cannot compile; empty if it can.
std::string lacks_compiler() {
  return missing_tool(kToolNames);
}

/// A folder with a kernel file, a header, a store, and tools that note each of their runs.
class Workplace {
 public:
  Workplace() : tools_(scratch_.path() / "tools") {
    write("add.cu", kVectorAdd);
    write("scale.cuh", "#define SCALE 2.0f\n");
  }

  void set_tool(const std::string& tool, const std::string& script) const {
    tools_.set(tool, script);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(scratch_.path() / name, std::ios::binary) << text;
  }
  fs::path operator/(const std::string& name) const { return scratch_.path() / name; }

  std::shared_ptr<const CompiledModule> compile(const CompileOptions& options = {},
                                                const ToolLimits& limits = {}) const {
    const SourceCompiler compiler(ToolkitTools({tools().string()}), store(), limits);
    return compiler.compile(scratch_.path() / "add.cu", options, 90);
  }
  std::shared_ptr<const CompiledModule> compile(const Instantiation& instantiation) const {
    const SourceCompiler compiler(ToolkitTools({tools().string()}), store());
    return compiler.compile(scratch_.path() / "add.cu", {}, 90, {instantiation});
  }
  std::string error(const ToolLimits& limits = {}) const {
    try {
      compile({}, limits);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }
  /// Names of the tools that ran since the last call.
  std::string runs() const { return tools_.runs(); }
  fs::path store() const { return scratch_.path() / "store"; }
  fs::path tools() const { return tools_.folder(); }

 private:
  ScratchFolder scratch_;
  LoggedTools tools_;
};

// Ends a test case with a skip.
#define REQUIRE_COMPILER()                      \
  if (!lacks_compiler().empty()) {              \
    skip(Tier::machine_code, lacks_compiler()); \
    return;                                     \
  }

TEST_CASE("a kernel file is compiled to machine code with source lines", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  const auto module = place.compile();
  CHECK(module->architecture() == "sm_90a");
  CHECK(module->hash().size() == 64);
  CHECK(module->source_text() == kVectorAdd);
  CHECK(!module->was_kept());
  CHECK(fs::file_size(module->cubin()) > 0);
  CHECK(module->dependencies()[0].path == (place / "add.cu").string());
  CHECK(std::any_of(module->dependencies().begin(), module->dependencies().end(),
                    [&](const auto& file) { return file.path == (place / "scale.cuh").string(); }));
  REQUIRE(module->kernels().rows().size() == 1);
  const KernelResource* const kernel = module->kernels().find(kLoweredName);
  REQUIRE(kernel);
  CHECK(kernel->architecture == 90);
  CHECK(kernel->registers > 0);
  const KernelCode code = read_code_text(kernel->code.text());
  CHECK(std::any_of(code.instructions.begin(), code.instructions.end(),
                    [](const auto& i) { return i.file == "add.cu" && i.line == 4; }));
}

TEST_CASE("a compiled kernel's parameters have the source's names", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  place.write("add.cu",
              "namespace { __global__ void hidden(int* count) { ++*count; } }\n"
              "extern \"C\" __global__ void plain(const unsigned* words) {}\n"
              "template <class T> __global__ void fill(T* to, T value) { *to = value; }\n"
              "template __global__ void fill<double>(double*, double);\n"
              "int main() { hidden<<<1, 1>>>(nullptr); }\n");
  const auto module = place.compile();
  std::string found;
  for (const KernelSignature& kernel : signatures(module->kernels(), module->source_text())) {
    found += kernel.name;
    for (const KernelParameter& parameter : kernel.parameters)
      found += " " + std::string(c_name_of(parameter.type.element)) + " " + parameter.name;
    found += "; ";
  }
  CHECK_THAT(found, contains_text("fill double to double value; "));
  CHECK_THAT(found, contains_text("hidden int count; "));
  CHECK_THAT(found, contains_text("plain unsigned int words; "));
}

TEST_CASE("a module is kept, and found without running a tool", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  const auto made = place.compile();
  CHECK_THAT(place.runs(), contains_text("nvcc\n"));
  const auto kept = place.compile();
  CHECK(place.runs().empty());
  CHECK(kept->was_kept());
  CHECK(kept->hash() == made->hash());
  CHECK(kept->cubin() == made->cubin());
  CHECK(kept->kernels().find(kLoweredName)->code.text() ==
        made->kernels().find(kLoweredName)->code.text());
  SECTION("not for other options") {
    CompileOptions options;
    options.max_registers = 32;
    CHECK(place.compile(options)->hash() != made->hash());
    CHECK_THAT(place.runs(), contains_text("nvcc\n"));
  }
  SECTION("not for another tool") {
    place.set_tool("ptxas", "exec " + ToolkitTools::found().path_of("ptxas") + " \"$@\" # other");
    CHECK(!place.compile()->was_kept());
  }
  SECTION("with a hash that does not depend on the folder") {
    CHECK(Workplace().compile()->hash() == made->hash());
  }
}

TEST_CASE("a changed header causes a compilation", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  const std::string hash = place.compile()->hash();
  place.write("scale.cuh", "#define SCALE 3.0f\n");
  const auto changed = place.compile();
  CHECK(!changed->was_kept());
  CHECK(changed->hash() != hash);
  place.write("scale.cuh", "#define SCALE 2.0f\n");
  place.runs();
  const auto undone = place.compile();
  CHECK(undone->was_kept());
  CHECK(undone->hash() == hash);
  CHECK(place.runs().empty());
}

TEST_CASE("a damaged store causes a compilation", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  const fs::path folder = place.compile()->cubin().parent_path();
  for (const char* name : {"module.cubin", "manifest.json"}) {
    INFO(name);
    std::ofstream(folder / name, std::ios::app) << "x";
    CHECK(!place.compile()->was_kept());
    CHECK(place.compile()->was_kept());
  }
  fs::remove(folder / "sass.txt");
  CHECK(!place.compile()->was_kept());
  for (const auto& entry : fs::directory_iterator(place.store()))
    if (entry.path().extension() == ".json") std::ofstream(entry.path()) << "{\"dependencies\": 1}";
  CHECK(!place.compile()->was_kept());
  CHECK(place.compile()->was_kept());
}

TEST_CASE("modules that were not read for a month are removed", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  const fs::path folder = place.compile()->cubin().parent_path();
  const fs::path other = place.store() / "other";
  std::ofstream(other) << "x";
  const auto before = fs::file_time_type::clock::now() - std::chrono::hours(24 * 31);
  for (const fs::path& path : {folder, other})
    fs::last_write_time(path, before);
  place.write("scale.cuh", "#define SCALE 3.0f\n");
  CHECK(fs::exists(place.compile()->cubin()));
  CHECK(!fs::exists(folder));
  CHECK(fs::exists(other));
}

TEST_CASE("a module that cannot be kept exists as long as it is used", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  for (const fs::path& store : {fs::path("/dev/null/store"), fs::path("/proc/store"), fs::path()}) {
    INFO(store);
    fs::path cubin;
    {
      const SourceCompiler compiler(ToolkitTools::found(), store);
      const auto module = compiler.compile(place / "add.cu", {}, 80);
      CHECK(module->architecture() == "sm_80");
      CHECK(module->kernels().find(kLoweredName)->architecture == 80);
      cubin = module->cubin();
      CHECK(fs::exists(cubin));
      // Without a folder for modules, none is kept.
      CHECK(compiler.compile(place / "add.cu", {}, 80)->was_kept() == !store.empty());
    }
    CHECK(!fs::exists(cubin));
  }
}

TEST_CASE("the options of a file are nvcc's", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  fs::create_directories(place / "in here");
  std::ofstream(place / "in here/other.cuh") << "#define OTHER 1\n";
  CompileOptions options = parsed_options(
      {"-DSUM=first(5, 6)", "-Iin here", "-std=c++20", "--use_fast_math", "-maxrregcount=40"});
  place.write("add.cu",
              "#include <other.cuh>\n"
              "static_assert(__cplusplus >= 202002L && OTHER == 1);\n"
              "constexpr int first(int a, int) { return a; }\n"
              "static_assert(SUM == 5);\n"
              "__global__ void k(float* a) { *a = sinf(*a); }\n");
  CHECK(place.compile(options)->kernels().rows().size() == 1);
  options.include_folders = {"none"};
  CHECK_THROWS_WITH(place.compile(options), (place / "add.cu").string() +
                                                ": the option -Inone names no folder: expected " +
                                                (place / "none").string());
}

TEST_CASE("errors of a compilation have file and line", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  const std::string file = (place / "add.cu").string();
  const std::string head = file + ": nvcc cannot compile it for sm_90a:\n";
  place.write("add.cu", "#define W 1\n__global__ void k(float* a) { int unused; *a = foo; }\n");
  CHECK_THROWS_AS(place.compile(), CompileError);
  CHECK(place.error().starts_with(head + file + "(2): error: identifier \"foo\" is undefined\n"));
  CHECK_THAT(place.error(), !contains_text("warning"));
  place.write("add.cu", "#include \"none.h\"\n");
  CHECK(place.error().starts_with(head + file + ":1:10: fatal error: none.h: No such file"));
  place.write("add.cu", "__global__ void k() { asm(\"foo.bar;\"); }\n");
  CHECK_THAT(place.error(), contains_text("error   : Not a name of any known instruction: 'foo'"));
  const SourceCompiler compiler(ToolkitTools::found(), "");
  place.write("add.cu", kVectorAdd);
  CHECK_THROWS_WITH(compiler.compile(file, {}, 70),
                    contains_text("cannot compile it for sm_70:\nnvcc fatal   : Unsupported gpu "
                                  "architecture 'compute_70'"));
}

TEST_CASE("an instantiation of a kernel template is compiled", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  place.write(
      "add.cu",
      "#include \"scale.cuh\"\n"
      "namespace { template <int N, class T> __global__ void fill(T* to) { *to = N * SCALE; } "
      "}\n"
      "template <class F> __global__ void other(float* to) { *to = F()(*to); }\n"
      "struct Thrice { __device__ float operator()(float x) { return 3 * x; } };\n"
      "template __global__ void other<Thrice>(float*);\n"
      "struct Twice { __device__ float operator()(float x) { return 2 * x; } };\n");
  const auto name_of = [](const CompiledModule& module) {
    const KernelResource* const kernel = instantiated_kernel(module.kernels());
    return kernel ? demangled_name(kernel->lowered_name) : "";
  };
  const auto fill = place.compile(Instantiation{"fill", "4, double", 7});
  CHECK(name_of(*fill) == "void (anonymous namespace)::fill<4, double>(double*)");
  // The source file's path identifies the code, not the path of the generated file.
  CHECK(fill->dependencies().front().path == (place / "add.cu").string());
  for (const ModuleDependency& file : fill->dependencies())
    CHECK(fs::exists(file.path));
  CHECK(name_of(*place.compile(Instantiation{"other", "Twice"})) == "void other<Twice>(float*)");
  CHECK(place.compile(Instantiation{"fill", "5, double", 7})->hash() != fill->hash());
  CHECK(!instantiated_kernel(place.compile()->kernels()));
  place.runs();
  const auto kept = place.compile(Instantiation{"fill", "4, double", 7});
  CHECK(kept->was_kept());
  CHECK(kept->hash() == fill->hash());
  CHECK(name_of(*kept) == name_of(*fill));
  CHECK(place.runs().empty());
}

TEST_CASE("errors of the code are kept until a file changes", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  place.write("scale.cuh", "static_assert(false, \"no scale\");\n");
  const std::string error = place.error();
  CHECK_THAT(error, contains_text("static assertion failed with \"no scale\""));
  CHECK(place.runs() == "nvcc\n");
  CHECK(place.error() == error);
  CHECK(place.runs().empty());
  place.write("scale.cuh", "#define SCALE 2.0f\n");
  CHECK(place.compile());
  // A header may be added, so that it is missing is not kept.
  place.write("add.cu", "#include \"none.cuh\"\n");
  place.runs();
  CHECK_THAT(place.error(), contains_text("none.cuh: No such file"));
  CHECK_THAT(place.error(), contains_text("none.cuh: No such file"));
  CHECK(place.runs() == "nvcc\nnvcc\n");
}

TEST_CASE("a kernel with too much shared memory is named in the error", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  place.write("add.cu",
              "template <int N> __global__ void k(float* a) {\n"
              "  __shared__ float s[N];\n  s[threadIdx.x] = *a;\n  *a = s[N - threadIdx.x];\n}\n");
  const SourceCompiler compiler(ToolkitTools::found(), "");
  try {
    compiler.compile(place / "add.cu", {}, 90, {Instantiation{"k", "100000", 1}});
    FAIL("compiles");
  } catch (const CompileError& e) {
    CHECK_THAT(e.first_error(), contains_text("Entry function 'void k<100000>(float*)' uses too "
                                              "much shared data"));
  }
}

TEST_CASE("a path that nvcc's shell would interpret is refused", "[source_compiler]") {
  const Workplace place;
  place.write("a$b.cu", kVectorAdd);
  const SourceCompiler compiler(ToolkitTools({}), "");
  CHECK_THROWS_WITH(
      compiler.compile(place / "a$b.cu", {}, 90),
      (place / "a$b.cu").string() +
          ": nvcc cannot compile a file whose path contains the character '$': rename it");
  CompileOptions options;
  options.include_folders = {"in,here"};
  fs::create_directories(place / "in,here");
  CHECK_THROWS_WITH(
      compiler.compile(place / "add.cu", options, 90),
      (place / "in,here").string() +
          ": nvcc cannot use an include folder whose path contains a comma: rename it");
  options.include_folders = {"$(touch made)"};
  CHECK_THROWS_WITH(compiler.compile(place / "add.cu", options, 90),
                    contains_text("a value must not contain $"));
}

TEST_CASE("a compilation that takes too long is stopped", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  place.set_tool("nvcc", "sleep 60");
  ToolLimits limits;
  limits.time_s = 0.3;
  CHECK(place.error(limits) == (place / "add.cu").string() + ": " +
                                   (place / "tools/nvcc").string() +
                                   " failed: stopped after 0.3 s");
}

TEST_CASE("a file that changes during its compilation is compiled again", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  const std::string nvcc = ToolkitTools::found().path_of("nvcc");
  const std::string header = (place / "scale.cuh").string();
  const std::string compile = nvcc + " \"$@\" || exit 1\n";
  SECTION("once") {
    place.set_tool("nvcc", compile + "[ -e " + header +
                               ".done ] || { echo '#define SCALE 4.0f' > " + header + "; touch " +
                               header + ".done; }");
    const std::string hash = place.compile()->hash();
    place.runs();
    CHECK(place.compile()->hash() == hash);
    CHECK(place.runs().empty());
  }
  SECTION("but not forever") {
    place.set_tool("nvcc", compile + "echo \"#define SCALE $$.0f\" > " + header);
    CHECK(place.error() == (place / "add.cu").string() +
                               ": this file or a file that it includes changed during each of 4 "
                               "compilations: try again");
  }
  SECTION("and a file with a time in the future is compiled twice") {
    fs::last_write_time(header, fs::file_time_type::clock::now() + std::chrono::hours(1));
    CHECK(place.compile()->kernels().find(kLoweredName));
  }
}

TEST_CASE("a process executes what its parent compiled, and compiles nothing",
          "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  const ToolkitTools tools({place.tools().string()});
  const fs::path file = place / "add.cu";
  for (const fs::path& store : {place.store(), file / "cannot be made"}) {
    INFO(store);
    const SourceCompiler parent(tools, store);
    const auto made = parent.compile(file, {}, 90);
    place.runs();
    CHECK(parent.compile(file, {}, 90)->was_kept());
    SourceCompiler worker(tools, "");
    worker.use_only_modules_of(parent.module_folders());
    const auto found = worker.compile(file, {}, 90);
    CHECK(found->hash() == made->hash());
    CHECK(fs::exists(found->cubin()));
    CHECK_THROWS_WITH(worker.compile(file, {}, 80),
                      contains_text("add.cu: there is no machine code for sm_80 of the file as it "
                                    "is now; it changed since the command started"));
    place.write("scale.cuh", "#define SCALE 3.0f\n");
    CHECK_THROWS_WITH(worker.compile(file, {}, 90), contains_text("there is no machine code"));
    CHECK(place.runs().empty());
    place.write("scale.cuh", "#define SCALE 2.0f\n");
  }
}

TEST_CASE("a disassembler older than the compiler is named", "[source_compiler]") {
  REQUIRE_COMPILER();
  const Workplace place;
  place.set_tool("cuobjdump", "echo 'nvdisasm fatal   : unknown format' >&2; exit 255");
  CHECK_THAT(place.error(), contains_text("cuobjdump failed: nvdisasm fatal   : unknown format"));
  place.set_tool("nvdisasm", "echo 'Cuda compilation tools, release 12.8, V12.8.90'");
  CHECK(place.error() == "nvdisasm 12.8.90 (" + (place / "tools/nvdisasm").string() +
                             ") cannot read machine code of the CUDA Toolkit " +
                             ToolkitTools::found().version_of("nvcc") +
                             ": install a toolkit, or the Python packages nvidia-cuda-nvdisasm and "
                             "nvidia-cuda-cuobjdump, of at least that version; " +
                             (place / "tools/cuobjdump").string() +
                             " failed: nvdisasm fatal   : unknown format");
}

TEST_CASE("a kernel file is not compiled without nvcc", "[source_compiler]") {
  const ScratchFolder folder;
  const fs::path file = folder.path() / "add.cu";
  std::ofstream(file) << "__global__ void k() {}\n";
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const SourceCompiler compiler(ToolkitTools({}), "");
  setenv("PATH", path.c_str(), 1);
  CHECK_THROWS_WITH(
      compiler.compile(file, {}, 90),
      file.string() +
          ": there is no nvcc of the CUDA Toolkit; searched: PATH. Install the toolkit, or the "
          "Python package nvidia-cuda-nvcc and set CUDA_HOME to its folder that contains bin/nvcc "
          "(the packages of all tools: nvidia-cuda-nvcc, nvidia-cuda-cuobjdump, "
          "nvidia-cuda-nvdisasm; instead of nvcc, the library NVRTC of nvidia-cuda-nvrtc can "
          "compile)");
}

TEST_CASE("architectures with a suffix begin at compute capability 9.0", "[source_compiler]") {
  CHECK(architecture_for(80) == "sm_80");
  CHECK(architecture_for(89) == "sm_89");
  CHECK(architecture_for(90) == "sm_90a");
  CHECK(architecture_for(100) == "sm_100a");
  CHECK(architecture_for(120) == "sm_120a");
}

}  // namespace
}  // namespace gpuexp::test
