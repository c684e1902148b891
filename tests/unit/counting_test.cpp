// When a run reads hardware counters, and what it makes of them.
#include <algorithm>

#include "record/flags.hpp"
#include "run/kernel_rows.hpp"
#include "run/record_of.hpp"
#include "support/catch.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

bool has_flag(const Row& row, const Flag& flag) {
  return std::find(row.flags.begin(), row.flags.end(), flag.id) != row.flags.end();
}

TEST_CASE("hardware counters are read after all timing, and their columns hold them",
          "[counters]") {
  ToyRun b({"first", "second"});
  b.experiment().modes = {Mode::cold, Mode::warm};
  b.experiment().counters = {"dram_read_bytes", "lts__t_sectors.sum"};
  const auto rows = b.run();
  const auto& calls = b.executor.calls;
  const auto first_count = std::find(calls.begin(), calls.end(), "count first cold");
  REQUIRE(first_count != calls.end());
  CHECK(std::vector<std::string>(first_count - 1, calls.end()) ==
        std::vector<std::string>{"warm_up first cold 1", "count first cold",
                                 "warm_up second cold 1", "count second cold",
                                 "warm_up first warm 1", "count first warm",
                                 "warm_up second warm 1", "count second warm"});
  CHECK(std::find(first_count, calls.end(), "sample first") == calls.end());
  const RecordTable table = empty_table(b.plan);
  const auto& columns = table.columns;
  const auto fields = fields_of(columns, record_of(table, b.plan, rows[3]));
  REQUIRE(columns.back().name == "counter.lts__t_sectors.sum");
  CHECK(columns[columns.size() - 2].name == "counter.dram_read_bytes");
  CHECK(fields.back() == Field{8.0});
}

TEST_CASE("each kernel of a launch has its counters, and its name as the source has it",
          "[counters]") {
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

TEST_CASE("without counters there are no columns, and no launches for them", "[counters]") {
  ToyRun b({"first"});
  b.run();
  for (const std::string& call : b.executor.calls)
    CHECK(call.find("count") == std::string::npos);
  for (const RecordColumn& column : empty_table(b.plan).columns)
    CHECK(column.name.rfind(kCounterPrefix, 0) != 0);
}

TEST_CASE("a row stands without its counters", "[counters]") {
  ToyRun b({"first", "second"});
  b.experiment().counters = {"memory"};
  SECTION("that the machine does not give") {
    b.options.counters = false;
    const auto rows = b.run();
    CHECK(rows[0].status == Status::passed);
    CHECK_FALSE(has_flag(rows[0], kUncounted));
    CHECK(b.executor.calls.back().rfind("count", 0) != 0);
  }
  SECTION("that a fault took") {
    b.executor.recovers = true;
    b.executor.fault = [](const std::string& call) {
      if (call == "count first cold") throw DeviceError("it broke", DeviceFault::lost);
    };
    const auto rows = b.run();
    CHECK(rows[0].status == Status::passed);
    CHECK(rows[0].time_us->median == 10.0);
    CHECK(has_flag(rows[0], kUncounted));
    CHECK_FALSE(has_flag(rows[1], kUncounted));
    CHECK(rows[1].counts.has_value());
  }
  SECTION("that an interrupt came before") {
    b.options.interrupted = [&] {
      return !b.executor.calls.empty() && b.executor.calls.back() == "count first cold";
    };
    const auto rows = b.run();
    CHECK(rows[0].counts.has_value());
    CHECK(rows[1].status == Status::passed);
    CHECK(has_flag(rows[1], kUncounted));
  }
}

TEST_CASE("metrics that a chip lacks leave the others alone", "[counters]") {
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
