#include "base/input_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <zlib.h>

#include "base/input_error.hpp"
#include "base/sha256.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

void check_readable(const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status))
    throw InputError(fmt::format("{}: cannot be read: {}", file,
                                 error ? error.message() : std::strerror(ENOENT)));
  if (!fs::is_regular_file(status))
    throw InputError(file + ": is no regular file; expected one that can be read several times");
}

[[noreturn]] void fail_to_read(const std::string& file) {
  throw InputError(fmt::format("{}: cannot be read: {}", file, std::strerror(errno)));
}

}  // namespace

class InputFile::Buffer : public std::streambuf {
 public:
  explicit Buffer(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rbe")) {
    if (!file_) fail_to_read(path_);
  }
  ~Buffer() override { gzclose(file_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

 protected:
  // What is not compressed is read as it is.
  int_type underflow() override {
    const int count = gzread(file_, part_.data(), static_cast<unsigned>(part_.size()));
    int error = Z_OK;
    const char* const text = gzerror(file_, &error);
    if (error == Z_ERRNO) fail_to_read(path_);
    if (count < 0 || (count == 0 && error != Z_OK))
      throw InputError(fmt::format("{}: damaged gzip data: {}", path_, text));
    setg(part_.data(), part_.data(), part_.data() + count);
    return count == 0 ? traits_type::eof() : traits_type::to_int_type(part_.front());
  }

 private:
  std::string path_;
  gzFile file_;
  std::array<char, 1 << 16> part_;
};

InputFile::InputFile(const std::string& path) : std::istream(nullptr) {
  check_readable(path);
  buffer_ = std::make_unique<Buffer>(path);
  rdbuf(buffer_.get());
}
InputFile::~InputFile() = default;

FileIdentity identity_of(const std::string& file) {
  check_readable(file);
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  if (!in) fail_to_read(file);
  FileIdentity identity{file, fs::absolute(file).lexically_normal().string(), 0, ""};
  Sha256 hash;
  std::array<char, 1 << 16> part;
  while (in) {
    in.read(part.data(), part.size());
    const auto count = static_cast<std::size_t>(in.gcount());
    hash.add({part.data(), count});
    identity.bytes += in.gcount();
  }
  if (in.bad()) fail_to_read(file);
  identity.sha256 = hash.digest();
  return identity;
}

}  // namespace gpuexp
