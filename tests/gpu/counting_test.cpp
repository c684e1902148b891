// Hardware counters of launches on a GPU.
#include <chrono>
#include <map>

#include <fmt/format.h>

#include "family/registry.hpp"
#include "gpu/broken_family.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

/// An executor that reads memory counters of launches.
struct MemoryCounting {
  const DeviceSpec device = query_device(0, {}).spec;
  const std::unique_ptr<Executor> executor = make_cuda_executor(0, device);
  CounterReader& reader = *executor->counter_reader();
  const std::vector<SelectedCounter> counters = select_counters({"memory"});
  const std::vector<std::string> metrics = metrics_of(counters);
  const CounterSupport support = reader.counter_support(metrics);

  /// Reports the reason and returns true if hardware counters cannot be read.
  bool is_skipped() const {
    if (support.unavailable.empty()) return false;
    skip(Tier::gpu, "no hardware counters here: " + support.unavailable);
    return true;
  }

  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches) const {
    return reader.count(launches, 1, metrics);
  }

  std::map<std::string, double> by_name(const LaunchCounts& counts) const {
    std::map<std::string, double> values;
    for (const SelectedCounter& counter : counters) {
      if (const auto value = counted(counter, counts)) values[counter.name] = *value;
    }
    return values;
  }
};

TEST_CASE("counters of a launch match its addresses", "[engine][counters]") {
  const Family* family = Registry::global().find("coalescing");
  REQUIRE(family);
  const MemoryCounting memory;
  if (memory.is_skipped()) return;
  CHECK(memory.support.unknown.empty());
  CHECK(memory.reader.counter_support({"lts__nothing.sum"}).unknown ==
        std::vector<std::string>{"lts__nothing.sum"});
  const auto count = [&](const char* variant, std::int64_t n, std::int64_t stride, Mode mode) {
    const Values values = values_with(*family, {{"n", n}, {"stride", stride}});
    const LaunchCounts counts =
        memory.count({{family, values, family->find(variant), mode}}).front();
    CHECK(counts.kernels.size() == 1);
    CHECK_THAT(counts.kernels.front().kernel, contains_text("kernel"));
    return memory.by_name(counts);
  };
  constexpr std::int64_t kLarge = std::int64_t{1} << 24;
  auto plain = count("read_strided", kLarge, 1, Mode::cold);
  CHECK(plain["global_load_sectors_per_request"] == Approx(4.0).epsilon(0.02));
  CHECK(plain["dram_read_bytes"] == Approx(4.0 * kLarge).epsilon(0.05));
  auto strided = count("read_strided", kLarge, 8, Mode::cold);
  CHECK(strided["global_load_sectors_per_request"] == Approx(32.0).epsilon(0.02));
  CHECK(strided["dram_read_bytes"] == Approx(32.0 * kLarge).epsilon(0.05));
  // Data that fits in L2 is still there in mode warm, not in mode cold.
  const std::int64_t small = memory.device.l2_bytes / 32;
  CHECK(count("read_contiguous", small, 1, Mode::cold)["dram_read_bytes"] ==
        Approx(4.0 * static_cast<double>(small)).epsilon(0.05));
  CHECK(count("read_contiguous", small, 1, Mode::warm)["dram_read_bytes"] <
        0.4 * static_cast<double>(small));
  // The driver evicts much of L2 at the start of a pass, which must not count as part of a warm
  // launch.
  const std::int64_t quarter_of_l2 = memory.device.l2_bytes / 16;
  CHECK(count("read_contiguous", quarter_of_l2, 1, Mode::warm)["dram_read_bytes"] <
        0.4 * static_cast<double>(quarter_of_l2));
  // No profiler is active in later timing.
  const Variant& contiguous = *family->find("read_contiguous");
  memory.executor->set_up(*family, choice_combinations(*family).front(), 1);
  memory.executor->timer()->warm_up(contiguous, Mode::warm, {1, 1});
  memory.executor->timer()->sample(
      {&contiguous}, Mode::warm,
      [](std::size_t, const Sample& sample) { CHECK(sample.time_us > 0); });
}

TEST_CASE("counts do not depend on earlier counts", "[engine][counters]") {
  const MemoryCounting memory;
  if (memory.is_skipped()) return;
  const Family* family = Registry::global().find("divergence");
  REQUIRE(family);
  const CountedLaunch launch{family, values_with(*family), &family->variants.front(), Mode::cold};
  const auto of = [&](const std::vector<std::string>& names) {
    const auto selected = select_counters(names);
    const LaunchCounts counts = memory.reader.count({launch}, 1, metrics_of(selected)).front();
    std::map<std::string, double> values;
    for (const SelectedCounter& counter : selected) {
      INFO(counter.name);
      const auto value = counted(counter, counts);
      REQUIRE(value);
      values[counter.name] = *value;
    }
    return values;
  };
  const std::vector<std::string> few{"global_load_requests", "shared_load_wavefronts"};
  const std::vector<std::string> more{"active_lanes_per_instruction", "warp_instructions",
                                      "global_load_requests", "shared_load_wavefronts"};
  const auto first = of(few);
  const auto then = of(more);
  for (const std::string& group : counter_groups()) {
    INFO("after " << group);
    memory.reader.count({launch}, 1, metrics_of(select_counters({group})));
    CHECK(of(few) == first);
    CHECK(of(more) == then);
  }
}

/// Launches of small problems. Before each there may be a fill or a replay of many launches; plain
/// launches have neither.
std::vector<CountedLaunch> small_launches(bool is_plain) {
  std::vector<CountedLaunch> launches;
  for (const char* id : {"coalescing", "divergence", "partial_write"}) {
    const Family* family = Registry::global().find(id);
    REQUIRE(family);
    if (is_plain && family->reset) continue;
    // L2 holds several times this size; of 32 MiB, the share that stays depends on addresses.
    Values values = choice_combinations(*family).front();
    for (std::size_t p = 0; p < values.size(); ++p) {
      if (family->parameters[p].name == "n") values[p] = Value{std::int64_t{1} << 20};
    }
    for (const Mode mode : {Mode::cold, Mode::warm, Mode::graph}) {
      if (is_plain && mode == Mode::graph) continue;
      for (const Variant& variant : family->variants) {
        if (!variant.is_vendor) launches.push_back({family, values, &variant, mode});
      }
    }
  }
  return launches;
}

void check_same(const LaunchCounts& together, const LaunchCounts& alone) {
  CHECK(together.passes == alone.passes);
  REQUIRE(together.kernels.size() == alone.kernels.size());
  for (std::size_t k = 0; k < alone.kernels.size(); ++k)
    CHECK(together.kernels[k].kernel == alone.kernels[k].kernel);
  for (const char* counter : {"global_load_sectors", "global_load_requests", "global_store_sectors",
                              "global_store_requests"}) {
    const auto selected = select_counters({counter});
    const auto a = counted(selected.front(), together);
    const auto b = counted(selected.front(), alone);
    REQUIRE(a.has_value() == b.has_value());
    INFO(counter);
    if (a) CHECK(*a == *b);
  }
  // The contents of L2 differ between launches. In all.json, DRAM bytes counted together and
  // separately differ by less than 1 MB in nine of ten rows.
  const auto dram = select_counters({"dram_read_bytes"});
  constexpr double kKeptBytes = 2e6;
  CHECK(*counted(dram.front(), together) ==
        Approx(*counted(dram.front(), alone)).epsilon(0.02).margin(kKeptBytes));
}

TEST_CASE("counting launches together or separately gives equal counts", "[engine][counters]") {
  const MemoryCounting memory;
  if (memory.is_skipped()) return;
  const bool is_plain = GENERATE(true, false);
  const std::vector<CountedLaunch> launches = small_launches(is_plain);
  const auto count_ms = [&](const std::vector<CountedLaunch>& some,
                            std::vector<LaunchCounts>& counts) {
    const auto start = std::chrono::steady_clock::now();
    for (LaunchCounts& of_launch : memory.count(some))
      counts.push_back(std::move(of_launch));
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  };
  std::vector<LaunchCounts> together;
  std::vector<LaunchCounts> alone;
  count_ms({launches.front()}, together);  // one-time initialization
  together.clear();
  const double together_ms = count_ms(launches, together);
  double alone_ms = 0;
  for (const CountedLaunch& launch : launches)
    alone_ms += count_ms({launch}, alone);
  const auto rows = static_cast<double>(launches.size());
  fmt::print("counting {} rows takes {:.1f} ms per row together, {:.1f} ms one by one\n", rows,
             together_ms / rows, alone_ms / rows);
  REQUIRE(together.size() == launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    INFO(launches[i].family->id << "/" << launches[i].variant->id << "/"
                                << name_of(launches[i].mode));
    check_same(together[i], alone[i]);
  }
  // On an H200 it takes half the time: a launch and its preparation take 44 ms in seven passes.
  if (is_plain) CHECK(together_ms < 0.75 * alone_ms);
}

TEST_CASE("fills and kernels of a launch are counted separately", "[engine][counters]") {
  const MemoryCounting memory;
  if (memory.is_skipped()) return;
  const Family family = broken_family();
  const Values values = values_with(family);
  const auto counts = memory.count({{&family, values, family.find("right"), Mode::warm},
                                    {&family, values, family.find("cleared"), Mode::warm}});
  REQUIRE(counts.size() == 2);
  CHECK(counts[0].kernels.size() == 1);
  REQUIRE(counts[1].kernels.size() == 2);
  CHECK_THAT(counts[1].kernels[0].kernel, contains_text("cudaMemsetAsync"));
  CHECK_THAT(counts[1].kernels[1].kernel, contains_text("own_kernel"));
  const auto stores = select_counters({"global_store_sectors"}).front();
  // 4000 bytes in sectors of 32 bytes.
  CHECK(counted(stores, counts[0]) == 125.0);
}

}  // namespace
}  // namespace gpuexp::test
