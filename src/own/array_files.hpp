// The .npy files of a declaration: contents and expected values of buffers.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/npy.hpp"
#include "own/declaration.hpp"

namespace gpuexp::own {

/// Reads each file once and keeps it. Several threads may call it.
class ArrayFiles {
 public:
  /// Names of files are relative to `folder`. `declared_in` is the file with the declaration, for
  /// messages.
  ArrayFiles(std::filesystem::path folder, std::string declared_in)
      : folder_(std::move(folder)), declared_in_(std::move(declared_in)) {}

  std::filesystem::path path_of(const DeclaredArray& array) const;

  /// Reads the file's header. Throws DeclarationError at the file's place in the declaration if the
  /// file cannot be read, as do the functions below.
  NpyHeader header(const DeclaredArray& array);

  /// The elements, in the file's type.
  std::shared_ptr<const NpyArray> elements(const DeclaredArray& array);

  /// The elements as numbers in fp64.
  std::shared_ptr<const std::vector<double>> numbers(const DeclaredArray& array);

 private:
  struct File {
    std::shared_ptr<const NpyArray> elements;
    std::shared_ptr<const std::vector<double>> numbers;
  };
  template <class Read>
  auto at_file(const DeclaredArray& array, const Read& read) const;
  std::shared_ptr<const NpyArray> read(const std::filesystem::path& path) const;

  std::filesystem::path folder_;
  std::string declared_in_;
  std::mutex mutex_;
  std::map<std::filesystem::path, File> files_;
};

/// Throws DeclarationError unless the file has `extents` and, as contents of `buffer`, elements of
/// this type. Expected values may also have type float64; those of integers type int64, and those
/// of 16-bit floating-point types type float32.
void check_contents(const std::string& declared_in, const DeclaredArray& array,
                    const NpyHeader& header, const std::string& buffer, DataType type,
                    const std::vector<std::int64_t>& extents);
void check_expected(const std::string& declared_in, const DeclaredArray& array,
                    const NpyHeader& header, const std::string& buffer, DataType type,
                    const std::vector<std::int64_t>& extents);

}  // namespace gpuexp::own
