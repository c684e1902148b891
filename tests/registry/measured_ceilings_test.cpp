// Ceilings from rows: which row determines them, what is subtracted from its time, and when there
// is none.
#include "analysis/measured_ceilings.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "device/ceilings.hpp"
#include "family/registry.hpp"
#include "support/catch.hpp"
#include "support/record_rows.hpp"

namespace gpuexp::test {

namespace {

struct TimedRow {
  std::string family;
  std::string variant;
  std::string mode;
  std::string amount_column;
  Field amount;
  double time_us;
  std::string status = "passed";
  std::string pipe = {};  ///< pipe, or data type of a library's product
};

// Medians with intervals of ± 1 %; keys are "family/variant/pipe".
Table fields_of_rows(const std::vector<TimedRow>& rows) {
  Table table;
  const std::set<std::string> numbers{
      "time_median_us",     "time_ci95_low_us", "time_ci95_high_us", "floor_us",
      "useful_bytes",       "operations",       "param.n",           "metric.passed_bytes",
      "metric.chain_steps", "param.blocks",     "sm_clock_mhz",      "sm_clock_min_mhz",
      "sm_clock_max_mhz"};
  for (const char* text :
       {"family", "variant", "mode", "status", "key", "param.pipe", "param.dtype"})
    table.columns.push_back({text, "", FieldType::text, ""});
  for (const std::string& number : numbers)
    table.columns.push_back({number, "", FieldType::real, ""});
  for (const TimedRow& row : rows) {
    std::vector<Field>& fields = table.rows.emplace_back(table.columns.size());
    const auto set = [&](const std::string& column, const Field& value) {
      fields[*table.column(column)] = value;
    };
    set("family", row.family);
    set("variant", row.variant);
    set("mode", row.mode);
    set("status", row.status);
    set("key", row.family + "/" + row.variant + "/" + row.pipe);
    set("param.pipe", row.pipe);
    set("param.dtype", row.pipe);
    set(row.amount_column, row.amount);
    set("floor_us", 2.0);
    set("time_median_us", row.time_us);
    set("time_ci95_low_us", row.time_us * 0.99);
    set("time_ci95_high_us", row.time_us * 1.01);
    set("sm_clock_mhz", 1900.0);
    set("sm_clock_min_mhz", 1890.0);
    set("sm_clock_max_mhz", 1980.0);
  }
  return table;
}

RecordTable table_of(const std::vector<TimedRow>& rows) {
  return record_table(fields_of_rows(rows));
}

DeviceSpec device() {
  DeviceSpec d;
  d.cc_major = 9;
  d.sm_count = 100;
  return d;
}

MeasuredCeilings ceilings_of(const std::vector<TimedRow>& rows) {
  return measured_ceilings(table_of(rows), {}, device(), Registry::global());
}

void check(const MeasuredCeiling& found, double value, double low, double high) {
  CHECK(found.value == Approx(value));
  CHECK(found.low == Approx(low));
  CHECK(found.high == Approx(high));
}

TimedRow memory(const char* variant, const char* mode, double time_us) {
  const char* column = std::string(mode) == "cold" ? "useful_bytes" : "metric.passed_bytes";
  return {"memory_bandwidth", variant, mode, column, 4e9, time_us};
}

TimedRow product(const char* variant, const char* pipe, double time_us) {
  return {"tensor_rate", variant, "warm", "operations", 1e12, time_us, "passed", pipe};
}

}  // namespace

TEST_CASE("the fastest of several rows determines the ceiling, which names it", "[ceilings]") {
  const auto found = ceilings_of({memory("read", "cold", 1000), memory("read_bulk", "cold", 800),
                                  memory("memcpy", "cold", 100), memory("read", "warm", 400)});
  check(found.at("dram_read"), 5000, 5000 / 1.01, 5000 / 0.99);
  CHECK(found.at("dram_read").from == "memory_bandwidth/read_bulk/");
  CHECK(found.at("l2_read").value == Approx(10000));
  CHECK(found.count("dram_copy") == 0);  // a library call sets no ceiling
  CHECK(found.size() == 2);
}

TEST_CASE("a tensor pipe has a ceiling of its fastest variant and one of mma.sync only",
          "[ceilings]") {
  const auto found = ceilings_of(
      {product("wgmma", "tensor_tf32", 1000), product("mma_sync", "tensor_tf32", 2000),
       product("mma_sync", "tensor_fp64", 20000), product("mma_sync_k16", "tensor_fp64", 10000)});
  CHECK(found.at("tensor_tf32").value == Approx(1000));
  CHECK(found.at("mma_sync.tensor_tf32").value == Approx(500));
  CHECK(found.at("tensor_fp64").value == Approx(100));
  CHECK(found.at("mma_sync.tensor_fp64").from == "tensor_rate/mma_sync_k16/tensor_fp64");
  CHECK(found.count("tensor_fp16_fp16") == 0);
}

TEST_CASE("a failed row that could be faster removes its ceiling, a skipped one does not",
          "[ceilings]") {
  TimedRow wgmma = product("wgmma", "tensor_tf32", 1000);
  const TimedRow mma_sync = product("mma_sync", "tensor_tf32", 2000);
  wgmma.status = "skipped";
  CHECK(ceilings_of({wgmma, mma_sync}).at("tensor_tf32").value == Approx(500));
  for (const char* status : {"incorrect", "failed", "timeout", "not_run"}) {
    wgmma.status = status;
    const auto found = ceilings_of({mma_sync, wgmma});
    CHECK(found.count("tensor_tf32") == 0);
    CHECK(found.at("mma_sync.tensor_tf32").value == Approx(500));
  }
}

TEST_CASE("latencies and block rates exclude the launch", "[ceilings]") {
  const auto found = ceilings_of(
      {{"latency", "l2", "warm", "metric.chain_steps", 1000.0, 202},
       {"block_start", "one_resident", "warm", "param.blocks", std::int64_t{1000}, 12},
       {"block_start", "many_resident", "warm", "param.blocks", std::int64_t{1000}, 4},
       {"block_start", "many_resident", "graph", "param.blocks", std::int64_t{1000}, 3},
       {"block_start", "one_per_kernel", "warm", "param.blocks", std::int64_t{100}, 152},
       {"block_start", "one_per_kernel", "graph", "param.blocks", std::int64_t{100}, 99}});
  check(found.at("l2_latency"), 200, 200 - 2.02, 200 + 2.02);
  CHECK(found.at("block_latency").value == Approx(1000));  // 10 us for 10 rounds over 100 SMs
  CHECK(found.at("block_rate").value == Approx(500));
  CHECK(found.at("kernel_latency").value == Approx(1500));
  CHECK(found.size() == 4);
}

TEST_CASE("latencies with all SMs are separate from those with one SM", "[ceilings]") {
  const TimedRow one{"latency", "dram", "cold", "metric.chain_steps", 1000.0, 302};
  const TimedRow all{"latency", "dram_all_sms", "cold", "metric.chain_steps", 1000.0, 402};
  const auto found = ceilings_of({one, all});
  CHECK(found.at("dram_latency").value == Approx(300));
  CHECK(found.at("dram_all_sms_latency").value == Approx(400));
  // Neither replaces the other, and rows that hit in L2 do not count for DRAM.
  CHECK(ceilings_of({one}).count("dram_all_sms_latency") == 0);
  TimedRow warm = all;
  warm.mode = "warm";
  CHECK(ceilings_of({one, warm}).size() == 1);
  const auto of_l2 =
      ceilings_of({{"latency", "l2_all_sms", "warm", "metric.chain_steps", 1000.0, 202}});
  CHECK(of_l2.at("l2_all_sms_latency").value == Approx(200));
  CHECK(of_l2.size() == 1);
}

TEST_CASE("a time no longer than the launch gives no ceiling", "[ceilings]") {
  CHECK(ceilings_of({{"latency", "l2", "warm", "metric.chain_steps", 1000.0, 2}}).empty());
}

TEST_CASE("random read bandwidth excludes the gather's ordered reads and writes", "[ceilings]") {
  const TimedRow random{"gather", "gather_random", "cold", "param.n", std::int64_t{1000000}, 30};
  const TimedRow ordered{"gather",  "gather_sequential",   "cold",
                         "param.n", std::int64_t{1000000}, 15};
  const auto found = ceilings_of({ordered, random}).at("dram_random");
  // 64 MB in 20 us, with uncertainties of 0.3 us and 0.1 us.
  const double width = std::sqrt(0.1);
  check(found, 3200, 64e3 / (20 + width), 64e3 / (20 - width));
  CHECK(ceilings_of({random}).empty());
  TimedRow other = ordered;
  other.amount = std::int64_t{2000000};
  CHECK(ceilings_of({other, random}).empty());
}

TEST_CASE("the SM clock comes from a row that waits for memory", "[ceilings]") {
  const auto found = ceilings_of({memory("copy", "cold", 1000)});
  check(found.at("sm_clock"), 1900, 1890, 1980);
}

TEST_CASE("rows that did not pass, or lack numbers, give no ceiling", "[ceilings]") {
  for (const char* status : {"incorrect", "failed", "skipped", "timeout", "not_run"}) {
    TimedRow row = memory("copy", "cold", 1000);
    row.status = status;
    CHECK(ceilings_of({row}).empty());
  }
  const Table whole = fields_of_rows({memory("write", "cold", 1000)});
  for (const char* column : {"time_median_us", "time_ci95_low_us", "time_ci95_high_us",
                             "useful_bytes", "mode", "family", "variant", "status"}) {
    CAPTURE(column);
    Table table = whole;
    table.rows[0][*table.column(column)] = Field{};
    CHECK(measured_ceilings(record_table(table), {}, device(), Registry::global()).empty());
  }
  CHECK(measured_ceilings(record_table(whole), {}, device(), Registry::global()).size() == 1);
  CHECK(measured_ceilings({}, {}, device(), Registry::global()).empty());
}

TEST_CASE("floors come from the samples of an empty kernel", "[ceilings]") {
  std::vector<double> cold;
  std::vector<double> graph;
  for (int i = 0; i < 50; ++i) {
    cold.push_back(2.816 + 0.032 * (i % 3));
    graph.push_back(0.68 + 0.0001 * (i % 7));
  }
  const auto found = measured_ceilings(
      {}, {{Mode::cold, cold}, {Mode::graph, graph}, {Mode::warm, {}}}, {}, Registry::global());
  CHECK(found.size() == 2);
  const MeasuredCeiling& floor = found.at("floor_cold");
  CHECK(floor.value == Approx(2.848));
  CHECK(floor.high - floor.low >= Approx(0.032));  // timer resolution
  CHECK(floor.from == "floor/cold");
  CHECK(found.at("floor_graph").high - found.at("floor_graph").low < 0.001);
}

TEST_CASE("ceilings that families declare are valid", "[ceilings]") {
  std::set<std::string> measured;
  for (const Family& family : Registry::global().families()) {
    for (const CeilingRows& source : family.ceilings) {
      CAPTURE(family.id, source.ceiling);
      CHECK(find_ceiling_term(source.ceiling) != nullptr);
      REQUIRE_FALSE(source.variants.empty());
      std::set<bool> vendors;
      for (const std::string& id : source.variants) {
        CAPTURE(id);
        REQUIRE(family.find(id) != nullptr);
        vendors.insert(family.find(id)->is_vendor);
      }
      CHECK(vendors.size() == 1);
      measured.insert((vendors.count(false) ? "" : "library.") + source.ceiling);
      CHECK((source.overhead_variant.empty() || family.find(source.overhead_variant)));
      if (source.parameter.empty()) continue;
      const Parameter* parameter = family.find_parameter(source.parameter);
      REQUIRE(parameter != nullptr);
      const bool is_choice = !parameter->choices.empty();
      const auto& choices = parameter->choices;
      CHECK((is_choice ? std::count(choices.begin(), choices.end(), source.value) == 1
                       : std::to_string(std::stoll(source.value)) == source.value));
    }
  }
  // Floors come from empty kernels, and no family measures fp16 products with fp16 sums.
  std::set<std::string> missing;
  for (const CeilingTerm& term : ceiling_terms()) {
    if (term.id.rfind("floor_", 0) != 0 && !measured.count(term.id)) missing.insert(term.id);
  }
  // Libraries are measured with the types of matmul_tensor.
  CHECK(missing == std::set<std::string>{"tensor_fp16_fp16", "mma_sync.tensor_fp16_fp16",
                                         "library.tensor_fp16_fp16", "library.tensor_fp64",
                                         "library.tensor_fp8_fp32", "library.tensor_int8_int32"});
}

TEST_CASE("library calls are listed with their ceiling", "[ceilings]") {
  const auto calls = vendor_calls(
      table_of({memory("memcpy", "cold", 1000),
                {"matmul", "cublas", "warm", "operations", 1e12, 20000},
                {"matmul_tensor", "cublas", "warm", "operations", 1e12, 1500, "passed", "bf16"},
                {"matmul_tensor", "cublas", "warm", "operations", 1e12, 1250, "passed", "bf16"},
                {"matmul_tensor", "cublas", "warm", "operations", 1e12, 2000, "failed", "tf32"},
                {"matmul_tensor", "wmma", "warm", "operations", 1e12, 100, "passed", "bf16"}}),
      device(), Registry::global());
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].ceiling == "dram_copy");
  CHECK(calls[0].variant == "memcpy");
  CHECK(calls[0].value == Approx(4000));
  CHECK(calls[1].value == Approx(50));
  CHECK(calls[2].ceiling == "tensor_bf16_fp32");
  CHECK(calls[2].value == Approx(800));
  CHECK(calls[2].from == "matmul_tensor/cublas/bf16");
}

}  // namespace gpuexp::test
