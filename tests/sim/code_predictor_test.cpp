// Times of a plan's cells, predicted from machine code by background threads.
#include "simulated/code_predictor.hpp"

#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/input_file.hpp"
#include "config/config_reader.hpp"
#include "model/ceiling_source.hpp"
#include "model/phase_time.hpp"
#include "sim/execution.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

constexpr const char* kProducts = R"({
  "name": "products", "seed": 3,
  "experiments": [
    {"name": "small", "family": "matmul", "variants": ["naive", "smem_tile", "cublas"],
     "axes": {"m": [256], "n": [256], "k": [256]}, "modes": ["cold", "warm", "graph"]}]})";

/// A config, planned for a GPU with its recorded ceilings.
struct Planned {
  explicit Planned(const std::string& text, const std::string& gpu = "h200")
      : config(parse_config(text, "test.json", Registry::global())),
        plan(make_plan(config, device_of(gpu), kernels(), device_of(gpu).memory_bytes)) {
    plan.ceiling_source =
        choose_ceiling_source(plan.device, gpu, std::string(GPUEXP_SOURCE_DIR) + "/configs", {});
    options.kept_in = folder.path();
    options.build_id = "1";
  }

  std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder.path()), {});
  }

  std::map<std::string, Prediction> predictions() const {
    CodePredictor predictor(plan, kernels(), options);
    std::map<std::string, Prediction> all;
    for (const Group& group : plan.groups) {
      for (const Cell& cell : group.cells) {
        if (!cell.skip_reason.empty()) continue;
        auto prediction = predict_cell(plan, group, cell, kernels());
        REQUIRE(prediction);
        predictor.refine(cell, *prediction);
        all[cell.variant->id + "/" + std::string(name_of(cell.mode))] = *prediction;
      }
    }
    return all;
  }

  Config config;
  Plan plan;
  ScratchFolder folder;
  CodePredictorOptions options;  ///< store predictions in `folder`
};

TEST_CASE("predictions do not depend on the number of threads", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  Planned planned(kProducts);
  planned.options.kept_in.clear();
  const auto one = planned.predictions();
  planned.options.threads = 3;
  const auto three = planned.predictions();
  for (const char* mode : {"cold", "warm", "graph"}) {
    INFO(mode);
    const Prediction& naive = one.at(std::string("naive/") + mode);
    const Prediction& tiled = one.at(std::string("smem_tile/") + mode);
    REQUIRE(naive.time_us);
    CHECK(naive.why_no_time.empty());
    CHECK(naive.bound_by == "l1");
    CHECK(tiled.bound_by == "shared");
    CHECK(*tiled.time_us < *naive.time_us);
    CHECK(naive.terms.front().resource == naive.bound_by);
    CHECK(naive.terms.front().time_us <= *naive.time_us);
    CHECK(three.at(std::string("naive/") + mode).time_us == naive.time_us);
    const Prediction& library = one.at(std::string("cublas/") + mode);
    CHECK_FALSE(library.time_us);
    CHECK(library.why_no_time == "a library's kernels are not executed");
  }
  // Warm L2 hits are faster than cold misses; graph launches cost less.
  CHECK(*one.at("smem_tile/warm").time_us < *one.at("smem_tile/cold").time_us);
  CHECK(*one.at("smem_tile/graph").time_us < *one.at("smem_tile/cold").time_us);
}

/// One experiment of a small problem of the family: all variants in three modes, in the order of
/// their declaration or reversed.
std::string config_of(const Family& family, bool reversed) {
  std::vector<std::string> modes{"cold", "warm", "graph"};
  std::vector<std::string> variants;
  for (const Variant& variant : family.variants)
    variants.push_back(variant.id);
  if (reversed) {
    std::ranges::reverse(modes);
    std::ranges::reverse(variants);
  }
  const Values values = with_short_loops(family, small_problems(family).at(kExtents.size() - 1));
  nlohmann::json axes;
  for (std::size_t i = 0; i < values.size(); ++i)
    std::visit([&](const auto& value) { axes[family.parameters[i].name] = {value}; }, values[i]);
  const nlohmann::json experiment{{"name", "small"},
                                  {"family", family.id},
                                  {"variants", variants},
                                  {"axes", axes},
                                  {"modes", modes}};
  return nlohmann::json{{"name", "one"}, {"experiments", {experiment}}}.dump();
}

std::map<std::string, Prediction> new_predictions(const std::string& config) {
  Planned planned(config);
  planned.options.kept_in.clear();
  return planned.predictions();
}

TEST_CASE("a prediction has a band only if the ceilings of its GPU were measured", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const auto& [gpu, is_measured] : {std::pair{"h200", true}, {"rtx_4090", false}}) {
    INFO(gpu);
    for (const auto& [key, prediction] : Planned(kProducts, gpu).predictions())
      CHECK(prediction.band.has_value() == (is_measured && prediction.time_us.has_value()));
  }
}

TEST_CASE("launches of a series have the time of a graph's, or that of the host's calls",
          "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Planned planned(R"({
    "name": "series", "seed": 3,
    "experiments": [
      {"name": "copies", "family": "vector_width", "variants": ["copy_16b"],
       "axes": {"n": [65536]}, "modes": ["warm", "back_to_back", "back_to_back_graph"]}]})");
  const auto all = planned.predictions();
  const Ceilings& c = planned.plan.ceiling_source.ceilings;
  const double warm_us = all.at("copy_16b/warm").time_us.value();
  const double graph_us = all.at("copy_16b/back_to_back_graph").time_us.value();
  CHECK(graph_us == Approx(warm_us - *c.floor_warm_us + *c.floor_graph_us));
  const Prediction& series = all.at("copy_16b/back_to_back");
  CHECK(series.bound_by == "host");
  CHECK(series.time_us.value() > *c.host_call_ns / 1e3);
  CHECK(series.time_us.value() < 1.2 * *c.host_call_ns / 1e3);
}

TEST_CASE("a prediction depends on no other cell of the run", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  std::size_t compared = 0;
  for (const Family& family : Registry::global().families()) {
    const auto forward = new_predictions(config_of(family, false));
    const auto backward = new_predictions(config_of(family, true));
    REQUIRE(forward.size() == backward.size());
    for (const auto& [name, prediction] : forward) {
      INFO(family.id << "/" << name);
      CHECK(prediction.time_us == backward.at(name).time_us);
      compared += prediction.time_us.has_value();
    }
  }
  CHECK(compared > 500);
  // DRAM traffic of the two modes differs by less than 0.2 % of the requested bytes.
  const std::string large = R"({"name": "large", "experiments": [
    {"family": "matmul", "variants": ["coalesced"], "axes": {"m": [4096], "n": [4096], "k": [4096]},
     "modes": ["cold", "warm"]}]})";
  std::string warm_only = large;
  warm_only.replace(warm_only.find(R"("cold", )"), 8, "");
  CHECK(new_predictions(large).at("coalesced/warm").time_us ==
        new_predictions(warm_only).at("coalesced/warm").time_us);
}

constexpr const char* kCopies = R"({"name": "copies", "experiments": [
    {"family": "memory_bandwidth", "variants": ["read", "copy"],
     "axes": {"n": [67108864]}, "modes": ["cold"]},
    {"family": "gather", "variants": ["gather_strided"],
     "axes": {"n": [2097152]}, "modes": ["warm"]}]})";

TEST_CASE("no resource is busy for longer than the predicted time", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const char* gpu : {"h200", "b200"}) {
    for (const auto& [name, prediction] : Planned(kCopies, gpu).predictions()) {
      INFO(gpu << ": " << name);
      REQUIRE(prediction.time_us);
      CHECK(prediction.bound_by == (name == "gather_strided/warm" ? "l2" : "dram"));
      for (const Term& term : prediction.terms)
        CHECK(term.time_us <= *prediction.time_us);
    }
  }
}

TEST_CASE("predictions are stored per program and recomputed for another one", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  Planned planned(kProducts);
  const auto made = planned.predictions();
  const std::ptrdiff_t kept = planned.files();
  CHECK(kept == static_cast<std::ptrdiff_t>(planned.plan.cell_count()));
  // A time that the model never predicts shows that it was read from the file.
  constexpr double kOther = 12345;
  for (const auto& file : std::filesystem::directory_iterator(planned.folder.path())) {
    auto json = nlohmann::json::parse(std::ifstream(file.path()));
    auto& time = json.at("prediction").at(0);
    if (time.is_number()) time = kOther;
    std::ofstream(file.path()) << json;
  }
  const auto found = planned.predictions();
  for (const auto& [name, prediction] : made) {
    INFO(name);
    CHECK(found.at(name).time_us ==
          (prediction.time_us ? std::optional(kOther) : std::optional<double>()));
    CHECK(found.at(name).bound_by == prediction.bound_by);
    CHECK(found.at(name).why_no_time == prediction.why_no_time);
  }
  CHECK(planned.files() == kept);
  planned.options.build_id = "2";
  CHECK(planned.predictions().at("naive/cold").time_us == made.at("naive/cold").time_us);
  CHECK(planned.files() == 2 * kept);
}

constexpr const char* kStreams = R"({
  "name": "streams", "seed": 3,
  "experiments": [
    {"name": "copy", "family": "vector_width", "variants": ["copy_4b"],
     "axes": {"n": [1048576], "loads_per_thread": [1]}, "modes": ["cold", "warm"]},
    {"name": "shifted", "family": "coalescing", "variants": ["read_misaligned"],
     "axes": {"n": [1048576], "stride": [1], "offset": [1]}, "modes": ["cold"]},
    {"name": "library", "family": "matmul", "variants": ["cublas"],
     "axes": {"m": [256], "n": [256], "k": [256]}, "modes": ["cold"]}]})";

/// Cache counters per launch, by variant and mode. Each launch is one kernel.
std::map<std::string, LaunchCounts> caches_of(const Planned& planned,
                                              const std::vector<std::string>& counters) {
  CodePredictor predictor(planned.plan, kernels(), planned.options);
  std::map<std::string, LaunchCounts> all;
  for (const Group& group : planned.plan.groups) {
    for (const Cell& cell : group.cells) {
      LaunchCounts counts;
      counts.metrics = metrics_of(select_counters(counters));
      counts.kernels = {{"", std::vector<double>(counts.metrics.size(), std::nan(""))}};
      predictor.count_caches(cell, counts);
      all[cell.variant->id + "/" + std::string(name_of(cell.mode))] = counts;
    }
  }
  return all;
}

TEST_CASE("cache counters are predicted for launches that were not executed", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Planned planned(kStreams);
  const auto filled = caches_of(planned, {"memory"});
  CodePredictor predictor(planned.plan, kernels(), planned.options);
  const auto dram = select_counters({"dram_read_bytes", "warp_instructions"});
  for (const Group& group : planned.plan.groups) {
    for (const Cell& cell : group.cells) {
      const std::string name = cell.variant->id + "/" + std::string(name_of(cell.mode));
      INFO(name);
      const LaunchCounts counts = predictor.cache_counts(cell, metrics_of(dram));
      CHECK(counts.metrics == std::vector<std::string>{"dram__bytes_read.sum"});
      CHECK_FALSE(counted(dram[1], counts));
      if (cell.variant->is_vendor) {
        CHECK(counts.kernels.empty());
        CHECK_FALSE(counted(dram[0], counts));
      } else {
        CHECK(counted(dram[0], counts) == counted(dram[0], filled.at(name)));
      }
    }
  }
}

TEST_CASE("cache counters are stored with the prediction of each mode", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Planned planned(kStreams);
  const auto made = caches_of(planned, {"memory"});
  const std::ptrdiff_t files = planned.files();
  const auto kept = caches_of(planned, {"memory"});
  CHECK(planned.files() == files);
  const auto value = [&](const std::string& cell, const std::string& counter) {
    const auto of = [&](const auto& all) {
      return counted(select_counters({counter}).front(), all.at(cell));
    };
    CHECK(of(kept) == of(made));
    return of(made);
  };
  // Each launch reads and writes 4 MiB, which fit into L2.
  constexpr double kBytes = 1 << 22;
  for (const char* cell : {"copy_4b/cold", "copy_4b/warm"}) {
    INFO(cell);
    CHECK(value(cell, "l1_hit_pct") == 0);
    CHECK(value(cell, "l2_sectors") == 2 * kBytes / 32);
    CHECK(value(cell, "dram_write_bytes") == 0);
  }
  CHECK(value("copy_4b/cold", "dram_read_bytes") == kBytes);
  CHECK(value("copy_4b/cold", "l2_hit_pct") == 50);
  CHECK(value("copy_4b/warm", "dram_read_bytes") == 0);
  CHECK(value("copy_4b/warm", "l2_hit_pct") == 100);
  // A warp reads 5 sectors and writes 4. In a block, 31 of 32 warps read a sector again that
  // another warp has read.
  CHECK(value("read_misaligned/cold", "l1_hit_pct") == Approx(100 * 31.0 / (32 * 9)));
  for (const char* counter : {"l1_hit_pct", "l2_sectors", "l2_hit_pct", "dram_read_bytes"})
    CHECK_FALSE(value("cublas/cold", counter));
  // Instruction counters come from execution, not from the predictor.
  CHECK_FALSE(value("copy_4b/cold", "global_load_requests"));
}

// A tensor core rate does not include the kernel's start, its stores or sharing of SMs.
TEST_CASE("kernels named by phases of a launch across GPUs are timed by their code",
          "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Planned planned(R"({
    "name": "products", "seed": 3,
    "experiments": [
      {"name": "shared", "family": "tensor_parallel",
       "variants": ["product_then_stores", "one_kernel_paced"],
       "axes": {"m": [1024], "n": [1024], "k": [1024], "split": ["rows"], "result": ["parts"],
                "gpus": [2]},
       "modes": ["warm"]}]})");
  const auto predictions = planned.predictions();
  const Prediction& prediction = predictions.at("product_then_stores/warm");
  INFO(prediction.why_no_time);
  REQUIRE(prediction.time_us);
  CHECK(prediction.time_from == "phases");
  const Variant& variant = *Registry::global().find("tensor_parallel")->find("product_then_stores");
  const auto problem =
      Registry::global().find("tensor_parallel")->make_problem(planned.plan.groups.front().values);
  const auto phases = variant.phases(problem.get(), planned.plan.device);
  REQUIRE(phases.size() == 1);
  CHECK(phases.front().kernel != nullptr);
  const double by_rate_us =
      phase_time(phases, Mode::warm, planned.plan.device, planned.plan.ceiling_source.ceilings)
          .total_us;
  CHECK(*prediction.time_us > 1.1 * by_rate_us);
  // Timed by another variant's kernel, times 0.5: 132 blocks halve each of the 16 tiles in pairs.
  const Variant& paced = *Registry::global().find("tensor_parallel")->find("one_kernel_paced");
  CHECK(paced.phases(problem.get(), planned.plan.device).front().kernel_time_factor == 0.5);
  const auto paced_us = predictions.at("one_kernel_paced/warm").time_us;
  REQUIRE(paced_us);
  CHECK(*paced_us > 0.5 * *prediction.time_us);
  CHECK(*paced_us < 0.7 * *prediction.time_us);
}

TEST_CASE("kernels that wait for other ranks are timed as if those had already signalled",
          "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const Planned planned(R"({
    "name": "sums", "seed": 3,
    "experiments": [
      {"name": "small", "family": "collectives",
       "variants": ["one_shot", "two_shot", "ring", "low_latency"],
       "axes": {"n": [2048], "gpus": [4]}, "modes": ["warm"]}]})");
  const DeviceSpec& device = planned.plan.device;
  for (const auto& [name, prediction] : planned.predictions()) {
    INFO(name);
    const std::string id = name.substr(0, name.find('/'));
    const Family& family = *Registry::global().find("collectives");
    const auto problem = family.make_problem(planned.plan.groups.front().values);
    std::vector<Phase> phases = family.find(id)->phases(problem.get(), device);
    REQUIRE(phases.front().kernel);
    phases.front().kernel = nullptr;
    const PhaseTime waits =
        phase_time(phases, Mode::warm, device, planned.plan.ceiling_source.ceilings);
    // Instructions add to the waits, but less than one more wait each.
    REQUIRE(prediction.time_us);
    CHECK(prediction.time_from == "phases");
    CHECK(*prediction.time_us > waits.total_us + 0.1);
    CHECK(*prediction.time_us < waits.total_us * 1.5);
  }
}

TEST_CASE("an interrupted run waits for no prediction and stores none", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  Planned planned(kProducts);
  planned.options.interrupted = [] { return true; };
  const Prediction naive = planned.predictions().at("naive/cold");
  CHECK_FALSE(naive.time_us);
  CHECK(naive.why_no_time == "the run was ended");
  CHECK(planned.files() == 0);
}

TEST_CASE("a prediction that fails for lack of a tool is not stored", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  Planned planned(kProducts, "rtx_4090");  // the binary has no machine code for this GPU
  planned.options.find_code = [](const KernelResource&, int) -> const KernelResource& {
    throw std::runtime_error("there is no ptxas");
  };
  const auto predictions = planned.predictions();
  CHECK(predictions.at("naive/cold").why_no_time == "there is no ptxas");
  CHECK(planned.files() == 3);  // those of the library, in three modes
}

TEST_CASE("a program without a build ID stores no predictions", "[predictor]") {
  Planned planned(kProducts);
  planned.options.build_id.clear();
  planned.predictions();
  CHECK(planned.files() == 0);
}

TEST_CASE("input files are identified by their contents", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  const ScratchFolder folder;
  const std::string file = (folder.path() / "m.mtx").string();
  const auto write = [&](const char* value) {
    std::ofstream(file) << "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 " << value
                        << '\n';
  };
  write("1");
  const std::string config = R"({"name": "files", "experiments": [{"family": "spmv",
      "variants": ["csr_thread_per_row"], "axes": {"matrix": [")" +
                             file + R"("]}, "modes": ["cold"]}]})";
  Planned planned(config.c_str());
  CHECK(planned.predictions().at("csr_thread_per_row/cold").time_us);
  CHECK(planned.files() == 1);
  planned.predictions();
  CHECK(planned.files() == 1);
  write("2");
  plan_file(identity_of(file));  // as another process would do
  CHECK(planned.predictions().at("csr_thread_per_row/cold").time_us);
  CHECK(planned.files() == 2);
  write("3");
  plan_file(identity_of(file));
  write("4");
  CHECK_THAT(planned.predictions().at("csr_thread_per_row/cold").why_no_time,
             contains_text("has changed since the run was planned"));
  CHECK(planned.files() == 2);  // the contents that were read differ from the planned hash
}

TEST_CASE("any error in reading a cell's code ends its prediction", "[predictor]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  Planned planned(kProducts, "rtx_4090");  // the binary has no machine code for this GPU
  planned.options.find_code = [](const KernelResource&, int) -> const KernelResource& {
    throw std::out_of_range("no such code");
  };
  const auto predictions = planned.predictions();
  CHECK(predictions.at("naive/cold").why_no_time == "no such code");
  CHECK_FALSE(predictions.at("naive/cold").time_us);
}

/// A family that counts as a user's: launches of `crash` abort every process but this one.
Family crashing_family() {
  Family family = toy_family();
  family.id = "crashing.cu";
  family.inputs = [](const void*, const void*, std::uint64_t) { return Steps(); };
  const auto crash = family.find("first")->launch;
  Variant& variant = family.variants.front();
  variant.id = "crash";
  variant.launch = [here = getpid(), crash](const void* problem, const void* data,
                                            const LaunchContext& context) {
    if (getpid() != here) {
      std::signal(SIGABRT, SIG_DFL);  // removes the test program's handler
      std::raise(SIGABRT);
    }
    return crash(problem, data, context);
  };
  return family;
}

TEST_CASE("a kernel of a user that crashes costs one prediction", "[predictor]") {
  Registry registry;
  registry.add(crashing_family());
  const Family& family = *registry.find("crashing.cu");
  registry.set_kernel_files({[&](const std::string&) -> const Family& { return family; }, nullptr});
  const Config config = parse_config(R"({"name": "c", "experiments": [{"name": "c",
    "family": "crashing.cu", "variants": ["crash", "second"], "modes": ["cold", "warm"]}]})",
                                     "test.json", registry);
  const Plan plan = make_plan(config, toy_device(), kernels(), toy_device().memory_bytes);
  CodePredictor predictor(plan, kernels(), {});
  for (const Cell& cell : plan.groups.front().cells) {
    INFO(cell.variant->id);
    Prediction prediction;
    predictor.refine(cell, prediction);
    const bool crashes = cell.variant->id == "crash";
    CHECK((prediction.why_no_time ==
           "the process that executed its kernels ended: signal 6 (Aborted)") == crashes);
    CHECK_FALSE(prediction.why_no_time.empty());
  }
}

}  // namespace
}  // namespace gpuexp::test
