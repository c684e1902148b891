// Source files for nvcc, and its messages.
#include "compile/nvcc_text.hpp"

#include <fstream>

#include <sys/stat.h>

#include "base/input_error.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

std::string refusal_of(const fs::path& file) {
  try {
    read_source(file);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("a source file that cannot be compiled is refused with the reason", "[compile]") {
  const ScratchFolder folder;
  const fs::path file = folder.path() / "kernel.cu";
  const std::string expected = "; expected a CUDA source file, such as kernel.cu";
  CHECK(refusal_of(file) == file.string() + ": there is no such file" + expected);
  CHECK(refusal_of(folder.path()) == folder.path().string() + ": is a folder" + expected);
  const auto write = [&](const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  };
  write("");
  CHECK(refusal_of(file) == file.string() + ": is empty" + expected);
  write(std::string((4 << 20) + 1, ' '));
  CHECK(refusal_of(file) ==
        file.string() +
            ": has 4194305 bytes; expected a CUDA source file of at most 4194304 bytes");
  write("// a\n// \xff\n");
  CHECK(refusal_of(file) ==
        file.string() + ": line 2 is not UTF-8 text; expected a CUDA source file");
  write(std::string("// a\0b", 6));
  CHECK(refusal_of(file) ==
        file.string() + ": line 1 is not UTF-8 text; expected a CUDA source file");
  const fs::path pipe = folder.path() / "pipe.cu";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refusal_of(pipe) == pipe.string() + ": is not a regular file" + expected);
  write("// µ\n");
  CHECK(read_source(file) == "// µ\n");
}

TEST_CASE("errors are chosen from nvcc's messages", "[compile]") {
  const std::string messages =
      "a.cu(2): warning #177-D: variable \"unused\" was declared but never referenced\n"
      "  { int unused; }\n"
      "        ^\n"
      "\n"
      "Remark: The warnings can be suppressed with \"-diag-suppress <warning-number>\"\n"
      "\n"
      "a.cu(3): error: identifier \"foo\" is undefined\n"
      "  foo();\n"
      "  ^\n"
      "\n"
      "1 error detected in the compilation of \"a.cu\".\n";
  CHECK(compile_errors(messages) ==
        "a.cu(3): error: identifier \"foo\" is undefined\n  foo();\n  ^\n\n"
        "1 error detected in the compilation of \"a.cu\".");
  CHECK(compile_errors("a.cu:1:10: fatal error: b.h: No such file or directory\n"
                       "compilation terminated.\n") ==
        "a.cu:1:10: fatal error: b.h: No such file or directory\ncompilation terminated.");
  CHECK(compile_errors("nvcc warning : x\nptxas a.ptx, line 23; error   : Unknown\n") ==
        "ptxas a.ptx, line 23; error   : Unknown");
  CHECK(compile_errors("killed\n") == "killed");
  std::string many;
  for (int line = 1; line <= 100; ++line)
    many += "a.cu(" + std::to_string(line) + "): error: x\n";
  const std::string chosen = compile_errors(many);
  CHECK(std::count(chosen.begin(), chosen.end(), '\n') == 39);
  CHECK_THAT(chosen, contains_text("a.cu(39): error: x\n(61 more lines)"));
}

TEST_CASE("a makefile's rule names the files that the compiler read", "[compile]") {
  CHECK(
      dependencies_of_rule("a.cubin : /a/k.cu \\\n    /usr/include/x.h \\\n    /b\\ c/d\\#e.h\n") ==
      std::vector<std::string>{"/a/k.cu", "/usr/include/x.h", "/b c/d#e.h"});
  CHECK(dependencies_of_rule("").empty());
}

TEST_CASE("versions are compared by number", "[compile]") {
  CHECK(is_older_version("12.8.90", "13.0.88"));
  CHECK(is_older_version("13.0.88", "13.0.100"));
  CHECK(!is_older_version("13.0.88", "13.0.88"));
  CHECK(!is_older_version("13.2.51", "13.0.88"));
  CHECK(!is_older_version("unknown", "13.0.88"));
}

TEST_CASE("the first of several errors at a generated line is shown", "[compile]") {
  const std::string messages =
      "a.cu(3): error: identifier \"BMM\" is undefined\n"
      "  template <generated>\n"
      "            ^\n"
      "\n"
      "a.cu(3): error: invalid explicit instantiation declaration\n"
      "  template <generated>\n"
      "a.cu(33): error: identifier \"foo\" is undefined\n"
      "  foo();\n";
  CHECK(compile_errors(messages, "a.cu(3)") ==
        "a.cu(3): error: identifier \"BMM\" is undefined\n"
        "a.cu(33): error: identifier \"foo\" is undefined\n"
        "  foo();");
}

TEST_CASE("an error names a kernel as the source does", "[compile]") {
  CHECK(compile_errors("ptxas error   : Entry function '_Z1kPf' uses too much shared data\n") ==
        "ptxas error   : Entry function 'k(float*)' uses too much shared data");
  CHECK(compile_errors("ptxas error   : Entry function '_Z1k") ==
        "ptxas error   : Entry function '_Z1k");
}

TEST_CASE("errors of the code differ from those of the machine", "[compile]") {
  CHECK(is_error_of_code("a.cu(3): error: static assertion failed"));
  CHECK(is_error_of_code("a.cu(3): error #20: x"));
  CHECK(is_error_of_code("ptxas error   : Entry function 'k()' uses too much shared data"));
  CHECK(!is_error_of_code("a.cu:1:10: fatal error: b.h: No such file or directory"));
  CHECK(!is_error_of_code("a.cu(3): catastrophic error: out of memory"));
  CHECK(!is_error_of_code("ptxas fatal   : Memory allocation failure"));
  CHECK(!is_error_of_code("killed"));
}

}  // namespace
}  // namespace gpuexp::test
