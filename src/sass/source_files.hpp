// Source files of kernels, split into lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sass/kernel_resource.hpp"

namespace gpuexp {

class SourceFiles {
 public:
  SourceFiles() = default;
  /// The texts must outlive this object.
  SourceFiles(const SourceText* table, std::size_t count);

  /// Adds a file, or replaces the file of this name. The text must outlive this object.
  void add(const SourceText& source);

  /// Line `number` of a file, counted from 1. Empty if the file is unknown or has fewer lines.
  std::optional<std::string_view> line(const std::string& file, std::uint32_t number) const;

 private:
  std::map<std::string, std::vector<std::string_view>> lines_;
};

}  // namespace gpuexp
