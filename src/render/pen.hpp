// The characters and escapes that a terminal takes.
#pragma once

#include <cstddef>
#include <string>

#include "render/terminal_options.hpp"

namespace gpuexp {

enum class Style { plain, bold, dim, bar, wrong, left_out };

class Pen {
 public:
  explicit Pen(const TerminalOptions& options) : options_(options) {}

  std::string text(const std::string& utf8) const;
  std::string styled(const std::string& text, Style style) const;
  /// Columns that are left behind an indent; no limit is very wide.
  std::size_t room(std::size_t indent) const;

 private:
  TerminalOptions options_;
};

}  // namespace gpuexp
