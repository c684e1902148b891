// Where sinks write. Every failure is noticed, also one that the system reports late.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace gpuexp {

/// Takes a part of a text; parts follow each other.
using WritePart = std::function<void(std::string_view)>;

/// A part of this size costs little to write and little to keep.
inline constexpr std::size_t kPartBytes = std::size_t{1} << 20;

/// A file or a standard stream. What fails throws ReportError with the name and the system's
/// reason.
class Output {
 public:
  /// Creates the file, or empties one that exists.
  explicit Output(const std::string& path);
  /// Writes to a stream that the caller keeps open; `name` is for messages.
  Output(std::FILE* stream, std::string name);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  Output(Output&&) = delete;
  Output& operator=(Output&&) = delete;

  void write(std::string_view text);
  /// Hands what was written to the system, where it survives the death of this process.
  void flush();
  /// Closes a file; a stream of the caller's is only flushed.
  void close();

 private:
  [[noreturn]] void fail() const;

  std::FILE* stream_;
  std::string name_;
  bool owned_;
};

/// Whether there is no file or folder of this name. False if the system does not tell: an attempt
/// to read it says why.
bool is_missing(const std::string& path);

/// Creates the folder, and those that it is in, unless they exist. Throws ReportError.
void create_folder(const std::string& path);

/// Throws ReportError when the file could not be written now; writes nothing.
void check_writable(const std::string& path);

/// Writes a whole file so that a reader sees the old content or all of the text, whatever happens
/// meanwhile: into a temporary file beside it, then fsync and rename. A symbolic link keeps
/// pointing where it did. What is no regular file (/dev/stdout, a pipe) is written in place. A file
/// whose name ends in `.zst` is compressed by Zstandard. Throws ReportError.
void write_file_atomically(const std::string& path, std::string_view text);

/// The same from what `produce` hands to the function that it is given.
void write_file_atomically(const std::string& path,
                           const std::function<void(const WritePart&)>& produce);

/// The bytes of a file, which may also be a pipe. Throws ReportError.
std::string read_file(const std::string& path);

/// All text of a file or pipe, decompressed if it is compressed, whatever its name. Throws
/// ReportError.
std::string read_text(const std::string& path);

}  // namespace gpuexp
