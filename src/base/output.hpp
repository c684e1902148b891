// Output to files and streams. Late write errors are reported, too.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace gpuexp {

/// Writes the next part of a text.
using WritePart = std::function<void(std::string_view)>;

/// Size of a part: large enough to write efficiently, small enough to buffer.
inline constexpr std::size_t kPartBytes = std::size_t{1} << 20;

/// A file or a standard stream. A failed operation throws ReportError with the name and the
/// system's reason.
class Output {
 public:
  /// Creates or truncates the file.
  explicit Output(const std::string& path);
  /// Writes to a stream that the caller keeps open; `name` is for messages.
  Output(std::FILE* stream, std::string name);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  Output(Output&&) = delete;
  Output& operator=(Output&&) = delete;

  void write(std::string_view text);
  /// Passes written text to the operating system, so that it survives a crash of this process.
  void flush();
  /// Closes a file; flushes a stream of the caller.
  void close();

 private:
  [[noreturn]] void fail() const;

  std::FILE* stream_;
  std::string name_;
  bool owned_;
};

/// Whether no file or folder has this name. Returns false if the system reports an error; reading
/// then reports the reason.
bool is_missing(const std::string& path);

/// Creates the folder and its parents if necessary. Throws ReportError.
void create_folder(const std::string& path);

/// Throws ReportError if the file is not writable now. Writes nothing.
void check_writable(const std::string& path);

/// Writes a file atomically: a reader sees the old content or the whole new text. It writes a
/// temporary file in the same folder, then calls fsync and rename. A symbolic link keeps its
/// target. Other kinds of files (/dev/stdout, a pipe) are written directly. Compresses with
/// Zstandard if the name ends in `.zst`. Throws ReportError.
void write_file_atomically(const std::string& path, std::string_view text);

/// Writes the parts that `produce` passes to its argument.
void write_file_atomically(const std::string& path,
                           const std::function<void(const WritePart&)>& produce);

/// The bytes of a file or pipe. Throws ReportError.
std::string read_file(const std::string& path);

/// The text of a file or pipe, decompressed if its contents are compressed. Throws ReportError.
std::string read_text(const std::string& path);

}  // namespace gpuexp
