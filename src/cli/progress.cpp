#include "cli/progress.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/steady_clock.hpp"

namespace gpuexp::cli {

namespace {

constexpr std::size_t kLineWidth = 100;
constexpr double kRedrawSeconds = 0.1;

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

void clear_line() {
  if (stderr_is_terminal()) fmt::print(stderr, "\r{:{}}\r", "", kLineWidth);
}

}  // namespace

bool stderr_is_terminal() {
  return isatty(STDERR_FILENO) == 1;
}

Progress::Progress(const Plan& plan, const KernelResources& resources, RunKind kind,
                   const CellTimes& times, bool enabled)
    : cells_(plan.cell_count()), estimate_(plan, resources, kind, times), enabled_(enabled) {}

Progress::~Progress() {
  if (enabled_) fmt::print(stderr, "\r{:{}}\r", "", kLineWidth);
}

void Progress::kept(std::size_t cell) {
  estimate_.finished(cell);
  ++done_;
}

void Progress::started(const std::vector<const Row*>& rows) {
  at_ = rows.front()->key;
  if (rows.size() > 1) at_ += fmt::format(" and {} more", rows.size() - 1);
  group_s_ = 0;
  for (const Row* row : rows)
    group_s_ += estimate_.cell_s(row->cell->index);
  group_started_s_ = steady_seconds();
  // Draws immediately before a long group, whose verification delays the next tick.
  if (group_s_ >= kRedrawSeconds) drawn_s_ = 0;
  tick();
}

void Progress::tick() {
  if (enabled_ && steady_seconds() - drawn_s_ >= kRedrawSeconds) draw(at_);
}

void Progress::verifying(const Row& row) {
  if (enabled_) draw("verifying " + row.key);
}

void Progress::finished(const Row& row) {
  estimate_.timed(row);
  kept(row.cell->index);
}

void Progress::waiting(std::size_t rows) {
  at_ = fmt::format("waiting for the predictions of {} from machine code",
                    rows == 1 ? "the last cell" : fmt::format("the last {} cells", rows));
  group_s_ = 0;
  drawn_s_ = 0;
  tick();
}

void Progress::draw(const std::string& what) {
  drawn_s_ = steady_seconds();
  const double of_group_s = std::min(drawn_s_ - group_started_s_, group_s_);
  const auto left_s = estimate_.left_s();
  const std::string left =
      left_s ? clock_text(std::max(0.0, *left_s - of_group_s)) + " left  " : "";
  std::string line = fmt::format("[{}/{}] {}{}", done_, cells_, left, what);
  line.resize(std::min(line.size(), kLineWidth - 1));
  fmt::print(stderr, "\r{:<{}}", line, kLineWidth);
  std::fflush(stderr);
}

WorkOnTerminal::WorkOnTerminal(const std::string& what) {
  if (!stderr_is_terminal()) return;
  fmt::print(stderr, "\r{} …", what.substr(0, kLineWidth - 2));
  std::fflush(stderr);
}

WorkOnTerminal::~WorkOnTerminal() {
  clear_line();
}

CountOnTerminal::~CountOnTerminal() {
  clear_line();
}

void CountOnTerminal::add() {
  ++done_;
  const double now = steady_seconds();
  if (!stderr_is_terminal() || now - drawn_s_ < kRedrawSeconds) return;
  drawn_s_ = now;
  fmt::print(stderr, "\r{} {} of {}", what_, done_, all_);
}

}  // namespace gpuexp::cli
