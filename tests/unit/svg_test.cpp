// Figures of a page: scales, and what is drawn where.
#include <algorithm>
#include <limits>

#include "render/svg_chart.hpp"
#include "render/svg_drawing.hpp"
#include "render/svg_scale.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using Numbers = std::vector<double>;

BarChart bars(const Numbers& lengths) {
  BarChart chart;
  chart.label = "useful GB/s";
  for (const double length : lengths)
    chart.bars.push_back({"bar", {length, {}, {}}, BarKind::kernel});
  const auto [low, high] = std::minmax_element(lengths.begin(), lengths.end());
  chart.range = {*low, *high};
  return chart;
}

}  // namespace

TEST_CASE("A scale has its ends where they were asked for", "[svg]") {
  const SvgScale linear(ScaleKind::linear, 0, 50, 100, 200);
  CHECK(linear.at(0) == Approx(100));
  CHECK(linear.at(25) == Approx(150));
  CHECK(linear.at(50) == Approx(200));
  const SvgScale down(ScaleKind::decades, 1, 100, 200, 0);
  CHECK(down.at(10) == Approx(100));
  CHECK(down.at(100) == Approx(0));
  const SvgScale powers(ScaleKind::powers_of_two, 1, 16, 0, 4);
  CHECK(powers.at(8) == Approx(3));
}

TEST_CASE("One value alone stands in the middle of its scale", "[svg]") {
  CHECK(SvgScale(ScaleKind::linear, 7, 7, 0, 10).at(7) == Approx(5));
  CHECK(SvgScale(ScaleKind::linear, 0, 0, 0, 10).at(0) == Approx(5));
  CHECK(SvgScale(ScaleKind::powers_of_two, 7, 7, 0, 10).at(7) == Approx(5));
}

TEST_CASE("Numbers at the ends of what there is are drawn somewhere", "[svg]") {
  const double most = std::numeric_limits<double>::max();
  const double least = std::numeric_limits<double>::denorm_min();
  for (const auto& lengths : {Numbers{-most, most}, Numbers{least, most}, Numbers{least, 2 * least},
                              Numbers{1, std::numeric_limits<double>::infinity()}}) {
    const std::string svg = svg_figure(Chart(bars(lengths)));
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("\"inf") == std::string::npos);
  }
  CHECK(svg_number(std::numeric_limits<double>::quiet_NaN()) == "0");
}

TEST_CASE("Ticks are round numbers within the scale", "[svg]") {
  CHECK(SvgScale(ScaleKind::linear, 0, 43, 0, 1).ticks(6) == Numbers{0, 10, 20, 30, 40});
  CHECK(SvgScale(ScaleKind::decades, 0.5, 4, 0, 1).ticks(6) == Numbers{0.5, 1, 2});
  CHECK(SvgScale(ScaleKind::decades, 1, 1e4, 0, 1).ticks(6) == Numbers{1, 10, 100, 1000, 10000});
  CHECK(SvgScale(ScaleKind::powers_of_two, 1, 32, 0, 1).ticks(6) == Numbers{1, 2, 4, 8, 16, 32});
  CHECK(SvgScale(ScaleKind::powers_of_two, 1, 1024, 0, 1).ticks(6) ==
        Numbers{1, 4, 16, 64, 256, 1024});
}

TEST_CASE("Sizes that grow by factors get a scale of powers of two", "[svg]") {
  CHECK(scale_for({1, 2, 4, 8, 16}) == ScaleKind::powers_of_two);
  CHECK(scale_for({16, 1, 4, 4}) == ScaleKind::powers_of_two);
  CHECK(scale_for({1, 2, 3, 4, 5, 6, 7, 8}) == ScaleKind::linear);  // 8/7 is no step
  CHECK(scale_for({0, 1, 10, 100}) == ScaleKind::linear);
  CHECK(scale_for({1, 1024}) == ScaleKind::linear);
  CHECK(scale_for({1024, 2048, 4096}) == ScaleKind::linear);
  CHECK(scale_for({1024, 1100, 1200, 1 << 20}) == ScaleKind::powers_of_two);
}

TEST_CASE("A tick says where it is", "[svg]") {
  CHECK(SvgScale(ScaleKind::linear, 2041, 2048, 0, 1).tick_text(2042) == "2042");
  CHECK(SvgScale(ScaleKind::linear, 0, 0.7, 0, 1).tick_text(3 * 0.1) == "0.3");
  CHECK(SvgScale(ScaleKind::decades, 1, 1e6, 0, 1).tick_text(1e5) == "100000");
  CHECK(SvgScale(ScaleKind::powers_of_two, 1, 1e6, 0, 1).tick_text(65536) == "64Ki");
}

TEST_CASE("Numbers of figures are short", "[svg]") {
  CHECK(binary_text(4096) == "4096");
  CHECK(binary_text(65536) == "64Ki");
  CHECK(binary_text(33554432) == "32Mi");
  CHECK(binary_text(65537) == "65537");
  CHECK(binary_text(0.25) == "0.25");
  CHECK(short_number(0.5012) == "0.501");
  CHECK(short_number(4079.6) == "4080");
  CHECK(svg_number(3) == "3");
  CHECK(svg_number(3.14159) == "3.1");
  CHECK(svg_number(-0.01) == "0");
}

TEST_CASE("Bars begin at 0, and their names are text", "[svg]") {
  BarChart chart = bars({100, 50});
  chart.bars[0].label = "a<b>";
  const std::string svg = svg_figure(Chart(chart));
  CHECK_THAT(svg, contains_text(">a&lt;b&gt;</text>"));
  // The second is half as wide as the first.
  std::vector<double> widths;
  for (auto at = svg.find("<rect"); at != std::string::npos; at = svg.find("<rect", at + 1))
    widths.push_back(std::stod(svg.substr(svg.find("width=\"", at) + 7)));
  REQUIRE(widths.size() == 2);
  CHECK(widths[1] == Approx(widths[0] / 2).margin(0.1));
  CHECK(svg.find("legend") == std::string::npos);
  chart.bars[0].kind = BarKind::library;
  CHECK_THAT(svg_figure(Chart(chart)), contains_text("library</li>"));
}

TEST_CASE("Lengths that span many factors are dots on a logarithmic scale", "[svg]") {
  const std::string svg = svg_figure(Chart(bars({1, 1000})));
  CHECK(svg.find("<rect") == std::string::npos);
  CHECK_THAT(svg, contains_text("<circle"));
}

TEST_CASE("Whiskers are drawn where an interval shows", "[svg]") {
  BarChart chart = bars({100, 90});
  chart.bars[1].length = {90, 89.99, 90.01};
  CHECK(svg_figure(Chart(chart)).find("whisker") == std::string::npos);
  chart.bars[1].length = {90, 80, 100};
  const std::string svg = svg_figure(Chart(chart));
  CHECK_THAT(svg, contains_text("whisker ink"));
  CHECK_THAT(svg, contains_text("whiskers: 95 % interval of the median"));
  CHECK_THAT(svg, contains_text("<title>bar: 90 (80 to 100)</title>"));
}

TEST_CASE("A line has a point per value, and a name in the legend", "[svg]") {
  const LineChart chart{"mode = <cold>",
                        "n",
                        "TFLOP/s",
                        {{"first", {{1, {10, {}, {}}}, {2, {20, {}, {}}}, {16, {40, {}, {}}}}},
                         {"second", {{1, {5, {}, {}}}}}},
                        {5, 40}};
  const std::string svg = svg_figure(Chart(chart));
  CHECK_THAT(svg, contains_text("mode = &lt;cold&gt;"));
  CHECK_THAT(svg, contains_text("first</li>"));
  CHECK_THAT(svg, contains_text("<title>first: 40 at 16</title>"));
  const std::string points = svg.substr(svg.find("points=\"") + 8);
  CHECK(std::count(points.begin(), points.begin() + static_cast<long>(points.find('"')), ',') == 3);
}

}  // namespace gpuexp::test
