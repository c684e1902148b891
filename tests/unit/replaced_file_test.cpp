// Files that are replaced as a whole.
#include <filesystem>
#include <fstream>

#include "base/output.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp {
namespace {

namespace fs = std::filesystem;

TEST_CASE("a file that is replaced keeps its permissions", "[output]") {
  const test::ScratchFolder folder;
  const fs::path file = folder.path() / "kernels.cu";
  std::ofstream(file) << "old";
  for (const auto permissions : {fs::perms::owner_read | fs::perms::owner_write, fs::perms(0664)}) {
    fs::permissions(file, permissions);
    write_file_atomically(file, std::string_view("new"));
    CHECK(fs::status(file).permissions() == permissions);
    CHECK(read_file(file) == "new");
  }
}

}  // namespace
}  // namespace gpuexp
