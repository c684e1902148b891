#include "analysis/line_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace {

struct ExecutedLine {
  SourceLine at;
  std::string text;
  LineCounts counts;
};

std::vector<ExecutedLine> executed_lines(const AnnotatedVersion& version) {
  const AnnotatedLaunch& launch = version.launch;
  const double clocks = launch.annotation.counts.time_us.sum();
  const double time_share = clocks > 0 ? launch.code_time.total_us / clocks : 0;
  std::vector<ExecutedLine> lines;
  for (const AnnotatedKernel& kernel : launch.annotation.kernels) {
    for (const AnnotatedLine& line : kernel.lines) {
      const ExecutedCounts& counts = line.counts;
      const auto text = version.sources.line(line.at.file, line.at.line);
      lines.push_back({line.at,
                       std::string(trimmed(text.value_or(""))),
                       {counts.warps, counts.sectors(), counts.shared_wavefronts,
                        counts.time_us.sum() * time_share}});
    }
  }
  return lines;
}

/// Lengths of the longest common subsequences of the ends of two sequences of lines.
class CommonLengths {
 public:
  CommonLengths(const std::vector<ExecutedLine>& a, const std::vector<ExecutedLine>& b)
      : columns_(b.size() + 1), lengths_((a.size() + 1) * columns_) {
    for (std::size_t i = a.size(); i-- > 0;) {
      for (std::size_t j = b.size(); j-- > 0;)
        at(i, j) =
            a[i].text == b[j].text ? at(i + 1, j + 1) + 1 : std::max(at(i + 1, j), at(i, j + 1));
    }
  }

  /// For the lines of a from i and those of b from j.
  std::uint32_t& at(std::size_t i, std::size_t j) { return lengths_[i * columns_ + j]; }

 private:
  std::size_t columns_;
  std::vector<std::uint32_t> lengths_;
};

/// A run of consecutive lines, each of which only one of the two versions contains (replaced
/// lines), or one line that both contain.
struct LineGroup {
  std::vector<std::size_t> lines;
  double change_us = 0;
};

std::vector<LineGroup> groups_of(const std::vector<ComparedLine>& lines) {
  std::vector<LineGroup> groups;
  bool was_replaced = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_replaced = !lines[i].before || !lines[i].after;
    if (!is_replaced || !was_replaced) groups.emplace_back();
    groups.back().lines.push_back(i);
    groups.back().change_us += lines[i].change_us();
    was_replaced = is_replaced;
  }
  return groups;
}

}  // namespace

LineCounts& LineCounts::operator+=(const LineCounts& more) {
  instructions += more.instructions;
  sectors += more.sectors;
  wavefronts += more.wavefronts;
  time_us += more.time_us;
  return *this;
}

LineComparison compare_lines(const AnnotatedVersion& before, const AnnotatedVersion& after) {
  const std::vector<ExecutedLine> a = executed_lines(before);
  const std::vector<ExecutedLine> b = executed_lines(after);
  CommonLengths common(a, b);
  LineComparison comparison;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    const bool is_both = i < a.size() && j < b.size() && a[i].text == b[j].text;
    const bool is_first =
        is_both || j == b.size() || (i < a.size() && common.at(i + 1, j) >= common.at(i, j + 1));
    ComparedLine line;
    if (is_first) {
      line.before = a[i].at;
      line.text = a[i].text;
      line.counts_before = a[i++].counts;
    }
    if (is_both || !is_first) {
      line.after = b[j].at;
      line.text = b[j].text;
      line.counts_after = b[j++].counts;
    }
    comparison.before += line.counts_before;
    comparison.after += line.counts_after;
    comparison.lines.push_back(std::move(line));
  }
  return comparison;
}

std::vector<std::size_t> lines_that_explain(const LineComparison& comparison, double share) {
  const double change = comparison.change_us();
  std::vector<LineGroup> groups = groups_of(comparison.lines);
  std::erase_if(groups, [&](const LineGroup& group) { return group.change_us * change <= 0; });
  std::ranges::stable_sort(groups, [](const LineGroup& x, const LineGroup& y) {
    return std::abs(x.change_us) > std::abs(y.change_us);
  });
  std::vector<std::size_t> lines;
  double explained = 0;
  for (const LineGroup& group : groups) {
    if (std::abs(explained) >= share * std::abs(change)) break;
    explained += group.change_us;
    lines.insert(lines.end(), group.lines.begin(), group.lines.end());
  }
  return lines;
}

}  // namespace gpuexp
