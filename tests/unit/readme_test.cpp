// The README's generated parts are those that the declarations give.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "record/columns.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(std::string(GPUEXP_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_CASE("the README says what each column means") {
  std::string table = "| column | unit | meaning |\n|---|---|---|\n";
  for (const Column& c : core_columns()) {
    table += fmt::format("| `{}` | {} | {} |\n", c.name, c.unit, c.doc);
  }
  const std::string readme = read_file("README.md");
  if (std::getenv("GPUEXP_UPDATE_GOLDEN")) {
    const std::size_t begin = readme.find("| column | unit | meaning |");
    const std::size_t end = readme.find("\n\n", begin) + 1;
    std::ofstream(std::string(GPUEXP_SOURCE_DIR) + "/README.md")
        << readme.substr(0, begin) << table << readme.substr(end);
  }
  INFO("GPUEXP_UPDATE_GOLDEN=1 writes this into README.md:\n" << table);
  CHECK(read_file("README.md").find(table) != std::string::npos);
}

TEST_CASE("the variant that the README shows is the one in the source") {
  const std::string readme = read_file("README.md");
  const std::size_t start = readme.find("```cpp\n");
  const std::size_t end = readme.find("```", start + 7);
  REQUIRE(end != std::string::npos);
  const std::string shown = readme.substr(start + 7, end - start - 7);
  CHECK(read_file("kernels/matmul.cu").find(shown) != std::string::npos);
}

}  // namespace
}  // namespace gpuexp::test
