// What the program declares for scripts, and the files in which they read it.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/old_names.hpp"
#include "base/output.hpp"
#include "family/registry.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

namespace {

const std::filesystem::path kFolder = std::filesystem::path(GPUEXP_SOURCE_DIR) / "scripts/plotting";

Json axes_json(const Figure& figure) {
  Json axes = Json::array();
  for (const FigureAxis& axis : figure.axes)
    axes.push_back({{"column", axis.column}, {"label", axis.label}});
  return axes;
}

// Each figure once, with the families that declare it.
Json figures_json() {
  std::vector<std::string> names;
  std::map<std::string, Json> figures;
  for (const Family& family : Registry::global().families()) {
    for (const Figure& figure : family.figures) {
      if (!figures.count(figure.name)) {
        names.push_back(figure.name);
        figures[figure.name] = {{"name", figure.name},
                                {"kind", figure.kind},
                                {"title", figure.title},
                                {"axes", axes_json(figure)},
                                {"families", Json::array()}};
      }
      figures[figure.name]["families"].push_back(family.id);
    }
  }
  Json list = Json::array();
  for (const std::string& name : names)
    list.push_back(figures.at(name));
  return list;
}

// The variants of each family that run a vendor's library.
Json libraries_json() {
  Json libraries = Json::object();
  for (const Family& family : Registry::global().families()) {
    for (const Variant& variant : family.variants) {
      if (variant.is_vendor) libraries[family.id].push_back(variant.id);
    }
  }
  return libraries;
}

template <class OldNames>
Json object_of(const OldNames& names) {
  Json object = Json::object();
  for (const OldName& name : names)
    object[std::string(name.old)] = name.current;
  return object;
}

void check_file(const char* name, const Json& declared) {
  const std::filesystem::path file = kFolder / name;
  const std::string text = declared.dump(2) + "\n";
  if (std::getenv("GPUEXP_UPDATE_GOLDEN")) std::ofstream(file, std::ios::binary) << text;
  INFO("GPUEXP_UPDATE_GOLDEN=1 build/tests/gpuexp_registry_tests '[figures]' writes it anew");
  CHECK(read_file(file.string()) == text);
}

}  // namespace

TEST_CASE("families that declare one figure declare it alike", "[figures]") {
  std::map<std::string, const Figure*> first;
  for (const Family& family : Registry::global().families()) {
    std::set<std::string> own;
    for (const Figure& figure : family.figures) {
      CAPTURE(family.id, figure.name);
      CHECK(own.insert(figure.name).second);
      CHECK_FALSE(figure.title.empty());
      const Figure& other = *first.emplace(figure.name, &figure).first->second;
      CHECK(other.kind == figure.kind);
      CHECK(other.title == figure.title);
      CHECK(axes_json(other).dump() == axes_json(figure).dump());
    }
  }
  CHECK(first.size() > 10);
}

TEST_CASE("plot.py draws the figures that families declare", "[figures]") {
  check_file("figures.json", figures_json());
}

TEST_CASE("plot.py tells libraries from kernels as variants declare", "[figures]") {
  check_file("libraries.json", libraries_json());
}

TEST_CASE("scripts read old names as the program does", "[figures]") {
  check_file("old_names.json", {{"columns", object_of(kOldColumns)},
                                {"counters", object_of(kOldCounters)},
                                {"directions", object_of(kOldDirections)}});
}

}  // namespace gpuexp::test
