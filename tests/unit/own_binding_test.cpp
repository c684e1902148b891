// Declarations of kernel files and the kernels' signatures: arguments, roles and errors.
#include "own/declaration_sections.hpp"
#include "own/parameter_types.hpp"
#include "support/own_declarations.hpp"

namespace gpuexp::own {
namespace {

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
        "nameless, pointers, structure, whole, fetch, vectors, letters, structures"},
       {launched("(x, y, z)"),
        "5:12: add(const float* x, const float* y, float* z, int n) has 4 parameters, but the "
        "launch has 3 arguments"},
       {launched("(x, yy, z, n)"),
        "5:46: parameter 'const float* y' of add needs a buffer, found 'yy'; declare it, such as "
        "in yy[n]; did you mean 'y'? allowed: x, y, z"},
       {launched("(x, y + 1, z, n)"),
        "5:46: parameter 'const float* y' of add needs a buffer, found 'y + 1'; expected the name "
        "of a buffer; allowed: x, y, z"},
       {launched("(x, y, z, x)"), "5:52: 'x' is a buffer; expected a number or a parameter"},
       {launched("(x, y, z, x[0])"), "5:52: x[...] reads a buffer; only a check can read buffers"},
       {launched("(x, y, z, 2*m)"),
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
        "2:12: 'z' has elements of type float*, because of parameter 'float** z' of pointers; "
        "pointers to pointers are not supported"},
       {"n = 4\nz[n]\nh[2][n + 1]\nvectors<<<1, 4>>>\ncheck z[i] = 1",
        "4:12: 'z' has elements of type float4, because of parameter 'float4* z' of vectors; "
        "declare 'float z[4*n]' instead; buffers have elements of type " +
            element_types_text()},
       {"n = 4\nfloat z[4*n]\nh[2][n + 1]\nvectors<<<1, 4>>>\ncheck z[i] = 1",
        "4:12: 'h' has elements of type __half2, because of parameter 'const __half2* h' of "
        "vectors; declare '__half h[2][2*(n + 1)]' instead; buffers have elements of type " +
            element_types_text()},
       {"n = 4\nfloat z[4*n]\n__half h[2*n]\nvectors<<<1, 4>>>\ncheck z[i] = 1", ""},
       {"n = 4\nz[n]\nletters<<<1, 4>>>\ncheck z[i] = 1", ""},
       {"n = 4\nz[n]\nstructures<<<1, 4>>>\ncheck z[i] = 1",
        "3:12: 'z' has elements of type Pair, because of parameter 'Pair* z' of structures; "
        "buffers "
        "have elements of type " +
            element_types_text() +
            ": if it consists of N numbers of one of these types, declare them, as in 'float "
            "z[N*n]'"},
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
       {launched("(x, z, z, n)") + "\nadd2 = add<<<4, 256>>>",
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

TEST_CASE("the text of a launch has its template arguments and null pointers", "[own_binding]") {
  const std::string source =
      "// gpuexp: N = 4\n// gpuexp: z[N]\n// gpuexp: f<N, 2><<<1, N>>>(z, nullptr)\n";
  const OwnKernel kernel{signatures({"_Z1fILi4ELi2EEvPfS0_"}, source).front(),
                         [](const Names&) { return nullptr; }, "N, 2"};
  const std::vector<DeclarationSection> sections =
      sections_of(*bound_to(read_declaration("k.cu", source), {kernel}));
  CHECK(sections.at(1).lines ==
        std::vector<std::string>{"f = f<N, 2><<<1, N>>>(z, nullptr) (k.cu:3)"});
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
