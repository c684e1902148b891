// Tools of the toolkit that note each of their runs.
#pragma once

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include "compile/toolkit_tools.hpp"

namespace gpuexp::test {

inline constexpr std::initializer_list<const char*> kToolNames = {"nvcc", "ptxas", "cuobjdump",
                                                                  "nvdisasm"};

/// A folder with a script for each tool.
class LoggedTools {
 public:
  explicit LoggedTools(const std::filesystem::path& folder) : folder_(folder) {
    std::filesystem::create_directories(folder_);
    for (const char* tool : kToolNames)
      set(tool, "exec " + ToolkitTools::found().path_of(tool) + " \"$@\"");
  }

  void set(const std::string& tool, const std::string& script) const {
    const std::filesystem::path path = folder_ / tool;
    std::ofstream(path) << "#!/bin/sh\n[ \"$1\" = --version ] && version=' --version'\necho \""
                        << tool << "$version\" >> " << log() << "\n"
                        << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  const std::filesystem::path& folder() const { return folder_; }
  ToolkitTools tools() const { return ToolkitTools({folder_.string()}); }

  /// Names of the tools that ran since the last call, one per line; "nvcc --version" if the tool
  /// printed its version.
  std::string runs() const {
    const std::string text = text_of_file(log());
    std::ofstream(log()).close();
    return text;
  }

 private:
  std::string log() const { return (folder_ / "log").string(); }

  std::filesystem::path folder_;
};

}  // namespace gpuexp::test
