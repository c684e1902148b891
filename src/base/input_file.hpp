// Files of input data that a user names.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>

namespace gpuexp {

/// Tells a file from every other one.
struct FileIdentity {
  std::string name;  ///< as given
  std::string path;  ///< absolute
  std::int64_t bytes = 0;
  std::string sha256;  ///< of the bytes, hexadecimal
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Bytes of a file, front to back; of one that gzip compressed, decompressed.
class InputFile : public std::istream {
 public:
  /// Throws InputError if the file cannot be read or is not a regular file: a pipe would be read
  /// once and waits for a writer.
  explicit InputFile(const std::string& path);
  ~InputFile() override;

  /// Of the bytes that were read here, and of the rest of the file, which is read first.
  FileIdentity identity();

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

/// Reads the whole file. Throws InputError as above.
FileIdentity identity_of(const std::string& file);

/// From here on this process reads the file with this name from the identity's path, and refuses
/// other contents. Another plan for the same name replaces it.
void plan_file(const FileIdentity& identity);

/// The identity that is planned for the file with this name; if there is none, the file's present
/// one is planned. Throws InputError as above.
FileIdentity planned_identity(const std::string& name);

/// The path that plan_file gave this name; the name itself if there is no plan for it.
std::string path_to_read(const std::string& name);

/// Whether no other identity is planned for the file with this name.
bool is_as_planned(const std::string& name, const FileIdentity& read);
/// Throws InputError if one is.
void check_as_planned(const std::string& name, const FileIdentity& read);

}  // namespace gpuexp
