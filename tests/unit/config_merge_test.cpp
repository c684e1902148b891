// Merging configs: names, seeds, figures, and the text from which a run resumes.

#include <fstream>

#include "config/config_reader.hpp"
#include "support/catch.hpp"
#include "support/fake_family.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {

namespace {

namespace fs = std::filesystem;

fs::path write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
  return file;
}

std::string config_of(const std::string& name, int seed) {
  return R"({"name": ")" + name + R"(", "seed": )" + std::to_string(seed) + R"(,
    "experiments": [{"family": "scale", "variants": ["grid_stride"]},
                    {"family": "matmul", "name": "ladder", "variants": ["naive"]}],
    "figures": [{"title": "of )" +
         name + R"(", "published_on": "any GPU",
      "source": {"author": "A", "title": "T", "year": 2022, "address": "x", "place": "y"},
      "claims": [{"name": "a", "published": 2, "unit": "×", "column": "time_median_us",
        "rows": {"experiment": "ladder", "variant": "naive"},
        "over": [{"experiment": "scale", "variant": "grid_stride"}],
        "band": [1, 1], "because": "so"}]}]})";
}

}  // namespace

TEST_CASE("merged experiments have their config's name as prefix", "[config][merge]") {
  const ScratchFolder folder;
  const fs::path a = write(folder.path() / "both" / "a.json", config_of("a", 7));
  const fs::path b = write(folder.path() / "both" / "b.json", config_of("b", 7));
  const Config config = read_as_one({a, b}, fake::registry());
  CHECK(config.name == "both");
  CHECK(config.seed == 7);
  CHECK(config.path == a.parent_path().string() + " (2 configs)");
  CHECK(config.description == "Experiments of " + a.string() + ", " + b.string());
  REQUIRE(config.experiments.size() == 4);
  CHECK(config.experiments[0].name == "a.scale");
  CHECK(config.experiments[1].name == "a.ladder");
  CHECK(config.experiments[2].name == "b.scale");
  CHECK(config.experiments[3].name == "b.ladder");
  REQUIRE(config.figures.size() == 2);
  CHECK(config.figures[1].title == "of b");
  const Quantity& quantity = config.figures[1].claims.at(0).quantity;
  CHECK(quantity.rows.at(0).experiment == "b.ladder");
  CHECK(quantity.over.at(0).experiment == "b.scale");
  // As when a run resumes.
  const Config again = parse_config(config.text, config.path, fake::registry());
  CHECK(again.hash == config.hash);
  CHECK(again.figures == config.figures);
  CHECK(again.experiments.size() == 4);
}

TEST_CASE("a single config stays unchanged", "[config][merge]") {
  const ScratchFolder folder;
  const std::string text = config_of("a", 7);
  const fs::path a = write(folder.path() / "a.json", text);
  const Config config = read_as_one({a}, fake::registry());
  CHECK(config.name == "a");
  CHECK(config.text == text);
  CHECK(config.experiments.at(0).name == "scale");
}

TEST_CASE("configs of several folders get a new name", "[config][merge]") {
  const ScratchFolder folder;
  const fs::path a = write(folder.path() / "x" / "a.json", config_of("a", 7));
  const fs::path b = write(folder.path() / "y" / "b.json", config_of("b", 7));
  CHECK(read_as_one({a, b}, fake::registry()).name == "configs");
  CHECK(read_as_one({a, b}, fake::registry()).path == a.string() + " " + b.string());
  const fs::path c = write(folder.path() / "no name" / "c.json", config_of("c", 7));
  const fs::path d = write(folder.path() / "no name" / "d.json", config_of("d", 7));
  CHECK(read_as_one({c, d}, fake::registry()).name == "configs");
}

TEST_CASE("configs with equal names or different seeds are rejected", "[config][merge]") {
  const ScratchFolder folder;
  const fs::path a = write(folder.path() / "a.json", config_of("a", 7));
  const fs::path same = write(folder.path() / "b.json", config_of("a", 7));
  CHECK_THROWS_WITH(
      read_as_one({a, same}, fake::registry()),
      contains_text("b.json: $.name: 'a' is the name of ") && contains_text("a.json too"));
  const fs::path other = write(folder.path() / "c.json", config_of("c", 8));
  CHECK_THROWS_WITH(
      read_as_one({a, other}, fake::registry()),
      contains_text("c.json: $.seed: ") && contains_text("a.json has 7 and ") &&
          contains_text("c.json has 8; a run has one seed: set it for all configs with --seed N"));
  ConfigOverrides overrides;
  overrides.seed = 9;
  CHECK(read_as_one({a, other}, fake::registry(), overrides).seed == 9);
}

TEST_CASE("an error in one of several configs names that file", "[config][merge]") {
  const ScratchFolder folder;
  const fs::path a = write(folder.path() / "a.json", config_of("a", 7));
  const fs::path b = write(folder.path() / "b.json", R"({"name": "b", "experiments": []})");
  CHECK_THROWS_WITH(read_as_one({a, b}, fake::registry()),
                    contains_text("b.json: $.experiments: "));
}

}  // namespace gpuexp::test
