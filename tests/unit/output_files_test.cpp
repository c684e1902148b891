// Files that are replaced as a whole, and folders that must be new.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "base/output.hpp"
#include "base/parallel.hpp"
#include "base/report_error.hpp"
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

TEST_CASE("only one of several callers creates a new folder", "[output]") {
  const test::ScratchFolder folder;
  const std::string path = (folder.path() / "results/run").string();
  std::atomic<int> creators = 0;
  for_parts(4, 64, 1, [&](std::int64_t, std::int64_t) {
    if (create_new_folder(path)) ++creators;
  });
  CHECK(creators == 1);
  CHECK(fs::is_directory(path));
}

TEST_CASE("a new folder that cannot be created is an error", "[output]") {
  const test::ScratchFolder folder;
  const std::string too_long = (folder.path() / std::string(300, 'n')).string();
  CHECK_THROWS_AS(create_new_folder(too_long), ReportError);
  std::ofstream(folder.path() / "file") << "text";
  CHECK_THROWS_AS(create_new_folder((folder.path() / "file/run").string()), ReportError);
}

}  // namespace
}  // namespace gpuexp
