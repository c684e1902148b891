#include "base/output.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compressed.hpp"
#include "base/report_error.hpp"

namespace gpuexp {

namespace {

[[noreturn]] void fail_to_write(const std::string& name, int error) {
  throw ReportError(fmt::format("{}: cannot write: {}", name, std::strerror(error)));
}

[[noreturn]] void fail_to_create(const std::string& folder, const std::string& why) {
  throw ReportError(fmt::format("{}: cannot create the folder: {}", folder, why));
}

// A temporary file, which the destructor closes and, unless rename_to() succeeded, removes.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target) {
    // open() instead of mkstemp, so that the umask determines the permissions.
    constexpr int kAttempts = 100;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      path_ = fmt::format("{}.{}.{}.tmp", target, ::getpid(), attempt);
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (descriptor_ >= 0) return;
      if (errno != EEXIST) break;
    }
    fail_to_write(target, errno);
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!kept_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&&) = delete;
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  /// Without effect on file systems that have no permissions.
  void set_permissions(std::filesystem::perms permissions) const {
    [[maybe_unused]] const int refused = ::fchmod(descriptor_, static_cast<mode_t>(permissions));
  }

  bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }

  bool rename_to(const std::string& target) {
    if (::fsync(descriptor_) != 0) return false;
    const int descriptor = std::exchange(descriptor_, -1);
    if (::close(descriptor) != 0) return false;
    kept_ = ::rename(path_.c_str(), target.c_str()) == 0;
    return kept_;
  }

 private:
  std::string path_;
  int descriptor_ = -1;
  bool kept_ = false;
};

// Makes the rename durable. Ignores errors, because some file systems cannot sync directories.
void sync_directory_of(const std::filesystem::path& file) {
  const std::filesystem::path directory = file.has_parent_path() ? file.parent_path() : ".";
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

Output::Output(const std::string& path)
    : stream_(std::fopen(path.c_str(), "we")), name_(path), owned_(true) {
  if (!stream_) fail();
}

Output::Output(std::FILE* stream, std::string name)
    : stream_(stream), name_(std::move(name)), owned_(false) {}

Output::~Output() {
  if (owned_ && stream_) std::fclose(stream_);
}

void Output::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stream_) != text.size()) fail();
}

void Output::flush() {
  if (std::fflush(stream_) != 0) fail();
}

void Output::close() {
  flush();
  if (!owned_) return;
  std::FILE* stream = std::exchange(stream_, nullptr);
  if (std::fclose(stream) != 0) fail();
}

void Output::fail() const {
  fail_to_write(name_, errno);
}

bool is_missing(const std::string& path) {
  std::error_code error;
  return !std::filesystem::exists(path, error) && !error;
}

void create_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) fail_to_create(path, error.message());
}

bool create_new_folder(const std::string& path) {
  namespace fs = std::filesystem;
  if (const fs::path parent = fs::path(path).parent_path(); !parent.empty())
    create_folder(parent.string());
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno == EEXIST) return false;
  fail_to_create(path, std::generic_category().message(errno));
}

void check_writable(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path file(path);
  if (::access(path.c_str(), F_OK) == 0 && ::access(path.c_str(), W_OK) != 0)
    fail_to_write(path, errno);
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::status_known(status)) fail_to_write(path, error.value());
  if (fs::is_directory(status)) fail_to_write(path, EISDIR);
  const fs::path parent = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::exists(status) && ::access(parent.c_str(), W_OK | X_OK) != 0) fail_to_write(path, errno);
}

namespace {

void write_bytes_atomically(const std::string& path,
                            const std::function<void(const WritePart&)>& produce) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    Output output(path);
    produce([&](std::string_view part) { output.write(part); });
    output.close();
    return;
  }
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : fs::path(path);
  if (target.empty()) fail_to_write(path, error.value());
  TemporaryFile file(target);
  produce([&](std::string_view part) {
    if (!file.write(part)) fail_to_write(path, errno);
  });
  if (fs::exists(status)) file.set_permissions(status.permissions());
  if (!file.rename_to(target)) fail_to_write(path, errno);
  sync_directory_of(target);
}

}  // namespace

void write_file_atomically(const std::string& path, std::string_view text) {
  write_file_atomically(path, [&](const WritePart& write) { write(text); });
}

void write_file_atomically(const std::string& path,
                           const std::function<void(const WritePart&)>& produce) {
  if (!has_compressed_name(path)) return write_bytes_atomically(path, produce);
  std::string text;
  produce([&](std::string_view part) { text += part; });
  write_bytes_atomically(path, [&](const WritePart& write) { write(compressed(text)); });
}

std::string read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  std::string text;
  std::error_code unknown;  // set for a pipe, which has no size
  const auto size = std::filesystem::file_size(path, unknown);
  if (!unknown) text.reserve(size);
  std::array<char, 1 << 16> chunk{};
  std::size_t count = 0;
  while (file && (count = std::fread(chunk.data(), 1, chunk.size(), file.get())) > 0)
    text.append(chunk.data(), count);
  if (!file || std::ferror(file.get()))
    throw ReportError(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
  return text;
}

std::string read_text(const std::string& path) {
  std::string bytes = read_file(path);
  return is_compressed(bytes) ? decompressed(bytes, path) : bytes;
}

}  // namespace gpuexp
