// Declarations that gpuexp init infers for kernel files of tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "infer/initial_declaration.hpp"
#include "support/scratch_folder.hpp"
#include "support/toolkit.hpp"

namespace gpuexp::test {

/// Why this machine cannot compile kernel files; empty if it can.
inline std::string missing_toolkit() {
  return missing_tool({"nvcc", "cuobjdump", "nvdisasm"});
}

class InitFolder {
 public:
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((scratch_.path() / name).parent_path());
    std::ofstream(scratch_.path() / name, std::ios::binary) << text;
    return (scratch_.path() / name).string();
  }
  infer::InitialDeclaration declared(const std::string& name, const std::string& text) const {
    return infer::initial_declaration({write(name, text), {}, {}}, compiler_);
  }

 private:
  ScratchFolder scratch_;
  SourceCompiler compiler_{ToolkitTools::found(), ""};
};

/// "in x[n], out y[n]: n = 1048576 by 32", with multiples above 1.
inline std::string summary(const infer::InferredVariant& variant) {
  std::string text;
  for (const infer::InferredBuffer& buffer : variant.buffers) {
    const char* const role = buffer.role == BufferRole::input       ? "in"
                             : buffer.role == BufferRole::output    ? "out"
                             : buffer.role == BufferRole::workspace ? "workspace"
                                                                    : "in_out";
    text += fmt::format("{}{} {}[{}]", text.empty() ? "" : ", ", role, buffer.name,
                        fmt::join(buffer.extents, "]["));
    if (!buffer.fill.empty()) text += " = " + buffer.fill;
  }
  for (const infer::InferredParameter& parameter : variant.parameters)
    if (parameter.multiple_of > 1)
      text += fmt::format("; {} % {}", parameter.name, parameter.multiple_of);
  return text;
}

inline std::map<std::string, std::string> summaries(const infer::InitialDeclaration& declaration) {
  std::map<std::string, std::string> all;
  for (const infer::InferredVariant& variant : declaration.variants)
    all[variant.id] = summary(variant);
  return all;
}

}  // namespace gpuexp::test
