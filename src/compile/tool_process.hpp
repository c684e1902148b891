// Child processes with limits, started without a shell.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuexp {

struct ToolLimits {
  double time_s = 60;  ///< then the process and its children are killed
  std::uint64_t memory_bytes = std::uint64_t{16} << 30;  ///< address space of each process
  std::uint64_t file_bytes = std::uint64_t{1} << 30;     ///< size of each file that it writes
};

struct ToolCommand {
  std::vector<std::string> words;        ///< path of the program, then its arguments
  std::vector<std::string> environment;  ///< "NAME=value"
  std::string folder;                    ///< working folder
  std::string output;                    ///< file for standard output
  std::string errors;                    ///< file for standard error
};

/// Runs the program, without input, in a process group of its own. Returns how it ended: "" if with
/// exit code 0, otherwise "exit code 1", "signal 11 (Segmentation fault)" or "stopped after 60 s",
/// for example. The process ends with the calling thread.
std::string run_process(const ToolCommand& command, const ToolLimits& limits);

}  // namespace gpuexp
