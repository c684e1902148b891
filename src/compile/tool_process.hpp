// Child processes with limits, started without a shell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gpuexp {

struct ToolLimits {
  double time_s = 60;  ///< then the process and its children are killed
  std::uint64_t memory_bytes = std::uint64_t{16} << 30;  ///< address space of each process
  std::uint64_t file_bytes = std::uint64_t{1} << 30;     ///< size of each file that it writes
  /// Called repeatedly while the process runs. If it returns true, the process and its children are
  /// killed. May be empty.
  std::function<bool()> interrupted = {};
};

struct ToolCommand {
  std::vector<std::string> words;        ///< path of the program, then its arguments
  std::vector<std::string> environment;  ///< "NAME=value"
  std::string folder;                    ///< working folder
  std::string output;                    ///< file for standard output
  std::string errors;                    ///< file for standard error
};

/// Runs the program, without input, in a process group of its own. Returns how it ended: "" if with
/// exit code 0, otherwise "exit code 1", "signal 11 (Segmentation fault)", "stopped after 60 s" or
/// "interrupted", for example. The process ends with the calling thread.
std::string run_process(const ToolCommand& command, const ToolLimits& limits);

/// The same, but instead of a program, `work` runs in a copy of this process, and returns the exit
/// code. The command's words and environment are ignored. Call this function while no other thread
/// of this process runs.
std::string run_in_copy(const ToolCommand& command, const ToolLimits& limits,
                        const std::function<int()>& work);

}  // namespace gpuexp
