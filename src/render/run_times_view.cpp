#include "render/run_times_view.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

struct Line {
  std::string name;
  std::size_t groups = 0;
  RunTimes times;
};

// Times by experiment, the longest first.
std::vector<Line> lines_of(const std::vector<GroupTimes>& groups) {
  std::vector<Line> lines;
  for (const GroupTimes& group : groups) {
    auto line = std::ranges::find(lines, group.experiment, &Line::name);
    if (line == lines.end()) line = lines.insert(lines.end(), {group.experiment, 0, {}});
    ++line->groups;
    line->times += group.times;
  }
  std::ranges::stable_sort(lines, std::ranges::greater(),
                           [](const Line& line) { return line.times.total; });
  return lines;
}

// Sums the last lines if there are too many.
void join_last(std::vector<Line>& lines) {
  constexpr std::size_t kShown = 8;
  if (lines.size() <= kShown + 1) return;
  Line rest{fmt::format("{} others", lines.size() - kShown), 0, {}};
  for (auto line = lines.begin() + kShown; line != lines.end(); ++line) {
    rest.groups += line->groups;
    rest.times += line->times;
  }
  lines.resize(kShown);
  lines.push_back(rest);
}

double rest_of(const RunTimes& times) {
  double rest = times.total;
  for (const RunTimesMember& part : kRunTimesParts)
    rest -= times.*part.seconds;
  return rest;
}

}  // namespace

std::optional<ExperimentView> run_times_view(const Report& report) {
  if (report.group_times.empty() || report.provenance.device.is_simulated()) return std::nullopt;
  std::vector<Line> lines = lines_of(report.group_times);
  join_last(lines);
  lines.push_back({"the run", report.group_times.size(), report.times});

  ExperimentView view;
  view.title = "time of the run";
  view.facts = {"seconds"};
  view.columns = {{"experiment", false}, {"groups", true}};
  view.first_number = 1;
  for (const Line& line : lines)
    view.rows.push_back({{printable(line.name), fmt::format("{}", line.groups)}});
  const auto add = [&](std::string heading, const auto& seconds) {
    view.columns.push_back({std::move(heading), true});
    for (std::size_t i = 0; i < lines.size(); ++i)
      view.rows[i].cells.push_back(fmt::format("{:.2f}", std::max(0.0, seconds(lines[i].times))));
  };
  for (const RunTimesMember& part : kRunTimesParts) {
    constexpr double kShown = 0.005;
    if (report.times.*part.seconds < kShown) continue;
    std::string heading = part.name;
    std::ranges::replace(heading, '_', ' ');
    add(heading, [&](const RunTimes& times) { return times.*part.seconds; });
  }
  add("other", rest_of);
  add("total", [](const RunTimes& times) { return times.total; });
  return view;
}

}  // namespace gpuexp
