// The parts that figures are drawn of: an <svg> with lines, texts and marks, all of them with a
// class of the page's style.
#pragma once

#include <string>
#include <string_view>

#include "render/svg_scale.hpp"

namespace gpuexp {

class SvgDrawing {
 public:
  SvgDrawing(double width, double height, std::string_view label);

  void line(double x1, double y1, double x2, double y2, std::string_view css);
  void rectangle(double x, double y, double width, double height, std::string_view css,
                 std::string_view title);
  void dot(double x, double y, std::string_view css, std::string_view title);
  void polyline(const std::string& points, std::string_view css);
  /// `css` says where the text ends: "start", "middle" or "end".
  void text(double x, double y, std::string_view css, std::string_view text);

  /// Ticks below `bottom`, lines up to `top`, and the label under them.
  void x_axis(const SvgScale& scale, double top, double bottom, std::string_view label,
              double middle);
  /// Ticks left of `left`, lines as far as `right`; its label stands over it.
  void y_axis(const SvgScale& scale, double left, double right, double top, std::string_view label);

  std::string take() { return std::move(svg_) + "</svg>"; }

 private:
  std::string svg_;
};

/// Columns that text of figures takes in them, about.
double svg_text_width(std::string_view text);

/// A coordinate with one decimal, and without one where it is whole.
std::string svg_number(double value);

}  // namespace gpuexp
