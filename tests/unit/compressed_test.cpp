#include "base/compressed.hpp"

#include <cstdint>
#include <fstream>

#include "base/json_reader.hpp"
#include "base/output.hpp"
#include "base/random_bits.hpp"
#include "base/report_error.hpp"
#include "results/json_read.hpp"
#include "results/json_write.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/small_report.hpp"

namespace gpuexp::test {
namespace {

std::string error_of(std::string_view bytes, std::size_t max_bytes = kMaxTextBytes) {
  try {
    decompressed(bytes, "r.json.zst", max_bytes);
  } catch (const ReportError& e) {
    return e.what();
  }
  return "";
}

// Text that hardly compresses, so that every byte matters.
std::string noise(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<char>(random_bits(1, i));
  return text;
}

TEST_CASE("Compressed text is read back", "[compressed]") {
  // Less than one, several and no parts of the decompressor's output.
  for (const std::size_t size : {0, 1, 1000, 131072, 1000000}) {
    CAPTURE(size);
    for (const std::string& text : {std::string(size, 'x'), noise(size)}) {
      const std::string bytes = compressed(text);
      CHECK(is_compressed(bytes));
      CHECK(decompressed(bytes, "x") == text);
      // Consecutive frames, as in `cat a.zst b.zst`.
      CHECK(decompressed(bytes + compressed("b"), "x") == text + "b");
    }
  }
  CHECK_FALSE(is_compressed(""));
  CHECK_FALSE(is_compressed("{}"));
}

TEST_CASE("Damaged and truncated bytes are rejected with the file name", "[compressed][errors]") {
  const std::string bytes = compressed(noise(1000));
  for (std::size_t size = 4; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK(error_of(bytes.substr(0, size)) == "r.json.zst: truncated Zstandard data");
  }
  // Byte 4 describes the frame; its bit 4 is unused.
  for (std::size_t i = 5; i < bytes.size(); ++i) {
    CAPTURE(i);
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    CHECK_THAT(error_of(damaged), contains_text("r.json.zst: "));
  }
  CHECK_THAT(error_of(bytes + "more"), contains_text("r.json.zst: damaged Zstandard data: "));
}

TEST_CASE("The decompressed size of a small file is bounded", "[compressed][errors]") {
  const std::string bytes = compressed(std::string(std::size_t{8} << 20, 'x'));
  CHECK(bytes.size() < 2000);
  CHECK(error_of(bytes, std::size_t{8} << 20).empty());
  CHECK(error_of(bytes, std::size_t{1} << 20) == "r.json.zst: decompresses to more than 1 MiB");
}

TEST_CASE("Compression follows the file's name, decompression its bytes", "[compressed]") {
  const ScratchFolder folder;
  const Report report = small_report();
  const std::string plain = folder.path() / "r.json";
  const std::string packed = folder.path() / "r.json.zst";
  const std::string renamed = folder.path() / "renamed.json";
  write_json(report, plain);
  write_json(report, packed);
  CHECK(read_file(plain) == to_json(report));
  CHECK(is_compressed(read_file(packed)));
  std::filesystem::copy_file(packed, renamed);
  for (const std::string& path : {plain, packed, renamed}) {
    CHECK(read_text(path) == to_json(report));
    CHECK(read_report(path) == read_report(plain));
  }
  std::ofstream(packed, std::ios::binary) << compressed("{}").substr(0, 8);
  CHECK_THROWS_WITH(read_report(packed), contains_text("r.json.zst: truncated Zstandard data"));
  CHECK_THROWS_WITH(read_text(folder.path() / "absent.zst"), contains_text("absent.zst"));
}

TEST_CASE("Files of ceilings and of noise may be compressed", "[compressed][json]") {
  const ScratchFolder folder;
  const std::string path = folder.path() / "ceilings.json.zst";
  write_file_atomically(path, std::string_view("{\"a\": 1}"));
  CHECK(read_text_file(path) == "{\"a\": 1}");
  write_file_atomically(path, std::string(kMaxJsonBytes + 1, ' '));
  CHECK_THROWS_WITH(read_text_file(path), contains_text("decompresses to more than 16 MiB"));
}

}  // namespace
}  // namespace gpuexp::test
