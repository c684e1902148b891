// What fuzzers feed and what the corpus replays: any bytes in, and whatever breaks a promise of the
// readers out, as an exception that is not theirs to throw.
#pragma once

#include <stdexcept>
#include <string_view>

namespace gpuexp::fuzz {

/// A promise that an input broke.
class Finding : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Reads machine code, as a binary keeps it and as it is listed: it becomes a std::runtime_error,
/// or what is executed.
void fuzz_code(std::string_view text);

/// Executes machine code, as a binary keeps it, as a whole, and times it: it becomes a
/// std::runtime_error, or a number of clocks.
void fuzz_execution(std::string_view text);

/// Reads a config of the fake families: it becomes a Config within its bounds, or a ConfigError.
void fuzz_config(std::string_view text);

/// Reads a report: it becomes a ReportError, or what every sink can render and what JSON gives back
/// unchanged.
void fuzz_results(std::string_view text);

/// Reads the log of a run: it becomes a ReportError, or a report with a row for each cell that
/// started, of which the same holds.
void fuzz_log(std::string_view text);

/// Reads a Matrix Market file: it becomes a std::runtime_error, or a matrix of the size that its
/// header says alone.
void fuzz_matrix(std::string_view text);

/// Reads a lesson page of the fake families: it becomes a ConfigError, or a page that stays as it
/// is when it is made anew.
void fuzz_lesson(std::string_view text);

}  // namespace gpuexp::fuzz
