// Comment lines of a kernel file that declare its parameters, buffers, launches and checks.
#include <algorithm>
#include <string>

#include "own/declaration_reader.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

Declaration read(const std::string& source) {
  return read_declaration("k.cu", source);
}

/// The declaration with these statements, one per line.
Declaration declared(const std::string& statements) {
  std::string source;
  for (std::size_t begin = 0; begin < statements.size();) {
    const std::size_t end = std::min(statements.find('\n', begin), statements.size());
    source += "// gpuexp: " + statements.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return read(source);
}

// The statements start in column 12.
std::string error_of(const std::string& statements) {
  try {
    declared(statements);
  } catch (const DeclarationError& error) {
    return error.what();
  }
  return "";
}

std::vector<Value> values(const std::string& text) {
  return declared("n = " + text).parameters.at(0).values;
}
std::vector<Value> integers(const std::vector<std::int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

/// A step that is a kernel.
const DeclaredLaunch& launch_of(const DeclaredVariant& variant, std::size_t step = 0) {
  return std::get<DeclaredLaunch>(variant.steps.at(step));
}

TEST_CASE("a declaration is read from comment lines", "[declaration]") {
  const Declaration d = read(
      "// gpuexp: n = 1024\r\n"
      "  //gpuexp: x[n] y[n]\n"
      "__global__ void add(const float* x, float* y, int n);  // gpuexp: ignored after code\n"
      "//  gpuexp:  in w[n][2*n] = integers(-4, n)\n"
      "// gpuexp: tile = add<<<(ceil_div(n, 256), 2), 256, 4*n>>>(x, y, n)\n"
      "// gpuexp: add<<<n, dim3(16, 4)>>> vs tile\n"
      "// gpuexp: check y[i] = x[i] + 1\n"
      "// gpuexp: require n % 2 == 0\n"
      "// gpuexp: require n > 4 ? n >= 8 : n < 2\n"
      "// gpuexp: tolerance 1e-3\n"
      "// gpuexp: option -DTILE=32 -maxrregcount 64");
  CHECK(d.file == "k.cu");
  REQUIRE(d.parameters.size() == 1);
  CHECK(d.parameters[0].name == "n");
  CHECK(d.parameters[0].place.line == 1);
  CHECK(d.parameters[0].place.column == 12);
  REQUIRE(d.buffers.size() == 3);
  CHECK(!d.buffers[0].role);
  CHECK(d.buffers[1].place.line == 2);
  CHECK(d.buffers[1].place.column == 18);
  CHECK(d.buffers[2].role == BufferRole::input);
  REQUIRE(d.buffers[2].extents.size() == 2);
  CHECK(d.buffers[2].extents[1].expression.text() == "2*n");
  CHECK(d.buffers[2].extents[1].place.column == 22);
  REQUIRE(d.buffers[2].fill);
  CHECK(d.buffers[2].fill->kind == FillKind::integers);
  CHECK(d.buffers[2].fill->high->expression.text() == "n");
  REQUIRE(d.variants.size() == 2);
  CHECK(d.variants[0].id == "tile");
  CHECK(launch_of(d.variants[0]).kernel == "add");
  CHECK(launch_of(d.variants[0]).grid.size() == 2);
  CHECK(launch_of(d.variants[0]).shared_bytes->expression.text() == "4*n");
  CHECK(launch_of(d.variants[0]).arguments->size() == 3);
  CHECK(d.variants[1].id == "add");
  CHECK(d.variants[1].compare_to == "tile");
  CHECK(launch_of(d.variants[1]).block.size() == 2);
  CHECK(!launch_of(d.variants[1]).arguments);
  REQUIRE(d.checks.size() == 1);
  CHECK(d.checks[0].check.output() == "y");
  CHECK(d.checks[0].place.column == 18);
  CHECK(d.requirements.at(0).expression.text() == "n % 2 == 0");
  CHECK(d.tolerance == 1e-3);
  CHECK(d.options == std::vector<std::string>{"-DTILE=32", "-maxrregcount", "64"});
  CHECK(d.find_buffer("y") == &d.buffers[1]);
  CHECK(!d.find_buffer("z"));
}

TEST_CASE("a byte order mark is skipped", "[declaration]") {
  CHECK(read("\xEF\xBB\xBF// gpuexp: n = 4").parameters.size() == 1);
}

TEST_CASE("parameters have values, axes and ranges", "[declaration]") {
  CHECK(values("2^24") == integers({1 << 24}));
  CHECK(values("1000, 2^4..2^7") == integers({1000, 16, 32, 64, 128}));
  CHECK(values("2^4 .. 2^5") == integers({16, 32}));
  CHECK(values("3..5") == integers({3, 4, 5}));
  CHECK(values("-2..1") == integers({-2, -1, 0, 1}));
  CHECK(values("7..7") == integers({7}));
  CHECK(values("2^3..16") == integers({8, 9, 10, 11, 12, 13, 14, 15, 16}));
  CHECK(values("2^51..2^52") == integers({std::int64_t{1} << 51, std::int64_t{1} << 52}));
  CHECK(values("1e6") == integers({1000000}));
  CHECK(values("-3") == integers({-3}));
  CHECK(values("0x10, ceil_div(7, 2)") == integers({16, 4}));
  CHECK(values("0.5") == std::vector<Value>{0.5});
  CHECK(values("1e-3") == std::vector<Value>{1e-3});
  CHECK(values("2.0") == std::vector<Value>{2.0});
  CHECK(values("sqrt(4)") == std::vector<Value>{2.0});
  CHECK(values("3, 0.5") == std::vector<Value>{3.0, 0.5});
}

TEST_CASE("words of statements can name parameters, buffers and kernels", "[declaration]") {
  const Declaration d = declared(
      "in[4] out [4]\ncheck = 1\ntolerance = 0.5\nrequire[2]\nin_out<<<1, 32>>>\n"
      "in vs[4]\noption = in<<<2, 32>>>\nin out2[3]\nrequire (4) == 4");
  REQUIRE(d.buffers.size() == 5);
  CHECK(d.buffers[0].name == "in");
  CHECK(d.buffers[1].name == "out");
  CHECK(d.buffers[2].name == "require");
  CHECK(d.buffers[3].name == "vs");
  CHECK(d.buffers[4].name == "out2");
  CHECK(d.parameters[0].name == "check");
  CHECK(d.parameters[1].name == "tolerance");
  CHECK(d.variants[0].id == "in_out");
  CHECK(launch_of(d.variants[1]).kernel == "in");
  CHECK(d.requirements.size() == 1);
}

TEST_CASE("a grid may begin with parentheses", "[declaration]") {
  const DeclaredLaunch launch =
      launch_of(declared("f<<<(n + 255) / 256, (4, 8, 2), (n)>>>").variants[0]);
  REQUIRE(launch.grid.size() == 1);
  CHECK(launch.grid[0].expression.text() == "(n + 255) / 256");
  CHECK(launch.block.size() == 3);
  CHECK(launch.shared_bytes->expression.text() == "(n)");
  CHECK(launch_of(declared("f<<<(n), (n)>>>()").variants[0]).arguments->empty());
}

TEST_CASE("comments explain the variants", "[declaration]") {
  const Declaration d = read(
      "// A file of kernels.\n"
      "// gpuexp: naive<<<1, 32>>>\n"
      "// gpuexp: tile = tiled<<<1, 32>>>\n"
      "// gpuexp: both = naive<<<1, 32>>>; tiled<<<1, 32>>>; naive<<<1, 32>>>\n"
      "// gpuexp: bare<<<1, 32>>>\n"
      "// gpuexp: last<<<1, 32>>>\n"
      "// One thread per element.\n"
      "//   Loads are strided.\n"
      "extern \"C\" __global__ void __launch_bounds__(256) naive(float* x) {\n"
      "  // not this one\n"
      "}\n"
      "__global__ void bare(float* x) {}\n"
      "// not directly above\n"
      "\n"
      "__global__ void last(float* x) {}\n"
      "// ---- tile: tiles in shared memory\n"
      "// Each block copies a tile.\n"
      "\n"
      "/// Copies tiles.\n"
      "template <int N>\n"
      "__global__ void\n"
      "tiled(float* x) {}\n");
  std::vector<std::string> whys;
  for (const DeclaredVariant& variant : d.variants)
    whys.push_back(variant.why);
  CHECK(whys == std::vector<std::string>{
                    "One thread per element. Loads are strided.", "Each block copies a tile.",
                    "One thread per element. Loads are strided. Copies tiles.", "", ""});
}

TEST_CASE("a file without statements lists its kernels", "[declaration]") {
  const auto error = [](const std::string& source) {
    try {
      read(source);
    } catch (const DeclarationError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(error("__global__ void f() {}\n__global__ void g() {}\n") ==
        "k.cu:1:1: the file has no declaration; expected comment lines that begin with "
        "'// gpuexp:' and launch one of its kernels: f, g; 'gpuexp init k.cu' prints such lines, "
        "and --write inserts them");
  CHECK(error("") ==
        "k.cu:1:1: the file has neither a declaration nor a kernel; expected comment lines that "
        "begin with '// gpuexp:' and a __global__ function that they launch");
}

struct Case {
  const char* statements;
  const char* error;
};

void check_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    INFO(c.statements);
    CHECK(error_of(c.statements) == std::string("k.cu:") + c.error);
  }
}

TEST_CASE("a statement with a misspelt mark is refused, and other comments are not",
          "[declaration]") {
  const auto error_in = [](const std::string& comment) -> std::string {
    try {
      read("// gpuexp: n = 4\n" + comment + "\n");
    } catch (const DeclarationError& error) {
      return error.what();
    }
    return "";
  };
  const auto refused = [](const std::string& found) {
    return "k.cu:2:4: found '" + found + "'; a statement begins with '// gpuexp:'";
  };
  for (const std::string text :
       {"gpuexp require n > 2000", "gpuexp tolerance 1e-30", "Gpuexp: require n > 2000",
        "gpuepx: require n > 2000", "GPUEXP : x[n]", "gpuexp m = 4", "gpuexp x[n]",
        "gpuexp add<<<1, 32>>>"}) {
    CHECK(error_in("// " + text) == refused(text));
  }
  for (const char* const text :
       {"gpuexp is a tool", "gpuexp", "group: first", "note: gpuexp runs this", "see gpuexp: it"})
    CHECK(error_in(std::string("// ") + text).empty());
}

TEST_CASE("statements that are not understood", "[declaration]") {
  check_cases(
      {{" ", "1:11: expected a statement, found the end of the line"},
       {"n = 4\n4 = n", "2:12: expected a statement, found '4 = n'"},
       {"run fast",
        "1:12: 'run fast' is not a statement; expected NAME = VALUES, BUFFER[EXTENT], [NAME =] "
        "KERNEL<<<GRID, BLOCK>>>, in, out, in_out, workspace, check, reference, require, work, "
        "tolerance, option or define"},
       {"chek y[i] = 4",
        "1:12: 'chek y[i] = 4' is not a statement; did you mean 'check'? expected NAME = VALUES, "
        "BUFFER[EXTENT], [NAME =] KERNEL<<<GRID, BLOCK>>>, in, out, in_out, workspace, check, "
        "reference, require, work, tolerance, option or define"},
       {"in", "1:14: expected the name of a buffer, found the end of the line"},
       {"in 4", "1:15: expected the name of a buffer, found '4'"},
       {"in x", "1:16: expected the extent of x, such as x[n], found the end of the line"},
       {"x[n", "1:15: expected ']' after the extent, found the end of the line"},
       {"x[]", "1:14: expected a number, a name, a function call or '(', found ']'"},
       {"x[1][2][3][4][5]", "1:12: x has 5 extents; expected at most 4"},
       {"x[4] = sevens",
        "1:19: unknown fill 'sevens'; allowed: uniform, normal, integers, iota, zeros, "
        "FILE.npy, or a number"},
       {"x[4] = zero",
        "1:19: unknown fill 'zero'; did you mean 'zeros'? allowed: uniform, normal, integers, "
        "iota, zeros, FILE.npy, or a number"},
       {"x[4] = 1 2", "1:21: expected the end of the statement, found '2'"},
       {"x[4] = uniform(0 1)", "1:29: expected ',' after the lowest number, found '1)'"},
       {"x[4] =", "1:18: expected a fill such as uniform or zeros, found the end of the line"},
       {"x[4] = integers",
        "1:27: expected '(' after integers, such as in integers(0, 100), found the end of the "
        "line"},
       {"x[4] = integers(4)", "1:29: expected ',' after the lowest number, found ')'"},
       {"x[4] = iota 2", "1:24: expected the end of the statement, found '2'"},
       {"x[4] y[4] = zeros",
        "1:22: a statement with a fill declares one buffer; declare each buffer in a line of its "
        "own"}});
}

TEST_CASE("long names and messages are limited", "[declaration]") {
  CHECK(declared(std::string(128, 'x') + " = 4").parameters.size() == 1);
  CHECK_THAT(error_of(std::string(129, 'x') + " = 4"),
             contains_text("has 129 characters; expected at most 128"));
  std::string kernels;
  for (int i = 0; i < 1000; ++i)
    kernels += "__global__ void kernel_" + std::to_string(i) + "() {}\n";
  try {
    read(kernels);
    FAIL("expected an error");
  } catch (const DeclarationError& error) {
    const std::string message = error.what();
    CHECK(message.size() < 2100);
    CHECK(message.ends_with("…"));
  }
}

TEST_CASE("the number of statements is limited", "[declaration]") {
  std::string statements;
  for (int i = 0; i < 1001; ++i)
    statements += "n" + std::to_string(i) + " = 4\n";
  CHECK(error_of(statements) == "k.cu:1001:12: a declaration has at most 1000 statements");
}

TEST_CASE("launches that are not understood", "[declaration]") {
  check_cases(
      {{"f<<<1 2>>>", "1:18: expected ',' after the grid, found '2>>>'"},
       {"f<<<1, 2",
        "1:20: expected '>>>' after the launch's grid, block and bytes of shared "
        "memory, found the end of the line"},
       {"f<<<1, 2, 0, s>>>",
        "1:23: a launch has no stream here; expected '>>>' after the bytes of shared memory"},
       {"f<<<(1, 2, 3, 4), 2>>>", "1:16: the grid has 4 dimensions; expected at most 3"},
       {"f<<<1, (1, 2, 3, 4)>>>", "1:19: the block has 4 dimensions; expected at most 3"},
       {"f<<<1, 2>>>(x", "1:25: expected ')' after the arguments, found the end of the line"},
       {"f<<<1, 2>>>(x y)", "1:26: expected ')' after the arguments, found 'y)'"},
       {"f<<<1, 2>>> x", "1:24: expected the end of the statement, found 'x'"},
       {"f<<<1, 2>>> vs", "1:26: expected the name of a variant, found the end of the line"},
       {"f<<<1, 2>>> vs f", "1:27: 'f' is not a variant declared above"},
       {"fast = f<<<1, 2>>>\nf<<<1, 2>>> vs fats",
        "2:27: 'fats' is not a variant declared above; did you mean 'fast'? allowed: fast"},
       {"v = <<<1, 2>>>", "1:16: expected the name of a kernel, found '<<<1, 2>>>'"},
       {"f<8>", "1:16: expected '<<<' after the template arguments, found the end of the line"},
       {"f<8<<<1, 2>>>",
        "1:15: expected '>' after the template arguments, found '<<<1, 2>>>'; a comparison among "
        "them needs parentheses"},
       {"f<n < 8><<<1, 2>>>",
        "1:20: expected '>' after the template arguments, found '<<<1, 2>>>'; a comparison among "
        "them needs parentheses"},
       {"v = f<8, ><<<1, 2>>>",
        "1:21: expected a number, a name, a function call or '(', found the end"},
       {"f<n + ><<<1, 2>>>",
        "1:17: expected a number, a name, a function call or '(', found the end"},
       {"f<\"a\"><<<1, 2>>>",
        "1:14: expected a number, a name, a function call or '(', found '\"'"}});
}

TEST_CASE("template arguments are expressions or C++", "[declaration]") {
  const Declaration d = declared(
      "N = 4\n"
      "tile = f<N, 2*N + 1, (N > 2), float, const __half2*, Mode::fast, pair<int, N>, true>"
      "<<<1, 32>>>(z)\n"
      "empty = f<><<<1, 32>>>\n"
      "f<<<1, 32>>>");
  const DeclaredLaunch tile = launch_of(d.variants.at(0));
  REQUIRE(tile.template_arguments);
  std::vector<std::string> numbers;
  std::vector<std::string> code;
  for (const DeclaredTemplateArgument& argument : *tile.template_arguments) {
    const PlacedExpression* const number = argument.number(d.parameters);
    (number ? numbers : code).push_back(argument.text);
  }
  CHECK(numbers == std::vector<std::string>{"N", "2*N + 1", "(N > 2)"});
  CHECK(code ==
        std::vector<std::string>{"float", "const __half2*", "Mode::fast", "pair<int, N>", "true"});
  CHECK(tile.template_arguments->at(1).expression->place.column == 24);
  CHECK(tile.template_text() ==
        "N, 2*N + 1, (N > 2), float, const __half2*, Mode::fast, pair<int, N>, true");
  CHECK(launch_of(d.variants[1]).template_text() == "");
  CHECK(!launch_of(d.variants[2]).template_text());
  CHECK(d.launches().size() == 3);
}

TEST_CASE("a macro is a parameter", "[declaration]") {
  const Declaration d = declared("define TILE = 2^4..2^5\ndefine = 3\ndefine F = 0.5");
  REQUIRE(d.parameters.size() == 3);
  CHECK(d.parameters[0].name == "TILE");
  CHECK(d.parameters[0].values == integers({16, 32}));
  CHECK(d.parameters[0].is_macro);
  CHECK(d.parameters[0].place.column == 19);
  CHECK(d.parameters[1].name == "define");
  CHECK(!d.parameters[1].is_macro);
  CHECK(d.parameters[2].is_macro);
  check_cases(
      {{"define TILE", "1:23: expected '=' after the macro's name, found the end of the line"},
       {"define 4 = 5", "1:19: expected the name of a macro, found '4 = 5'"},
       {"n = 1\ndefine n = 5", "2:19: parameter 'n' is declared twice, first in line 1"},
       {"option -DTILE=8\ndefine TILE = 16",
        "2:19: the macro TILE is defined twice, also by 'option -DTILE=8'; remove one of "
        "them"}});
}

TEST_CASE("a launch has several steps", "[declaration]") {
  const Declaration d = declared(
      "memset(z, 0); f<<<1, 32>>>(z);\n"
      "both = memset (w, 2*n) ; f<<<1, 32>>>(z, w); g<<<2, 32>>> vs f\n"
      "memset<<<1, 32>>>");
  REQUIRE(d.variants.size() == 3);
  CHECK(d.variants[0].id == "f");
  REQUIRE(d.variants[0].steps.size() == 2);
  const auto& zero = std::get<DeclaredMemset>(d.variants[0].steps[0]);
  CHECK(zero.buffer == "z");
  CHECK(zero.place.column == 12);
  CHECK(zero.value.expression.text() == "0");
  CHECK(launch_of(d.variants[0], 1).arguments->size() == 1);
  CHECK(launch_of(d.variants[0], 1).place.column == 26);
  CHECK(d.variants[1].id == "both");
  CHECK(d.variants[1].compare_to == "f");
  REQUIRE(d.variants[1].steps.size() == 3);
  CHECK(std::get<DeclaredMemset>(d.variants[1].steps[0]).value.expression.text() == "2*n");
  CHECK(launch_of(d.variants[1], 2).kernel == "g");
  CHECK(d.variants[2].id == "memset");
  CHECK(launch_of(d.variants[2]).kernel == "memset");
  check_cases(
      {{"f<<<1, 2>>>; g<<<1, 2>>>",
        "1:12: the variant launches several kernels, f and g; give it a name, such as in 'NAME = "
        "f<<<GRID, BLOCK>>>; …'"},
       {"v = memset(z, 0)",
        "1:12: the variant launches no kernel; expected one after memset, such as in 'memset(y, "
        "0); KERNEL<<<GRID, BLOCK>>>'"},
       {"memset(z, 0);",
        "1:12: the variant launches no kernel; expected one after memset, such as in 'memset(y, "
        "0); KERNEL<<<GRID, BLOCK>>>'"},
       {"memset(z)", "1:20: expected ',' after the buffer, found ')'"},
       {"memset(4, 0)", "1:19: expected the name of a buffer, found '4, 0)'"},
       {"memset(z, 0, n)", "1:23: expected ')' after the value of each byte, found ', n)'"},
       {"v = f<<<1, 2>>>; 4", "1:29: expected the name of a kernel, found '4'"},
       {"v = f<<<1, 2>>>; g(x)", "1:30: expected '<<<' after the kernel's name, found '(x)'"}});
}

TEST_CASE("a comment may follow a statement", "[declaration]") {
  const Declaration d = declared(
      "n = 2^24   // elements // of x\n"
      "// only a comment\n"
      "x[n]\t//\n"
      "f<<<1, 32>>>  // launch: <<<2, 64>>>\n"
      "check x[i] = 1 // one\n"
      "option -Ia//b // folder");
  CHECK(d.parameters.at(0).values == integers({1 << 24}));
  CHECK(d.buffers.size() == 1);
  CHECK(launch_of(d.variants.at(0)).block[0].expression.text() == "32");
  CHECK(d.checks.at(0).check.text() == "x[i] = 1");
  CHECK(d.options == std::vector<std::string>{"-Ia//b"});
  check_cases(
      {{"n = 4 / / 2", "1:20: expected a number, a name, a function call or '(', found '/'"},
       {"n = 4// elements", "1:18: expected a number, a name, a function call or '(', found '/'"}});
}

TEST_CASE("values that are not understood", "[declaration]") {
  check_cases(
      {{"n =", "1:15: expected a number, a name, a function call or '(', found the end"},
       {"n = 4 5", "1:18: expected the end of the statement, found '5'"},
       {"n = 4,", "1:18: expected a number, a name, a function call or '(', found the end"},
       {"n = 4\nm = n/2",
        "2:16: the value of m is 'n/2'; expected a number, because the values of parameters cannot "
        "use other names: write 'n/2' where m is used"},
       {"n = 1/2",
        "1:17: 1 / 2 leaves the remainder 1; use ceil_div(1, 2), or floor_div for the whole part; "
        "numbers without a decimal point are integers: for 0.5, write 1.0/2"},
       {"n = 8..4", "1:16: the range 8..4 has no values; expected the lower end first"},
       {"n = 0.5..4", "1:16: 0.5 is not an integer; expected integers"},
       {"n = 1..", "1:19: expected a number, a name, a function call or '(', found the end"},
       {"n = 1..2000",
        "1:16: n has more than 1000 values; write a range of powers of two as 2^4..2^20"},
       {"n = 2^60..2^62", "1:16: n is 1152921504606846976; expected an integer from -2^52 to 2^52"},
       {"n = 2^53", "1:16: n is 9007199254740992; expected an integer from -2^52 to 2^52"},
       {"n = 9223372036854775807..9223372036854775807",
        "1:16: n is 9223372036854775807; expected an integer from -2^52 to 2^52"},
       {"a = 1e301", "1:16: a is 1e+301; expected a number from -1e+300 to 1e+300"},
       {"a = 1e999", "1:16: the number 1e999 is out of the range of fp64"},
       {"a = exp(1000)", "1:16: exp(1000) is inf; expected a finite number"},
       {"n = 4, 3..5", "1:19: n has the value 4 twice"},
       {"n = 1, 1.0", "1:19: n has the value 1 twice"}});
}

TEST_CASE("statements that are given twice", "[declaration]") {
  check_cases(
      {{"n = 4\n n = 8", "2:13: parameter 'n' is declared twice, first in line 1"},
       {"x[4] x[8]", "1:17: buffer 'x' is declared twice, first in line 1"},
       {"x[4]\nin x[4]", "2:15: buffer 'x' is declared twice, first in line 1"},
       {"n = 4\nn[4]",
        "2:12: buffer 'n' has the name of the parameter in line 1; rename one of "
        "them"},
       {"n[4]\nn = 4",
        "2:12: parameter 'n' has the name of the buffer in line 1; rename one of "
        "them"},
       {"f<<<1, 2>>>\nf<<<2, 2>>>", "2:12: variant 'f' is declared twice, first in line 1"},
       {"check y[i] = 1\ncheck y[j] = 2",
        "2:18: the check of 'y' is declared twice, first in line 1"},
       {"tolerance 0.1\ntolerance 0.1", "2:12: the tolerance is declared twice"},
       {"work fp32 = 1\nwork fp32 = 2", "2:12: work 'fp32' is declared twice, first in line 1"},
       {"work f fp32 = 1\nwork f fp32 = 2",
        "2:12: work 'f fp32' is declared twice, first in line 1"}});
}

TEST_CASE("checks, requirements, tolerances and options that are not understood", "[declaration]") {
  check_cases(
      {{"work", "1:16: expected a quantity of work, such as fp32, found the end of the line"},
       {"work 4", "1:17: expected a quantity of work, such as fp32, found '4'"},
       {"work flops = 4",
        "1:17: unknown quantity of work 'flops'; allowed: bytes_read, bytes_written, fp64, fp32, "
        "fp16, int32, tensor_fp64, tensor_tf32, tensor_fp16_fp32, tensor_fp16_fp16, "
        "tensor_bf16_fp32, tensor_fp8_fp32, tensor_int8_int32"},
       {"work naive fp23 = 4",
        "1:23: unknown quantity of work 'fp23'; did you mean 'fp32'? allowed: bytes_read, "
        "bytes_written, fp64, fp32, fp16, int32, tensor_fp64, tensor_tf32, tensor_fp16_fp32, "
        "tensor_fp16_fp16, tensor_bf16_fp32, tensor_fp8_fp32, tensor_int8_int32"},
       {"work fp32", "1:21: expected '=' after the quantity, found the end of the line"},
       {"work fp32 =", "1:23: expected a number, a name, a function call or '(', found the end"},
       {"check",
        "1:17: expected the output of a check such as C[i][j] = A[i][j] + 1, "
        "found the end"},
       {"check y[i] = x[i] +",
        "1:31: expected a number, a name, a function call or '(', found the end"},
       {"check y[i] = foo(1)",
        "1:25: unknown function 'foo'; allowed: abs, before, ceil, ceil_div, cos, erf, "
        "exp, floor, floor_div, fp32, log, log2, max, min, pow, rint, round, rsqrt, sin, sqrt, sum, "
        "tanh, trunc"},
       {"require", "1:19: expected a number, a name, a function call or '(', found the end"},
       {"require n == 4 n", "1:27: found 'n' after 'n == 4'; expected an operator or the end"},
       {"tolerance 2",
        "1:22: the tolerance is 2; expected a number from 0 to below 1, relative to "
        "the magnitude of the expected value"},
       {"tolerance -1",
        "1:22: the tolerance is -1; expected a number from 0 to below 1, relative "
        "to the magnitude of the expected value"},
       {"tolerance x", "1:22: unknown name 'x'; none is allowed"},
       {"option", "1:18: expected an option of the compiler, such as -DTILE=32"},
       {"option -O0",
        "1:19: compile option '-O0': not allowed for a kernel file; allowed: -DNAME[=VALUE], "
        "-IFOLDER, -std=c++NN, -maxrregcount=N, --use_fast_math"}});
}

}  // namespace
}  // namespace gpuexp::own
