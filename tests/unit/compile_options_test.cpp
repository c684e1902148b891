// Options that a kernel file may pass to nvcc.
#include "compile/compile_options.hpp"

#include "base/config_error.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

std::string refusal(const std::vector<std::string>& options) {
  try {
    parsed_options(options);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("a kernel file's compile options are parsed", "[compile]") {
  const CompileOptions options =
      parsed_options({"-DTILE=32", "-DFAST", "-DF=f(a, b)<c>", "-Iinc", "-I/opt/my headers",
                      "-std=c++20", "-maxrregcount=64", "--use_fast_math"});
  CHECK(options.defines == std::vector<std::string>{"TILE=32", "FAST", "F=f(a, b)<c>"});
  CHECK(options.include_folders == std::vector<std::string>{"inc", "/opt/my headers"});
  CHECK(options.standard == "c++20");
  CHECK(options.max_registers == 64);
  CHECK(options.fast_math);
  CHECK(parsed_options(option_words(options)) == options);
  CHECK(parsed_options({}) == CompileOptions{});
  CHECK(parsed_options({"-maxrregcount", "128"}).max_registers == 128);
  CHECK(parsed_options({"-use_fast_math"}).fast_math);
}

TEST_CASE("other compile options are refused", "[compile]") {
  CHECK(refusal({"-O0"}) ==
        "compile option '-O0': not allowed for a kernel file; allowed: -DNAME[=VALUE], -IFOLDER, "
        "-std=c++NN, -maxrregcount=N, --use_fast_math");
  for (const char* option :
       {"-ccbin=/tmp/x", "--compiler-bindir", "-Xcompiler=-fplugin=x.so", "-Xptxas", "-o", "-odir",
        "--options-file", "-optf", "@options", "-include", "--run", "-MF", "kernel.cu", "",
        "--dryrun", "-maxrregcounts=3", "-isystem", "-keep", "-L."})
    CHECK_THAT(refusal({option}),
               contains_text(std::string("'") + option + "': not allowed for a kernel file"));
}

TEST_CASE("values that a shell or nvcc would interpret are refused", "[compile]") {
  CHECK(refusal({"-DX=@file"}) ==
        "compile option '-DX=@file': a value must not start with @, which names a file of further "
        "options");
  CHECK(refusal({"-I@file"}).find("must not start with @") != std::string::npos);
  CHECK(refusal({"-DX=1\n2"}) == "compile option '-DX=1 2': a value must not contain a line break");
  CHECK_THAT(refusal({std::string("-DX=\x01")}), contains_text("a control character"));
  CHECK(refusal({"-DX=$(touch file)"}) ==
        "compile option '-DX=$(touch file)': a value must not contain $, which a shell interprets");
  for (const char* option : {"-DX=`a`", "-DX=\"a\"", "-DX=a\\", "-I$HOME", "-I`a`"})
    CHECK_THAT(refusal({option}), contains_text(", which a shell interprets"));
}

TEST_CASE("incomplete compile options are refused", "[compile]") {
  const std::string no_name = "expected the name of a macro after -D, such as -DTILE=32";
  for (const char* option : {"-D", "-D=3", "-D3X", "-DF(x)=x", "-DX Y", "-DX$(a)"})
    CHECK(refusal({option}) == "compile option '" + std::string(option) + "': " + no_name);
  CHECK(refusal({"-I"}) == "compile option '-I': expected a folder after -I, such as -Iinclude");
  CHECK(refusal({"-std=c++99"}) ==
        "compile option '-std=c++99': unknown standard; allowed: c++03, c++11, c++14, c++17, "
        "c++20, c++23");
  CHECK(refusal({"-maxrregcount"}) ==
        "compile option '-maxrregcount': expected a number of registers after it");
  for (const char* value : {"", "0", "15", "256", "-1", "64x", "99999999999"})
    CHECK(refusal({std::string("-maxrregcount=") + value}) ==
          "compile option '-maxrregcount=" + std::string(value) +
              "': expected a number of registers per thread, 16 to 255; found '" + value + "'");
}

}  // namespace
}  // namespace gpuexp::test
