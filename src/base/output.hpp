// Output to files and streams, which also reports write errors at flush and close.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace gpuexp {

using WritePart = std::function<void(std::string_view)>;

/// Size in bytes of the parts in which a long output is written.
inline constexpr std::size_t kPartBytes = std::size_t{1} << 20;

/// A file or a standard stream. Failed operations throw ReportError with the name and the
/// system's reason.
class Output {
 public:
  explicit Output(const std::string& path);
  /// Writes to a stream that the caller keeps open; `name` is for error messages.
  Output(std::FILE* stream, std::string name);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  Output(Output&&) = delete;
  Output& operator=(Output&&) = delete;

  void write(std::string_view text);
  /// Passes written text to the operating system, so that a crash of this process does not lose
  /// it.
  void flush();
  void close();

 private:
  [[noreturn]] void fail() const;

  std::FILE* stream_;
  std::string name_;
  bool owned_;
};

/// Whether no file or folder has this name. False if the system reports another error, which the
/// caller's read then reports.
bool is_missing(const std::string& path);

/// Creates the folder and missing parents. Throws ReportError.
void create_folder(const std::string& path);

/// Creates the folder and missing parents, unless the path exists: then returns false. If several
/// processes call it at the same time, it returns true in only one of them. Throws ReportError.
bool create_new_folder(const std::string& path);

/// Throws ReportError if the file is not writable. Writes nothing.
void check_writable(const std::string& path);

/// Writes a file atomically: readers get the whole old or the whole new contents. Writes a
/// temporary file in the same folder, then calls fsync and rename. A symbolic link keeps its
/// target. Special files (/dev/stdout, a pipe) are written directly. Compresses with Zstandard if
/// the name ends in `.zst`. Throws ReportError.
void write_file_atomically(const std::string& path, std::string_view text);

/// Writes the text in the parts that `produce` passes to its argument.
void write_file_atomically(const std::string& path,
                           const std::function<void(const WritePart&)>& produce);

std::string read_file(const std::string& path);

/// The text of a file or pipe, decompressed if its contents are compressed. Throws ReportError.
std::string read_text(const std::string& path);

}  // namespace gpuexp
