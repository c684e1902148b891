// Aligned plain-text tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

enum class Align { left, right };

/// Renders rows. Each column is as wide as its widest title or cell, and two spaces separate
/// columns.
class TextTable {
 public:
  void add_column(std::string title, Align align);
  /// One cell per column; missing cells at the end are empty.
  void add_row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// Title line, rule and rows. Each line ends in a newline and has no trailing spaces.
  std::string render() const;

 private:
  std::vector<std::string> titles_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gpuexp
