// Promises that every target checks.
#pragma once

#include "fuzz/fuzz.hpp"
#include "results/report.hpp"

namespace gpuexp::fuzz {

inline void require(bool holds, const char* promise) {
  if (!holds) throw Finding(promise);
}

/// Checks that the message starts with the file's name and is short.
void check_message(const std::exception& error, std::string_view file);

/// Checks that every sink renders the report and that JSON preserves it.
void check_sinks(const Report& report);

}  // namespace gpuexp::fuzz
