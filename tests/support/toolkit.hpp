// Tools of the CUDA Toolkit that a test needs.
#pragma once

#include <initializer_list>
#include <string>

#include "compile/toolkit_tools.hpp"

namespace gpuexp::test {

/// The message about the first of `tools` (such as "nvcc") that this machine lacks; empty if it has
/// all of them.
inline std::string missing_tool(std::initializer_list<const char*> tools) {
  try {
    for (const char* tool : tools)
      ToolkitTools::found().path_of(tool);
  } catch (const ToolError& missing) {
    return missing.what();
  }
  return "";
}

}  // namespace gpuexp::test
