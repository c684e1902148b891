// A program that a test watches while it runs, and sends signals to.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace gpuexp::test {

/// gpuexp, run in the source folder without a GPU. Standard output and standard error go to one
/// pipe. The destructor kills it.
class RunningProgram {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  explicit RunningProgram(const std::vector<std::string>& arguments,
                          const Environment& environment = {});
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// Waits until the output after the last call contains the text. Returns that output.
  std::string until(const std::string& text);
  /// Whether nothing is written within the time.
  bool is_quiet(double seconds);

  void signal(int number) const;
  pid_t id() const { return process_; }

  /// Waits for the program's end. Returns its exit code, or the negative number of the signal that
  /// ended it.
  int exit_code();
  /// The output after the last call of until(), once the program has ended.
  std::string rest();

 private:
  bool read();

  pid_t process_ = -1;
  int output_ = -1;
  std::string unread_;
};

/// The processes whose parent is `parent`, without those that have ended.
std::vector<pid_t> children_of(pid_t parent);

}  // namespace gpuexp::test
