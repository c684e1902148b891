// Runs the program and compares its output with golden files. GPUEXP_UPDATE_GOLDEN=1 rewrites the
// files; read the difference before committing it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gpuexp::test {

struct Outcome {
  int exit_code;
  std::string output;  ///< standard output and standard error, as a terminal shows them
};

/// The option with which commands need no GPU.
inline const std::string kSimulated = " --simulate h200";

/// Runs the program in the source folder, so relative paths are the same everywhere.
Outcome gpuexp(const std::string& arguments, const std::string& environment = "");

/// Whether the output of `describe` includes machine code; if not, reports a skipped test.
bool knows_machine_code(const std::string& description);

/// Whether kernel files can be compiled; if not, reports a skipped test.
bool has_compiler();

/// Hides all GPUs from the programs that a test starts.
class WithoutGpu {
 public:
  WithoutGpu() { setenv("CUDA_VISIBLE_DEVICES", "-1", 1); }
  ~WithoutGpu() { unsetenv("CUDA_VISIBLE_DEVICES"); }
  WithoutGpu(const WithoutGpu&) = delete;
  WithoutGpu& operator=(const WithoutGpu&) = delete;
};

std::string read_file(const std::filesystem::path& path);

/// Compares the command and its outcome with tests/cli/golden/<name>.txt.
void check_text(const std::string& name, const std::string& arguments, const Outcome& outcome,
                int exit_code);
void check_golden(const std::string& name, const std::string& arguments, int exit_code);

}  // namespace gpuexp::test
