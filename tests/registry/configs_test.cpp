// The configs of this repository, checked against the families that they name.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "base/output.hpp"
#include "config/config_reader.hpp"
#include "device/ceilings_file.hpp"
#include "device/device_spec_file.hpp"
#include "family/registry.hpp"
#include "plan/plan.hpp"
#include "plan/shard.hpp"
#include "registry/registry.hpp"
#include "results/claim_outcomes.hpp"
#include "run/cell_times.hpp"
#include "run/record_of.hpp"
#include "sass/instruction_class.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> configs_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(kSource / folder)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST_CASE("every config in configs/ is valid and can be planned for every device") {
  int configs = 0;
  std::vector<fs::path> paths = configs_in("configs");
  for (const fs::path& path : configs_in("configs/figures"))
    paths.push_back(path);
  for (const fs::path& path : paths) {
    INFO(path.string());
    const Config config = read_config(path, Registry::global());
    CHECK(config.name == path.stem().string());
    for (const char* id : {"h200", "a100_sxm4_80gb", "rtx_4090", "t4"}) {
      const DeviceSpec& device = find_device_spec(devices(), id).spec;
      const Plan plan = make_plan(config, device, resources(), device.memory_bytes);
      CHECK(plan.cell_count() > 0);
    }
    ++configs;
  }
  CHECK(configs > 0);
}

// `plan` estimates from these times. After a change of settings or configs, record them again: run
// `all` on an H200 and copy its file from <cache>/cell_times.
TEST_CASE("times of the configs' cells are recorded for an H200") {
  const CellTimes recorded({}, kSource / "configs/cell_times/h200.txt");
  const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
  for (const char* name : {"all", "quickstart", "repeat", "unseen", "unmeasured", "ceilings"}) {
    INFO(name);
    const Config config =
        read_config(kSource / "configs" / (name + std::string(".json")), Registry::global());
    const Plan plan = make_plan(config, device, resources(), device.memory_bytes);
    std::size_t cells = 0;
    std::size_t known = 0;
    for (const Group& group : plan.groups) {
      for (const Cell& cell : group.cells) {
        if (!cell.skip_reason.empty()) continue;
        ++cells;
        known += recorded.find(plan, group, cell, RunKind::measure).has_value();
      }
    }
    CAPTURE(cells, known);
    CHECK(10 * known >= 9 * cells);
  }
}

TEST_CASE("machines with different GPUs divide a config into the same shards", "[shard]") {
  std::vector<fs::path> paths = configs_in("configs");
  for (const fs::path& path : configs_in("configs/figures"))
    paths.push_back(path);
  for (const fs::path& path : paths) {
    INFO(path.string());
    const Config config = read_config(path, Registry::global());
    std::vector<std::vector<ShardedCell>> divisions;
    for (const char* id : {"h200", "t4"}) {
      const DeviceSpec& device = find_device_spec(devices(), id).spec;
      const Plan plan =
          make_plan(config, device, resources(), id == std::string("t4") ? 1 : device.memory_bytes);
      for (const std::size_t count : {1, 4, 100})
        divisions.push_back(sharded_cells(plan, count));
    }
    // Wave edges depend on the GPU, so its plan differs.
    const auto keys = [](const std::vector<ShardedCell>& cells) {
      std::vector<std::string> all;
      for (const ShardedCell& cell : cells)
        all.push_back(cell.key);
      return all;
    };
    if (keys(divisions[0]) != keys(divisions[3])) {
      CHECK_THAT(config.text, contains_text("wave_edges"));
      continue;
    }
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(divisions[i] == divisions[i + 3]);
  }
}

/// read_config has already checked that claims name existing experiments, variants, values and
/// columns.
TEST_CASE(
    "the configs of published figures have claims, of devices that are listed, and are one run",
    "[figures]") {
  const std::vector<fs::path> paths = configs_in("configs/figures");
  REQUIRE(paths.size() > 10);
  for (const fs::path& path : paths) {
    INFO(path.string());
    const Config config = read_config(path, Registry::global());
    CHECK_FALSE(config.figures.empty());
    for (const PublishedFigure& figure : config.figures) {
      INFO(figure.title);
      CHECK(figure.source.address.rfind("https://", 0) == 0);
      if (!figure.device.empty()) CHECK_NOTHROW(find_device_spec(devices(), figure.device));
    }
  }
  const Config all = read_as_one(paths, Registry::global());
  CHECK(all.name == "figures");
  CHECK(all.seed == 7);
  std::set<std::string> titles;
  for (const PublishedFigure& figure : all.figures)
    CHECK(titles.insert(figure.title).second);
}

/// A claim about a row that no device runs could never be measured.
TEST_CASE("an H200 runs every claimed row of published figures, except libraries", "[figures]") {
  const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
  const Config config = read_as_one(configs_in("configs/figures"), Registry::global());
  const Plan plan = make_plan(config, device, resources(), device.memory_bytes);
  const RecordTable table = empty_table(plan);
  std::vector<ResultRecord> records;
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) {
      Row row;
      row.group = &group;
      row.cell = &cell;
      row.status = cell.skip_reason.empty() ? Status::passed : Status::skipped;
      row.reason = cell.skip_reason;
      records.push_back(record_of(table, plan, row));
    }
  }
  for (const PublishedFigure& figure : config.figures) {
    for (const Claim& claim : figure.claims) {
      for (const auto* rows : {&claim.quantity.rows, &claim.quantity.over}) {
        for (const ClaimedRow& claimed : *rows) {
          INFO(figure.title << ": " << claim.name << ": " << claimed.experiment << "/"
                            << claimed.variant);
          const auto found =
              std::find_if(records.begin(), records.end(),
                           [&](const ResultRecord& r) { return is_row(claimed, r); });
          REQUIRE(found != records.end());
          INFO(found->reason);
          CHECK((found->passed() || found->is_vendor()));
        }
      }
    }
  }
}

/// Whether a kernel of the variant launches other kernels, whose occupancy is unknown.
bool launches_from_kernels(const Variant& variant, const void* problem, const DeviceSpec& device) {
  const std::vector<Shape> shapes = variant.shapes(problem, device);
  return std::any_of(shapes.begin(), shapes.end(), [&](const Shape& shape) {
    const auto found = resources().find(shape.kernel, device.compute_capability());
    return found && found->resource.launches_kernels;
  });
}

TEST_CASE("every cell of a lesson has a limit, and an occupancy if its kernels are known") {
  const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
  const Ceilings ceilings =
      read_ceilings_file(kSource / "configs" / "ceilings" / "h200.json").ceilings();
  const Config config = read_config(kSource / "configs" / "all.json", Registry::global());
  Plan plan = make_plan(config, device, resources(), device.memory_bytes);
  plan.ceiling_source = {completed(ceilings, datasheet_ceilings(device)), true, "recorded"};
  for (const Group& group : plan.groups) {
    for (const Cell& cell : group.cells) {
      const auto prediction = predict_cell(plan, group, cell, resources());
      if (!prediction) continue;
      INFO(cell_key(plan, group, cell));
      CHECK((prediction->limit.time_us || cell.mode == Mode::warm));
      const Variant& variant = *cell.variant;
      const bool has_kernels = !variant.is_vendor &&
                               !only_copies(variant, group.problem.get(), plan.device) &&
                               !launches_from_kernels(variant, group.problem.get(), plan.device);
      CHECK(prediction->occupancy.has_value() == has_kernels);
    }
  }
}

TEST_CASE("configs that evaluate predictions have enough cells, and none in common") {
  // Wave edges depend on the device; these configs were recorded on an H200.
  const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
  const auto keys_of = [&](const char* file) {
    const Config config = read_config(kSource / "configs" / file, Registry::global());
    const Plan plan = make_plan(config, device, resources(), device.memory_bytes);
    std::set<std::string> keys;
    for (const Group& group : plan.groups) {
      for (const Cell& cell : group.cells) {
        const std::string key = cell_key(plan, group, cell);
        keys.insert(key.substr(key.find('/')));  // without the experiment
      }
    }
    return keys;
  };
  const auto lessons = keys_of("all.json");
  const auto repeated = keys_of("repeat.json");
  CHECK(repeated.size() >= 300);
  const auto predicted = keys_of("predicted.json");
  CHECK(predicted.size() >= 300);
  for (const std::string& key : predicted) {
    INFO(key);
    CHECK(lessons.count(key) + repeated.count(key) == 0);
  }
  for (const std::string& key : repeated) {
    INFO(key);
    CHECK(lessons.count(key) == 0);
  }
  const auto unmeasured = keys_of("unmeasured.json");
  CHECK(unmeasured.size() >= 300);
  for (const std::string& key : unmeasured) {
    INFO(key);
    CHECK(lessons.count(key) + predicted.count(key) == 0);
  }
  const auto unseen = keys_of("unseen.json");
  CHECK(unseen.size() >= 300);
  for (const std::string& key : unseen) {
    INFO(key);
    CHECK(lessons.count(key) + repeated.count(key) + predicted.count(key) + unmeasured.count(key) ==
          0);
  }
}

TEST_CASE("all.json holds the experiments of every lesson", "[all_config]") {
  const std::set<std::string> no_lessons{
      "all",          "ceilings",         "links",       "predicted",     "quickstart",
      "repeat",       "unmeasured",       "unseen",      "unseen_copies", "back_to_back",
      "peer_copy",    "peer_latency",     "collectives", "data_parallel", "tensor_parallel",
      "mlp_parallel", "pipeline_parallel"};  // these span GPUs
  std::set<fs::path> lessons;
  for (const auto& entry : fs::directory_iterator(kSource / "configs")) {
    const fs::path& path = entry.path();
    if (path.extension() == ".json" && !no_lessons.count(path.stem().string()))
      lessons.insert(path);
  }
  const fs::path file = kSource / "configs" / "all.json";
  Json all = Json::parse(read_file(file.string()));
  all["experiments"] = Json::array();
  for (const fs::path& lesson : lessons) {
    const Json config = Json::parse(read_file(lesson.string()));
    for (Json experiment : config.at("experiments").items()) {
      const Json& named = experiment.at(experiment.contains("name") ? "name" : "family");
      const std::string name = lesson.stem().string() + "." + named.get<std::string>();
      experiment["name"] = name;
      all["experiments"].push_back(std::move(experiment));
    }
  }
  const std::string expected = all.dump(2) + "\n";
  if (std::getenv("GPUEXP_UPDATE_GOLDEN")) std::ofstream(file, std::ios::binary) << expected;
  INFO("GPUEXP_UPDATE_GOLDEN=1 build/tests/gpuexp_registry_tests '[all_config]' writes it again");
  CHECK(read_file(file.string()) == expected);
}

}  // namespace
}  // namespace gpuexp::test
