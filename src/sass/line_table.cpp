#include "sass/line_table.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace {

std::string_view take_line(std::string_view& text) {
  return trimmed(take_until(text, "\n"));
}

// Number after `key` in the line, such as "0x90" or "44".
std::optional<std::uint32_t> find_number(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view digits = line.substr(at + key.size());
  const bool is_hex = digits.starts_with("0x");
  if (is_hex) digits.remove_prefix(2);
  const auto number = take_number<std::uint32_t>(digits, is_hex ? 16 : 10);
  if (!number) throw std::runtime_error(fmt::format("no number after '{}' in '{}'", key, line));
  return number;
}

// Like find_number(), but throws std::runtime_error if the line lacks `key`.
std::uint32_t require_number(std::string_view line, std::string_view key) {
  if (const auto number = find_number(line, key)) return *number;
  throw std::runtime_error(fmt::format("no '{}' in '{}'", key, line));
}

struct Row {
  std::uint32_t address = 0;
  std::uint32_t file = 1;
  std::uint32_t line = 1;
  /// Row at which this row's function is inlined, counted from 1 in the sequence; 0: not inlined.
  std::uint32_t inlined_at = 0;
};

/// Line table of one architecture. The relocation of a sequence's first address names the
/// sequence's kernel and gives the address's position in the section. Relocations may be in reverse
/// order.
class LineTable {
 public:
  void read_statement(std::string_view line) {
    if (line == "The Directory Table:") {
      *this = {};
      part_ = Part::folders;
    } else if (line == "The File Name Table:") {
      part_ = Part::files;
    } else if (line == "Line Number Statements:") {
      part_ = Part::rows;
    } else if (part_ == Part::folders && line.starts_with('/')) {
      folders_.push_back(line);
    } else if (part_ == Part::files) {
      read_file(line);
    } else if (part_ == Part::rows) {
      read_row(line);
    }
  }

  // "0x7b    _ZN6gpuexp11block_start13number_kernelEPj    R_CUDA_64    0x0"
  void read_relocation(std::string_view line) {
    if (!line.starts_with("0x")) return;
    const std::uint32_t place = require_number(take_word(line), "");
    kernels_.emplace(place, take_word(line));
  }

  void add_to(LinesByKernel& lines, const std::string& architecture, std::string_view root) const {
    if (sequences_.size() != kernels_.size())
      throw std::runtime_error(
          fmt::format("cuobjdump printed source lines of {} functions, but {} "
                      "function names",
                      sequences_.size(), kernels_.size()));
    auto sequence = sequences_.begin();
    for (const auto& [place, kernel] : kernels_) {
      std::vector<LineRow>& rows = lines[{architecture, std::string(kernel)}];
      for (const Row& row : *sequence)
        rows.push_back(located(*sequence, row, root));
      std::stable_sort(rows.begin(), rows.end(),
                       [](const LineRow& a, const LineRow& b) { return a.address < b.address; });
      ++sequence;
    }
  }

 private:
  enum class Part { none, folders, files, rows };

  // "2 2 1795371817 4643 block_start.cu": number, folder, time, size, name. The folder is
  // "build/../kernels" if the compiler was called with a relative path, for example by a compiler
  // cache.
  void read_file(std::string_view line) {
    const std::string_view number = take_word(line);
    if (number.empty() || number.find_first_not_of("0123456789") != std::string_view::npos) return;
    const std::size_t folder = require_number(take_word(line), "");
    take_word(line);
    take_word(line);
    if (folder > folders_.size())
      throw std::runtime_error(fmt::format("the file {} has an unknown folder", trimmed(line)));
    const std::filesystem::path in = folder == 0 ? "" : folders_[folder - 1];
    files_.push_back((in / trimmed(line)).lexically_normal().string());
  }

  void read_row(std::string_view line) {
    if (line.starts_with("Extended opcode 1:")) {
      sequences_.push_back(std::move(rows_));
      rows_.clear();
      row_ = {};
      return;
    }
    if (const auto file = find_number(line, "Set File Name to entry ")) row_.file = *file;
    if (const auto address = find_number(line, "set Address to ")) row_.address = *address;
    if (const auto row = find_number(line, "Set context to ")) row_.inlined_at = *row;
    const std::size_t line_at = line.find("Line by ");
    if (line_at != std::string_view::npos) row_.line = require_number(line.substr(line_at), " to ");
    for (const std::string_view key : {"Advance PC by ", "advance Address by "}) {
      const std::size_t at = line.find(key);
      if (at != std::string_view::npos) row_.address = require_number(line.substr(at), " to ");
    }
    if (line == "Copy" || line.starts_with("Special opcode")) rows_.push_back(row_);
  }

  LineRow located(const std::vector<Row>& rows, const Row& row, std::string_view root) const {
    const Row* written = nullptr;  // innermost row whose file is below the root
    const Row* at = &row;
    for (std::size_t depth = 0; depth < rows.size(); ++depth) {
      if (!written && is_below(file_of(*at), root)) written = at;
      if (at->inlined_at == 0 || at->inlined_at > rows.size()) break;
      at = &rows[at->inlined_at - 1];
    }
    if (!written) {
      const std::string& file = file_of(row);
      return {row.address, file.substr(file.rfind('/') + 1), row.line};
    }
    LineRow result{row.address, below(file_of(*written), root), written->line};
    if (at == written || !is_below(file_of(*at), root)) return result;
    result.from_file = below(file_of(*at), root);
    result.from_line = at->line;
    return result;
  }

  static bool is_below(const std::string& file, std::string_view root) {
    return file.starts_with(root) && file.substr(root.size()).starts_with('/');
  }
  static std::string below(const std::string& file, std::string_view root) {
    return file.substr(root.size() + 1);
  }

  const std::string& file_of(const Row& row) const {
    if (row.file == 0 || row.file > files_.size())
      throw std::runtime_error(
          fmt::format("source lines refer to file {} of {}", row.file, files_.size()));
    return files_[row.file - 1];
  }

  Part part_ = Part::none;
  std::vector<std::string_view> folders_;
  std::vector<std::string> files_;
  Row row_;
  std::vector<Row> rows_;
  std::vector<std::vector<Row>> sequences_;
  /// By the position of the kernel's relocation.
  std::map<std::uint32_t, std::string_view> kernels_;
};

}  // namespace

LinesByKernel read_lines(std::string_view dump, std::string_view source_root) {
  constexpr std::string_view kArchitecture = "arch = ";
  constexpr std::string_view kSection = ".section ";
  while (source_root.ends_with('/'))
    source_root.remove_suffix(1);
  LinesByKernel lines;
  LineTable table;
  std::string architecture;
  std::string_view section;
  while (!dump.empty()) {
    std::string_view line = take_line(dump);
    if (line.starts_with(kArchitecture)) {
      table.add_to(lines, architecture, source_root);
      table = {};
      architecture = line.substr(kArchitecture.size());
      section = {};
    } else if (line.starts_with(kSection)) {
      line.remove_prefix(kSection.size());
      section = take_word(line);
    } else if (section == ".debug_line") {
      table.read_statement(line);
    } else if (section == ".rela.debug_line" || section == ".rel.debug_line") {
      table.read_relocation(line);
    }
  }
  table.add_to(lines, architecture, source_root);
  return lines;
}

}  // namespace gpuexp
