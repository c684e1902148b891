#include "base/bounded_output.hpp"

#include <utility>

#include <fmt/format.h>

namespace gpuexp {

BoundedOutput::BoundedOutput(Write write, std::string_view who, const OutputLimits& limits)
    : write_(std::move(write)), who_(who), limits_(limits) {}

void BoundedOutput::add(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (is_full_) return;
  std::size_t end = 0;
  while (end < text.size() && lines_ < limits_.lines && bytes_ < limits_.bytes) {
    lines_ += text[end] == '\n';
    ++bytes_;
    ++end;
  }
  write_(text.substr(0, end));
  if (end == text.size()) return;
  is_full_ = true;
  write_(fmt::format("{}gpuexp: {} printed more than {} lines or {} KiB; the rest is left out\n",
                     end == 0 || text[end - 1] == '\n' ? "" : "\n", who_, limits_.lines,
                     limits_.bytes / 1024));
}

}  // namespace gpuexp
