#pragma once

#include <string_view>

namespace gpuexp {

/// The text of a source file that lines of machine code name.
struct SourceText {
  const char* file = "";  ///< name in the code's source lines: "kernels/matmul.cu"
  std::string_view text = {};
};

}  // namespace gpuexp
