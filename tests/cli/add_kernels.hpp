// Kernel files for tests of the command line.
#pragma once

#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "cli/program.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {

inline const std::string kExamples = "docs/examples/";

inline const std::string kAddKernel = R"(
__global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
)";
inline const std::string kAddLaunch = "add<<<ceil_div(n, 256), 256>>>";

/// Kernel files whose statements differ from those of a correct file.
class KernelFolder {
 public:
  KernelFolder() { write("add.cu", declared()); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  /// The declaration of the sum with one part replaced, and the kernel.
  static std::string declared(const std::string& part = "", const std::string& by = "") {
    std::string text = "// gpuexp: n = 1000\n// gpuexp: x[n] y[n] z[n]\n// gpuexp: " + kAddLaunch +
                       "\n// gpuexp: check z[i] = x[i] + y[i]\n";
    text += kAddKernel;
    if (part.empty()) return text;
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), by);
  }
  std::string path(const std::string& name) const { return folder_.path() / name; }

 private:
  ScratchFolder folder_;
};

/// The rows of a verification in the simulator, which must end with exit code 0.
inline nlohmann::json verified_rows(const std::string& file, const std::string& options = "") {
  const ScratchFolder scratch;
  const std::string json = (scratch.path() / "report.json").string();
  const Outcome outcome =
      gpuexp("verify " + file + kSimulated + " --quiet --json " + json + options);
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  return nlohmann::json::parse(read_file(json))["rows"];
}

/// Checks that the command ends with exit code 2 and this message.
inline void check_refuses(const std::string& command, const std::string& message) {
  const Outcome outcome = gpuexp(command);
  INFO(command << "\n" << outcome.output);
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.output, contains_text(message));
}

/// Checks that a command that takes a kernel file refuses this one.
inline void check_refused(const std::string& file, const std::string& message) {
  check_refuses("plan " + file + " --gpu h200", message);
}

/// A vector sum with a template argument and a macro to tune.
inline const std::string kTuned = R"(
// gpuexp: n = 2^14
// gpuexp: x[n] y[n] z[n]
// gpuexp: PER = 1, 4, 3, 64
// gpuexp: define THREADS = 32, 256
// gpuexp: require PER != 3
// gpuexp: add<PER><<<ceil_div(n, THREADS*PER), THREADS>>>
// gpuexp: check z[i] = x[i] + y[i]
template <int PER>
__global__ void add(const float* x, const float* y, float* z, int n) {
  static_assert(PER * THREADS < 16384, "too many elements per block");
  for (int p = 0; p < PER; ++p) {
    const int i = (blockIdx.x * PER + p) * THREADS + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
  }
}
)";

}  // namespace gpuexp::test
