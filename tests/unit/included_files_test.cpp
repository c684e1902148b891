#include "compile/included_files.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "compile/precompiled_prefix.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

/// Files of a folder, each with its text.
struct SourceFolder {
  fs::path write(const std::string& name, const std::string& text) const {
    const fs::path file = fs::canonical(folder.path()) / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }
  ScratchFolder folder;
};

TEST_CASE("included files are found next to the including file and in include folders") {
  const SourceFolder source;
  const fs::path main = source.write("main.cu",
                                     "#include <cub/cub.cuh>\n# include \"part/a.cuh\"\n"
                                     "#include <b.cuh>\n#include \"absent.cuh\"\n#include MACRO\n");
  const fs::path a = source.write("part/a.cuh", "#include \"c.cuh\"\n#include \"../main.cu\"\n");
  const fs::path b = source.write("include/b.cuh", "");
  const fs::path c = source.write("part/c.cuh", "#include \"a.cuh\"\n");
  CHECK(included_files(main, {main.parent_path() / "include"}) == std::vector{main, a, c, b});
  CHECK(included_files(main, {}) == std::vector{main, a, c});
  const fs::path absent = main.parent_path() / "none.cu";
  CHECK(included_files(absent, {}) == std::vector{absent});
}

TEST_CASE("the precompiled part of a file has the headers of large libraries") {
  struct Text {
    const char* text;
    const char* prefix;
  };
  constexpr Text kTexts[]{
      {"__global__ void k() {}\n", ""},
      {"#include <cstdio>\n#include \"a.cuh\"\n#include <cuda_fp16.h>\n", ""},
      {"// text\n#pragma once\n#include <cstdio>\n#include <cub/cub.cuh>\n",
       "#include <cub/cub.cuh>\n#pragma nv_hdrstop\n"},
      {"#include <cooperative_groups.h>\n#include \"cuda/barrier\"\n#include <thrust/pair.h>\n"
       "#include <cooperative_groups.h>\n",
       "#include <cooperative_groups.h>\n#include <cuda/barrier>\n#include <thrust/pair.h>\n"
       "#pragma nv_hdrstop\n"},
      {"#ifndef GUARD\n#define GUARD\n#include <cub/cub.cuh>\n#endif\n#include <cuda/atomic>\n",
       "#include <cub/cub.cuh>\n#pragma nv_hdrstop\n"},
      {"#include <cuda/atomic>\n#define CUB_STDERR\n#include <cub/cub.cuh>\n",
       "#include <cuda/atomic>\n#pragma nv_hdrstop\n"},
      {"#if A\n#include <cub/cub.cuh>\n#endif\n", ""},
  };
  for (const Text& text : kTexts) {
    INFO(text.text);
    const SourceFolder source;
    CHECK(precompiled_prefix({source.write("main.cu", text.text)}) == text.prefix);
  }
  const SourceFolder source;
  CHECK(precompiled_prefix({source.write("main.cu", "#include \"a.cuh\"\n"),
                            source.write("a.cuh", "#include <cub/cub.cuh>\n")}) ==
        "#include <cub/cub.cuh>\n#pragma nv_hdrstop\n");
}

}  // namespace
}  // namespace gpuexp::test
