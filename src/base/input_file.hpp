// Input data files that the user names.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>

namespace gpuexp {

struct FileIdentity {
  std::string name;  ///< as given
  std::string path;  ///< absolute
  std::int64_t bytes = 0;
  std::string sha256;  ///< hexadecimal digest of the bytes
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A stream of the file's bytes. gzip data is decompressed.
class InputFile : public std::istream {
 public:
  /// Throws InputError if the file cannot be read or is not a regular file. Pipes are rejected
  /// because they can be read only once.
  explicit InputFile(const std::string& path);
  ~InputFile() override;

  /// Reads the rest of the file, and returns the identity of the whole file.
  FileIdentity identity();

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

/// Identity of a file. Throws InputError like InputFile().
FileIdentity identity_of(const std::string& file);

/// Stores the identity: afterwards this process reads files with this name from the identity's
/// path, and rejects other contents. A later call for the same name replaces the identity.
void plan_file(const FileIdentity& identity);

/// The identity stored for the name. If there is none, stores and returns the file's current
/// identity. Throws InputError like InputFile().
FileIdentity planned_identity(const std::string& name);

std::string path_to_read(const std::string& name);

bool is_as_planned(const std::string& name, const FileIdentity& read);
/// Throws InputError if another identity is stored for the name.
void check_as_planned(const std::string& name, const FileIdentity& read);

}  // namespace gpuexp
