// Selection of the ceilings for predictions, in folders of the test.
#include "model/ceiling_source.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "base/config_error.hpp"
#include "support/catch.hpp"
#include "support/healthy_gpu.hpp"

namespace gpuexp::test {

namespace {

namespace fs = std::filesystem;

const MeasuringConditions kNow{"GPU-1", "580.65.06", "13.0.88"};

DeviceSpec device() {
  DeviceSpec d = healthy_device();
  d.peak_ops_per_s[static_cast<std::size_t>(Pipe::fp64)] = 33e12;
  return d;
}

std::string file_of(const std::string& name, const MeasuringConditions& conditions,
                    const MeasuredCeilings& measured) {
  CeilingsFile file;
  file.device = name;
  file.conditions = conditions;
  file.utc = "2025-01-02T03:04:05Z";
  file.measured = measured;
  return to_json(file);
}

/// configs/ with the shipped device specs and a test's ceilings, and a file of measured ceilings.
class Places {
 public:
  Places()
      : root_(fs::temp_directory_path() /
              ("gpuexp_ceiling_source_test_" + std::to_string(getpid()))) {
    fs::create_directories(root_ / "configs" / "ceilings");
    fs::copy(fs::path(GPUEXP_SOURCE_DIR) / "configs" / "devices", root_ / "configs" / "devices");
  }
  ~Places() { fs::remove_all(root_); }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  void record(const std::string& spec_id, const std::string& text) const {
    std::ofstream(root_ / "configs" / "ceilings" / (spec_id + ".json")) << text;
  }
  void keep(const std::string& text) const { std::ofstream(root_ / "kept.json") << text; }

  CeilingSource listed(const std::string& spec_id) const {
    return choose_ceiling_source(device(), spec_id, root_ / "configs", std::nullopt);
  }
  CeilingSource present(const std::string& spec_id) const {
    return choose_ceiling_source(device(), spec_id, root_ / "configs",
                                 PresentDevice{kNow, root_ / "kept.json", links_});
  }
  /// Stores measured ceilings of the links between two GPUs of the machine.
  void keep_links(const std::string& text) {
    links_.push_back(root_ / (std::to_string(links_.size()) + ".links.json"));
    std::ofstream(links_.back()) << text;
  }

 private:
  fs::path root_;
  std::vector<fs::path> links_;
};

MeasuredCeilings reads(double gb_per_s) {
  return {{"dram_read", {gb_per_s, gb_per_s - 1, gb_per_s + 1, "read"}}};
}

}  // namespace

TEST_CASE("without recorded ceilings the datasheet is used", "[ceiling_source]") {
  const Places places;
  const CeilingSource ceiling_source = places.listed("h200");
  CHECK(ceiling_source.source == "datasheet");
  CHECK_FALSE(ceiling_source.is_measured);
  CHECK(ceiling_source.ceilings.dram_read_bytes_per_s == 4.8e12);
  CHECK(choose_ceiling_source(device(), "", std::nullopt, std::nullopt).source == "datasheet");
}

TEST_CASE("recorded ceilings apply to their kind of GPU, and scaled to other kinds",
          "[ceiling_source]") {
  const Places places;
  places.record("h200", file_of("NVIDIA H200", {}, reads(4600)));
  const CeilingSource own = places.listed("h200");
  CHECK(own.source == "ceilings measured on NVIDIA H200");
  CHECK(own.is_measured);
  CHECK(*own.ceilings.dram_read_bytes_per_s == Approx(4.6e12));
  CHECK(own.measured == reads(4600));
  CHECK(*own.ceilings.ops(Pipe::fp64, TensorPath::mma_sync) == 33e12);  // from the datasheet
  const CeilingSource other = places.listed("a100_sxm4_80gb");
  CHECK(other.source == "ceilings measured on NVIDIA H200, in proportion to both datasheets");
  CHECK_FALSE(other.is_measured);
  CHECK(other.measured.empty());
}

TEST_CASE("a device's own ceilings take precedence over those of its kind", "[ceiling_source]") {
  const Places places;
  MeasuredCeilings recorded = reads(4600);
  recorded["l2_read"] = {8000, 7900, 8100, "l2"};
  places.record("h200", file_of("NVIDIA H200", {}, recorded));
  CHECK(places.present("h200").source ==
        "ceilings measured on NVIDIA H200; gpuexp info --measure measures this GPU");
  places.keep(file_of("NVIDIA H200", kNow, reads(4500)));
  const CeilingSource ceiling_source = places.present("h200");
  CHECK(ceiling_source.source == "ceilings measured on this GPU at 2025-01-02T03:04:05Z");
  CHECK(ceiling_source.is_measured);
  CHECK(*ceiling_source.ceilings.dram_read_bytes_per_s == Approx(4.5e12));
  CHECK(*ceiling_source.ceilings.l2_read_bytes_per_s == Approx(8e12));
  CHECK(ceiling_source.measured.at("dram_read").value == 4500);
  CHECK(ceiling_source.measured.at("l2_read").value == 8000);
  CHECK(places.present("").is_measured);  // for a GPU that is not listed
}

TEST_CASE("link ceilings come from the slowest pair with this driver", "[ceiling_source]") {
  Places places;
  const auto pair = [](double gb_per_s, double ns, const MeasuringConditions& conditions) {
    return file_of("NVIDIA H200", conditions,
                   {{"link_copy", {gb_per_s, gb_per_s, gb_per_s, "copy"}},
                    {"link_load_latency", {ns, ns, ns, "load"}}});
  };
  places.record("h200", file_of("NVIDIA H200", {}, reads(4600)));
  places.record("h200.links", pair(390, 700, {}));
  CHECK(*places.listed("h200").ceilings.link_copy_bytes_per_s == Approx(390e9));

  places.keep(file_of("NVIDIA H200", kNow, reads(4500)));
  places.keep_links(pair(380, 800, {"GPU-2", kNow.driver_version, kNow.cuda_toolkit}));
  places.keep_links(pair(370, 750, {"GPU-3", kNow.driver_version, kNow.cuda_toolkit}));
  places.keep_links(pair(100, 900, {"GPU-3", "570.1", kNow.cuda_toolkit}));
  places.keep_links("{");
  const CeilingSource present = places.present("h200");
  CHECK(*present.ceilings.link_copy_bytes_per_s == Approx(370e9));
  CHECK(*present.ceilings.link_load_ns == Approx(800));
  CHECK(present.measured.at("link_copy").value == 370);
}

TEST_CASE("measured ceilings of other conditions are ignored, and the source says why",
          "[ceiling_source]") {
  const Places places;
  places.record("h200", file_of("NVIDIA H200", {}, reads(4600)));
  const std::string recorded = "ceilings measured on NVIDIA H200; the kept ceilings ";
  const std::pair<MeasuringConditions, std::string> cases[] = {
      {{"GPU-2", kNow.driver_version, kNow.cuda_toolkit}, "were measured on GPU-2"},
      {{kNow.uuid, "570.1", kNow.cuda_toolkit}, "were measured with driver 570.1, not 580.65.06"},
      {{kNow.uuid, kNow.driver_version, "12.8"}, "were measured with CUDA 12.8, not 13.0.88"}};
  for (const auto& [conditions, why] : cases) {
    places.keep(file_of("NVIDIA H200", conditions, reads(4500)));
    const CeilingSource ceiling_source = places.present("h200");
    CHECK(ceiling_source.source == recorded + why);
    CHECK(*ceiling_source.ceilings.dram_read_bytes_per_s == Approx(4.6e12));
    CHECK(ceiling_source.measured == reads(4600));
  }
  places.keep("{");
  CHECK_THAT(places.present("h200").source, contains_text(recorded + "cannot be read: "));
}

TEST_CASE("an unreadable recorded file is an error", "[ceiling_source][error]") {
  const Places places;
  places.record("h200", "{");
  CHECK_THROWS_AS(places.listed("h200"), ConfigError);
}

}  // namespace gpuexp::test
