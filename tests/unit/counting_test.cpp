// When a run reads hardware counters, and what it does with their values.
#include <algorithm>

#include "record/flags.hpp"
#include "run/record_of.hpp"
#include "support/catch.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

bool has_flag(const Row& row, const Flag& flag) {
  return std::find(row.flags.begin(), row.flags.end(), flag.id) != row.flags.end();
}

std::ptrdiff_t counting_calls(const std::vector<std::string>& calls) {
  return std::count_if(calls.begin(), calls.end(),
                       [](const std::string& call) { return call.rfind("count ", 0) == 0; });
}

TEST_CASE("rows are counted together while their problems fit in memory at once", "[counters]") {
  ToyRun b({"first", "second"});
  b.experiment().counters = {"dram_read_bytes"};
  b.sweep({std::int64_t{1000}, std::int64_t{2000}, std::int64_t{4000}});
  const auto bytes = [&](int n) {
    const auto problem = b.family.make_problem({std::int64_t{n}, 0.5, std::string("narrow")});
    return cell_bytes(b.family, *b.family.find("first"), problem.get(), b.device);
  };
  SECTION("all fit") {
    b.device.memory_bytes = 16 * (bytes(1000) + bytes(2000) + bytes(4000));
  }
  SECTION("all except the last fit") {
    b.device.memory_bytes = 16 * (bytes(1000) + bytes(2000) + bytes(4000)) - 16;
  }
  const bool all_fit = b.device.memory_bytes % 32 == 0;
  const auto rows = b.run();
  REQUIRE(rows.size() == 6);
  for (const Row& row : rows)
    CHECK(row.counts.has_value());
  CHECK(counting_calls(b.executor.calls) == (all_fit ? 1 : 2));
  CHECK(b.executor.calls.back() == (all_fit ? "count first cold second cold first cold second cold "
                                              "first cold second cold"
                                            : "count first cold second cold"));
}

TEST_CASE("rows with other counters, or beyond a batch, are counted separately", "[counters]") {
  ToyRun b({"first"});
  b.experiment().counters = {"dram_read_bytes"};
  SECTION("other counters") {
    Experiment other = b.experiment();
    other.name = "other";
    other.counters = {"dram_write_bytes"};
    b.config.experiments.push_back(other);
    b.run();
    CHECK(counting_calls(b.executor.calls) == 2);
  }
  SECTION("many rows") {
    std::vector<AxisItem> sizes;
    for (std::int64_t n = 1; n <= 33; ++n)
      sizes.emplace_back(n);
    b.sweep(sizes);
    b.run();
    CHECK(counting_calls(b.executor.calls) == 2);
    CHECK(b.executor.calls.back() == "count first cold");
  }
}

TEST_CASE("hardware counters are read after all timing and fill their columns", "[counters]") {
  ToyRun b({"first", "second"});
  b.experiment().modes = {Mode::cold, Mode::warm};
  b.experiment().counters = {"dram_read_bytes", "lts__t_sectors.sum"};
  const auto rows = b.run();
  const auto& calls = b.executor.calls;
  CHECK(calls.back() == "count first cold second cold first warm second warm");
  CHECK(counting_calls(calls) == 1);
  const RecordTable table = empty_table(b.plan);
  const auto& columns = table.columns;
  const auto fields = fields_of(columns, record_of(table, b.plan, rows[3]));
  REQUIRE(columns.back().name == "counter.lts__t_sectors.sum");
  CHECK(columns[columns.size() - 2].name == "counter.dram_read_bytes");
  CHECK(fields.back() == Field{8.0});
}

TEST_CASE("each kernel of a launch has counters and its demangled name", "[counters]") {
  ToyRun b({"first"});
  b.experiment().counters = {"dram_read_bytes"};
  b.executor.kernels = {{"_ZN6gpuexp7scaling11step_kernelIfEEvPT_", 8.0}, {"", 4.0}};
  const auto rows = b.run();
  const RecordTable table = empty_table(b.plan);
  REQUIRE(empty_kernel_table(b.plan).columns.size() == 4);
  CHECK(kernel_fields_of(b.plan, rows[0]) ==
        std::vector<std::vector<Field>>{{rows[0].key, std::int64_t{0}, "step_kernel<float>", 8.0},
                                        {rows[0].key, std::int64_t{1}, Field{}, 4.0}});
  CHECK(record_of(table, b.plan, rows[0]).counters.number("dram_read_bytes") == 12.0);
}

TEST_CASE("a row sums the counters of hundreds of kernels and lists the first kernels",
          "[counters]") {
  ToyRun b({"first"});
  b.experiment().counters = {"dram_read_bytes"};
  auto rows = b.run();
  const auto one = rows[0].counts->kernels.at(0);
  rows[0].counts->kernels.assign(kMaxKernelRows, one);
  CHECK(kernel_fields_of(b.plan, rows[0]).size() == kMaxKernelRows);
  const RecordTable table = empty_table(b.plan);
  const auto before = record_of(table, b.plan, rows[0]).counters.number("dram_read_bytes");
  rows[0].counts->kernels.insert(rows[0].counts->kernels.end(), kMaxKernelRows, one);
  CHECK(kernel_fields_of(b.plan, rows[0]).size() == kMaxKernelRows);
  CHECK(record_of(table, b.plan, rows[0]).counters.number("dram_read_bytes") == 2 * *before);
}

TEST_CASE("without counters there are no columns and no counting launches", "[counters]") {
  ToyRun b({"first"});
  b.run();
  for (const std::string& call : b.executor.calls)
    CHECK(call.find("count") == std::string::npos);
  for (const RecordColumn& column : empty_table(b.plan).columns)
    CHECK(column.name.rfind(kCounterPrefix, 0) != 0);
}

TEST_CASE("a row without counters stays valid", "[counters]") {
  ToyRun b({"first", "second"});
  b.experiment().counters = {"memory"};
  SECTION("the machine has no counters") {
    b.options.counters = false;
    const auto rows = b.run();
    CHECK(rows[0].status == Status::passed);
    CHECK_FALSE(has_flag(rows[0], kUncounted));
    CHECK(b.executor.calls.back().rfind("count", 0) != 0);
  }
  SECTION("a fault prevents them") {
    b.executor.recovers = true;
    b.executor.fault = [](const std::string& call) {
      if (call.rfind("count first", 0) == 0) throw DeviceError("it broke", DeviceFault::lost);
    };
    const auto rows = b.run();
    CHECK(rows[0].status == Status::passed);
    CHECK(rows[0].time_us->median == 10.0);
    CHECK(has_flag(rows[0], kUncounted));
    CHECK_FALSE(has_flag(rows[1], kUncounted));
    CHECK(rows[1].counts.has_value());
  }
  SECTION("an interrupt precedes them") {
    b.sweep({std::int64_t{1000}, std::int64_t{2000}});
    b.device.memory_bytes = 1 << 17;  // no two problems fit in a sixteenth of it
    b.options.interrupted = [&] { return counting_calls(b.executor.calls) > 0; };
    const auto rows = b.run();
    CHECK(rows[0].counts.has_value());
    CHECK(rows[2].status == Status::passed);
    CHECK(has_flag(rows[2], kUncounted));
  }
}

TEST_CASE("metrics that a chip lacks do not affect the others", "[counters]") {
  ToyRun b({"first"});
  b.experiment().counters = {"global_load_sectors", "global_load_sectors_per_request"};
  b.options.missing_metrics = {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"};
  const auto rows = b.run();
  const RecordTable table = empty_table(b.plan);
  const auto fields = fields_of(table.columns, record_of(table, b.plan, rows[0]));
  CHECK(fields.back() == Field{});
  CHECK(fields[fields.size() - 2] == Field{8.0});
}

}  // namespace
}  // namespace gpuexp::test
