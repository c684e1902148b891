// The program run as people run it, and held against golden files. With GPUEXP_UPDATE_GOLDEN=1 the
// files are written anew; read the difference before committing it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gpuexp::test {

struct Outcome {
  int exit_code;
  std::string
      output;  ///< standard output, then what went to standard error, as a terminal shows them
};

/// In the source folder, so that relative paths in arguments and messages are the same everywhere.
Outcome gpuexp(const std::string& arguments, const std::string& environment = "");

/// Of what `describe` prints; false after saying that the test is skipped.
bool knows_machine_code(const std::string& description);

/// The programs that a test starts find no GPU, also where there is one.
class WithoutGpu {
 public:
  WithoutGpu() { setenv("CUDA_VISIBLE_DEVICES", "-1", 1); }
  ~WithoutGpu() { unsetenv("CUDA_VISIBLE_DEVICES"); }
  WithoutGpu(const WithoutGpu&) = delete;
  WithoutGpu& operator=(const WithoutGpu&) = delete;
};

std::string read_file(const std::filesystem::path& path);

/// Holds the command and its outcome against tests/cli/golden/<name>.txt.
void check_text(const std::string& name, const std::string& arguments, const Outcome& outcome,
                int exit_code);
void check_golden(const std::string& name, const std::string& arguments, int exit_code);

}  // namespace gpuexp::test
