// Device spec files: bands of healthy GPUs, and rejected files.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/config_error.hpp"
#include "device/ceilings.hpp"
#include "device/device_spec_file.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json number(const Json& value) {
  return {{"value", value}, {"source", "sheet"}};
}

Json sample_spec() {
  return {{"name", "Example GPU"},
          {"architecture", "Example"},
          {"compute_capability", number("9.0")},
          {"sm_count", number(100)},
          {"sm_clock_max_mhz", number(2000)},
          {"memory_bytes", number(80'000'000'000)},
          {"memory_bandwidth_gb_per_s", number(4000)},
          {"l2_bytes", number(52'428'800)},
          {"peak_tflops", {{"fp32", number(60)}}},
          {"expected",
           {{"dram_copy",
             {{"low", 3400}, {"high", 3700.5}, {"source", "cards"}, {"note", "two cards"}}},
            {"floor_cold", {{"high", 3.1}, {"source", "cards"}}}}},
          {"sources", {{"sheet", "a datasheet"}, {"cards", "recorded"}}}};
}

class TemporarySpec {
 public:
  explicit TemporarySpec(const Json& json)
      : path_(fs::temp_directory_path() / "gpuexp_device_spec_test.json") {
    std::ofstream(path_) << json.dump();
  }
  ~TemporarySpec() { fs::remove(path_); }
  TemporarySpec(const TemporarySpec&) = delete;
  TemporarySpec& operator=(const TemporarySpec&) = delete;
  DeviceSpecFile read() const { return read_device_spec(path_); }

  // The error message after the file name.
  std::string error() const {
    try {
      read();
    } catch (const ConfigError& e) {
      return std::string(e.what()).substr(path_.string().size() + 2);
    }
    return "no error";
  }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("a band of a device spec may lack either end", "[device_spec]") {
  const DeviceSpecFile file = TemporarySpec(sample_spec()).read();
  REQUIRE(file.expected.size() == 2);
  CHECK(file.expected.at("dram_copy") == ExpectedBand{3400, 3700.5, "cards", "two cards"});
  CHECK(file.expected.at("floor_cold") == ExpectedBand{std::nullopt, 3.1, "cards", ""});
  Json without = sample_spec();
  without.erase("expected");
  CHECK(TemporarySpec(without).read().expected.empty());
}

TEST_CASE("GPUs are found by common names", "[device_spec]") {
  const auto specs = read_device_specs(fs::path(GPUEXP_SOURCE_DIR) / "configs" / "devices");
  const auto id_of = [&](const std::string& name) { return find_device_spec(specs, name).spec.id; };
  CHECK(id_of("h200") == "h200");
  CHECK(id_of("A10") == "a10");
  CHECK(id_of("4090") == "rtx_4090");
  CHECK(id_of("rtx4090") == "rtx_4090");
  CHECK(id_of("a100-80gb") == "a100_sxm4_80gb");
  CHECK(id_of("h100-pcie") == "h100_pcie");
  CHECK_THROWS_WITH(
      id_of("A100"),
      "GPU 'A100' matches 2 device specs; expected one of: a100_sxm4_40gb, a100_sxm4_80gb");
  CHECK_THROWS_WITH(id_of("h100"),
                    "GPU 'h100' matches 2 device specs; expected one of: h100_pcie, h100_sxm");
  // Other GPUs, whose names contain a listed name or are part of one.
  for (const std::string gpu : {"h20", "gh200", "GB200", "h2000", "l40", "a1", "-"}) {
    CHECK_THROWS_WITH(id_of(gpu), contains_text("no device spec for GPU '" + gpu +
                                                "'; known: a10, a100_sxm4_40gb, "));
  }
  CHECK_THROWS_WITH(id_of("rtx_4900"), contains_text("'; did you mean 'rtx_4090'? known: a10, "));
  CHECK_THROWS_WITH(id_of("h20"), contains_text("; to add a GPU, write a file in configs/devices "
                                                "(format: its README.md)"));
}

TEST_CASE("errors in a device spec name their place", "[device_spec][error]") {
  CHECK(TemporarySpec(sample_spec()).error() == "no error");
  struct Case {
    const char* place;  ///< JSON pointer
    Json value;
    const char* message;
  };
  const Case cases[] = {
      {"/expected", 3, "$.expected: expected bands by ceiling, found 3"},
      {"/expected/dram_cpy",
       {{"low", 1}, {"source", "cards"}},
       "$.expected.dram_cpy: unknown ceiling; did you mean 'dram_copy'? "},
      {"/expected/dram_copy", 3400, "$.expected.dram_copy: expected an object, found 3400"},
      {"/expected/dram_copy/lowest", 3400,
       "$.expected.dram_copy.lowest: unknown key; allowed: high, low, note, source"},
      {"/expected/dram_copy/low", 3800, "$.expected.dram_copy: low 3800 is above high 3700.5"},
      {"/expected/dram_copy/low", 0,
       "$.expected.dram_copy.low: 0 is out of range; allowed: above 0, at most 1000000000"},
      {"/expected/dram_copy/high", "fast",
       "$.expected.dram_copy.high: expected a number, found \"fast\""},
      {"/expected/dram_copy/high", nullptr,
       "$.expected.dram_copy.high: expected a number, found null"},
      {"/expected/dram_copy/source", "hearsay",
       "$.expected.dram_copy.source: unknown source \"hearsay\"; allowed: sheet, cards"},
      {"/expected/dram_copy/note", 1, "$.expected.dram_copy.note: expected a string, found 1"},
      {"/expected/floor_cold",
       {{"source", "cards"}},
       "$.expected.floor_cold: a band has \"low\", \"high\" or both"},
      {"/aliases", {1}, "$.aliases[0]: expected a string, found 1"},
      {"/aliases", "Example", "$.aliases: expected a list of names, found \"Example\""},
      {"/sm_count/value", 1.5, "$.sm_count.value: expected an integer without point or exponent"},
      {"/sm_count/value", 0, "$.sm_count.value: 0 is out of range; allowed: 1 to 100000"},
      {"/sm_count/note", 1, "$.sm_count.note: expected a string, found 1"},
      {"/memory_bytes/value", 1e300, "$.memory_bytes.value: expected an integer"},
      {"/compute_capability/value", "99999999999.0",
       "$.compute_capability.value: expected a string like \"9.0\", found \"99999999999.0\""},
      {"/compute_capability/value", 9, "$.compute_capability.value: expected a string, found 9"},
      {"/peak_tflops/fp33", number(60), "$.peak_tflops.fp33: unknown pipe; did you mean 'fp32'?"},
      {"/clock", 1, "$.clock: unknown key"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.place);
    Json spec = sample_spec();
    spec[Json::json_pointer(c.place)] = c.value;
    CHECK_THAT(TemporarySpec(spec).error(), contains_text(c.message));
  }
}

TEST_CASE("every shipped band has the magnitude of its quantity", "[device_spec]") {
  for (const DeviceSpecFile& file :
       read_device_specs(fs::path(GPUEXP_SOURCE_DIR) / "configs" / "devices")) {
    Ceilings listed = datasheet_ceilings(file.spec);
    for (const auto& [id, band] : file.expected) {
      CAPTURE(file.spec.id, id);
      const CeilingTerm& term = *find_ceiling_term(id);
      const auto& datasheet = term.of(listed);
      // A wrong unit would be off by a factor of 1000.
      if (datasheet && band.low) CHECK(*band.low * term.scale < *datasheet);
      if (datasheet && band.low) CHECK(*band.low * term.scale > 0.1 * *datasheet);
      if (datasheet && band.high) CHECK(*band.high * term.scale < 2 * *datasheet);
    }
  }
}

}  // namespace gpuexp::test
