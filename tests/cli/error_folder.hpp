// Kernel files with errors, and the output of commands that read them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {

inline const std::string kAdd = R"(// gpuexp: n = 1000
// gpuexp: x[n] y[n] z[n]
// gpuexp: add<<<ceil_div(n, 256), 256>>>
// gpuexp: check z[i] = x[i] + y[i]
__global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
)";

/// kAdd with one part replaced.
inline std::string add_with(const std::string& part, const std::string& by) {
  std::string text = kAdd;
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

class ErrorFolder {
 public:
  std::string path(const std::string& name) const { return folder_.path() / name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  /// The output of the command for the file, without the folder's name.
  Outcome outcome(const std::string& name, const std::string& command) const {
    Outcome found =
        gpuexp(command.empty() ? "plan " + path(name) + " --gpu h200" : command + " " + path(name));
    const std::string folder = path("");
    for (std::size_t at = 0; (at = found.output.find(folder, at)) != std::string::npos;)
      found.output.erase(at, folder.size());
    return found;
  }

 private:
  ScratchFolder folder_;
};

}  // namespace gpuexp::test
