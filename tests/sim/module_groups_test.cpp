// Which instantiations of a kernel file are compiled together, and what an error in one costs.
#include <set>
#include <sstream>

#include "config/config_reader.hpp"
#include "plan/plan.hpp"
#include "sass/loaded_kernels.hpp"
#include "sim/kernel_folder.hpp"
#include "sim/logged_tools.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

/// A kernel file, loaded as by a new process on each call of load(), and the runs of its compiler.
class LoggedFile {
 public:
  explicit LoggedFile(const std::string& text) : tools_(scratch_.path() / "tools") {
    std::ofstream(file(), std::ios::binary) << text;
  }

  const Family& load(const std::string& store = "store") {
    folder_ = std::make_unique<KernelFolder>(
        SourceCompiler(tools_.tools(), (scratch_.path() / store).string()));
    return folder_->files().load(file());
  }
  /// The plan of all declared values, or of the values with `axes`, such as {"N": [1, 2]}.
  Plan plan(const std::string& axes = "") {
    const std::string text = axes.empty() ? folder_->files().config_text(file())
                                          : R"({"name": "own", "experiments": [{"family": ")" +
                                                file() + R"(", "axes": )" + axes + "}]}";
    const Config config = parse_config(text, "own.json", folder_->registry());
    return make_plan(config, device(), no_kernels(), device().memory_bytes);
  }
  /// Number of compilations since the last call.
  std::ptrdiff_t compilations() const {
    std::istringstream runs(tools_.runs());
    std::ptrdiff_t count = 0;
    for (std::string run; std::getline(runs, run);)
      if (run == "nvcc") ++count;
    return count;
  }
  std::string file() const { return (scratch_.path() / "f.cu").string(); }

 private:
  ScratchFolder scratch_;
  LoggedTools tools_;
  std::unique_ptr<KernelFolder> folder_;
};

const LoadedKernel& kernel_of(const Family& family, const std::string& variant,
                              const Values& values) {
  const auto problem = family.make_problem(values);
  const std::vector<Shape> shapes = family.find(variant)->shapes(problem.get(), device());
  const LoadedKernel* const kernel = LoadedKernels::global().find(shapes.at(0).kernel);
  REQUIRE(kernel);
  return *kernel;
}

const Values kFirst{};

constexpr const char* kFourLaunches = R"(// gpuexp: in x[64]
// gpuexp: out z[64]
// gpuexp: plain = triple<<<1, 64>>>(x, z)
// gpuexp: one = scale<3, float><<<1, 64>>>(x, z)
// gpuexp: two = scale<3><<<1, 64>>>(x, z)
// gpuexp: three = offset<0><<<1, 64>>>(x, z)
// gpuexp: check z[i] = 3*x[i]
__global__ void triple(const float* x, float* z) { z[threadIdx.x] = 3 * x[threadIdx.x]; }
template <int N, class T = float> __global__ void scale(const T* x, T* z) {
  z[threadIdx.x] = N * x[threadIdx.x];
}
template <int N> __global__ void offset(const float* x, float* z) {
  static_assert(N < 5, "N is too large");
  z[threadIdx.x] = 3 * x[threadIdx.x] + N;
}
)";

TEST_CASE("the kernels of a file's launches are compiled together", "[module_groups]") {
  REQUIRE_TOOLKIT();
  LoggedFile file(kFourLaunches);
  const Family& family = file.load();
  CHECK(file.compilations() == 1);
  std::set<std::string> cubins;
  std::set<std::string> hashes;
  for (const char* variant : {"plain", "one", "two", "three"}) {
    CHECK(failure(family, variant) == "");
    const LoadedCode code = kernel_of(family, variant, kFirst).code(90);
    cubins.insert(code.cubin);
    hashes.insert(code.hash);
  }
  CHECK(cubins.size() == 1);
  CHECK(hashes.size() == 4);  // launches with other texts differ
  CHECK(file.compilations() == 0);
  // A new process finds the module.
  file.load();
  CHECK(file.plan().groups.at(0).cells.size() == 4);
  CHECK(file.compilations() == 0);
}

TEST_CASE("an instantiation that does not compile costs only itself", "[module_groups]") {
  REQUIRE_TOOLKIT();
  std::string text = kFourLaunches;
  text.replace(text.find("offset<0>"), 9, "offset<7>");
  LoggedFile file(text);
  const Family& family = file.load();
  CHECK(file.compilations() == 3);  // together, the others together, and the one by itself
  for (const char* variant : {"plain", "one", "two"})
    CHECK(failure(family, variant) == "");
  const Plan plan = file.plan();
  for (const Cell& cell : plan.groups.at(0).cells) {
    INFO(cell.variant->id);
    CHECK(
        cell.skip_reason ==
        (cell.variant->id == "three"
             ? "does not compile for sm_90a: f.cu(13): error: static assertion failed with \"N is "
               "too large\""
             : ""));
  }
  CHECK(file.compilations() == 0);
  // The errors are kept, too.
  file.load();
  CHECK(file.compilations() == 0);
}

TEST_CASE("an error of a launch's template arguments names that launch's line", "[module_groups]") {
  REQUIRE_TOOLKIT();
  std::string text = kFourLaunches;
  text.replace(text.find("offset<0>"), 9, "offset<M>");
  LoggedFile file(text);
  file.load();
  const Plan plan = file.plan();
  const Cell& wrong = plan.groups.at(0).cells.at(3);
  CHECK(wrong.variant->id == "three");
  CHECK(wrong.skip_reason ==
        "does not compile for sm_90a: f.cu(6): error: identifier \"M\" is "
        "undefined");
  CHECK(plan.groups.at(0).cells.at(1).skip_reason.empty());
}

// The value 13 of N does not compile.
constexpr const char* kAxis = R"(// gpuexp: N = 1..20
// gpuexp: in x[64]
// gpuexp: out z[64]
// gpuexp: f<N><<<1, 64>>>(x, z)
// gpuexp: check z[i] = N*x[i]
template <int N> __global__ void f(const float* x, float* z) {
  static_assert(N != 13, "13 is refused");
  z[threadIdx.x] = N * x[threadIdx.x];
}
)";

Values value(std::int64_t n) {
  return {n};
}

TEST_CASE("the values of an axis are compiled in groups", "[module_groups]") {
  REQUIRE_TOOLKIT();
  LoggedFile file(kAxis);
  file.load();
  CHECK(file.compilations() == 1);
  file.plan(R"({"N": [1, 2, 3, 4, 5, 6, 7, 8, 9]})");
  CHECK(file.compilations() == 1);  // the other 8
  file.plan(R"({"N": [1, 9]})");
  CHECK(file.compilations() == 0);
  file.plan(R"({"N": [10, 11, 12, 14, 15, 16, 17, 18, 19]})");
  CHECK(file.compilations() == 2);  // 5 and 4
  // A new process that needs some of them finds the modules, and compiles the others only.
  const Family& family = file.load();
  file.plan(R"({"N": [3, 5, 17]})");
  CHECK(file.compilations() == 0);
  CHECK(failure(family, "f", value(17)) == "");
  file.plan(R"({"N": [17, 20]})");
  CHECK(file.compilations() == 1);
  CHECK(failure(family, "f", value(20)) == "");
}

TEST_CASE("a value that does not compile leaves the others of its group", "[module_groups]") {
  REQUIRE_TOOLKIT();
  LoggedFile file(kAxis);
  file.load();
  CHECK(file.compilations() == 1);
  const Plan plan = file.plan(R"({"N": [12, 13, 14]})");
  CHECK(file.compilations() == 3);
  for (const Group& group : plan.groups) {
    const Cell& cell = group.cells.at(0);
    const bool is_refused = std::get<std::int64_t>(group.values.at(0)) == 13;
    CHECK(cell.skip_reason == (is_refused ? "does not compile for sm_90a: f.cu(7): error: static "
                                            "assertion failed with \"13 is refused\""
                                          : ""));
  }
}

TEST_CASE("the hash of a kernel does not depend on what was compiled with it", "[module_groups]") {
  REQUIRE_TOOLKIT();
  LoggedFile file(kAxis);
  const auto hash_of = [](const Family& family, std::int64_t n) {
    return kernel_of(family, "f", value(n)).code(90).hash;
  };
  const Family& grouped = file.load();
  file.plan(R"({"N": [2, 3, 4]})");
  const std::string three = hash_of(grouped, 3);
  const std::string four = hash_of(grouped, 4);
  CHECK(three != four);
  CHECK(hash_of(file.load("another store"), 3) == three);
}

TEST_CASE("each value of a macro has a module with all kernels", "[module_groups]") {
  REQUIRE_TOOLKIT();
  LoggedFile file(R"(// gpuexp: define M = 1, 2
// gpuexp: x[64] z[64]
// gpuexp: a = scale<4><<<1, 64>>>(x, z)
// gpuexp: b = scale<5><<<1, 64>>>(x, z)
// gpuexp: c = copy<<<1, 64>>>(x, z)
template <int N> __global__ void scale(const float* x, float* z) {
  z[threadIdx.x] = M * N * x[threadIdx.x];
}
__global__ void copy(const float* x, float* z) { z[threadIdx.x] = M * x[threadIdx.x]; }
)");
  const Family& family = file.load();
  CHECK(file.compilations() == 1);
  file.plan();
  CHECK(file.compilations() == 1);
  for (const std::int64_t m : {1, 2})
    CHECK(kernel_of(family, "a", value(m)).code(90).cubin ==
          kernel_of(family, "c", value(m)).code(90).cubin);
  CHECK(kernel_of(family, "a", value(1)).code(90).cubin !=
        kernel_of(family, "a", value(2)).code(90).cubin);
}

TEST_CASE("an instantiation is no kernel that a launch names without arguments",
          "[module_groups]") {
  REQUIRE_TOOLKIT();
  std::string text = kFourLaunches;
  text.replace(text.find("triple<<<"), 9, "offset<<<");
  LoggedFile file(text);
  CHECK_THROWS_WITH(file.load(), contains_text("'offset'"));
}

TEST_CASE("a kept module serves single instantiations, and exact requests do not find it",
          "[module_groups]") {
  REQUIRE_TOOLKIT();
  LoggedFile file(kAxis);
  const ScratchFolder store;
  const SourceCompiler compiler(ToolkitTools::found(), store.path());
  const Instantiation one{"f", "1", 4};
  const Instantiation two{"f", "2", 4};
  CHECK(!compiler.kept_with(file.file(), {}, 90, one));
  const auto both = compiler.compile_with(file.file(), {}, 90, {one, two});
  CHECK(both->instantiations() == std::vector<std::string>{"f<1>", "f<2>"});
  CHECK(both->instantiated("f<2>"));
  CHECK(!both->instantiated("f<3>"));
  CHECK(both->names_in_file().empty());
  for (const auto& wanted : {std::optional(one), std::optional(two), {}}) {
    const auto kept = compiler.kept_with(file.file(), {}, 90, wanted);
    REQUIRE(kept);
    CHECK(kept->cubin() == both->cubin());
  }
  CHECK(!compiler.kept_with(file.file(), {}, 80, one));
  CHECK(!compiler.kept_with(file.file(), {}, 90, Instantiation{"f", "3", 4}));
  const auto exact = compiler.compile(file.file(), {}, 90, {one});
  CHECK(!exact->was_kept());
  CHECK(exact->instantiations() == std::vector<std::string>{"f<1>"});
  CHECK(compiler.compile(file.file(), {}, 90)->instantiations().empty());
  // A changed file needs new code.
  std::ofstream(file.file(), std::ios::app) << "// more\n";
  CHECK(!compiler.kept_with(file.file(), {}, 90, one));
}

}  // namespace
}  // namespace gpuexp::test
