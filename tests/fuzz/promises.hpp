// What every target asks of what it was given.
#pragma once

#include "fuzz/fuzz.hpp"
#include "results/report.hpp"

namespace gpuexp::fuzz {

inline void require(bool holds, const char* promise) {
  if (!holds) throw Finding(promise);
}

/// The message begins with the file's name and is no longer than a person reads.
void check_message(const std::exception& error, std::string_view file);

/// Every sink can render it, and JSON gives it back unchanged.
void check_sinks(const Report& report);

}  // namespace gpuexp::fuzz
