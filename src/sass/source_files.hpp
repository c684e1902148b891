// The sources that kernels were compiled from, line by line.
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
  /// Of texts that outlive it.
  SourceFiles(const SourceText* table, std::size_t count);

  /// A line, counted from 1; empty where the file is not there or is shorter.
  std::optional<std::string_view> line(const std::string& file, std::uint32_t number) const;

 private:
  std::map<std::string, std::vector<std::string_view>> lines_;
};

}  // namespace gpuexp
