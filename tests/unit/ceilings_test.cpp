// Ceilings scaled from one device to another, and ceiling files.
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/config_error.hpp"
#include "device/ceilings_file.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {

namespace {

namespace fs = std::filesystem;

constexpr auto kFp32 = static_cast<std::size_t>(Pipe::fp32);
constexpr auto kFp64 = static_cast<std::size_t>(Pipe::fp64);
constexpr auto kSumsIn32 = static_cast<std::size_t>(Pipe::tensor_fp16_fp32);
constexpr auto kSumsIn16 = static_cast<std::size_t>(Pipe::tensor_fp16_fp16);

DeviceSpec spec(int cc_major, int sms, double mhz, double bytes_per_s) {
  DeviceSpec d;
  d.cc_major = cc_major;
  d.sm_count = sms;
  d.sm_clock_max_mhz = mhz;
  d.memory_bytes_per_s = bytes_per_s;
  return d;
}

// Ceilings that all differ.
Ceilings distinct_ceilings() {
  Ceilings c;
  double value = 1;
  for (const CeilingTerm& term : ceiling_terms())
    term.of(c) = value++ * term.scale;
  return c;
}

CeilingsFile sample_file() {
  CeilingsFile file;
  file.device = "NVIDIA \"H200\"";
  file.conditions = {"GPU-0123", "580.65.06", "13.0.88"};
  file.git_commit = "0123456789abcdef";
  file.utc = "2025-01-02T03:04:05Z";
  file.measured = {{"dram_read", {4650.123456789, 4640, 4660.5, "dram/read/n=1/cold"}},
                   {"mma_sync.tensor_tf32", {0.1, 0.1, 0.1, ""}},
                   {"floor_graph", {0.68, 0.67, 0.69, "floor/graph"}}};
  return file;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(fs::temp_directory_path() / "gpuexp_ceilings_test.json") {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { fs::remove(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The error message after the file name.
std::string error_of(const std::string& text) {
  const TemporaryFile file(text);
  try {
    read_ceilings_file(file.path());
  } catch (const ConfigError& e) {
    const std::string message = e.what();
    const std::string name = file.path().string() + ":";
    REQUIRE(message.rfind(name, 0) == 0);
    return message.substr(name.size() + 1);
  }
  return "no error";
}

std::string with(std::string text, const std::string& part, const std::string& replacement) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), replacement);
}

}  // namespace

// ---- ceilings

TEST_CASE("every ceiling has a name and an index of its own", "[ceilings]") {
  std::set<std::string> ids;
  for (const CeilingTerm& term : ceiling_terms()) {
    CAPTURE(term.id);
    CHECK(ids.insert(term.id).second);
    CHECK_FALSE(term.doc.empty());
    Ceilings one;
    term.of(one) = 1;
    int set = 0;
    for (const CeilingTerm& other : ceiling_terms())
      set += other.of(one) ? 1 : 0;
    CHECK(set == 1);
  }
}

TEST_CASE("ceilings scale by the ratio of the datasheets", "[ceilings]") {
  DeviceSpec from = spec(9, 100, 2000, 4e12);
  DeviceSpec to = spec(9, 50, 1000, 1e12);
  from.peak_ops_per_s[kFp32] = 60e12;
  to.peak_ops_per_s[kFp32] = 15e12;
  to.peak_ops_per_s[kFp64] = 7e12;
  const Ceilings measured = distinct_ceilings();
  const Ceilings scaled = scaled_ceilings(measured, from, to);
  CHECK(*scaled.sm_clock_hz == Approx(*measured.sm_clock_hz / 2));
  CHECK(*scaled.dram_copy_bytes_per_s == Approx(*measured.dram_copy_bytes_per_s / 4));
  CHECK(*scaled.dram_random_bytes_per_s == Approx(*measured.dram_random_bytes_per_s / 4));
  CHECK(*scaled.l2_read_bytes_per_s == Approx(*measured.l2_read_bytes_per_s / 4));
  CHECK(*scaled.shared_bytes_per_s == Approx(*measured.shared_bytes_per_s / 4));
  CHECK(*scaled.l1_latency_ns == Approx(*measured.l1_latency_ns * 2));
  CHECK(*scaled.block_latency_ns == Approx(*measured.block_latency_ns * 2));
  CHECK(*scaled.blocks_per_s == Approx(*measured.blocks_per_s / 2));
  CHECK(scaled.dram_latency_ns == measured.dram_latency_ns);
  CHECK(scaled.dram_all_sms_latency_ns == measured.dram_all_sms_latency_ns);
  CHECK(scaled.l2_all_sms_latency_ns == measured.l2_all_sms_latency_ns);
  CHECK(scaled.floor_warm_us == measured.floor_warm_us);
  CHECK(*scaled.ops_per_s[kFp32] == Approx(*measured.ops_per_s[kFp32] / 4));
  CHECK(scaled.ops_per_s[kFp64] == 7e12);  // the peak of `from` is unknown
  CHECK_FALSE(scaled.ops_per_s[kSumsIn32]);
}

TEST_CASE("a ceiling is left out if a datasheet lacks its value", "[ceilings]") {
  const Ceilings scaled =
      scaled_ceilings(distinct_ceilings(), spec(9, 100, 2000, 4e12), spec(9, 50, 0, 0));
  CHECK_FALSE(scaled.sm_clock_hz);
  CHECK_FALSE(scaled.dram_read_bytes_per_s);
  CHECK_FALSE(scaled.l2_read_bytes_per_s);
  CHECK_FALSE(scaled.l1_latency_ns);
  CHECK(scaled.l2_latency_ns);
}

TEST_CASE("mma.sync ceilings are not scaled between generations", "[ceilings]") {
  DeviceSpec from = spec(9, 100, 2000, 4e12);
  from.peak_ops_per_s[kSumsIn32] = 800e12;
  DeviceSpec to = from;
  CHECK(*scaled_ceilings(distinct_ceilings(), from, to).mma_sync_ops_per_s[kSumsIn32] ==
        Approx(*distinct_ceilings().mma_sync_ops_per_s[kSumsIn32]));
  to.cc_major = 8;
  const Ceilings scaled = scaled_ceilings(distinct_ceilings(), from, to);
  CHECK_FALSE(scaled.mma_sync_ops_per_s[kSumsIn32]);
  CHECK(scaled.ops(Pipe::tensor_fp16_fp32, TensorPath::mma_sync) == scaled.ops_per_s[kSumsIn32]);
}

TEST_CASE("ceilings of fp16 sums scale from fp32 sums by the datasheet", "[ceilings]") {
  Ceilings c;
  c.ops_per_s[kSumsIn32] = 100;
  c.mma_sync_ops_per_s[kSumsIn32] = 60;
  DeviceSpec d = spec(8, 100, 2000, 1e12);
  CHECK(with_fp16_sums(c, d).ops_per_s[kSumsIn16] == 100.0);
  d.peak_ops_per_s[kSumsIn32] = 160;
  d.peak_ops_per_s[kSumsIn16] = 320;  // ratio of a GeForce
  CHECK(with_fp16_sums(c, d).ops_per_s[kSumsIn16] == 200.0);
  CHECK(with_fp16_sums(c, d).mma_sync_ops_per_s[kSumsIn16] == 120.0);
  c.ops_per_s[kSumsIn16] = 150;  // measured
  CHECK(with_fp16_sums(c, d).ops_per_s[kSumsIn16] == 150.0);
  CHECK_FALSE(with_fp16_sums({}, d).ops_per_s[kSumsIn16]);
}

TEST_CASE("missing ceilings are filled from the second set", "[ceilings]") {
  Ceilings first;
  first.floor_cold_us = 3;
  Ceilings second;
  second.floor_cold_us = 4;
  second.ops_per_s[kFp32] = 5;
  const Ceilings both = completed(first, second);
  CHECK(both.floor_us(Mode::cold) == 3.0);
  CHECK(both.ops(Pipe::fp32, TensorPath::mma_sync) == 5.0);
  CHECK_FALSE(both.floor_us(Mode::warm));
  CHECK_FALSE(both.floor_us(Mode::profile));
}

TEST_CASE("an SM's rates follow its compute capability", "[ceilings]") {
  // Results per cycle and SM: fp32 and fp64 multiply-adds, int32 additions.
  const std::vector<std::vector<int>> cases{
      {7, 0, 64, 32, 64},  {7, 5, 64, 2, 64},    {8, 0, 64, 32, 64},   {8, 6, 128, 2, 64},
      {8, 7, 128, 2, 64},  {8, 9, 128, 2, 64},   {9, 0, 128, 64, 64},  {10, 0, 128, 64, 64},
      {10, 3, 128, 2, 64}, {12, 0, 128, 2, 128}, {12, 1, 128, 2, 128},
  };
  for (const auto& c : cases) {
    CAPTURE(c[0], c[1]);
    const SmRates rates = sm_rates(c[0], c[1]);
    CHECK(32 * rates.fma == c[2]);
    CHECK(32 * rates.fp64 == c[3]);
    CHECK(32 * rates.alu == c[4]);
    CHECK(32 * rates.xu == 16);
    CHECK(rates.issue == 4);
  }
  CHECK_THROWS_WITH(sm_rates(6, 1),
                    "rates of compute capability 6.1 are unknown; known: 7.0, 7.5, 8.0, 8.6, 8.7, "
                    "8.9, 9.0, 10.0, 10.3, 12.0, 12.1");
  CHECK_THROWS_AS(sm_rates(7, 1), std::out_of_range);
}

// ---- the file

TEST_CASE("a ceilings file is read back", "[ceilings][json]") {
  const CeilingsFile file = sample_file();
  const TemporaryFile written(to_json(file));
  const CeilingsFile read = read_ceilings_file(written.path());
  CHECK(read == file);
  CHECK(*read.ceilings().dram_read_bytes_per_s == Approx(4650.123456789e9));
  CHECK(read.ceilings().floor_graph_us == 0.68);
  CHECK_FALSE(read.ceilings().dram_write_bytes_per_s);
}

TEST_CASE("errors in a ceilings file name their place", "[ceilings][json][error]") {
  const std::string good = to_json(sample_file());
  CHECK(error_of(good) == "no error");
  const std::vector<std::vector<std::string>> cases{
      {"\"dram_read\"", "\"dram_raed\"",
       "$.ceilings.dram_raed: unknown ceiling; did you mean 'dram_read'? "},
      {"4640.0", "-4640",
       "$.ceilings.dram_read.low: -4640 is out of range; allowed: above 0, at most 1000000000"},
      {"4650.123456789", "0", "$.ceilings.dram_read.value: 0 is out of range"},
      {"4650.123456789", "\"fast\"",
       "$.ceilings.dram_read.value: expected a number, found \"fast\""},
      {"4650.123456789", "4700", "$.ceilings.dram_read: 4700 is not within 4640 to 4660.5"},
      {"\"value\": 4650.123456789,", "", "$.ceilings.dram_read: missing key 'value'"},
      {"\"GB/s\"", "\"TB/s\"", "$.ceilings.dram_read.unit: unknown unit \"TB/s\"; "},
      {"\"floor/graph\"", "7", "$.ceilings.floor_graph.from: expected a string, found 7"},
      {"\"uuid\": \"GPU-0123\",", "", "$: missing key 'uuid'"},
      {"\"driver_version\": \"580.65.06\"", "\"driver_version\": null",
       "$.driver_version: expected a string, found null"},
      {"\"schema_version\": 1", "\"schema_version\": 2",
       "$.schema_version: 2 is out of range; allowed: 1 to 1"},
      {"\"ceilings\": {", "\"ceilings\": 3, \"of\": {",
       "$.ceilings: expected an object of ceilings, found 3"},
      {"{", "[", "expected ',' or ']'"},
  };
  for (const auto& c : cases) {
    CAPTURE(c[1]);
    CHECK_THAT(error_of(with(good, c[0], c[1])), contains_text(c[2]));
  }
  CHECK_THROWS_AS(read_ceilings_file("/nowhere/ceilings.json"), ConfigError);
}

}  // namespace gpuexp::test
