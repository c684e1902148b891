#include "run/cell_times.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/output.hpp"
#include "base/report_error.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "family/function_text.hpp"

namespace gpuexp {

namespace {

// Hash of the settings that determine a cell's duration. The experiment's name is none of them.
// Empty if the problem is read from a file.
std::string key_of(const Plan& plan, const Group& group, const Cell& cell, RunKind kind,
                   bool counted) {
  const Experiment& e = plan.experiment(group);
  const MeasureSettings& m = e.measure;
  for (std::size_t i = 0; i < group.values.size(); ++i) {
    if (e.family->parameters[i].names_file(group.values[i])) return "";
  }
  const std::string counters = counted ? fmt::format("{}", fmt::join(e.counters, ",")) : "";
  const std::string text = fmt::format(
      "{}; {}/{}/{}/{}; {} {} {} {} {} {} {} {} {} {} {}; {}",
      kind == RunKind::verify ? "verify" : "run", e.family->id, cell.variant->id,
      values_text(*e.family, group.values), name_of(cell.mode), m.min_samples, m.max_samples,
      m.min_seconds, m.max_seconds, m.target_relative_ci, m.fine_relative_ci, m.fine_seconds,
      m.warmup_launches, m.warmup_seconds, m.sustain_seconds, m.burst_check_seconds, counters);
  constexpr std::size_t kDigits = 16;  // 64 bits: 10^6 cells collide in 3 of 10^8 files
  return sha256(text).substr(0, kDigits);
}

std::map<std::string, double> read_times(const std::filesystem::path& file) {
  std::map<std::string, double> times;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return times;
  try {
    for (const std::string& line : split(read_file(file), '\n')) {
      const std::size_t space = line.find(' ');
      if (space == std::string::npos) continue;
      const std::optional<double> seconds =
          parsed<double>(std::string_view(line).substr(space + 1));
      constexpr double kMax = 1e6;  // 11 days; no cell takes longer
      if (seconds && *seconds >= 0 && *seconds <= kMax) times[line.substr(0, space)] = *seconds;
    }
  } catch (const ReportError&) {
    return {};
  }
  return times;
}

}  // namespace

CellTimes::CellTimes(std::filesystem::path file, const std::filesystem::path& recorded)
    : file_(std::move(file)), read_(read_times(file_)) {
  read_.merge(read_times(recorded));
}

std::optional<double> CellTimes::find(const Plan& plan, const Group& group, const Cell& cell,
                                      RunKind kind, bool counted) const {
  if (read_.empty()) return std::nullopt;
  const auto found = read_.find(key_of(plan, group, cell, kind, counted));
  return found == read_.end() ? std::nullopt : std::optional(found->second);
}

void CellTimes::keep(const Plan& plan, const Group& group, const Cell& cell, RunKind kind,
                     double seconds) {
  const std::string key = key_of(plan, group, cell, kind, true);
  if (!file_.empty() && !key.empty()) kept_[key] = seconds;
}

void CellTimes::save() const {
  if (kept_.empty()) return;
  std::map<std::string, double> all = kept_;
  all.merge(read_times(file_));
  std::string text;
  for (const auto& [key, seconds] : all)
    text += fmt::format("{} {:.4g}\n", key, seconds);
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  try {
    write_file_atomically(file_, text);
  } catch (const ReportError&) {
  }
}

}  // namespace gpuexp
