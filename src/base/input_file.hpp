// Files of input data that a user names.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>

namespace gpuexp {

/// Bytes of a file, front to back; of one that gzip compressed, decompressed.
class InputFile : public std::istream {
 public:
  /// Throws InputError if the file cannot be read or is no regular file: a pipe would be read once
  /// and waits for a writer.
  explicit InputFile(const std::string& path);
  ~InputFile() override;

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

/// Tells a file from every other one.
struct FileIdentity {
  std::string name;  ///< as given
  std::string path;  ///< absolute
  std::int64_t bytes = 0;
  std::string sha256;  ///< of the bytes, hexadecimal
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Reads the whole file. Throws InputError as above.
FileIdentity identity_of(const std::string& file);

}  // namespace gpuexp
