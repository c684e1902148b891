// Declarations of kernel files and the kernels' signatures: arguments, roles, problems and errors.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compile/kernel_symbols.hpp"
#include "device/device_spec.hpp"
#include "own/check_errors.hpp"
#include "own/declaration_reader.hpp"
#include "own/declaration_sections.hpp"
#include "own/exact_sums.hpp"
#include "own/own_family.hpp"
#include "own/own_problem.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

constexpr const char* kKernels = R"(
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {}
extern "C" __global__ void scale(float* z, const float* x, float a) {}
extern "C" __global__ void bytes(unsigned char* z, const __half* h, signed char c, bool b) {}
extern "C" __global__ void nameless(float*, int) {}
extern "C" __global__ void pointers(float** z) {}
extern "C" __global__ void structure(float* z, float4 v) {}
extern "C" __global__ void whole(int* z, const int* x, unsigned n) {}
extern "C" __global__ void fetch(float* z, cudaTextureObject_t t) {}
)";

/// The declaration's statements come first, so that line 1 is the first statement.
std::string source_of(const std::string& statements) {
  std::string source = "// gpuexp: ";
  for (const char c : statements)
    source += c == '\n' ? "\n// gpuexp: " : std::string(1, c);
  return source + "\n" + kKernels;
}

std::vector<OwnKernel> kernels_of(const std::vector<std::string>& lowered,
                                  const std::string& source) {
  static const char addresses[16] = {};
  std::vector<OwnKernel> kernels;
  for (KernelSignature& signature : signatures(lowered, source))
    kernels.push_back(
        {std::move(signature), [at = &addresses[kernels.size()]](const Names&) { return at; }});
  return kernels;
}

Family family(const std::string& statements) {
  const std::string source = source_of(statements);
  return family_of("k.cu", read_declaration("k.cu", source),
                   kernels_of(kernels_in(source), source));
}

SharedBound bound(const std::string& statements) {
  const std::string source = source_of(statements);
  return bound_to(read_declaration("k.cu", source), kernels_of(kernels_in(source), source));
}

/// The error of the declaration, or else of its default problem.
std::string error_of(const std::string& statements) {
  try {
    const Family f = family(statements);
    f.make_problem(f.defaults());
  } catch (const DeclarationError& error) {
    return error.what();
  }
  return "";
}

struct Case {
  std::string statements;
  std::string error;
};

void check_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    INFO(c.statements);
    CHECK(error_of(c.statements) == (c.error.empty() ? "" : "k.cu:" + c.error));
  }
}

// Six lines.
const std::string kAdd =
    "n = 1000\nx[n]\ny[n]\nz[n]\nadd<<<ceil_div(n, 256), 256>>>\ncheck z[i] = x[i] + y[i]";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}
std::string add_with(const std::string& from, const std::string& to) {
  return replaced(kAdd, from, to);
}

TEST_CASE("arguments and roles follow from the signature", "[own_binding]") {
  const SharedBound b = bound(kAdd);
  REQUIRE(b->buffers.size() == 3);
  CHECK(b->buffers[0].role == BufferRole::input);
  CHECK(b->buffers[2].role == BufferRole::output);
  REQUIRE(b->variants.size() == 1);
  REQUIRE(b->variants[0].launches().size() == 1);
  const BoundLaunch& launch = *b->variants[0].launches()[0];
  REQUIRE(launch.arguments.size() == 4);
  CHECK(launch.arguments[0].buffer == 0);
  CHECK(launch.arguments[2].buffer == 2);
  CHECK(launch.arguments[3].number->expression.text() == "n");
  CHECK(launch.reads(0));
  CHECK(launch.writes(2));
  CHECK(!launch.writes(0));
  CHECK(b->check_of(2));
  CHECK(!b->check_of(0));
}

TEST_CASE("a family has the declaration's parameters, buffers and launches", "[own_binding]") {
  const Family f = family(kAdd);
  CHECK(f.question == "kernels of k.cu");
  CHECK(f.physics == "k.cu declares 1 launch, 3 buffers and 1 check.");
  REQUIRE(f.parameters.size() == 1);
  CHECK(f.parameters[0].min == -0x1p52);
  CHECK(f.parameters[0].max == 0x1p52);
  const auto problem = f.make_problem(f.defaults());
  CHECK(f.buffers[2].count(problem.get()) == 1000);
  const Variant& variant = f.variants.at(0);
  const Shape shape = variant.shapes(problem.get(), {}).at(0);
  CHECK(shape.grid.x == 4);
  CHECK(shape.block.x == 256);
  CHECK(variant.work(problem.get()).bytes_read == 8000);
  CHECK(variant.work(problem.get()).bytes_written == 4000);
  CHECK(variant.work(problem.get()).moved_written == 4000);
  const auto small = f.make_problem({std::int64_t{3}});
  CHECK(variant.work(small.get()).bytes_read == 24);
  CHECK(variant.work(small.get()).moved_read == 64);
  CHECK(variant.writes == std::vector<std::string>{"z"});
}

TEST_CASE("real parameters have a finite range", "[own_binding]") {
  const Family f = family("a = 0.5, 2\nx[4]\nz[4]\nscale<<<1, 4>>>\ncheck z[i] = a*x[i]");
  CHECK(std::get<double>(f.parameters[0].default_value) == 0.5);
  CHECK(f.parameters[0].min == -1e300);
  CHECK(std::isfinite(f.parameters[0].max - f.parameters[0].min));
}

TEST_CASE("each launch has its own outputs and work", "[own_binding]") {
  const Family f = family(
      "a = 2\nn = 64\nx[64]\ny[64]\nz[64]\nw[64]\nadd<<<1, 64>>>\nscale<<<1, 64>>>(w, x, a)\n"
      "check z[i] = x[i] + y[i]\ncheck w[i] = a*x[i]");
  const auto problem = f.make_problem(f.defaults());
  CHECK(f.variants[0].writes == std::vector<std::string>{"z"});
  CHECK(f.variants[1].writes == std::vector<std::string>{"w"});
  CHECK(f.variants[1].work(problem.get()).bytes_read == 256);
}

// Seven lines; the variant is in the sixth.
const std::string kChain =
    "a = 2\nn = 64\nx[n]\nz[n]\nw[n]\n"
    "both = memset(w, n + 3); scale<<<1, 64>>>(z, x, a); add<<<1, 64>>>(x, z, w, n)\n"
    "check z[i] = a*x[i]\ncheck w[i] = x[i] + a*x[i]";

std::string chain_with(const std::string& from, const std::string& to) {
  return replaced(kChain, from, to);
}

TEST_CASE("the steps of a variant share its buffers", "[own_binding]") {
  const Family f = family(kChain);
  const auto problem = f.make_problem(f.defaults());
  const Variant& variant = f.variants.at(0);
  CHECK(variant.why == "Launches memset, scale, add as declared in k.cu:6.");
  CHECK(variant.writes == std::vector<std::string>{"z", "w"});
  float buffers[3][64] = {};
  const auto data = f.make_data(RankBuffers(0, {{buffers[0], buffers[1], buffers[2]}}));
  const DeviceSpec device;
  const Steps steps = variant.launch(problem.get(), data.get(), {device, nullptr});
  REQUIRE(steps.all().size() == 3);
  const auto& memset = std::get<MemsetStep>(steps.all()[0].action);
  CHECK(memset.to == buffers[2]);
  CHECK(memset.value == 67);
  CHECK(memset.bytes == 256);
  CHECK(std::get<KernelStep>(steps.all()[1].action).arguments.count() == 3);
  CHECK(std::get<KernelStep>(steps.all()[2].action).arguments.count() == 4);
  // x is read once, although two kernels read it.
  CHECK(variant.work(problem.get()).bytes_read == 256);
  CHECK(variant.work(problem.get()).bytes_written == 512);
}

TEST_CASE("steps that do not fit the buffers", "[own_binding]") {
  check_cases(
      {{chain_with("scale<<<1, 64>>>(z, x, a); add<<<1, 64>>>(x, z, w, n)",
                   "add<<<1, 64>>>(x, z, w, n); scale<<<1, 64>>>(z, x, a)"),
        "6:37: add reads 'z' through a const pointer, but 'z' is an output without contents before "
        "the launch; declare it as 'in_out z', or write it in an earlier step"},
       {chain_with("memset(w, n + 3)", "memset(z, 0)"), ""},
       {chain_with("memset(w, n + 3); scale<<<1, 64>>>(z, x, a)", "memset(z, 0)"), ""},
       {chain_with("memset(w, n + 3)", "memset(v, 0)"),
        "6:19: memset needs a buffer, found 'v'; allowed: x, z, w"},
       {replaced(chain_with("memset(w, n + 3)", "memset(x, 0)"), "x[n]", "in x[n]"),
        "6:19: memset writes 'x', which is declared as an input; declare it as 'out x', or 'in_out "
        "x' if its contents before the launch matter"},
       {chain_with("n + 3", "n + 192"),
        "6:29: memset stores a byte, and 'n + 192' is 256; expected 0 to 255"},
       {chain_with("n + 3", "-1"), "6:29: memset stores a byte, and '-1' is -1; expected 0 to 255"},
       {chain_with("n + 3", "m"),
        "6:29: 'm' has no value; declare it, such as in m = 1024, or use a declared parameter; "
        "allowed: a, n"},
       {chain_with("check z", "v[n]\ncheck z"),
        "7:12: no launch uses the buffer 'v', and no kernel a variable of this name; remove it, or "
        "pass it to a kernel"},
       {replaced(chain_with("memset(w, n + 3)", "memset(v, 0)"), "w[n]", "w[n] v[n]"),
        "5:17: no launch uses the buffer 'v', and no kernel a variable of this name; remove it, or "
        "pass it to a kernel"},
       {chain_with("add<<<1, 64>>>(x, z, w, n)", "whole<<<1, 64>>>(w, z, n)"),
        "6:84: z has elements of type int32 in this launch and fp32 in a launch above; expected "
        "one "
        "type"}});
}

TEST_CASE("a pointer that is not const may be an input", "[own_binding]") {
  const SharedBound b = bound(
      "a = 2\nin x[4]\nin v[4]\nz[4]\nscale<<<1, 4>>>\nadd<<<1, 4>>>(x, v, z, 4)\n"
      "check z[i] = x[i]");
  CHECK(b->buffers[1].role == BufferRole::input);
  check_cases({{"a = 2\nx[4]\nin v[4]\nz[4]\nw[4]\nscale<<<1, 4>>>(v, x, a)\n"
                "check z[i] = 1",
                "4:12: no launch uses the buffer 'z', and no kernel a variable of this name; "
                "remove it, or pass it to a kernel"},
               {"a = 2\nx[4]\nin v[4]\nscale<<<1, 4>>>(v, x, a)",
                "4:12: scale has no output: it passes no 'out' or 'in_out' buffer to a "
                "pointer that is not const"}});
}

TEST_CASE("launches that do not fit the kernels", "[own_binding]") {
  check_cases(
      {{"n = 4",
        "1:1: the file declares no launch; expected a statement such as '// gpuexp: "
        "kernel<<<ceil_div(n, 256), 256>>>'"},
       {add_with("add<<<", "ad<<<"),
        "5:12: the file has no kernel 'ad'; did you mean 'add'? allowed: add, scale, bytes, "
        "nameless, pointers, structure, whole, fetch"},
       {add_with("256>>>", "256>>>(x, y, z)"),
        "5:12: add(const float* x, const float* y, float* z, int n) has 4 parameters, but the "
        "launch has 3 arguments"},
       {add_with("256>>>", "256>>>(x, yy, z, n)"),
        "5:46: parameter 'const float* y' of add needs a buffer, found 'yy'; declare it, such as "
        "in yy[n]; did you mean 'y'? allowed: x, y, z"},
       {add_with("256>>>", "256>>>(x, y + 1, z, n)"),
        "5:46: parameter 'const float* y' of add needs a buffer, found 'y + 1'; expected the name "
        "of a buffer; allowed: x, y, z"},
       {add_with("256>>>", "256>>>(x, y, z, x)"),
        "5:52: 'x' is a buffer; expected a number or a parameter"},
       {add_with("256>>>", "256>>>(x, y, z, x[0])"),
        "5:52: x[...] reads a buffer; only a check can read buffers"},
       {add_with("256>>>", "256>>>(x, y, z, 2*m)"),
        "5:54: 'm' has no value; declare it, such as in m = 1024, or use a declared parameter; "
        "allowed: n"},
       {"x[4] y[4] z[4]\nadd<<<1, 4>>>\ncheck z[i] = x[i]",
        "2:12: parameter 'int n' of add has no value; declare it, such as in n = 1024, or write "
        "the arguments out: add<<<GRID, BLOCK>>>(…)"},
       {"N = 4\nx[N] y[N] z[N]\nadd<<<1, 4>>>\ncheck z[i] = x[i]",
        "3:12: parameter 'int n' of add has no value; declare it, such as in n = 1024, or write "
        "the arguments out: add<<<GRID, BLOCK>>>(…); did you mean 'N'? allowed: N"},
       {"x[4] y[4] z[4] n[4]\nadd<<<1, 4>>>\ncheck z[i] = x[i]",
        "2:12: parameter 'int n' of add needs a number, but 'n' is declared as a buffer"},
       {"z[4]\nnameless<<<1, 4>>>\ncheck z[i] = 1",
        "2:12: parameter 1 of nameless(float*, int) has no name; write the arguments out: "
        "nameless<<<GRID, BLOCK>>>(…)"},
       {"z[4]\nnameless<<<1, 4>>>(z, 4)\ncheck z[i] = 1", ""},
       {"z[4]\npointers<<<1, 4>>>\ncheck z[i] = 1",
        "2:12: parameter 'float** z' of pointers: elements of this type are not supported; "
        "expected a pointer to float, double, __half, __nv_bfloat16, int, unsigned int, unsigned "
        "short, unsigned char or unsigned long long"},
       {"z[4]\nstructure<<<1, 4>>>(z, 1)\ncheck z[i] = 1",
        "2:35: parameter 'float4 v' of structure has a type that is not supported; expected a "
        "pointer, an integer, bool, float or double"},
       {"z[4]\nfetch<<<1, 4>>>(z, 0)\ncheck z[i] = 1",
        "2:31: parameter 'cudaTextureObject_t t' of fetch is a texture or surface, which is not "
        "supported; pass a pointer"},
       {"x[4] z[4]\na = 1\nscale<<<1, 4>>>\nwhole<<<1, 4>>>(z, x, 4)\ncheck z[i] = 1",
        "4:28: z has elements of type int32 in this launch and fp32 in a launch above; expected "
        "one type"}});
}

TEST_CASE("overloads and kernels without code", "[own_binding]") {
  const auto error = [](const std::string& kernels, const std::vector<std::string>& lowered) {
    const std::string source =
        "// gpuexp: z[4]\n// gpuexp: f<<<1, 4>>>(z)\n// gpuexp: check z[i] = 1\n" + kernels;
    try {
      bound_to(read_declaration("k.cu", source), kernels_of(lowered, source), kernels_in(source));
    } catch (const DeclarationError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(error("__global__ void f(float* z) {}\n__global__ void f(double* z) {}",
              {"_Z1fPf", "_Z1fPd"}) ==
        "k.cu:2:12: the file has 2 kernels 'f': f(float* z), f(double* z); a launch "
        "cannot select an overload: rename one; if they are instantiations of a template, name the "
        "arguments, as in f<64><<<GRID, BLOCK>>>");
  CHECK(error("template <class T> __global__ void f(T* z) {}", {"_Z1fIfEvPT_", "_Z1fIdEvPT_"}) ==
        "k.cu:2:12: the file has 2 kernels 'f': f<float>(T* z), f<double>(T* z); a launch "
        "cannot select an overload: rename one; if they are instantiations of a template, name the "
        "arguments, as in f<64><<<GRID, BLOCK>>>");
  CHECK(error("template <class T> __global__ void f(T* z) {}", {}) ==
        "k.cu:2:12: kernel 'f' is in the source but not in the compiled code; if it is a template, "
        "name its arguments, as in f<64><<<GRID, BLOCK>>>; if it is static, remove static");
  CHECK(error("template <class T> __global__ void f(T* z) {}", {"_Z1fIfEvPT_"}).empty());
}

TEST_CASE("buffers that do not fit their use", "[own_binding]") {
  check_cases(
      {{add_with("y[n]\n", "y[n] w[n]\n"),
        "3:17: no launch uses the buffer 'w', and no kernel a variable of this name; remove it, or "
        "pass it to a kernel"},
       {add_with("y[n]\n", "out y[n]\n"),
        "3:16: no launch writes 'y', because it is passed only to const pointers; declare it as "
        "'in y'"},
       {add_with("y[n]\n", "in_out y[n]\n"),
        "3:19: no launch writes 'y', because it is passed only to const pointers; declare it as "
        "'in y'"},
       {add_with("z[n]\n", "z[n] = zeros\n"),
        "4:19: 'z' is an output, so it has no contents before the launch; if the kernel reads "
        "them, declare it as 'in_out z'"},
       {add_with("256>>>", "256>>>(x, z, z, n)") + "\nadd2 = add<<<4, 256>>>",
        "5:12: add reads 'z' through a const pointer, but 'z' is an output without contents before "
        "the launch; declare it as 'in_out z', or write it in an earlier step"},
       {add_with("x[n]\n", "x[2*m]\n"),
        "2:16: 'm' has no value; declare it, such as in m = 1024, or use a declared parameter; "
        "allowed: n"},
       {"x[4] z[4]\na = 0.5\nscale<<<1, 4>>>\ncheck z[i] = a*x[i]\nb = 4",
        "5:12: no launch, extent, check or work uses the parameter 'b'; remove it"},
       {kAdd + "\ntolerance = 1e-3",
        "7:12: no launch, extent, check or work uses the parameter 'tolerance'; remove it, or "
        "write "
        "'tolerance 1e-3' without ="}});
}

TEST_CASE("checks that do not fit the buffers", "[own_binding]") {
  check_cases(
      {{"n = 4\nx[n] y[n] z[n]\nadd<<<1, 4>>>", ""},
       {kAdd + "\ncheck x[i] = 1", "7:18: 'x' is not an output; allowed: z"},
       {kAdd + "\ncheck zz[i] = 1", "7:18: 'zz' is not an output; did you mean 'z'? allowed: z"},
       {add_with("z[i] =", "z[i][j] ="), "6:18: 'z' has 1 dimension, found 2 indices"},
       {add_with("+ y[i]", "+ y[i][i]"), "6:32: 'y' has 1 dimension, found 2 indices"},
       {add_with("+ y[i]", "+ v[i]"), "6:32: unknown buffer 'v'; allowed: x, y"},
       {add_with("+ y[i]", "+ m"), "6:32: unknown name 'm'; allowed: i, n"},
       {add_with("+ y[i]", "+ before(z[i])"),
        "6:32: before(z[...]) needs the value of 'z' before the launch; declare the buffer as "
        "in_out"},
       {add_with("z[i] = x[i]", "z[n] = x[n]"),
        "6:18: the index 'n' has the name of a parameter; rename the index"},
       {add_with("+ y[i]", "+ sum(k < y[i]: 1)"),
        "6:18: the number of terms of a sum depends on a buffer, so no tolerance can be derived; "
        "declare one, such as 'tolerance 1e-5'"},
       {add_with("+ y[i]", "+ sum(k < y[i]: 1)") + "\ntolerance 0.1", ""},
       {"a = 2\nx[4]\nz[4]\nw[4]\nz1 = scale<<<1, 4>>>\nz2 = scale<<<1, 4>>>(w, x, a)\n"
        "check z[i] = a*x[i]\ncheck w[i] = z[i]",
        "8:25: 'z' is an output; a check can read inputs, and its own output before the launch: "
        "write the expression of z instead"},
       {chain_with("w[n]", "workspace w[n]"), "8:18: 'w' is not an output; allowed: z"},
       {replaced(chain_with("z[n]", "workspace z[n]"),
                 "check z[i] = a*x[i]\ncheck w[i] = x[i] + a*x[i]", "check w[i] = x[i] + z[i]"),
        "7:32: 'z' is a workspace, without contents before the launch; a check can read inputs"}});
}

TEST_CASE("outputs without a check have no reference", "[own_binding]") {
  const Family f = family(
      "n = 4\nx[n] y[n] z[n] w[n]\nadd<<<1, 4>>>\nboth = add<<<1, 4>>>; add<<<1, 4>>>(x, z, w, n)\n"
      "check w[i] = 2*x[i] + y[i]");
  CHECK(!f.buffers[2].has_reference);
  CHECK(!f.buffers[2].tolerance);
  CHECK(f.buffers[3].has_reference);
  const auto problem = f.make_problem(f.defaults());
  CHECK(f.reference_operations(problem.get()) > 0);
  std::vector<double> values(8);
  const auto data = f.make_data(RankBuffers(0, {std::vector<void*>(4)}));
  CHECK(f.reference(problem.get(), data.get(), {{}, {values.data(), values.data() + 4}})
            .all()
            .size() == 1);
  CHECK(f.reference(problem.get(), data.get(), {{}, {}}).all().empty());
}

TEST_CASE("a workspace is neither an output nor work", "[own_binding]") {
  const std::string declared =
      replaced(chain_with("z[n]", "workspace z[n]"), "check z[i] = a*x[i]\n", "");
  const Family f = family(declared);
  CHECK(f.buffers[1].role == BufferRole::workspace);
  CHECK(f.variants[0].writes == std::vector<std::string>{"w"});
  const auto problem = f.make_problem(f.defaults());
  CHECK(f.variants[0].work(problem.get()).bytes_read == 256);
  CHECK(f.variants[0].work(problem.get()).bytes_written == 256);
  check_cases(
      {{replaced(declared, "workspace z[n]", "workspace z[n] = zeros"),
        "4:29: 'z' is a workspace, so it has no contents before the launch; if the kernel reads "
        "them, declare it as 'in_out z'"},
       {replaced(declared, "scale<<<1, 64>>>(z, x, a); ", ""),
        "4:22: no launch writes the workspace 'z'; declare it as 'in z'"},
       {replaced(declared, "scale<<<1, 64>>>(z, x, a); add<<<1, 64>>>(x, z, w, n)",
                 "add<<<1, 64>>>(x, z, w, n); scale<<<1, 64>>>(z, x, a)"),
        "6:37: add reads 'z' through a const pointer, but 'z' is a workspace without contents "
        "before "
        "the launch; declare it as 'in_out z', or write it in an earlier step"},
       {"a = 2\nx[4]\nworkspace z[4]\nscale<<<1, 4>>>",
        "4:12: scale has no output: it passes no 'out' or 'in_out' buffer to a pointer that is not "
        "const"}});
}

TEST_CASE("the text of a declaration has roles, types and arguments", "[own_binding]") {
  const std::string declared =
      replaced(chain_with("z[n]", "workspace z[n]\nin_out v[n][2] = integers(0, n)"),
               "check z[i] = a*x[i]\n", "");
  std::vector<std::string> text;
  for (const DeclarationSection& section :
       sections_of(*bound(declared + "\nrequire n > 4\nwork both fp32 = 3*n\nwork int32 = n\n"
                                     "whole<<<(1, 2), 32, 4*n>>>(v, v, 4)"))) {
    text.push_back(section.title);
    text.insert(text.end(), section.lines.begin(), section.lines.end());
  }
  CHECK(text == std::vector<std::string>{
                    "buffers", "x[n]: input, uniform, fp32 (k.cu:3)",
                    "z[n]: workspace, fp32 (k.cu:4)",
                    "v[n][2]: in_out, integers(0, n), int32, without a check (k.cu:5)",
                    "w[n]: output, fp32 (k.cu:6)", "launches",
                    "both = memset(w, n + 3); scale<<<1, 64>>>(z, x, a); add<<<1, 64>>>(x, z, w, "
                    "n) (k.cu:7)",
                    "whole = whole<<<(1, 2), 32, 4*n>>>(v, v, 4) (k.cu:12)", "checks",
                    "w[i] = x[i] + a*x[i] (k.cu:8)", "requirements", "n > 4 (k.cu:9)", "work",
                    "both fp32 = 3*n (k.cu:10)", "int32 = n (k.cu:11)"});
}

double operations_of(const Work& work, Pipe pipe) {
  for (const Operations& operations : work.operations) {
    if (operations.pipe == pipe) return operations.count;
  }
  return 0;
}

TEST_CASE("work is declared for all variants or for one", "[own_binding]") {
  const Family f = family(
      "a = 2\nn = 64\nx[n]\nz[n]\nall = scale<<<1, 64>>>\none = scale<<<1, 64>>>\n"
      "check z[i] = a*x[i]\nwork one fp32 = n^2/2\nwork fp32 = 0.5\nwork tensor_bf16_fp32 = n\n"
      "work one bytes_read = 33");
  const auto problem = f.make_problem(f.defaults());
  const Work all = f.variants[0].work(problem.get());
  CHECK(operations_of(all, Pipe::fp32) == 0.5);
  CHECK(operations_of(all, Pipe::tensor_bf16_fp32) == 64);
  CHECK(all.bytes_read == 256);
  CHECK(all.untyped_operations == 0);
  CHECK(!all.is_assumed);
  const Work one = f.variants[1].work(problem.get());
  CHECK(operations_of(one, Pipe::fp32) == 2048);
  CHECK(one.bytes_read == 33);
  CHECK(one.moved_read == 64);
  CHECK(one.bytes_written == 256);
  const Family assumed = family(kAdd);
  const Work of_add = assumed.variants[0].work(assumed.make_problem(assumed.defaults()).get());
  CHECK(of_add.is_assumed);
  CHECK(of_add.operations.empty());
  CHECK(of_add.untyped_operations == 2000);
  check_cases(
      {{kAdd + "\nwork fp32 = n - 2000", "7:24: the work 'n - 2000' is -1000; expected at least 0"},
       {kAdd + "\nwork fp32 = n/0", "7:25: division by zero in 1000 / 0"},
       {kAdd + "\nwork fp32 = m",
        "7:24: 'm' has no value; declare it, such as in m = 1024, or use a declared parameter; "
        "allowed: n"},
       {kAdd + "\nwork ad fp32 = n",
        "7:20: 'ad' is not a variant; did you mean 'add'? allowed: add"},
       {kAdd + "\nm = 4\nwork fp32 = m", ""}});
}

TEST_CASE("problems that cannot be evaluated", "[own_binding]") {
  check_cases(
      {{add_with("x[n]\n", "x[n - 1000]\n"),
        "2:14: the extent of x 'n - 1000' is 0; expected at least 1"},
       {add_with("x[n]\n", "x[n / 3]\n"),
        "2:16: 1000 / 3 leaves the remainder 1; use ceil_div(1000, 3), or floor_div for the whole "
        "part"},
       {add_with("n = 1000", "n = 1000.5"), "2:14: parameter 'n' is 1000.5; expected an integer"},
       {add_with("x[n]\n", "x[n^6][n^6]\n"), "2:12: x has more than 2^48 elements; expected fewer"},
       {add_with("x[n]\n", "x[n^3][n^3]\n"), "2:12: x has more than 2^48 elements; expected fewer"},
       {add_with("x[n]\n", "x[n^7]\n"), "2:15: 1000 ^ 7 is out of the range of 64-bit integers"},
       {add_with("ceil_div(n, 256)", "n/256"),
        "5:19: 1000 / 256 leaves the remainder 232; use ceil_div(1000, 256), or floor_div for the "
        "whole part"},
       {add_with("ceil_div(n, 256)", "n - n"), "5:18: the grid 'n - n' is 0; expected at least 1"},
       {add_with("ceil_div(n, 256)", "2^31"),
        "5:18: the grid has 2147483648 along x; expected at most 2147483647"},
       {add_with("ceil_div(n, 256)", "(1, 2^16)"),
        "5:22: the grid has 65536 along y; expected at most 65535"},
       {add_with("256>>>", "1025>>>"), "5:36: the block has 1025 along x; expected at most 1024"},
       {add_with("256>>>", "(1, 1, 65)>>>"), "5:43: the block has 65 along z; expected at most 64"},
       {add_with("256>>>", "(1024, 1024, 64)>>>"),
        "5:37: the block has 1024 x 1024 x 64 = 67108864 threads; expected at most 1024"},
       {add_with("256>>>", "256, 4 - n>>>"),
        "5:41: the bytes of shared memory '4 - n' are -996; expected at least 0"},
       {add_with("256>>>", "256>>>(x, y, z, n*2^30)"),
        "5:52: 'n*2^30', for the parameter n of add of type int, is 1073741824000; expected "
        "-2147483648 to 2147483647"},
       {kAdd + "\nrequire n / 3 == 1",
        "7:22: 1000 / 3 leaves the remainder 1; use ceil_div(1000, 3), or floor_div for the whole "
        "part"}});
}

TEST_CASE("scalars outside their C type", "[own_binding]") {
  const auto launch = [](const std::string& c, const std::string& b) {
    return "z[4]\nh[4]\nbytes<<<1, 4>>>(z, h, " + c + ", " + b + ")\ncheck z[i] = 1";
  };
  check_cases(
      {{launch("-128", "1"), ""},
       {launch("128", "1"),
        "3:34: '128', for the parameter c of bytes of type signed char, is 128; expected -128 to "
        "127"},
       {launch("0", "2"),
        "3:37: '2', for the parameter b of bytes of type bool, is 2; expected 0 or 1"},
       {launch("0.5", "1"), "3:34: 0.5 is not an integer; expected integers"},
       {"a = 1e39\nx[4]\nz[4]\nscale<<<1, 4>>>\ncheck z[i] = a*x[i]",
        "4:12: 'a', for the parameter a of scale of type float, is 1e+39; expected -3.4028235e+38 "
        "to 3.4028235e+38"},
       {"x[4]\nz[4]\nwhole<<<1, 4>>>(z, x, -1)\ncheck z[i] = 1",
        "3:34: '-1', for the parameter n of whole of type unsigned, is -1; expected 0 to "
        "4294967295"}});
}

TEST_CASE("unmet requirements come before extents and launches", "[own_binding]") {
  const Family f = family(replaced(add_with("ceil_div(n, 256)", "n/256"), "x[n]", "x[n/256][256]") +
                          "\nrequire n % 256 == 0");
  const auto unmet = f.make_problem({std::int64_t{1000}});
  CHECK(f.unsupported(unmet.get(), {}) == "requires n % 256 == 0");
  CHECK(f.buffers[0].count(unmet.get()) == 1);
  CHECK_THROWS_WITH(f.make_problem({std::int64_t{512}}),
                    contains_text("6:25: 'x' has 2 dimensions, found 1 index"));
}

TEST_CASE("shared memory beyond the device skips the variant", "[own_binding]") {
  const Family f = family(add_with("256>>>", "256, 2^20>>>"));
  DeviceSpec device;
  device.name = "small";
  device.sm.shared_bytes_per_block = 49152;
  const auto problem = f.make_problem(f.defaults());
  CHECK(f.variants[0].unsupported(problem.get(), device) ==
        "needs 1048576 bytes of shared memory per block; small has 49152");
}

TEST_CASE("fills that do not fit their elements", "[own_binding]") {
  const auto whole = [](const std::string& fill) {
    return "x[300] = " + fill + "\nz[300]\nwhole<<<1, 4>>>(z, x, 4)\ncheck z[i] = x[i]";
  };
  const auto half = [](const std::string& fill) {
    return "h[3000] = " + fill + "\nz[4]\nbytes<<<1, 4>>>(z, h, 0, 0)\ncheck z[i] = 1";
  };
  const auto byte = [](const std::string& fill, int n = 256) {
    return "in_out z[" + std::to_string(n) + "] = " + fill +
           "\nh[4]\nbytes<<<1, 4>>>(z, h, 0, 0)\ncheck z[i] = 1";
  };
  check_cases(
      {{whole("uniform"),
        "1:21: x has elements of type int32; expected integers(low, high), iota "
        "or zeros"},
       {whole("normal"),
        "1:21: x has elements of type int32; expected integers(low, high), iota "
        "or zeros"},
       {whole("integers(-2^31, 2^31)"), ""},
       {whole("integers(-2^31, 2^31 + 1)"),
        "1:21: integers(-2147483648, 2147483649) has numbers from -2147483648 to 2147483648, but "
        "elements of type int32 represent the whole numbers from -2147483648 to 2147483647"},
       {whole("integers(4, 4)"),
        "1:21: integers(4, 4) has no numbers; expected a second value above the first"},
       {whole("integers(-2^62, 2^62)"),
        "1:21: integers(-4611686018427387904, 4611686018427387904) has too many numbers; expected "
        "fewer than 2^63"},
       {whole("1.5"),
        "1:21: the contents are 1.5, but elements of type int32 represent the whole numbers from "
        "-2147483648 to 2147483647"},
       {whole("-(2^31) - 1"),
        "1:21: the contents are -2147483649, but elements of type int32 represent the whole "
        "numbers from -2147483648 to 2147483647"},
       {whole("-7"), ""},
       {half("uniform(1, 1)"),
        "1:22: uniform(1, 1) has no numbers; expected a second value above the first"},
       {half("uniform(0, 1)"), ""},
       {half("0.5"), ""},
       {whole("uniform(0, 1)"),
        "1:21: x has elements of type int32; expected integers(low, high), iota or zeros"},
       {whole("integers(0, 0.5)"), "1:33: 0.5 is not an integer; expected integers"},
       {half("normal"), ""},
       {half("iota"),
        "1:22: iota stores 0 to 2999 in h, but elements of type fp16 represent the "
        "whole numbers from -2048 to 2048"},
       {half("integers(0, 2050)"),
        "1:22: integers(0, 2050) has numbers from 0 to 2049, but elements of type fp16 represent "
        "the whole numbers from -2048 to 2048"},
       {byte("iota"), ""},
       {byte("iota", 257),
        "1:28: iota stores 0 to 256 in z, but elements of type uint8 represent "
        "the whole numbers from 0 to 255"},
       {byte("integers(-1, 4)"),
        "1:28: integers(-1, 4) has numbers from -1 to 3, but elements of type uint8 represent the "
        "whole numbers from 0 to 255"}});
}

Tolerance tolerance(const std::string& statements) {
  const Family f = family(statements);
  const auto problem = f.make_problem(f.defaults());
  const auto output =
      std::ranges::find_if(f.buffers, [](const Buffer& b) { return is_output(b.role); });
  return output->tolerance(problem.get());
}

TEST_CASE("the reference's operations include the terms of sums", "[own_binding]") {
  const auto operations = [](const std::string& statements) {
    const Family f = family(statements);
    return f.reference_operations(f.make_problem(f.defaults()).get());
  };
  const double of_sum = operations(kAdd);
  CHECK(of_sum >= 1000 * 3);
  CHECK(operations(replaced(kAdd, "+ y[i]", "+ sum(k < n: y[k])")) > 500 * of_sum);
  CHECK(operations(kAdd + "\nrequire n < 4") == 0);
}

TEST_CASE("long sums of random sign need other contents or a tolerance", "[own_binding]") {
  const auto sum = [](const std::string& n, const std::string& x) {
    return "n = " + n + "\n" + x + "\ny[n] z[4]\nadd<<<1, 4>>>\ncheck z[i] = sum(k < n: x[k])";
  };
  check_cases(
      {{sum("2^18", "x[n]"), ""},
       // A second verification with exact sums finds wrong results up to 2^24 terms.
       {sum("2^24", "x[n]"), ""},
       {sum("2^24 + 1", "x[n]"),
        "5:18: a sum has 16777217 terms, and x has contents of random sign: they cancel, so a "
        "wrong "
        "result could be within the bound on rounding errors; declare contents such as 'in x[n] = "
        "uniform(0, 1)', or a tolerance"},
       {sum("2^25", "in x[n] = uniform(0, 1)"), ""},
       {sum("2^25", "x[n]") + "\ntolerance 1e-6", ""}});
}

ExactSums exact_sums(const std::string& statements) {
  const SharedBound b = bound(statements);
  Values values;
  for (const DeclaredParameter& parameter : b->parameters)
    values.push_back(parameter.values.front());
  return exact_sums_of(*b, problem_of(*b, values));
}

TEST_CASE("long sums are verified with contents for which they are exact", "[own_binding]") {
  const auto sum = [](const std::string& n, const std::string& check = "sum(k < n: x[k])",
                      const std::string& x = "in x[n]") {
    return exact_sums("n = " + n + "\n" + x +
                      "\nin y[n]\nz[4]\nadd<<<1, 4>>>\ncheck z[i] = " + check);
  };
  // The bound of 1024 terms is below a sixteenth of a term, that of 4096 is not.
  CHECK_FALSE(sum("1024").are_needed);
  CHECK(sum("4096").are_needed);
  // Below 2^24 fp32 represents each sum of the largest numbers.
  for (const auto& [n, largest] : std::vector<std::pair<std::string, std::int64_t>>{
           {"2^20", 16}, {"2^20 + 1", 8}, {"2^22", 4}, {"2^24", 1}, {"2^24 + 1", 0}}) {
    CAPTURE(n);
    const ExactSums sums = sum(n);
    CHECK(sums.contents.largest == largest);
    CHECK_FALSE(sums.contents.have_signs);
    CHECK(sums.why_not == (largest > 0 ? "" : "no contents of the inputs make the sums exact"));
  }
  CHECK(sum("2^20", "sum(k < n: x[k]*y[k])").contents.largest == 4);
  CHECK(sum("2^12", "sum(k < n: x[k]*y[i])").contents.largest == 16);
  CHECK(sum("2^20", "0.5*sum(k < n: x[k])").contents.largest == 16);
  CHECK(sum("2^20", "0.5*sum(k < n: x[k]) + y[i]").contents.largest == 8);
  // A kernel may multiply or divide each term instead of the sum, which rounds.
  for (const char* check : {"0.1*sum(k < n: x[k])", "sum(k < n: x[k]) / n", "sum(k < n: exp(x[k]))",
                            "sum(k < n: x[k]/3)", "sum(k < n: 0.1*x[k])"}) {
    CAPTURE(check);
    CHECK(sum("2^16", check).are_needed);
    CHECK(sum("2^16", check).contents.largest == 0);
  }
  // Contents that are not random stay.
  CHECK(sum("2^16", "sum(k < n: x[k])", "in x[n] = 3").contents.largest == 16);
  CHECK(sum("2^16", "sum(k < n: x[k])", "in x[n] = 0.5").contents.largest == 0);
  CHECK(sum("2^16", "sum(k < n: x[k])", "in x[n] = iota").contents.largest == 0);
}

TEST_CASE("a declared tolerance has no exact sums", "[own_binding]") {
  const ExactSums sums = exact_sums(
      "n = 2^16\nin x[n]\nin y[n]\nz[4]\nadd<<<1, 4>>>\ncheck z[i] = sum(k < n: x[k])\n"
      "tolerance 1e-5");
  CHECK(sums.are_needed);
  CHECK(sums.contents.largest == 0);
  CHECK(sums.why_not == "the file declares a tolerance of 1e-05");
}

TEST_CASE("exact contents replace random contents of floating-point buffers", "[own_binding]") {
  const SharedBound b = bound(
      "n = 2^16\nx[n]\nin y[n] = uniform(0, 1)\nz[4]\nadd<<<1, 4>>>\n"
      "check z[i] = sum(k < n: x[k]) + y[i]");
  OwnProblem problem = problem_of(*b, {std::int64_t{1} << 16});
  problem.contents = {4, true};
  const FillProgram x = fill_of(*b, 0, problem, 1);
  const FillProgram y = fill_of(*b, 1, problem, 1);
  CHECK(x.kind == FillKind::nonzero);
  CHECK(y.kind == FillKind::integers);
  std::set<double> of_x, of_y;
  for (int i = 0; i < 1000; ++i) {
    of_x.insert(fill_value(x, i));
    of_y.insert(fill_value(y, i));
  }
  CHECK(of_x == std::set<double>{-4, -3, -2, -1, 1, 2, 3, 4});
  CHECK(of_y == std::set<double>{1, 2, 3, 4});
}

/// The error of the check of `whole`, whose output z has 4 integers; empty if there is none.
std::string error_of_check(const std::string& check, std::int64_t element,
                           const std::string& x = "x[2][4] = iota") {
  const SharedBound b = bound(x + "\nz[4]\nwhole<<<1, 4>>>(z, x, 4)\ncheck z[i] = " + check);
  return check_error(*b, problem_of(*b, {}), 7, 1, element);
}

TEST_CASE("errors of a check name its place and the index", "[own_binding]") {
  CHECK(error_of_check("x[1][i]", 3) == "");
  CHECK(error_of_check("x[1][i + 1]", 2) == "");
  CHECK(error_of_check("x[1][i + 1]", 3) ==
        "k.cu:4:25: the check of z[3] reads index 4 of dimension 2 of x, which is out of range; "
        "expected 0 to 3");
  CHECK(error_of_check("1 + x[i - 1][0]", 0) ==
        "k.cu:4:29: the check of z[0] reads index -1 of dimension 1 of x, which is out of range; "
        "expected 0 to 1");
}

TEST_CASE("errors of a check of integers name the functions to use", "[own_binding]") {
  CHECK(error_of_check("x[1][i] / 2", 0) == "");
  CHECK(error_of_check("x[1][i] / 2", 1) ==
        "k.cu:4:33: the check of z[1] is 2.5, but elements of type int32 are whole numbers; in a "
        "check, / divides real numbers: write trunc(a / b), which rounds as C does, or "
        "floor_div(a, b)");
  CHECK(error_of_check("trunc(x[1][i] / 2)", 1) == "");
  CHECK(error_of_check("0.5*x[1][i]", 1) ==
        "k.cu:4:28: the check of z[1] is 2.5, but elements of type int32 are whole numbers; write "
        "trunc(…), floor(…) or ceil(…)");
  CHECK(error_of_check("2^40 * (2^13 + x[0][i])", 0) ==
        "k.cu:4:30: the check of z[0] has the result 9007199254740992; checks compute in fp64, "
        "which represents each whole number only below 2^53");
  CHECK(error_of_check("log(-1)", 0) ==
        "k.cu:4:25: the check of z[0] is NaN, which no result equals; declare other contents of "
        "its inputs");
}

TEST_CASE("the default tolerance counts roundings", "[own_binding]") {
  const double u = 0x1p-24;
  const Tolerance add = tolerance(kAdd);
  CHECK(add.relative == Approx(1.01 * u + u));
  CHECK(add.absolute == Approx(2 * 0x1p-150));
  CHECK(std::isinf(add.rms_absolute));
  const auto sum = [](const std::string& n) {
    return tolerance("n = " + n +
                     "\nin x[n] = iota\ny[n] z[4]\nadd<<<1, 4>>>\ncheck z[i] = sum(k < n: x[k])");
  };
  CHECK(sum("64").relative == Approx(64 * 1.01 * u + u));
  CHECK(sum("2^20").relative == Approx(9.9 * 1024 * 1.01 * u + u));
  CHECK(tolerance(kAdd + "\ntolerance 0.01").relative == 0.01);
  CHECK(tolerance(kAdd + "\ntolerance 0.01").absolute == 0x1p-150);
  CHECK(tolerance(kAdd + "\noption --use_fast_math").absolute == Approx(0x1p-126));
  const Tolerance whole = tolerance("x[4] z[4]\nwhole<<<1, 4>>>(z, x, 4)\ncheck z[i] = x[i] + 1");
  CHECK(whole.relative == 0);
  CHECK(whole.absolute == 0);
  CHECK_THAT(family(kAdd).tolerance_derivation, contains_text("(n + k)·u·magnitude"));
  CHECK(family(kAdd + "\ntolerance 0.01").tolerance_derivation ==
        "The file declares a tolerance of 0.01, relative to the magnitude of the expected value. "
        "Half the smallest number of the output's type is added.");
}

TEST_CASE("the values of a problem choose the kernel", "[own_binding]") {
  const std::string source =
      "// gpuexp: N = 4, 8\n// gpuexp: z[N]\n// gpuexp: f<N, float><<<1, N>>>(z)\n"
      "// gpuexp: check z[i] = 1\n";
  static const char addresses[2] = {};
  OwnKernel kernel{signatures({"_Z1fILi4EfEvPT0_"}, source).front(),
                   [](const Names& names) -> const void* {
                     return &addresses[std::get<std::int64_t>(names.at("N")) == 8 ? 1 : 0];
                   },
                   "N, float"};
  const Family f = family_of("k.cu", read_declaration("k.cu", source), {kernel});
  for (const std::int64_t n : {4, 8}) {
    const auto problem = f.make_problem({n});
    const std::vector<Shape> shapes = f.variants[0].shapes(problem.get(), {});
    REQUIRE(shapes.size() == 1);
    CHECK(shapes[0].kernel == &addresses[n == 8 ? 1 : 0]);
  }
  kernel.template_text = "N, double";
  CHECK_THROWS_WITH(family_of("k.cu", read_declaration("k.cu", source), {kernel}),
                    "k.cu:3:12: the file has no kernel 'f<N, float>'");
}

}  // namespace
}  // namespace gpuexp::own
