// Cache counts among a launch's counters.
#include "model/cache_counts.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

const double kUnknown = std::nan("");

LaunchCounts two_kernels() {
  LaunchCounts counts;
  counts.metrics = {"smsp__inst_executed.sum", "l1tex__t_sectors.sum",
                    "l1tex__t_sectors_lookup_hit.sum", "dram__bytes_read.sum"};
  counts.kernels = {{"a", {7, kUnknown, kUnknown, kUnknown}},
                    {"b", {9, kUnknown, kUnknown, kUnknown}}};
  return counts;
}

std::optional<double> value_of(const LaunchCounts& counts, const std::string& counter) {
  return counted(select_counters({counter}).front(), counts);
}

TEST_CASE("cache counts are set and other counters remain", "[cache_counts]") {
  LaunchCounts counts = two_kernels();
  add_cache_counts(counts, {{100, 10, 90, 0, 2880, 0}, {300, 90, 210, 0, 6720, 0}});
  CHECK(value_of(counts, "warp_instructions") == 16);
  CHECK(value_of(counts, "l1_hit_pct") == 25);  // 100 of 400
  CHECK(value_of(counts, "dram_read_bytes") == 9600);
  CHECK(*counted(select_counters({"l1_hit_pct"}).front(), counts, 1) == 30);
  // The metric was not requested.
  CHECK_FALSE(value_of(counts, "l2_sectors"));
}

TEST_CASE("repeated wavefronts are added to the others", "[cache_counts]") {
  LaunchCounts counts;
  counts.metrics = {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
                    "l1tex__data_pipe_lsu_wavefronts.sum",
                    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"};
  counts.kernels = {{"a", {1000, 500, 4000, 200}}};
  CacheCounts repeats;
  repeats.shared_load_repeats = 30;
  repeats.shared_store_repeats = 7;
  add_cache_counts(counts, {repeats});
  CHECK(value_of(counts, "shared_load_wavefronts") == 1030);
  CHECK(value_of(counts, "shared_store_wavefronts") == 507);
  CHECK(value_of(counts, "l1_data_wavefronts") == 4037);
  CHECK(value_of(counts, "shared_bank_conflicts") == 237);
  for (const std::string& metric : counts.metrics) {
    INFO(metric);
    CHECK(has_cache_part(metric));
    CHECK(cache_metric(metric) == nullptr);
  }
  CHECK(has_cache_part("l1tex__t_sectors.sum"));
  CHECK_FALSE(has_cache_part("smsp__inst_executed.sum"));
}

TEST_CASE("cache counts stay empty if the kernels are unknown", "[cache_counts]") {
  LaunchCounts counts = two_kernels();
  SECTION("without a time from machine code") {
    add_cache_counts(counts, {});
  }
  SECTION("for only some kernels of the launch") {
    add_cache_counts(counts, {{100, 10, 90, 0, 2880, 0}});
  }
  CHECK(value_of(counts, "warp_instructions") == 16);
  CHECK_FALSE(value_of(counts, "l1_hit_pct"));
  CHECK_FALSE(value_of(counts, "dram_read_bytes"));
}

TEST_CASE("metrics of cache counters are recognized, and those of instructions are not",
          "[cache_counts]") {
  for (const char* name :
       {"dram_read_bytes", "dram_write_bytes", "l2_sectors", "l2_hit_pct", "l1_hit_pct"}) {
    INFO(name);
    for (const std::string& metric : metrics_of(select_counters({name})))
      CHECK(cache_metric(metric) != nullptr);
  }
  CHECK(cache_metric("smsp__inst_executed.sum") == nullptr);
  CHECK(cache_metric("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum") == nullptr);
}

}  // namespace
}  // namespace gpuexp::test
