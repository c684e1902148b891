// Figures that families declare, compared with the file that scripts read.

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/output.hpp"
#include "family/registry.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

namespace {

constexpr const char* kFile = GPUEXP_SOURCE_DIR "/scripts/plotting/figures.json";

Json axes_json(const Plot& figure) {
  Json axes = Json::array();
  for (const PlotAxis& axis : figure.axes)
    axes.push_back({{"column", axis.column}, {"label", axis.label}});
  return axes;
}

// One line per figure, with the families that declare it.
std::string figures_text() {
  std::vector<std::string> names;
  std::map<std::string, Json> plots;
  for (const Family& family : Registry::global().families()) {
    for (const Plot& figure : family.plots) {
      if (!plots.count(figure.name)) {
        names.push_back(figure.name);
        plots[figure.name] = {{"name", figure.name},
                              {"kind", figure.kind},
                              {"title", figure.title},
                              {"axes", axes_json(figure)},
                              {"families", Json::array()}};
      }
      plots[figure.name]["families"].push_back(family.id);
    }
  }
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "[\n" : ",\n") + plots.at(name).dump();
  return text + "\n]\n";
}

}  // namespace

TEST_CASE("families that share a figure declare the same axes and title", "[figures]") {
  std::map<std::string, const Plot*> first;
  for (const Family& family : Registry::global().families()) {
    std::set<std::string> own;
    for (const Plot& figure : family.plots) {
      CAPTURE(family.id, figure.name);
      CHECK(own.insert(figure.name).second);
      CHECK_FALSE(figure.title.empty());
      const Plot& other = *first.emplace(figure.name, &figure).first->second;
      CHECK(other.kind == figure.kind);
      CHECK(other.title == figure.title);
      CHECK(axes_json(other).dump() == axes_json(figure).dump());
    }
  }
  CHECK(first.size() > 10);
}

TEST_CASE("plot.py draws the figures that families declare", "[figures]") {
  const std::string text = figures_text();
  if (std::getenv("GPUEXP_UPDATE_GOLDEN")) std::ofstream(kFile, std::ios::binary) << text;
  INFO("GPUEXP_UPDATE_GOLDEN=1 build/tests/gpuexp_registry_tests '[figures]' writes it");
  CHECK(read_file(kFile) == text);
}

}  // namespace gpuexp::test
