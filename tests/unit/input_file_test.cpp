// Files that users name: which are read, and how they are identified.
#include "base/input_file.hpp"

#include <fstream>
#include <iterator>

#include <sys/stat.h>

#include "base/input_error.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

// "first
// second
// " compressed by Python's gzip.compress.
constexpr unsigned char kCompressed[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                         0x03, 0x4b, 0xcb, 0x2c, 0x2a, 0x2e, 0xe1, 0x2a, 0x4e,
                                         0x4d, 0xce, 0xcf, 0x4b, 0xe1, 0x02, 0x00, 0x20, 0x51,
                                         0x45, 0x08, 0x0d, 0x00, 0x00, 0x00};

std::string text_of(const std::string& file) {
  InputFile in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string error_of(const std::string& file) {
  try {
    text_of(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void write(const std::string& file, std::size_t bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(kCompressed), static_cast<std::streamsize>(bytes));
}

TEST_CASE("compressed files are recognized by content, not by name") {
  const ScratchFolder folder;
  const std::string plain = folder.path() / "plain.gz";
  std::ofstream(plain) << "first\nsecond\n";
  CHECK(text_of(plain) == "first\nsecond\n");
  const std::string compressed = folder.path() / "compressed";
  write(compressed, sizeof kCompressed);
  CHECK(text_of(compressed) == "first\nsecond\n");
}

TEST_CASE("consecutive gzip members form one text, and trailing bytes are ignored") {
  const ScratchFolder folder;
  const std::string file = folder.path() / "members.gz";
  const auto members = [](int count) {
    std::string bytes;
    for (int i = 0; i < count; ++i)
      bytes.append(reinterpret_cast<const char*>(kCompressed), sizeof kCompressed);
    return bytes;
  };
  std::ofstream(file, std::ios::binary) << members(2) << std::string(9, '\0');
  CHECK(text_of(file) == "first\nsecond\nfirst\nsecond\n");
  // Larger than the reader's buffer.
  constexpr int kMany = 9000;
  std::ofstream(file, std::ios::binary) << members(kMany);
  CHECK(text_of(file).size() == kMany * std::string("first\nsecond\n").size());
}

TEST_CASE("damaged gzip data is reported") {
  const ScratchFolder folder;
  const std::string cut = folder.path() / "cut.gz";
  write(cut, sizeof kCompressed - 6);
  CHECK(error_of(cut) == cut + ": damaged gzip data: the file ends within it");
  const std::string changed = folder.path() / "changed.gz";
  std::string bytes(reinterpret_cast<const char*>(kCompressed), sizeof kCompressed);
  bytes[bytes.size() - 8] ^= 1;  // in the checksum
  std::ofstream(changed, std::ios::binary) << bytes;
  CHECK(error_of(changed) == changed + ": damaged gzip data: incorrect data check");
}

TEST_CASE("a file's identity is that of its stored bytes, even if read in part") {
  const ScratchFolder folder;
  const std::string file = folder.path() / "a.gz";
  write(file, sizeof kCompressed);
  InputFile whole(file);
  std::string text(std::istreambuf_iterator<char>(whole), {});
  CHECK(whole.identity() == identity_of(file));
  InputFile unread(file);
  CHECK(unread.identity() == identity_of(file));
  const std::string plain = folder.path() / "a";
  std::ofstream(plain) << std::string(300000, 'x');
  InputFile begun(plain);
  CHECK(begun.get() == 'x');
  CHECK(begun.identity() == identity_of(plain));
}

TEST_CASE("files that are not regular are rejected at once") {
  const ScratchFolder folder;
  const std::string fifo = folder.path() / "fifo.mtx";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  const std::string expected = "; expected a regular file, which can be read several times";
  CHECK(error_of(fifo) == fifo + ": is a pipe" + expected);
  CHECK(error_of(folder.path()) == folder.path().string() + ": is a folder" + expected);
  CHECK(error_of("/dev/null") == "/dev/null: is a device" + expected);
  CHECK(error_of(folder.path() / "absent") ==
        (folder.path() / "absent: cannot be read: No such file or directory").string());
}

TEST_CASE("a file's identity is its absolute path, size and hash") {
  const ScratchFolder folder;
  const std::string file = folder.path() / "." / "a";
  std::ofstream(file) << "abc";
  CHECK(identity_of(file) ==
        FileIdentity{file, folder.path() / "a", 3,
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"});
  CHECK_THROWS_AS(identity_of(folder.path()), InputError);
}

}  // namespace
}  // namespace gpuexp::test
