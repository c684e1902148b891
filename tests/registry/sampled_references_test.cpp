// Which references are computed only for random elements, depending on the GPU's speed.
#include <filesystem>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/output.hpp"
#include "device/device_spec_file.hpp"
#include "family/registry.hpp"
#include "run/compared_elements.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

double affordable_operations(const std::string& device) {
  const std::string file = std::string(GPUEXP_SOURCE_DIR) + "/configs/devices/" + device + ".json";
  return kMaxReferenceSeconds * reference_rate(read_device_spec(file).spec);
}

TEST_CASE("references of all recorded cells are affordable") {
  for (const auto& [results, device] : {std::pair{"h100", "h100_sxm"}, {"h200", "h200"}}) {
    const auto report = nlohmann::json::parse(
        read_text(std::string(GPUEXP_SOURCE_DIR) + "/docs/results/" + results + "/all.json.zst"));
    double most = 0;
    for (const auto& row : report.at("rows")) {
      if (!row.at("operations").is_null())
        most = std::max(most, row.at("operations").get<double>());
    }
    INFO(results);
    CHECK(most > 1e12);
    CHECK(most < affordable_operations(device));
  }
}

TEST_CASE("a large product is sampled on GPUs with few fp64 units") {
  const std::int64_t n = 16384;
  for (const char* id : {"matmul", "matmul_tensor"}) {
    const Family& family = *Registry::global().find(id);
    const auto problem = family.make_problem(values_with(family, {{"m", n}, {"n", n}, {"k", n}}));
    const auto share = [&](const char* device) {
      return affordable_share(family, problem.get(), family.variants.front(),
                              affordable_operations(device));
    };
    INFO(id);
    CHECK(share("h200") == Approx(0.334).epsilon(0.01));
    CHECK(share("rtx_4090") < 0.2);
    CHECK(share("l4") < 0.1);
    CHECK(share("l4") > 0.01);
  }
}

/// Whether each of the family's references can compute single elements of all outputs.
bool has_elementwise_references(const Family& family) {
  const auto problem = family.make_problem(values_with(family));
  std::vector<void*> buffers(family.buffers.size(), nullptr);
  const auto data = family.make_data(buffers);
  // Addresses that are not dereferenced.
  std::vector<double> places(2 * family.buffers.size());
  std::vector<ReferenceView> views;
  std::vector<const double*> values;
  for (const Buffer& buffer : family.buffers) {
    if (!is_output(buffer.role)) continue;
    double* const place = &places[2 * views.size()];
    views.push_back({place, place + 1});
    values.push_back(place);
  }
  const auto is_one = [&](const auto& reference) {
    return !reference || is_elementwise(reference(problem.get(), data.get(), views), values);
  };
  return is_one(family.reference) && is_one(family.accuracy_reference);
}

// docs/measuring.md has the same list.
TEST_CASE("references are computed per element, except those listed") {
  std::set<std::string> others;
  for (const Family& family : Registry::global().families()) {
    if (!has_elementwise_references(family)) others.insert(family.id);
  }
  // In pipe_rate, most blocks have the first one's result. loss_scaling searches all gradients.
  // Elsewhere, numbers add to one of many sums, or a position depends on those before.
  CHECK(others == std::set<std::string>{"atomics", "compaction", "histogram", "loss_scaling",
                                        "pipe_rate", "scan"});
}

TEST_CASE("a reference with a closed form is complete on every GPU") {
  const Family& family = *Registry::global().find("tensor_rate");
  const std::filesystem::path devices = std::string(GPUEXP_SOURCE_DIR) + "/configs/devices";
  for (const Values& values : choice_combinations(family)) {
    const auto problem = family.make_problem(values);
    for (const auto& file : std::filesystem::directory_iterator(devices)) {
      if (file.path().extension() != ".json") continue;
      INFO(file.path());
      CHECK(affordable_share(family, problem.get(), family.variants.front(),
                             affordable_operations(file.path().stem())) == 1.0);
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
