// Input data files that the user names.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>

namespace gpuexp {

/// Identifies a file and its contents.
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
  /// Throws InputError if the file cannot be read or is not a regular file. A pipe could be read
  /// only once, and reading would wait for its writer.
  explicit InputFile(const std::string& path);
  ~InputFile() override;

  /// Reads the rest of the file and returns the identity of all its bytes.
  FileIdentity identity();

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

/// Reads the whole file. Throws InputError, as above.
FileIdentity identity_of(const std::string& file);

/// Afterwards this process reads the file with this name from the identity's path and rejects other
/// contents. A later call for the same name replaces the plan.
void plan_file(const FileIdentity& identity);

/// Returns the identity planned for the name. If there is none, plans and returns the file's
/// current identity. Throws InputError, as above.
FileIdentity planned_identity(const std::string& name);

/// Returns the path that plan_file stored for the name, or the name itself.
std::string path_to_read(const std::string& name);

/// Returns false if a different identity is planned for the name.
bool is_as_planned(const std::string& name, const FileIdentity& read);
/// Throws InputError if a different identity is planned for the name.
void check_as_planned(const std::string& name, const FileIdentity& read);

}  // namespace gpuexp
