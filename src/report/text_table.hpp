// Aligned plain-text tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

enum class Align { left, right };

/// Collects rows and renders them with every column as wide as its widest cell, two spaces apart.
class TextTable {
 public:
  void add_column(std::string title, Align align);
  /// One cell per column; missing cells at the end are empty.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Title line, rule and rows, each ending in a newline and free of trailing spaces.
  std::string render() const;

 private:
  std::vector<std::string> titles_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Columns that UTF-8 text takes on a terminal, counting one per code point.
std::size_t display_width(std::string_view text);

/// Breaks text at spaces so that no line is wider than `width`; every line starts with `indent`
/// spaces.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

/// 1.50 µs, 12.3 ms: a time with the unit that keeps one to three digits before the point.
std::string format_time_us(double us);
/// 256 MiB, 1.5 GiB.
std::string format_bytes(double bytes);

}  // namespace gpuexp
