#include <string>
#include <vector>

#include "base/sha256.hpp"
#include "config/config_reader.hpp"
#include "support/catch.hpp"
#include "support/fake_family.hpp"

namespace gpuexp {

namespace {

Config parse(const std::string& text, const ConfigOverrides& overrides = {}) {
  return parse_config(text, "x.json", fake::registry(), overrides);
}

// One experiment on matmul with further members, such as R"("axes": {"n": 1})".
Config parse_experiment(const std::string& members, const ConfigOverrides& overrides = {}) {
  return parse(R"({"name": "t", "experiments": [{"family": "matmul", )" + members + "}]}",
               overrides);
}

std::vector<std::string> ids(const Experiment& experiment) {
  std::vector<std::string> ids;
  for (const Variant* v : experiment.variants)
    ids.push_back(v->id);
  return ids;
}

// "1 2 2..9": values, and from..to for wave edges.
std::string text_of(const Axis& axis) {
  std::string text;
  for (const AxisItem& item : axis.items) {
    if (!text.empty()) text += ' ';
    if (const auto* value = std::get_if<Value>(&item)) {
      text += to_string(*value);
    } else {
      const WaveEdges& edges = std::get<WaveEdges>(item);
      text += std::to_string(edges.from) + ".." + std::to_string(edges.to);
    }
  }
  return text;
}

// The values of one axis of `scale`, given as JSON.
std::string scale_axis(const std::string& parameter, const std::string& json) {
  const Config config = parse(R"({"name": "t", "experiments": [{"family": "scale", "axes": {")" +
                              parameter + "\": " + json + "}}]}");
  return text_of(config.experiments.at(0).axes.at(0));
}

using Groups = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("a config with every feature is read as written", "[config]") {
  const std::string text = R"({
    "$schema": "schema/experiment.schema.json", "name": "tiling", "description": "why", "seed": 7,
    "experiments": [
      { "family": "matmul", "variants": ["naive", "coalesced", "smem_*"], "baseline": "naive",
        "axes": { "n": [1024, 4096] }, "modes": ["cold", "warm"],
        "measure": { "min_samples": 20, "max_seconds": 2 } },
      { "family": "wave_quantization",
        "axes": { "n": [1791, 1792, 1793, { "wave_edges": { "from": 1024, "to": 4096 } }] } } ] })";
  const Config config = parse(text);
  CHECK(config.path == "x.json");
  CHECK(config.name == "tiling");
  CHECK(config.description == "why");
  CHECK(config.seed == 7);
  CHECK(config.text == text);
  CHECK(config.hash == sha256(text));
  REQUIRE(config.experiments.size() == 2);

  const Experiment& first = config.experiments[0];
  CHECK(first.name == "matmul");
  CHECK(first.family == fake::registry().find("matmul"));
  CHECK(ids(first) == std::vector<std::string>{"naive", "coalesced", "smem_tile", "smem_padded"});
  CHECK(first.baseline == first.family->find("naive"));
  REQUIRE(first.axes.size() == 1);
  CHECK(text_of(first.axes[0]) == "1024 4096");
  CHECK(first.axis_groups == Groups{{0}});
  CHECK(first.modes == std::vector{Mode::cold, Mode::warm});
  CHECK(first.measure.min_samples == 20);
  CHECK(first.measure.max_seconds == 2.0);
  CHECK(first.measure.warmup_launches == MeasureSettings{}.warmup_launches);

  const Experiment& second = config.experiments[1];
  CHECK(ids(second) == std::vector<std::string>{"tile_2048", "tile_4096"});
  CHECK(second.baseline == nullptr);
  CHECK(second.modes == std::vector{Mode::cold});
  CHECK(text_of(second.axes.at(0)) == "1791 1792 1793 1024..4096");
}

TEST_CASE("modes have the names used in configs", "[config]") {
  CHECK(name_of(Mode::cold) == "cold");
  CHECK(name_of(Mode::warm) == "warm");
}

TEST_CASE("a config needs only name, experiments and family", "[config]") {
  const Config config = parse(R"({"name": "t", "experiments": [{"family": "scale"}]})");
  CHECK(config.seed == 1);
  CHECK(config.description.empty());
  CHECK(config.experiments[0].axes.empty());
  CHECK(config.experiments[0].axis_groups.empty());
  CHECK(config.experiments[0].variants.size() == 2);
}

TEST_CASE("a family that the build leaves out is reported as such", "[config]") {
  Registry registry;
  registry.set_omitted("attention,scan", "matmul,softmax");
  const auto read = [&](const std::string& family) {
    return parse_config(R"({"name": "t", "experiments": [{"family": ")" + family + "\"}]}",
                        "x.json", registry, {});
  };
  CHECK_THROWS_WITH(read("scan"), contains_text("family 'scan' is not in this build "
                                                "(GPUEXP_FAMILIES=matmul;softmax)"));
  CHECK_THROWS_WITH(read("can"), contains_text("unknown family"));
}

TEST_CASE("variants keep the family's order and are selected once", "[config]") {
  const Config config = parse_experiment(R"("variants": ["smem_*", "naive", "*_tile"])");
  CHECK(ids(config.experiments[0]) ==
        std::vector<std::string>{"naive", "smem_tile", "smem_padded"});
}

TEST_CASE("axes expand to values", "[config]") {
  CHECK(scale_axis("n", "7") == "7");
  CHECK(scale_axis("n", "[3, 1, 2]") == "3 1 2");
  CHECK(scale_axis("n", R"({"from": 1, "to": 10, "step": 3})") == "1 4 7 10");
  CHECK(scale_axis("n", R"({"from": 1, "to": 9, "step": 3})") == "1 4 7");
  CHECK(scale_axis("n", R"({"from": 5, "to": 5, "step": 1048575})") == "5");
  CHECK(scale_axis("n", R"({"pow2": [1, 8]})") == "1 2 4 8");
  CHECK(scale_axis("n", R"({"pow2": [64, 64]})") == "64");
  CHECK(scale_axis("n", R"({"wave_edges": {"from": 1, "to": 9}})") == "1..9");
  CHECK(scale_axis("n", R"([5, {"pow2": [2, 4]}, {"from": 7, "to": 8, "step": 1}, 6])") ==
        "5 2 4 7 8 6");
  CHECK(scale_axis("alpha", "[1, 0.5, -1e2]") == "1 0.5 -100");
  CHECK(scale_axis("alpha", R"({"from": 0, "to": 0.5, "step": 0.1})") == "0 0.1 0.2 0.3 0.4 0.5");
  CHECK(scale_axis("alpha", R"({"from": -1, "to": 1, "step": 0.75})") == "-1 -0.25 0.5");
  CHECK(scale_axis("alpha", R"({"from": 1e-310, "to": 1e-310, "step": 1})") == "1e-310");
  CHECK(scale_axis("alpha", R"({"pow2": [1, 4]})") == "1 2 4");
  CHECK(scale_axis("type", R"("tf32")") == "tf32");
  CHECK(scale_axis("type", R"(["tf32", "fp32"])") == "tf32 fp32");
}

TEST_CASE("repeated values are measured once", "[config]") {
  CHECK(scale_axis("n", R"([4, {"pow2": [1, 8]}, 8, 4])") == "4 1 2 8");
  CHECK(scale_axis("alpha", "[1, 1.0]") == "1");
  CHECK(scale_axis("n", R"([{"wave_edges": {"from": 1, "to": 9}}, 2,
                            {"wave_edges": {"from": 1, "to": 9}}])") == "1..9 2");
}

TEST_CASE("zipped axes advance together; equal values repeat, equal tuples do not", "[config]") {
  const Config config = parse_experiment(
      R"("axes": {"k": [1, 1, 2, 1], "m": 9, "n": [5, 6, 6, 5]}, "zip": [["n", "k"]])");
  const Experiment& experiment = config.experiments[0];
  CHECK(experiment.axis_groups == Groups{{0, 2}, {1}});
  CHECK(text_of(experiment.axes[0]) == "1 1 2");
  CHECK(text_of(experiment.axes[1]) == "9");
  CHECK(text_of(experiment.axes[2]) == "5 6 6");
}

TEST_CASE("axes keep their written order", "[config]") {
  const Config config = parse_experiment(R"("axes": {"n": 1, "k": 2, "m": 3})");
  const Experiment& experiment = config.experiments[0];
  CHECK(experiment.axes[0].parameter == "n");
  CHECK(experiment.axes[2].parameter == "m");
  CHECK(experiment.axis_groups == Groups{{0}, {1}, {2}});
}

TEST_CASE("seeds and measure settings reach their bounds", "[config]") {
  CHECK(parse(R"({"name": "t", "seed": 18446744073709551615,
                  "experiments": [{"family": "scale"}]})")
            .seed == 18446744073709551615u);
  const MeasureSettings m = parse_experiment(R"("measure": {"min_samples": 1, "max_samples": 1,
      "max_seconds": 3600, "target_relative_ci": 0, "warmup_launches": 0})")
                                .experiments[0]
                                .measure;
  CHECK(m.min_samples == 1);
  CHECK(m.max_samples == 1);
  CHECK(m.max_seconds == 3600.0);
  CHECK(m.target_relative_ci == 0.0);
  CHECK(m.warmup_launches == 0);
}

TEST_CASE("the longest axis is accepted", "[config]") {
  const Config config = parse(R"({"name": "t", "experiments": [{"family": "scale",
      "variants": ["vectorized"], "axes": {"n": {"from": 1, "to": 1000000, "step": 1}}}]})");
  CHECK(config.experiments[0].axes[0].items.size() == 1'000'000);
}

TEST_CASE("--set replaces axes, modes and measure settings", "[config]") {
  const char* text = R"({"name": "t", "experiments": [
      {"family": "matmul", "axes": {"m": [1, 2], "n": [3, 4]}, "zip": [["m", "n"]]},
      {"family": "scale", "axes": {"stride": 2}}]})";
  const Config config =
      parse(text, {5,
                   {"n=7,8,7", "m=1,2,1", "type=tf32,fp32", "alpha=-1,0.5", "modes=warm,cold",
                    "measure.max_seconds=0.5", "measure.min_samples=3"},
                   {}});
  CHECK(config.seed == 5);
  const Experiment& matmul = config.experiments[0];
  CHECK(text_of(matmul.axes[0]) == "1 2");
  CHECK(text_of(matmul.axes[1]) == "7 8");
  CHECK(matmul.axis_groups == Groups{{0, 1}});
  CHECK(matmul.modes == std::vector{Mode::warm, Mode::cold});
  CHECK(matmul.measure.max_seconds == 0.5);
  CHECK(matmul.measure.min_samples == 3);
  const Experiment& scale = config.experiments[1];
  REQUIRE(scale.axes.size() == 4);
  CHECK(text_of(scale.axes[0]) == "2");
  CHECK(text_of(scale.axes[1]) == "7 8");
  CHECK(scale.axes[1].parameter == "n");
  CHECK(text_of(scale.axes[2]) == "tf32 fp32");
  CHECK(text_of(scale.axes[3]) == "-1 0.5");
  CHECK(scale.axis_groups == Groups{{0}, {1}, {2}, {3}});
}

TEST_CASE("overrides leave the file's provenance unchanged", "[config]") {
  const std::string text = R"({"name": "t", "experiments": [{"family": "matmul"}]})";
  CHECK(parse(text, {9, {"n=7"}, {"*"}}).hash == parse(text).hash);
}

TEST_CASE("--filter drops variants, baselines and experiments", "[config]") {
  const char* text = R"({"name": "t", "experiments": [
      {"family": "matmul", "baseline": "naive"}, {"family": "scale"}]})";
  const Config tiles = parse(text, {{}, {}, {"*/smem_*"}});
  REQUIRE(tiles.experiments.size() == 1);
  CHECK(ids(tiles.experiments[0]) == std::vector<std::string>{"smem_tile", "smem_padded"});
  CHECK(tiles.experiments[0].baseline == nullptr);

  const Config kept = parse(text, {{}, {}, {"matmul/[nv]*"}});
  CHECK(ids(kept.experiments[0]) == std::vector<std::string>{"naive", "vendor"});
  CHECK(kept.experiments[0].baseline == kept.experiments[0].family->find("naive"));
}

TEST_CASE("with several filters, a variant that any of them matches is kept", "[config]") {
  const char* text = R"({"name": "t", "experiments": [
      {"family": "matmul", "baseline": "naive"}, {"family": "scale"}]})";
  const Config both = parse(text, {{}, {}, {"scale/vectorized", "matmul/n*", "matmul/naive"}});
  REQUIRE(both.experiments.size() == 2);
  CHECK(ids(both.experiments[0]) == std::vector<std::string>{"naive"});
  CHECK(both.experiments[0].baseline == both.experiments[0].family->find("naive"));
  CHECK(ids(both.experiments[1]) == std::vector<std::string>{"vectorized"});
}

TEST_CASE("--set takes powers", "[config]") {
  const Config config = parse(R"({"name": "t", "experiments": [{"family": "scale"}]})",
                              {{}, {"n=2^10,3^2,7^0,1^9000000000", "alpha=2^3"}, {}});
  const Experiment& scale = config.experiments[0];
  CHECK(text_of(scale.axes[0]) == "1024 9 1");
  CHECK(text_of(scale.axes[1]) == "8");
}

TEST_CASE("--set applies to the experiments that --filter leaves", "[config]") {
  const char* text = R"({"name": "t", "experiments": [{"family": "matmul"}, {"family": "scale"}]})";
  // matmul's n is at most 65536.
  CHECK(parse(text, {{}, {"n=1000000"}, {"scale/*"}}).experiments.size() == 1);
  CHECK_THROWS_AS(parse(text, {{}, {"n=1000000"}, {}}), ConfigError);
}

}  // namespace gpuexp
