#include "render/svg_drawing.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "render/html.hpp"

namespace gpuexp {

namespace {

constexpr double kTickGap = 6;
constexpr double kAxisLabelGap = 36;
constexpr double kTextMiddle = 4;  // from the middle of a line of text to its base
constexpr std::size_t kMostTicks = 6;

std::string title_element(std::string_view title) {
  return title.empty() ? "" : html_element("title", title);
}

}  // namespace

SvgDrawing::SvgDrawing(double width, double height, std::string_view label)
    : svg_(fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
                       svg_number(width), svg_number(height), escape_html(label))) {}

void SvgDrawing::line(double x1, double y1, double x2, double y2, std::string_view css) {
  svg_ += fmt::format("<path class=\"{}\" d=\"M{} {}L{} {}\"/>", css, svg_number(x1),
                      svg_number(y1), svg_number(x2), svg_number(y2));
}

void SvgDrawing::rectangle(double x, double y, double width, double height, std::string_view css,
                           std::string_view title) {
  svg_ += fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">{}</rect>",
                      css, svg_number(x), svg_number(y), svg_number(width), svg_number(height),
                      title_element(title));
}

void SvgDrawing::dot(double x, double y, std::string_view css, std::string_view title) {
  svg_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{}\" r=\"3\">{}</circle>", css,
                      svg_number(x), svg_number(y), title_element(title));
}

void SvgDrawing::polyline(const std::string& points, std::string_view css) {
  svg_ += fmt::format("<polyline class=\"{}\" points=\"{}\"/>", css, points);
}

void SvgDrawing::text(double x, double y, std::string_view css, std::string_view text) {
  svg_ += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\">{}</text>", css, svg_number(x),
                      svg_number(y), escape_html(text));
}

void SvgDrawing::x_axis(const SvgScale& scale, double top, double bottom, std::string_view label,
                        double middle) {
  for (const double tick : scale.ticks(kMostTicks)) {
    const double x = scale.at(tick);
    line(x, top, x, bottom, "grid");
    text(x, bottom + kTickGap + 3 * kTextMiddle, "middle", scale.tick_text(tick));
  }
  text(middle, bottom + kAxisLabelGap, "middle label", label);
}

void SvgDrawing::y_axis(const SvgScale& scale, double left, double right, double top,
                        std::string_view label) {
  for (const double tick : scale.ticks(kMostTicks)) {
    const double y = scale.at(tick);
    line(left, y, right, y, "grid");
    text(left - kTickGap, y + kTextMiddle, "end", scale.tick_text(tick));
  }
  text(0, top - 2 * kTickGap, "start label", label);
}

double svg_text_width(std::string_view text) {
  constexpr double kPerColumn = 6.8;  // of 12 units of height, a digit in most fonts
  return kPerColumn * static_cast<double>(display_width(text));
}

std::string svg_number(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

}  // namespace gpuexp
