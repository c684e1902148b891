// Launches and values in the text of host code (gpuexp init).
#include "infer/host_code.hpp"

#include <string>
#include <vector>

#include "base/random_bits.hpp"
#include "infer/launch_resolution.hpp"
#include "support/catch.hpp"

namespace gpuexp::infer {
namespace {

/// The expressions of the first launch in the text: "grid | block | bytes".
std::string launch_text(const std::string& host) {
  HostCode code;
  code.add("a.cu", host);
  REQUIRE(code.launches().size() == 1);
  const TextLaunch& launch = code.launches()[0];
  const HostExpressions expressions(code, launch.at);
  std::string text;
  for (const Tokens* tokens : {&launch.grid, &launch.block, &launch.bytes}) {
    if (tokens->empty()) continue;
    if (!text.empty()) text += " | ";
    const std::vector<own::NodePointer> sizes = expressions.dimensions(*tokens);
    for (std::size_t d = 0; d < sizes.size(); ++d)
      text += (d > 0 ? ", " : "") + text_of(*sizes[d]);
  }
  return text;
}

TEST_CASE("a launch's grid and block are found in the text") {
  const std::pair<std::string, std::string> cases[] = {
      {"f<<<n, 256>>>(x);", "n | 256"},
      {"f<<<(n + 255) / 256, 256>>>(x);", "ceil_div(n, 256) | 256"},
      {"f<<<(n - 1) / 256 + 1, 256>>>(x);", "ceil_div(n, 256) | 256"},
      {"f<<<n / 256 + 1, 256>>>(x);", "n/256 + 1 | 256"},
      {"f<<<(n + t - 1) / t, t>>>(x);", "ceil_div(n, t) | t"},
      {"f<<<ceil((float)n / 256.0f), 256>>>(x);", "ceil_div(n, 256) | 256"},
      {"f<<<cdiv(n, 256), 256>>>(x);", "ceil_div(n, 256) | 256"},
      {"f<<<dim3(n / 32, m / 8), dim3(32, 8)>>>(x);", "n/32, m/8 | 32, 8"},
      {"const int t = 128; int b = (n + t - 1) / t; f<<<b, t, t * sizeof(float)>>>(x);",
       "ceil_div(n, 128) | 128 | 512"},
      {"dim3 grid(n / 32, m / 32, 1); dim3 block{32, 8}; f<<<grid, block>>>(x);",
       "n/32, m/32 | 32, 8"},
      {"dim3 grid; grid = dim3(n); f<<<grid, 1 << 8, 0, stream>>>(x);", "n | 256 | 0"},
      {"dim3 block(16, 16); dim3 grid(n / block.x, n / block.y); f<<<grid, block>>>(x);",
       "n/16, n/16 | 16, 16"},
      {"#define T 64\n#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))\n"
       "f<<<CEIL_DIV(n, T), T>>>(x);",
       "ceil_div(n, 64) | 64"},
      {"int up(int a, int b) { return (a + b - 1) / b; }\nvoid g() { f<<<up(n, 32), 32>>>(x); }",
       "ceil_div(n, 32) | 32"},
      {"f<<<min(n, 1024), static_cast<int>(0x40)>>>(x);", "min(n, 1024) | 64"},
      {"const uint BM = 64, TM = 8; f<<<n, (BM * BM) / (TM * TM)>>>(x);", "n | 64"},
      {"f<<<n*(m + 1), 2 * (3 - 1)>>>(x);", "n*(m + 1) | 4"},
      {"dim3 grid(w / 2 / 16, h / 2 / 16, batch); f<<<grid, 256>>>(x);",
       "w/2/16, h/2/16, batch | 256"},
      {"dim3 grid; grid.x = n / 64; grid.y = m; grid.z = 2; f<<<grid, 256>>>(x);",
       "n/64, m, 2 | 256"},
      {"dim3 grid(n / 64), block(64); grid.z = k; block.x = 32; f<<<grid, block>>>(x);",
       "n/64, 1, k | 32"},
      {"P p; p.n = 4096; f<<<p.n / 64, 64>>>(x);", "64 | 64"},
      {"int half = w / 2; f<<<(half + 255) / 256, 256>>>(x);", "ceil_div(w/2, 256) | 256"},
  };
  for (const auto& [host, expected] : cases) {
    INFO(host);
    CHECK(launch_text(host) == expected);
  }
}

TEST_CASE("a variable has the value of the nearest assignment in an open block") {
  CHECK(launch_text("{ const int t = 1; } const int t = 2; { const int u = 3; } f<<<1, t>>>();") ==
        "1 | 2");
  CHECK(launch_text("if (a) { const int t = 128; f<<<1, t>>>(); } else { const int t = 64; }") ==
        "1 | 128");
  CHECK(launch_text("void g(int n) { n = 3; } void h(int n) { f<<<n, 32>>>(); }") == "n | 32");
  CHECK(launch_text("int t = 2; t = 4; f<<<1, t>>>(); t = 8;") == "1 | 4");
  SECTION("a variable that host code changes keeps its name") {
    CHECK(launch_text("for (int t = 1; t < 9; t *= 2) f<<<t, 32>>>();") == "t | 32");
    CHECK(launch_text("int t = 1; t += n; f<<<t, 32>>>();") == "t | 32");
    CHECK(launch_text("int t = 1; ++a; t++; f<<<t, 32>>>();") == "t | 32");
    CHECK(launch_text("int b = props.multiProcessorCount * 8; f<<<b, 32>>>();") == "b | 32");
    CHECK(launch_text("int n = atoi(argv[1]); f<<<n, 32>>>();") == "n | 32");
  }
  SECTION("a comparison changes nothing") {
    CHECK(launch_text("int t = 64; if (t <= n) f<<<1, t>>>();") == "1 | 64");
  }
}

TEST_CASE("constants and macros of other files are known") {
  HostCode code;
  code.add("kernel.cuh",
           "#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))\nconst int kThreads = 96;\n"
           "void g() { const int hidden = 1; }");
  code.add("run.cu", "f<<<CEIL_DIV(n, kThreads), hidden>>>(x);");
  REQUIRE(code.launches().size() == 1);
  CHECK(code.launches()[0].file == "run.cu");
  const HostExpressions expressions(code, code.launches()[0].at);
  CHECK(text_of(*expressions.expression(code.launches()[0].grid)) == "ceil_div(n, 96)");
  CHECK(text_of(*expressions.expression(code.launches()[0].block)) == "hidden");
}

TEST_CASE("template arguments of a launch are types and constants") {
  HostCode code;
  code.add("a.cu",
           "void g() { const uint BM = 64; f<float, BM, BM / 2>\n  <<<1, 32>>>(x, a < b); }\n"
           "template <int N> void h() { f<float, N, 2><<<1, 32>>>(x, y); }");
  REQUIRE(code.launches().size() == 2);
  CHECK(code.launches()[0].kernel == "f");
  CHECK(code.launches()[0].line == 1);
  CHECK(resolved_template_arguments(code.launches()[0], code) == "float, 64, 32");
  CHECK_THROWS_AS(resolved_template_arguments(code.launches()[1], code), HostExpressionError);
}

KernelSignature signature(const std::string& source) {
  return signatures({"_Z1fPKfPfif"}, source).at(0);
}

TEST_CASE("arguments of a launch name the declaration's parameters") {
  const std::string kernel = "__global__ void f(const float* x, float* y, int n, float a);\n";
  const auto resolved = [&](const std::string& host) {
    HostCode code;
    code.add("a.cu", kernel + host);
    return resolved_launch(signature(kernel), code.launches().at(0), code);
  };
  SECTION("a variable is known by the parameter's name, and a constant is its value") {
    const ResolvedLaunch launch =
        resolved("const int N = 1 << 20; f<<<(N + 255) / 256, 256>>>(d_x, d_y, N, -0.5f);");
    CHECK(launch.grid[0].text() == "ceil_div(n, 256)");
    CHECK(launch.arguments[2].text() == "n");
    REQUIRE(launch.parameters.size() == 2);
    CHECK(launch.parameters[0].value == Value(std::int64_t{1} << 20));
    CHECK(launch.parameters[1].value == Value(-0.5));
  }
  SECTION("an expression introduces the variables of the host code") {
    const ResolvedLaunch launch =
        resolved("void g(int rows) { f<<<rows, 256>>>(d_x, d_y, rows * 32, alpha); }");
    CHECK(launch.arguments[2].text() == "rows*32");
    REQUIRE(launch.parameters.size() == 2);
    CHECK(launch.parameters[1].name == "rows");
  }
  SECTION("a variable with the name of another parameter is refused") {
    CHECK_THROWS_AS(resolved("void g(int n) { f<<<n, 256>>>(d_x, d_y, n / 2, 1); }"),
                    HostExpressionError);
  }
  SECTION("a variable of the host code remains a size, unless other arguments determine it") {
    const ResolvedLaunch launch =
        resolved("void g(int B, int T) { const int N = B * T; f<<<N, 64>>>(d_x, d_y, N, 1); }");
    CHECK(launch.grid[0].text() == "n");
    CHECK(launch.arguments[2].text() == "n");
    CHECK(launch.parameters.size() == 2);
  }
  SECTION("the number of threads of a block is a number that does not vary") {
    const ResolvedLaunch launch = resolved(
        "void g(int n, int threads) { f<<<(n + threads - 1) / threads, threads, threads * "
        "4>>>(d_x, "
        "d_y, n, 1); }");
    CHECK(launch.grid[0].text() == "ceil_div(n, threads)");
    REQUIRE(launch.parameters.size() == 3);
    CHECK(launch.parameters[2].name == "threads");
    CHECK(launch.parameters[2].is_fixed);
    CHECK(launch.parameters[2].value == Value(std::int64_t{256}));
    CHECK(launch.notes.size() == 2);
  }
  SECTION("a grid of more than the arguments is on trial, and not known without its variables") {
    const ResolvedLaunch tried = resolved(
        "void g(int n) { int blocks = 8 * props.multiProcessorCount; f<<<blocks, 256>>>(d_x, d_y, "
        "n, 1); }");
    CHECK(tried.grid.at(0).text() == "blocks");
    REQUIRE(tried.parameters.size() == 3);
    CHECK(tried.parameters[2].is_of_grid);
    CHECK(!tried.parameters[2].value);
    const ResolvedLaunch launch = without_sizes_of_grid(tried, {"blocks"});
    CHECK(launch.grid.empty());
    CHECK(launch.block[0].text() == "256");
    CHECK(launch.parameters.size() == 2);
  }
  SECTION("a member of a structure that is an argument is known by the parameter's name") {
    for (const std::string member :
         {"c.n", "p->n", "p->size.n", "this->n_", "shape[0]", "sizes[k + 1]", "t.size(0)"}) {
      INFO(member);
      const ResolvedLaunch launch =
          resolved("#define UP(a) (((a) + 255) / 256)\nvoid g() { f<<<UP(" + member +
                   "), 256>>>(d_x, d_y, " + member + ", 1); }");
      REQUIRE(launch.grid.size() == 1);
      CHECK(launch.grid[0].text() == "ceil_div(n, 256)");
      CHECK(launch.arguments[2].text() == "n");
      CHECK(launch.notes.size() == 1);
    }
  }
  SECTION("an expression of members that are arguments is computed from them") {
    const std::string source =
        "__global__ void f(const float* x, float* y, int n, int m, int k);\n";
    HostCode code;
    code.add("a.cu", "void g() { f<<<c.n / 16, 16>>>(d_x, d_y, c.n * c.k, c.n, c.k); }");
    const ResolvedLaunch launch =
        resolved_launch(signatures({"_Z1fPKfPfiii"}, source).at(0), code.launches().at(0), code);
    CHECK(launch.grid.at(0).text() == "m/16");
    CHECK(launch.arguments[2].text() == "m*k");
  }
  SECTION("other members are on trial as sizes of the grid, by their last names") {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"c.m", "m"},          {"c.n.m", "m"},  {"n.c", "c"},
        {"c->rows_", "rows_"}, {"s[2]", "s_2"}, {"t.size(0)", "t_size_0"}};
    for (const auto& [member, name] : cases) {
      INFO(member);
      const ResolvedLaunch launch =
          resolved("void g() { f<<<" + member + " * 2, 256>>>(d_x, d_y, c.n, 1); }");
      REQUIRE(launch.grid.size() == 1);
      CHECK(launch.grid[0].text() == name + "*2");
      REQUIRE(launch.parameters.size() == 3);
      CHECK(launch.parameters[2].name == name);
      CHECK(launch.parameters[2].is_of_grid);
      CHECK(without_sizes_of_grid(launch, {name}).grid.empty());
    }
  }
  SECTION("members with the name of another parameter remain unknown, and a note names them") {
    for (const std::string member : {"d.n", "c->n", "d.x", "p->a"}) {
      INFO(member);
      const ResolvedLaunch launch =
          resolved("void g() { f<<<(" + member + " + 255) / 256, 256>>>(d_x, d_y, c.n, 1); }");
      CHECK(launch.grid.empty());
      REQUIRE(launch.notes.size() == 2);
      CHECK_THAT(launch.notes[1], contains_text("not found: how the grid follows from the "
                                                "kernel's arguments; the host code computes it"));
      CHECK_THAT(launch.notes[1], contains_text(member.substr(0, member.find('['))));
    }
  }
  SECTION("a variable along another dimension than the first may be a size of its own") {
    const ResolvedLaunch launch = resolved(
        "void g(int n, int batch) { f<<<dim3((n + 255) / 256, 1, batch), 256>>>(d_x, d_y, n, 1); "
        "}");
    REQUIRE(launch.grid.size() == 3);
    CHECK(launch.grid[2].text() == "batch");
    REQUIRE(launch.parameters.size() == 3);
    CHECK(launch.parameters[2].name == "batch");
    CHECK(launch.parameters[2].is_of_grid);
    CHECK(!launch.parameters[0].is_of_grid);
    const ResolvedLaunch without = without_sizes_of_grid(launch, {"batch"});
    CHECK(without.grid.empty());
    CHECK(without.parameters.size() == 2);
    CHECK_THAT(without.notes.back(), contains_text("batch"));
  }
  SECTION("a constant of the grid is on trial with its value, which replaces it if it is no size") {
    const std::string launch_text = "f<<<dim3(up(rows, 4), batch), threads>>>(d_x, d_y, n, 1); }";
    const ResolvedLaunch launch = resolved(
        "int up(int a, int b) { return (a + b - 1) / b; }\n"
        "void g(int n) { const int rows = 96 * 2, threads = 128; int batch = 3; " +
        launch_text);
    REQUIRE(launch.grid.size() == 2);
    CHECK(launch.grid[0].text() == "ceil_div(rows, 4)");
    CHECK(launch.grid[1].text() == "batch");
    REQUIRE(launch.parameters.size() == 4);
    CHECK(launch.parameters[2].name == "batch");
    CHECK(launch.parameters[2].value == Value(std::int64_t{3}));
    CHECK(launch.parameters[3].name == "rows");
    CHECK(launch.parameters[3].value == Value(std::int64_t{192}));
    const ResolvedLaunch without = without_sizes_of_grid(launch, {"rows"});
    CHECK(without.grid.at(0).text() == "48");
    CHECK(without.grid.at(1).text() == "batch");
    CHECK(without.parameters.size() == 3);
  }
  SECTION("constants of the block, of device code and of divisors are no sizes") {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"void g(int n) { const int t = 64; f<<<t, t>>>(d_x, d_y, n, 1); }", "64"},
        {"#define T 64\n__global__ void k(float* z) { z[T] = 0; }\n"
         "void g(int n) { f<<<T, 32>>>(d_x, d_y, n, 1); }",
         "64"},
        {"void g(int n) { const int t = 64; f<<<n / t, 32>>>(d_x, d_y, n, 1); }", "n/64"},
        {"void g(int n) { const int t = 64; f<<<(n + t - 1) / t, 32>>>(d_x, d_y, n, 1); }",
         "ceil_div(n, 64)"},
        {"void g(int n) { const int log = 3; f<<<64 >> log, 32>>>(d_x, d_y, n, 1); }", "8"}};
    for (const auto& [host, grid] : cases) {
      INFO(host);
      const ResolvedLaunch launch = resolved(host);
      REQUIRE(launch.grid.size() == 1);
      CHECK(launch.grid[0].text() == grid);
      CHECK(launch.parameters.size() == 2);
    }
  }
  SECTION("another number of arguments is refused") {
    CHECK_THROWS_AS(resolved("f<<<1, 256>>>(d_x, d_y, 4);"), HostExpressionError);
  }
}

/// "ARGUMENT=BYTE" of the last launch in the text.
std::string memsets(const std::string& host) {
  const std::string kernel = "__global__ void f(const float* x, float* y, int n, float a);\n";
  HostCode code;
  code.add("a.cu", kernel + host);
  std::string text;
  for (const LaunchMemset& memset :
       resolved_launch(signature(kernel), code.launches().back(), code).memsets)
    text += std::to_string(memset.argument) + "=" + std::to_string(memset.byte);
  return text;
}

TEST_CASE("a memset of a buffer before the launch is found") {
  const std::string launch = "f<<<1, 256>>>(d_x, d_y, n, 1);";
  for (const std::string call :
       {"cudaMemset(d_y, 0, n * sizeof(float));", "CHECK(cudaMemset(d_y, 0, 4));",
        "cudaMemset((void*)d_y, 0x00, 4);", "cudaMemset((void *)(d_y), 0, 4);",
        "cudaMemsetAsync(d_y, 0, 4, stream);", "cudaMemset(d_y, 1, 4); cudaMemset(d_y, 0, 4);",
        "cudaMemset(d_y, 0, 4); cudaMemset(d_z, 1, 4); cudaMemcpy(d_x, x, 4, kind);"}) {
    INFO(call);
    CHECK(memsets("void g(int n) {" + call + launch + "}") == "1=0");
    CHECK(memsets("void g(int n) {" + call + " for (int i = 0; i < 9; ++i) {" + launch + "} }") ==
          "1=0");
  }
  CHECK(memsets("cudaMemset(d_y, 0xff, 4);" + launch) == "1=255");
  CHECK(memsets("cudaMemset(d_y, -1, 4);" + launch) == "1=255");
  CHECK(memsets("cudaMemset(d_y, 0, 4); cudaMemset(d_x, 0, 4);" + launch) == "0=01=0");
  for (const std::string other :
       {"cudaMemset(d_z, 0, 4);", "cudaMemset(d_y, 0, 4); cudaMemcpy(d_y, y, 4, kind);",
        "cudaMemset(d_y, 0, 4); h<<<1, 1>>>(d_y);", "if (n > 1) { cudaMemset(d_y, 0, 4); }",
        "memset(d_y, 0, 4);", "cudaMemset(d_y + 4, 0, 4);", "cudaMemset(d_y, byte, 4);",
        "cudaMemset2D(d_y, 4, 0, 4, 4);", "cudaMemset(s.d_y, 0, 4);"}) {
    INFO(other);
    CHECK(memsets("void g(int n, int byte) {" + other + launch + "}").empty());
  }
  CHECK(memsets("void h(float* d_y) { cudaMemset(d_y, 0, 4); } void g(float* d_y) {" + launch + "}")
            .empty());
  CHECK(memsets("void g() {" + launch + " cudaMemset(d_y, 0, 4); }").empty());
}

/// Resolves everything that the text has. Must neither fail otherwise nor run on.
void resolve_all(const std::string& text) {
  HostCode code;
  code.add("a.cu", text);
  for (const TextLaunch& launch : code.launches()) {
    for (const Tokens* tokens : {&launch.grid, &launch.block, &launch.bytes}) {
      try {
        HostExpressions(code, launch.at).dimensions(*tokens);
      } catch (const HostExpressionError& error) {
        CHECK(std::string(error.what()) != "");
      }
    }
    try {
      resolved_template_arguments(launch, code);
    } catch (const HostExpressionError&) {
    }
  }
}

TEST_CASE("damaged host code is read to its end") {
  for (const std::string text : {"<<<",
                                 "f<<<",
                                 "f<<<1",
                                 "f<<<1, 2",
                                 "f<<<1, 2>>>",
                                 "f<<<1, 2>>>(",
                                 "f<<<1, 2>>>(x",
                                 ">>>",
                                 "f<<<<<<1, 2>>>>>>(x);",
                                 "<1><<<1, 2>>>(x);",
                                 "f<<<1, 2>>>(x) }}}} {{{{",
                                 "#define",
                                 "#define A(",
                                 "#define A(x",
                                 "#define A A\nf<<<A, A>>>(x);",
                                 "#define A(x) A(x)\nf<<<A(1), 2>>>(x);",
                                 "int a = a; f<<<a, a.x>>>(x);",
                                 "dim3 a(b); dim3 b(a); f<<<a, b>>>(x);",
                                 "f<<<(, )>>>();",
                                 "f<<<1 <<, 2>>>(x);"})
    resolve_all(text);
  const std::string whole =
      "#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))\nint up(int a) { return a / 2; }\n"
      "void g(int n) { const int t = 1 << 7; dim3 b{t, 2}, g(CEIL_DIV(n, b.x), up(n));\n"
      "f<t, float><<<g, b, t * sizeof(float)>>>(x, (float)n, static_cast<int>(n), 0x1fu, 1e-3f); }";
  resolve_all(whole);
  constexpr std::uint64_t kCases = 3000;
  for (std::uint64_t i = 0; i < kCases; ++i) {
    std::string damaged = whole;
    for (std::uint64_t change = 0; change <= i % 4; ++change) {
      const std::size_t at = random_bits(i, 2 * change) % damaged.size();
      const std::size_t from = random_bits(i, 2 * change + 1) % whole.size();
      damaged[at] = whole[from];
    }
    INFO(damaged);
    resolve_all(
        damaged.substr(0, i % 3 == 0 ? random_bits(i, 99) % damaged.size() : damaged.size()));
  }
}

}  // namespace
}  // namespace gpuexp::infer
