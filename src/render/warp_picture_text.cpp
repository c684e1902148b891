#include "render/warp_picture_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"
#include "render/terminal_options.hpp"
#include "sim/observation.hpp"

namespace gpuexp {

namespace {

using sim::LaneMask;
using sim::TracedAccess;

constexpr unsigned kWordBytes = 4;
constexpr unsigned kLineBytes = 128;
constexpr unsigned kWords = 32;  // words of a line; number of banks
constexpr unsigned kWordsOfSector = 8;
constexpr unsigned kSectors = 4;

/// For each word of a line, the lanes that access it.
using LineWords = std::array<LaneMask, kWords>;

std::map<std::uint64_t, LineWords> lines_of(const TracedAccess& access, LaneMask lanes) {
  std::map<std::uint64_t, LineWords> lines;
  sim::for_each_lane(lanes, [&](unsigned l) {
    const std::uint64_t first = access.address[l] / kWordBytes;
    const std::uint64_t last = (access.address[l] + access.width - 1) / kWordBytes;
    for (std::uint64_t word = first; word <= last; ++word)
      lines[word / kWords * kLineBytes][word % kWords] |= LaneMask{1} << l;
  });
  return lines;
}

sim::MemoryAccess access_of(const TracedAccess& a) {
  return {a.space, a.kind, a.width, a.lanes, a.address};
}

/// One sector of a row: its words and the lanes that access it.
struct SectorCell {
  std::string words;
  std::string lanes;
};

SectorCell sector_cell(const LineWords& line, unsigned sector) {
  SectorCell cell;
  LaneMask lanes = 0;
  for (unsigned w = 0; w < kWordsOfSector; ++w) {
    const LaneMask of_word = line[sector * kWordsOfSector + w];
    cell.words += of_word ? "█" : ".";
    lanes |= of_word;
  }
  if (lanes) return {"[" + cell.words + "]", lanes_text(lanes)};
  return {std::string(kWordsOfSector + 2, ' '), ""};
}

// Buffer and offset of a 128-byte line; the offset is negative if the buffer starts within the
// line.
std::string label(const PicturedAccess& p, std::uint64_t address) {
  const auto offset = static_cast<std::int64_t>(address - p.buffer_begin);
  return fmt::format("{}{}{}", p.buffer, offset < 0 ? "-" : "+", offset < 0 ? -offset : offset);
}

std::string global_rows(const PicturedAccess& p) {
  const auto lines = lines_of(p.access, p.access.lanes);
  std::size_t label_width = 0;
  std::size_t lanes_width = 0;
  for (const auto& [address, line] : lines) {
    label_width = std::max(label_width, label(p, address).size());
    for (unsigned s = 0; s < kSectors; ++s)
      lanes_width = std::max(lanes_width, sector_cell(line, s).lanes.size());
  }
  std::string text;
  for (const auto& [address, line] : lines) {
    std::string row = "  " + pad_right(label(p, address), label_width);
    for (unsigned s = 0; s < kSectors; ++s) {
      const SectorCell cell = sector_cell(line, s);
      row += "  " + cell.words + " " + pad_right(cell.lanes, lanes_width);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string global_summary(const PicturedAccess& p) {
  sim::PlaceCounts counts;
  count(counts, access_of(p.access));
  const std::uint64_t sectors = counts.memory.load_sectors + counts.memory.store_sectors;
  if (sectors == 0) return "  no L1 request: an atomic, or an access that bypasses L1\n";
  const std::uint64_t ideal = counts.ideal_load_sectors + counts.ideal_store_sectors;
  return fmt::format(
      "  1 request: {} ({} would hold the requested bytes); {} of L1's tag stage, {} of its data "
      "stage\n",
      counted(sectors, "sector"), ideal,
      counted(counts.memory.tag_wavefronts + counts.memory.async_tag_wavefronts, "wavefront"),
      counts.memory.global_wavefronts);
}

std::string bank_row(const std::string& label, std::size_t width,
                     const std::array<std::string, kWords>& cells) {
  std::string row = "  " + pad_right(label, width);
  for (const std::string& cell : cells)
    row += pad_left(cell, 3);
  row.erase(row.find_last_not_of(' ') + 1);
  return row + "\n";
}

/// Table rows for lanes whose accesses are processed together.
class SharedTurn {
 public:
  SharedTurn(const PicturedAccess& p, LaneMask lanes, std::size_t width) {
    for (const auto& [address, line] : lines_of(p.access, lanes)) {
      std::array<std::string, kWords> cells;
      for (unsigned bank = 0; bank < kWords; ++bank) {
        cells[bank] = ".";
        if (!line[bank]) continue;
        cells[bank] = fmt::format("{}{}", std::countr_zero(line[bank]),
                                  std::popcount(line[bank]) > 1 ? "+" : "");
        ++words_[bank];
      }
      text_ += bank_row(label(p, address), width, cells);
    }
    std::array<std::string, kWords> words;
    for (unsigned bank = 0; bank < kWords; ++bank)
      words[bank] = words_[bank] ? fmt::format("{}", words_[bank]) : ".";
    text_ += bank_row("words", width, words);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::array<unsigned, kWords> words_{};
};

std::size_t label_width_of(const PicturedAccess& p) {
  std::size_t width = std::string_view("words").size();
  for (const auto& [address, line] : lines_of(p.access, p.access.lanes))
    width = std::max(width, label(p, address).size());
  return width;
}

std::string shared_rows(const PicturedAccess& p) {
  const std::size_t width = label_width_of(p);
  std::array<std::string, kWords> banks;
  for (unsigned bank = 0; bank < kWords; ++bank)
    banks[bank] = fmt::format("{}", bank);
  std::string text = bank_row("bank", width, banks);
  const unsigned step = sim::lanes_per_pass(access_of(p.access));
  for (unsigned begin = 0; begin < sim::kLanes; begin += step) {
    const LaneMask turn =
        p.access.lanes & (step == sim::kLanes ? sim::kAllLanes : ((1u << step) - 1) << begin);
    if (turn) text += SharedTurn(p, turn, width).text();
  }
  return text;
}

std::string shared_summary(const PicturedAccess& p) {
  sim::PlaceCounts counts;
  count(counts, access_of(p.access));
  const sim::MemoryCounts& m = counts.memory;
  const std::uint64_t wavefronts =
      m.shared_load_wavefronts + m.shared_store_wavefronts + counts.async_write_wavefronts;
  if (wavefronts == 0) return "  no wavefront: an atomic, or an access that bypasses the LSU\n";
  const unsigned step = sim::lanes_per_pass(access_of(p.access));
  return fmt::format(
      "  1 request: {} ({} without bank conflicts)\n"
      "  {}\n",
      counted(wavefronts, "wavefront"), wavefronts - m.shared_conflicts,
      step == sim::kLanes
          ? "wavefronts: the maximum number of words in a bank"
          : fmt::format("{} lanes at a time; wavefronts of each: the maximum number of words in a "
                        "bank",
                        step));
}

// Whether the access is a range: a bulk copy or operands of wgmma.
bool is_range(const TracedAccess& a) {
  return a.kind == sim::Access::bulk_load || a.kind == sim::Access::bulk_store ||
         a.kind == sim::Access::matrix_load;
}

std::string legend(const WarpPicture& picture) {
  bool has_global = false;
  bool has_shared = false;
  for (const PicturedAccess& p : picture.accesses)
    (p.access.space == sim::Space::global ? has_global : has_shared) |= !is_range(p.access);
  std::string text;
  if (has_global)
    text +=
        "[ ]: a sector of 32 bytes, with its 8 words (█ requested, . moved with them) and its "
        "lanes;\na row: accesses to 128 bytes of the buffer, starting at the offset\n";
  if (has_shared)
    text +=
        "a row: 128 bytes of the block's shared memory, with the lane that accesses each bank's "
        "word\n(+: and other lanes); words: number of different words per bank\n";
  return text;
}

std::string access_text(const PicturedAccess& p) {
  const TracedAccess& a = p.access;
  const auto& i = p.instruction;
  std::string text = fmt::format("\n{:#06x}  {}\n  {}", i.address, i.text, i.access);
  if (i.access.starts_with("cp.async") && a.space == sim::Space::shared)
    text += ", written to shared memory";
  if (is_range(a)) {
    return text + fmt::format(": {} bytes at {}, bypassing the load-store unit\n", a.width,
                              label(p, a.address[0]));
  }
  text += fmt::format(": {} bytes for {}", a.width,
                      a.lanes == sim::kAllLanes
                          ? "each of 32 lanes"
                          : fmt::format("each of the lanes {}", lanes_text(a.lanes)));
  if (p.alike > 0)
    text += fmt::format("; {} of the line {} the same access", counted(p.alike, "more instruction"),
                        noun_for(p.alike, "has", "have"));
  text += "\n";
  return a.space == sim::Space::global ? text + global_summary(p) + global_rows(p)
                                       : text + shared_summary(p) + shared_rows(p);
}

}  // namespace

std::string lanes_text(LaneMask lanes) {
  std::string text;
  for (unsigned l = 0; l < sim::kLanes; ++l) {
    if (!(lanes >> l & 1)) continue;
    unsigned last = l;
    while (last + 1 < sim::kLanes && (lanes >> (last + 1) & 1))
      ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", l);
    if (last > l) text += fmt::format("-{}", last);
    l = last;
  }
  return text;
}

std::string warp_picture_text(const WarpPicture& picture, const SourceFiles& sources,
                              const TerminalOptions& options) {
  const Extent& at = picture.block;
  std::string text = options.styled(
      options.text(fmt::format("{}, block ({}, {}, {}), warp {}, at {}, execution {} of {}",
                               picture.kernel, at.x, at.y, at.z, picture.asked.warp,
                               to_text(picture.line), picture.asked.execution, picture.executions)),
      Style::bold);
  text += "\n";
  if (const auto line = sources.line(picture.line.file, picture.line.line))
    text += options.text(printable(*line)) + "\n";
  text += options.styled(options.text(legend(picture)), Style::dim);
  for (const PicturedAccess& access : picture.accesses)
    text += options.text(access_text(access));
  return text;
}

}  // namespace gpuexp
