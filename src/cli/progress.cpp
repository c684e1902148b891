#include "cli/progress.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace gpuexp::cli {

namespace {

constexpr std::size_t kLineWidth = 100;

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

bool stderr_is_terminal() {
  return isatty(STDERR_FILENO) == 1;
}

Progress::Progress(std::size_t cells, bool enabled)
    : cells_(cells), enabled_(enabled), start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (enabled_) clear();
}

double Progress::elapsed_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Progress::started(const std::string& key, std::size_t cells, double estimated_s) {
  estimated_done_s_ += estimated_current_s_;
  estimated_current_s_ = estimated_s;
  if (enabled_) draw(key, cells);
}

void Progress::clear() const {
  fmt::print(stderr, "\r{:{}}\r", "", kLineWidth);
}

void Progress::draw(const std::string& key, std::size_t cells) const {
  // What has run so far says how far off the plan's estimate is; before that the plan alone speaks.
  const double left_s = std::max(0.0, estimated_total_s_ - estimated_done_s_);
  const double pace = estimated_done_s_ > 0 ? elapsed_s() / estimated_done_s_ : 1.0;
  std::string line =
      fmt::format("[{}/{}] {} left  {}", done_, cells_, clock_text(left_s * pace), key);
  if (cells > 1) line += fmt::format(" and {} more", cells - 1);
  line.resize(std::min(line.size(), kLineWidth - 1));
  fmt::print(stderr, "\r{:<{}}", line, kLineWidth);
  std::fflush(stderr);
}

}  // namespace gpuexp::cli
