#include "render/annotation_text.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "family/function_text.hpp"
#include "render/terminal_options.hpp"

namespace gpuexp {

namespace {

constexpr std::size_t kGap = 2;
enum Column : std::size_t {
  kLineColumn,
  kInstructionsColumn,
  kInstructionsPctColumn,
  kLanesColumn,
  kSectorsColumn,
  kInL1PctColumn,
  kSharedColumn,
  kGpuInstructionsColumn,  // first column of hardware counts
  kGpuLanesColumn,
  kGpuSectorsColumn,
  kGpuSharedColumn,
  kTimePctColumn,
  kWarpStateColumn,
  kColumns
};
using Cells = std::array<std::string, kColumns>;

/// A row of the table: a source line, one of its accesses, or a gap between lines.
struct Row {
  Cells cells;
  std::string source;
  Style style = Style::plain;
};

std::string extent_text(const Extent& e) {
  std::string text = fmt::format("{}", e.x);
  if (e.y > 1 || e.z > 1) text += fmt::format(" × {}", e.y);
  if (e.z > 1) text += fmt::format(" × {}", e.z);
  return text;
}

std::string percent(double part, double whole) {
  if (whole <= 0 || part <= 0) return "";
  const double value = 100 * part / whole;
  return value < 0.05 ? "<0.1" : fmt::format("{:.1f}", value);
}

// "32.0 (4.0)": mean number per request, and the ideal mean in parentheses.
std::string per_request(double count, double ideal, double requests) {
  if (requests <= 0) return "";
  return fmt::format("{:.1f} ({:.1f})", count / requests, ideal / requests);
}

// True if the number of sectors or shared memory wavefronts is at least twice the ideal number.
bool is_wasteful(const ExecutedCounts& c) {
  return (c.requests() > 0 && c.sectors() >= 2 * c.ideal_sectors()) ||
         (c.shared_requests > 0 && c.shared_wavefronts >= 2 * c.ideal_shared_wavefronts);
}

class AnnotatedTable {
 public:
  AnnotatedTable(const AnnotatedLaunch& launch, const AnnotatedKernel& kernel,
                 const SourceFiles& sources, const TerminalOptions& options)
      : annotation_(launch.annotation),
        is_counted_(!launch.counted_on.empty()),
        kernel_(kernel),
        sources_(sources),
        options_(options) {
    std::size_t begin = 0;
    while (begin < kernel.lines.size()) {
      std::size_t end = begin;
      while (end < kernel.lines.size() && kernel.lines[end].at.file == kernel.lines[begin].at.file)
        ++end;
      add_file(begin, end);
      begin = end;
    }
  }

  std::string render() const {
    const bool has_sectors = kernel_.counts.requests() > 0;
    const bool has_shared = kernel_.counts.shared_requests > 0;
    const Cells headings{"line",
                         "instr.",
                         "instr. %",
                         "lanes",
                         has_sectors ? "sectors (ideal)" : "",
                         kernel_.counts.l1.all > 0 ? "in L1 %" : "",
                         has_shared ? "shared (ideal)" : "",
                         is_counted_ ? "GPU: instr." : "",
                         is_counted_ ? "lanes" : "",
                         is_counted_ && has_sectors ? "sectors (ideal)" : "",
                         is_counted_ && has_shared ? "shared (ideal)" : "",
                         has_time() ? "time %" : "",
                         has_time() ? "warps are in" : ""};
    std::array<std::size_t, kColumns> widths{};
    for (std::size_t c = 0; c < kColumns; ++c) {
      widths[c] = headings[c].size();
      for (const Row& row : rows_)
        widths[c] = std::max(widths[c], display_width(options_.text(row.cells[c])));
    }
    std::string text = options_.styled(line(headings, "", widths), Style::bold) + "\n";
    for (const Row& row : rows_)
      text += options_.styled(line(row.cells, row.source, widths), row.style) + "\n";
    return text;
  }

 private:
  std::string line(const Cells& cells, const std::string& source,
                   const std::array<std::size_t, kColumns>& widths) const {
    std::string text;
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (widths[c] == 0) continue;
      text += pad_left(options_.text(cells[c]), widths[c]) + std::string(kGap, ' ');
    }
    const std::size_t room = options_.room(display_width(text) + kGap);
    std::string shown = printable(source);
    if (display_width(shown) > room) shown = shown.substr(0, room - 1) + "…";
    text += options_.text(source.empty() ? "|" : "| " + shown);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  // Adds the lines of one file, each with its context; gaps are shown as "…".
  void add_file(std::size_t begin, std::size_t end) {
    const std::string& file = kernel_.lines[begin].at.file;
    rows_.push_back({{}, file_heading(file), Style::bold});
    std::uint32_t shown = 0;  // the last line that is shown
    for (std::size_t i = begin; i < end; ++i) {
      const AnnotatedLine& line = kernel_.lines[i];
      const std::uint32_t first = line.at.line > 1 ? line.at.line - 1 : line.at.line;
      if (first > shown + 1) {
        const std::string from = reached_from(i, end);
        rows_.push_back({{"…"}, from, Style::dim});
      }
      for (std::uint32_t beside = std::max(first, shown + 1); beside < line.at.line; ++beside)
        add_context(file, beside);
      add_line(line);
      shown = line.at.line;
      const bool is_next_close = i + 1 < end && kernel_.lines[i + 1].at.line <= shown + 1;
      if (!is_next_close) add_context(file, ++shown);
    }
  }

  std::string file_heading(const std::string& file) const {
    if (file.empty()) return "(no source line is known)";
    if (!sources_.line(file, 1)) return file + " (source text not available)";
    return file;
  }

  // The kernel's lines into which the code from here to the next gap was inlined.
  std::string reached_from(std::size_t first, std::size_t end) const {
    constexpr std::size_t kMaxShown = 6;
    constexpr std::uint32_t kNear = 3;
    std::set<SourceLine> from;
    for (std::size_t i = first; i < end; ++i) {
      const AnnotatedLine& line = kernel_.lines[i];
      if (i > first && line.at.line > kernel_.lines[i - 1].at.line + kNear) break;
      from.insert(line.from.begin(), line.from.end());
    }
    if (from.empty()) return "";
    std::vector<std::string> texts;
    for (const SourceLine& line : from) {
      if (texts.size() == kMaxShown) {
        texts.push_back(fmt::format("{} more", from.size() - kMaxShown));
        break;
      }
      texts.push_back(line.file == kernel_.lines[first].at.file ? fmt::format("line {}", line.line)
                                                                : to_text(line));
    }
    return fmt::format("inlined at {}", fmt::join(texts, ", "));
  }

  void add_context(const std::string& file, std::uint32_t line) {
    const auto text = sources_.line(file, line);
    if (text) rows_.push_back({{fmt::format("{}", line)}, std::string(*text), Style::dim});
  }

  void add_line(const AnnotatedLine& line) {
    const auto text = sources_.line(line.at.file, line.at.line);
    Row row{cells_of(line.counts), std::string(text.value_or("")), Style::plain};
    row.cells[kLineColumn] = line.at.file.empty() ? "" : fmt::format("{}", line.at.line);
    row.style = is_wasteful(line.counts) ? Style::left_out : Style::plain;
    rows_.push_back(std::move(row));
    if (line.accesses.size() < 2) return;
    for (const LineAccess& access : line.accesses) {
      Row part{cells_of(access.counts), "  → " + access.access,
               is_wasteful(access.counts) ? Style::left_out : Style::dim};
      for (const Column c : {kInstructionsColumn, kInstructionsPctColumn, kLanesColumn,
                             kGpuInstructionsColumn, kGpuLanesColumn})
        part.cells[c].clear();
      rows_.push_back(std::move(part));
    }
  }

  bool has_time() const { return annotation_.counts.time_us.sum() > 0; }

  Cells cells_of(const ExecutedCounts& c) const {
    Cells cells;
    cells[kInstructionsColumn] = fmt::format("{:.0f}", c.warps);
    cells[kInstructionsPctColumn] = percent(c.warps, annotation_.counts.warps);
    cells[kLanesColumn] = fmt::format("{:.1f}", c.predicated_lanes / c.warps);
    cells[kSectorsColumn] = per_request(c.sectors(), c.ideal_sectors(), c.requests());
    if (c.l1.all > 0) cells[kInL1PctColumn] = fmt::format("{:.1f}", 100 * c.l1.hits / c.l1.all);
    cells[kSharedColumn] =
        per_request(c.shared_wavefronts, c.ideal_shared_wavefronts, c.shared_requests);
    if (is_counted_) add_counted(c, cells);
    if (!has_time() || c.time_us.sum() <= 0) return cells;
    cells[kTimePctColumn] = percent(c.time_us.sum(), annotation_.counts.time_us.sum());
    cells[kWarpStateColumn] = name_of(c.time_us.largest());
    return cells;
  }

  // CUPTI counts no requests, so requests per warp instruction are those of the simulation.
  static void add_counted(const ExecutedCounts& c, Cells& cells) {
    const SourceCounts& gpu = c.gpu;
    cells[kGpuInstructionsColumn] = fmt::format("{:.0f}", gpu.warps);
    if (gpu.warps <= 0 || c.warps <= 0) return;
    const double scale = gpu.warps / c.warps;
    cells[kGpuLanesColumn] = fmt::format("{:.1f}", gpu.predicated_lanes / gpu.warps);
    cells[kGpuSectorsColumn] = per_request(gpu.sectors, gpu.ideal_sectors, c.requests() * scale);
    cells[kGpuSharedColumn] =
        per_request(gpu.shared_wavefronts, gpu.ideal_shared_wavefronts, c.shared_requests * scale);
  }

  const Annotation& annotation_;
  bool is_counted_;
  const AnnotatedKernel& kernel_;
  const SourceFiles& sources_;
  const TerminalOptions& options_;
  std::vector<Row> rows_;
};

// "long_scoreboard 62 %, wait 20 %, selected 10 %": at most four states, the most frequent first.
std::string states_text(const WarpClocks& clocks) {
  constexpr std::size_t kMaxShown = 4;
  constexpr double kMinPercent = 1;
  std::vector<std::pair<double, WarpState>> states;
  for (std::size_t i = 0; i < kWarpStates; ++i) {
    const auto state = static_cast<WarpState>(i);
    const double pct = 100 * clocks[state] / clocks.sum();
    if (pct >= kMinPercent) states.emplace_back(pct, state);
  }
  std::ranges::sort(states, std::greater<>());
  if (states.size() > kMaxShown) states.resize(kMaxShown);
  std::vector<std::string> texts;
  for (const auto& [pct, state] : states)
    texts.push_back(fmt::format("{} {:.0f} %", name_of(state), pct));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string prediction_text(const AnnotatedLaunch& launch) {
  const CodeTime& code = launch.code_time;
  if (code.refusal.empty() && !code.kernels.empty())
    return fmt::format(
        "Predicted from the machine code, {}: {}; warps are in {}. time %: share of the warps' "
        "cycles in the line, with the most frequent state.",
        name_of(launch.mode), time_text(code.total_us),
        states_text(launch.annotation.counts.time_us));
  return code.refusal.empty() ? "No time is predicted."
                              : fmt::format("No time is predicted: {}.", code.refusal);
}

std::string legend(const ExecutedCounts& counts) {
  std::string text =
      "instr.: warp instructions. lanes: mean number of active lanes that are not predicated off, "
      "of 32.";
  if (counts.requests() > 0)
    text +=
        " sectors: 32-byte sectors per request to global memory (minimum for the requested "
        "bytes).";
  if (counts.l1.all > 0) text += " in L1 %: sectors that L1 holds or already waits for.";
  if (counts.shared_requests > 0)
    text += " shared: wavefronts per request to shared memory (without bank conflicts).";
  return text;
}

// Describes the hardware counts and, if all blocks were simulated, how many instructions have other
// counts in the simulation.
std::string counting_text(const AnnotatedLaunch& launch) {
  if (!launch.why_not_counted.empty())
    return fmt::format("Not counted on the GPU: {}", launch.why_not_counted);
  std::string text = fmt::format(
      "GPU: hardware counts of {} at the line's instructions (CUPTI SASS metrics), over the whole "
      "grid of {}.",
      launch.counted_on, counted(launch.blocks, "block"));
  if (launch.blocks_executed < launch.blocks) return text;
  std::size_t executed = 0;
  std::size_t other = 0;
  for (const AnnotatedKernel& kernel : launch.annotation.kernels) {
    for (const AnnotatedInstruction& i : kernel.instructions) {
      const ExecutedCounts& c = i.counts;
      if (c.warps == 0 && c.gpu.warps == 0) continue;
      ++executed;
      other += c.warps != c.gpu.warps || c.lanes != c.gpu.lanes ||
               c.predicated_lanes != c.gpu.predicated_lanes;
    }
  }
  return text + (other == 0 ? fmt::format(" All counts of {} agree with the simulation.",
                                          counted(executed, "instruction"))
                            : fmt::format(" The simulation executed {}; {} {} other counts on the "
                                          "GPU.",
                                          counted(executed, "instruction"), other,
                                          noun_for(other, "has", "have")));
}

std::string kernel_heading(const AnnotatedKernel& kernel) {
  std::string text = kernel.name;
  if (!kernel.shapes.empty()) {
    const Shape& shape = kernel.shapes.front();
    text += fmt::format(": {} {} of {} {}", extent_text(shape.grid),
                        noun_for(shape.grid.count(), "block"), extent_text(shape.block),
                        noun_for(shape.block.count(), "thread"));
  }
  if (kernel.shapes.size() > 1)
    text += fmt::format(", the first of {} launches", kernel.shapes.size());
  return text + fmt::format("; {:.0f} warp instructions", kernel.counts.warps);
}

}  // namespace

std::string annotation_head(const AnnotatedLaunch& launch, const TerminalOptions& options) {
  constexpr std::size_t kWidth = 100;
  std::vector<std::string> paragraphs{
      fmt::format("{}/{} on {}, {}", launch.family->id, launch.variant->id, launch.device.name,
                  values_text(*launch.family, launch.values)),
      fmt::format(
          "simulated: counts of the executed machine code (compute capability {}.{}), {} of "
          "{}",
          launch.device.cc_major, launch.device.cc_minor, launch.blocks_executed,
          counted(launch.blocks, "block")),
      prediction_text(launch), legend(launch.annotation.counts)};
  if (!launch.counted_on.empty() || !launch.why_not_counted.empty())
    paragraphs.push_back(counting_text(launch));
  std::string text;
  for (const std::string& paragraph : paragraphs) {
    const bool is_title = text.empty();
    for (const std::string& line : wrap(options.text(paragraph), std::min(kWidth, options.room(0))))
      text += options.styled(line, is_title ? Style::bold : Style::dim) + "\n";
  }
  return text + "\n";
}

std::string annotation_text(const AnnotatedLaunch& launch, const SourceFiles& sources,
                            const TerminalOptions& options) {
  std::string text;
  for (const AnnotatedKernel& kernel : launch.annotation.kernels) {
    if (!text.empty()) text += "\n";
    text += options.styled(options.text(kernel_heading(kernel)), Style::bold) + "\n";
    text += AnnotatedTable(launch, kernel, sources, options).render();
  }
  return text;
}

}  // namespace gpuexp
