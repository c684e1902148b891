// Times of a plan's cells from machine code, made by threads of their own.
#include "simulated/code_predictor.hpp"

#include <map>

#include "config/config_reader.hpp"
#include "model/ceiling_source.hpp"
#include "sim/execution.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

constexpr const char* kProducts = R"({
  "name": "products", "seed": 3,
  "experiments": [
    {"name": "small", "family": "matmul", "variants": ["naive", "smem_tile", "cublas"],
     "axes": {"m": [256], "n": [256], "k": [256]}, "modes": ["cold", "warm", "graph"]}]})";

/// A config planned for an H200, with its recorded ceilings.
struct Planned {
  explicit Planned(const char* text)
      : config(parse_config(text, "test.json", Registry::global())),
        plan(make_plan(config, device(), kernels(), device().memory_bytes)) {
    plan.ceiling_source =
        choose_ceiling_source(device(), "h200", std::string(GPUEXP_SOURCE_DIR) + "/configs", {});
  }

  std::map<std::string, Prediction> predictions(const CodePredictorOptions& options) const {
    CodePredictor predictor(plan, kernels(), options);
    std::map<std::string, Prediction> all;
    for (const Group& group : plan.groups) {
      for (const Cell& cell : group.cells) {
        auto prediction = predict_cell(plan, group, cell, kernels());
        REQUIRE(prediction);
        predictor.refine(group, cell, *prediction);
        all[cell.variant->id + "/" + std::string(name_of(cell.mode))] = *prediction;
      }
    }
    return all;
  }

  Config config;
  Plan plan;
};

TEST_CASE("cells are predicted from their code, by however many threads", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Planned planned(kProducts);
  CodePredictorOptions options;
  const auto one = planned.predictions(options);
  options.threads = 3;
  const auto three = planned.predictions(options);
  for (const char* mode : {"cold", "warm", "graph"}) {
    INFO(mode);
    const Prediction& naive = one.at(std::string("naive/") + mode);
    const Prediction& tiled = one.at(std::string("smem_tile/") + mode);
    CHECK(naive.is_from_code);
    CHECK(naive.why_not_from_code.empty());
    CHECK(naive.bound_by == "l1");
    CHECK(tiled.bound_by == "shared");
    CHECK(*tiled.time_us < *naive.time_us);
    CHECK(naive.terms.front().resource == naive.bound_by);
    CHECK(naive.terms.front().time_us <= *naive.time_us);
    CHECK(three.at(std::string("naive/") + mode).time_us == naive.time_us);
    const Prediction& library = one.at(std::string("cublas/") + mode);
    CHECK_FALSE(library.is_from_code);
    CHECK_FALSE(library.time_us);
    CHECK(library.why_not_from_code == "a library's kernels are not executed");
  }
  // What lies in L2 at the start comes sooner, and a launch in a graph costs less.
  CHECK(*one.at("smem_tile/warm").time_us < *one.at("smem_tile/cold").time_us);
  CHECK(*one.at("smem_tile/graph").time_us < *one.at("smem_tile/cold").time_us);
}

TEST_CASE("predictions of the same program are kept, and of another made anew", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Planned planned(kProducts);
  const ScratchFolder folder;
  CodePredictorOptions options;
  options.kept_in = folder.path();
  options.build_id = "1";
  const auto made = planned.predictions(options);
  const auto files = [&] {
    return std::distance(std::filesystem::directory_iterator(folder.path()), {});
  };
  const auto kept = files();
  CHECK(kept == static_cast<std::ptrdiff_t>(planned.plan.cell_count()));
  // Who executes nothing can only have them from there.
  options.find_code = [](const KernelResource&, int) -> const KernelResource& {
    throw std::runtime_error("executed");
  };
  const auto found = planned.predictions(options);
  CHECK(files() == kept);
  for (const auto& [name, prediction] : made) {
    INFO(name);
    CHECK(found.at(name).time_us == prediction.time_us);
    CHECK(found.at(name).bound_by == prediction.bound_by);
    CHECK(found.at(name).why_not_from_code == prediction.why_not_from_code);
  }
  options.build_id = "2";
  planned.predictions(options);
  CHECK(files() == 2 * kept);
}

TEST_CASE("a run that is ended waits for no prediction, and keeps none", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Planned planned(kProducts);
  const ScratchFolder folder;
  CodePredictorOptions options;
  options.kept_in = folder.path();
  options.interrupted = [] { return true; };
  const auto predictions = planned.predictions(options);
  const Prediction& naive = predictions.at("naive/cold");
  CHECK_FALSE(naive.is_from_code);
  CHECK(naive.time_us);  // of declared traffic
  CHECK(naive.why_not_from_code == "the run was ended");
  CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace gpuexp::test
