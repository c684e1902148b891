// Fuzz targets, also used to replay the corpus. Each reads arbitrary bytes and throws an
// undocumented exception if a reader breaks a promise.
#pragma once

#include <stdexcept>
#include <string_view>

namespace gpuexp::fuzz {

/// A promise that an input broke.
class Finding : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Reads stored and listed machine code: throws std::runtime_error, or yields an executable
/// program.
void fuzz_code(std::string_view text);

/// Executes stored machine code and times it: throws std::runtime_error, or yields a number of
/// cycles.
void fuzz_execution(std::string_view text);

/// Reads headers of kernel files and the tools' output for a cubin: throws std::runtime_error, or
/// yields kernels with the promises of fuzz_execution().
void fuzz_cubin(std::string_view text);

/// Reads a config of the fake families: throws ConfigError, or yields a Config within its bounds.
void fuzz_config(std::string_view text);

/// Reads the declaration of a kernel file, or of a JSON file if the text begins with '{': throws
/// DeclarationError or ConfigError, or yields a family with launches within the limits of CUDA.
void fuzz_declaration(std::string_view text);

/// Reads a report: throws ReportError, or yields a report that every sink renders and that JSON
/// preserves.
void fuzz_results(std::string_view text);

/// Reads a run log: throws ReportError, or yields a report with a row per started cell, with the
/// same properties.
void fuzz_log(std::string_view text);

/// Reads a Matrix Market file: throws std::runtime_error, or yields a matrix of the size in its
/// header.
void fuzz_matrix(std::string_view text);

/// Reads an array in NumPy's format: throws InputError, or yields as many elements as its header
/// announces.
void fuzz_npy(std::string_view text);

/// Reads a lesson page of the fake families: throws ConfigError, or yields a page that does not
/// change when generated again.
void fuzz_lesson(std::string_view text);

}  // namespace gpuexp::fuzz
