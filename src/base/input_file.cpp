#include "base/input_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include "base/input_error.hpp"
#include "base/sha256.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

using FilePart = std::array<char, 1 << 16>;

const char* kind_of_file(fs::file_type type) {
  switch (type) {
    case fs::file_type::directory: return "a folder";
    case fs::file_type::fifo: return "a pipe";
    case fs::file_type::socket: return "a socket";
    default: return "a device";
  }
}

[[noreturn]] void fail_to_read(const std::string& file, const std::string& why) {
  throw InputError(fmt::format("{}: cannot be read: {}", file, why));
}

void check_readable(const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) fail_to_read(file, error ? error.message() : std::strerror(ENOENT));
  if (fs::is_regular_file(status)) return;
  throw InputError(
      fmt::format("{}: is {}; expected a regular file, which can be read several times", file,
                  kind_of_file(status.type())));
}

}  // namespace

class HashedFile {
 public:
  explicit HashedFile(const std::string& path) : path_(path) {
    check_readable(path);
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_to_read(path_, std::strerror(errno));
  }
  ~HashedFile() { ::close(descriptor_); }
  HashedFile(const HashedFile&) = delete;
  HashedFile& operator=(const HashedFile&) = delete;

  /// Fills the part, except at the end of the file. Returns the number of bytes read, 0 at the
  /// end.
  std::size_t read(FilePart& part) {
    std::size_t count = 0;
    while (count < part.size()) {
      const ssize_t more = ::read(descriptor_, part.data() + count, part.size() - count);
      if (more < 0 && errno == EINTR) continue;
      if (more < 0) fail_to_read(path_, std::strerror(errno));
      if (more == 0) break;
      count += static_cast<std::size_t>(more);
    }
    hash_.add({part.data(), count});
    bytes_ += static_cast<std::int64_t>(count);
    return count;
  }

  FileIdentity identity() {
    FilePart rest;
    while (read(rest) > 0)
      ;
    return {path_, fs::absolute(path_).lexically_normal().string(), bytes_, hash_.digest()};
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  Sha256 hash_;
  std::int64_t bytes_ = 0;
};

class InputFile::Buffer : public std::streambuf {
 public:
  explicit Buffer(const std::string& path) : file_(path) {
    constexpr char kMagic[] = "\x1f\x8b";
    constexpr int kWindowBits = 15, kOfGzip = 16;
    fill();
    is_compressed_ = z_.avail_in >= 2 && std::memcmp(raw_.data(), kMagic, 2) == 0;
    if (is_compressed_ && inflateInit2(&z_, kWindowBits + kOfGzip) != Z_OK) throw std::bad_alloc();
    is_in_member_ = is_compressed_;
  }
  ~Buffer() override {
    if (is_compressed_) inflateEnd(&z_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  FileIdentity identity() { return file_.identity(); }

 protected:
  int_type underflow() override {
    if (is_compressed_) {
      setg(text_.data(), text_.data(), text_.data() + inflate_some());
    } else {
      if (z_.avail_in == 0) fill();
      setg(raw_.data(), raw_.data(), raw_.data() + z_.avail_in);
      z_.avail_in = 0;
    }
    return gptr() == egptr() ? traits_type::eof() : traits_type::to_int_type(*gptr());
  }

 private:
  void fill() {
    z_.avail_in = static_cast<unsigned>(file_.read(raw_));
    z_.next_in = reinterpret_cast<unsigned char*>(raw_.data());
  }

  std::size_t inflate_some() {
    z_.next_out = reinterpret_cast<unsigned char*>(text_.data());
    z_.avail_out = static_cast<unsigned>(text_.size());
    while (z_.avail_out == text_.size()) {
      if (z_.avail_in == 0) fill();
      if (z_.avail_in == 0 && is_in_member_) fail("the file ends within it");
      // A file has one or more gzip members. Bytes after the last member are ignored, as in gzip.
      if (z_.avail_in == 0 || (!is_in_member_ && *z_.next_in != 0x1f)) return 0;
      if (!is_in_member_) inflateReset(&z_);
      const int result = inflate(&z_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END) fail(z_.msg ? z_.msg : "not decodable");
      is_in_member_ = result != Z_STREAM_END;
    }
    return text_.size() - z_.avail_out;
  }

  [[noreturn]] void fail(const char* why) const {
    throw InputError(fmt::format("{}: damaged gzip data: {}", file_.path(), why));
  }

  HashedFile file_;
  z_stream z_{};  ///< for a plain file, the bytes of `raw_` that are not yet read
  bool is_compressed_ = false;
  bool is_in_member_ = false;
  FilePart raw_;
  FilePart text_;
};

InputFile::InputFile(const std::string& path)
    : std::istream(nullptr), buffer_(std::make_unique<Buffer>(path)) {
  rdbuf(buffer_.get());
}
InputFile::~InputFile() = default;

FileIdentity InputFile::identity() {
  return buffer_->identity();
}

FileIdentity identity_of(const std::string& file) {
  return HashedFile(file).identity();
}

namespace {

class PlannedFiles {
 public:
  void add(const FileIdentity& identity) {
    const std::lock_guard lock(mutex_);
    files_[identity.name] = identity;
  }
  std::optional<FileIdentity> find(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(name);
    return found == files_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, FileIdentity> files_;
};

PlannedFiles& planned_files() {
  static PlannedFiles files;
  return files;
}

}  // namespace

void plan_file(const FileIdentity& identity) {
  planned_files().add(identity);
}

FileIdentity planned_identity(const std::string& name) {
  if (auto planned = planned_files().find(name)) return *std::move(planned);
  FileIdentity found = identity_of(name);
  plan_file(found);
  return found;
}

std::string path_to_read(const std::string& name) {
  const auto planned = planned_files().find(name);
  return planned ? planned->path : name;
}

bool is_as_planned(const std::string& name, const FileIdentity& read) {
  const auto planned = planned_files().find(name);
  return !planned || (planned->bytes == read.bytes && planned->sha256 == read.sha256);
}

void check_as_planned(const std::string& name, const FileIdentity& read) {
  if (is_as_planned(name, read)) return;
  constexpr std::size_t kDigits = 12;
  throw InputError(fmt::format(
      "{} has changed since the run was planned: its SHA-256 begins with {}, and began "
      "with {}; restore the file, or start a new run",
      read.path, read.sha256.substr(0, kDigits), planned_identity(name).sha256.substr(0, kDigits)));
}

}  // namespace gpuexp
