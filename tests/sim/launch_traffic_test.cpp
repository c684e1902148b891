// Traffic between L2 and DRAM, computed from the addresses of a launch's blocks.
#include "model/launch_traffic.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "family/registry.hpp"
#include "sim/recorded.hpp"
#include "simulated/code_prediction.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::vector<ByteRange> joined(std::vector<ByteRange> ranges) {
  join(ranges);
  return ranges;
}

double bytes_of(const std::vector<ByteRange>& ranges) {
  double sum = 0;
  for (const ByteRange& range : ranges)
    sum += static_cast<double>(range.end - range.begin);
  return sum;
}

/// Bytes in `b` that are not in `a`.
double bytes_beyond(const std::vector<ByteRange>& a, const std::vector<ByteRange>& b) {
  std::vector<ByteRange> both = a;
  both.insert(both.end(), b.begin(), b.end());
  return bytes_of(joined(both)) - bytes_of(a);
}

/// Bytes that a kernel reads or writes, from executing all its blocks.
std::vector<ByteRange> executed(const sim::LaunchState& launch, bool writes) {
  std::vector<ByteRange> all;
  const Extent& grid = launch.grid;
  for (std::int64_t i = 0; i < grid.count(); ++i) {
    const Extent block{i % grid.x, i / grid.x % grid.y, i / (grid.x * grid.y)};
    for (const PlaceFootprint& place : footprint_of(launch, block, [] { return false; })) {
      if (place.writes != writes) continue;
      for (const auto& ranges : place.phases)
        all.insert(all.end(), ranges.begin(), ranges.end());
    }
  }
  return joined(all);
}

std::vector<ByteRange> moved(const std::vector<ByteRange>& ranges, std::int64_t shift,
                             const ByteRange& within) {
  std::vector<ByteRange> found;
  for (const ByteRange& range : ranges) {
    const auto by = static_cast<std::uint64_t>(shift);
    const ByteRange at{std::max(within.begin, range.begin + by),
                       std::min(within.end, range.end + by)};
    if (at.begin < at.end) found.push_back(at);
  }
  return found;
}

/// The same bytes, from the grid's footprint.
std::vector<ByteRange> expected(const GridFootprint& grid, bool writes) {
  std::vector<ByteRange> all;
  for (const GridPart& part : grid.parts) {
    if (part.writes != writes) continue;
    for (std::int64_t i = 0; i < grid.grid.count(); ++i) {
      const std::int64_t shift = grid.shift(part, i);
      if (shift == GridPart::kNothing) continue;
      for (const auto& ranges : part.phases) {
        const auto found = moved(ranges, shift, part.within);
        all.insert(all.end(), found.begin(), found.end());
      }
    }
  }
  return joined(all);
}

/// A variant's first kernel on one problem.
struct OneKernel {
  OneKernel(const std::string& family_id, const std::string& variant_id,
            const std::map<std::string, Value>& values)
      : family(*Registry::global().find(family_id)),
        problem(family, values_with(family, values)),
        steps(problem.host.steps(*family.find(variant_id))),
        launch(problem.simulator.launch_of(std::get<KernelStep>(steps.all().front().action))) {
    launch.checks.memory = false;
  }

  const Family& family;
  Problem problem;
  Steps steps;
  sim::LaunchState launch;
};

TEST_CASE("shifts() matches shift() for every block, and ascends() reports increasing shifts") {
  for (const Extent& extent :
       {Extent{5, 1, 1}, Extent{4, 3, 1}, Extent{4, 3, 2}, Extent{1, 4, 2}}) {
    GridFootprint grid;
    grid.grid = extent;
    grid.block = {extent.x / 2, extent.y / 2, extent.z / 2};
    for (const std::array<std::int64_t, 3>& step : {std::array<std::int64_t, 3>{32, 128, 384},
                                                    {32, 96, 384},
                                                    {32, 64, 0},
                                                    {0, 32, 128},
                                                    {-32, 128, 384},
                                                    {32, 1000, 100},
                                                    {1, 4, 12}}) {
      GridPart part;
      part.step = step;
      const std::vector<std::int64_t> shifts = grid.shifts(part);
      REQUIRE(shifts.size() == static_cast<std::size_t>(extent.count()));
      for (std::size_t i = 0; i < shifts.size(); ++i)
        CHECK(shifts[i] == grid.shift(part, static_cast<std::int64_t>(i)));
      const bool ascends =
          std::adjacent_find(shifts.begin(), shifts.end(), std::greater_equal<>()) == shifts.end();
      INFO(step[0] << " " << step[1] << " " << step[2]);
      CHECK(grid.ascends(part) == ascends);
    }
  }
  GridFootprint grid;
  grid.grid = {3, 1, 1};
  GridPart part;
  part.shifts = {0, GridPart::kNothing, 64};
  CHECK(grid.shifts(part) == part.shifts);
  CHECK(!grid.ascends(part));
}

TEST_CASE("footprints of a few blocks predict those of all blocks", "[launch_traffic]") {
  if (!has_machine_code()) return;
  struct Case {
    const char* family;
    const char* variant;
    std::map<std::string, Value> values;
  };
  const auto extents = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return std::map<std::string, Value>{{"m", m}, {"n", n}, {"k", k}};
  };
  const std::int64_t many = 1 << 16;
  const Case cases[] = {
      {"coalescing", "read_strided", {{"n", many}, {"stride", std::int64_t{3}}}},
      {"gather", "gather_sequential", {{"n", many}}},
      {"struct_layout", "aos", {{"n", many}, {"fields", std::int64_t{3}}}},
      {"partial_write", "write_strided", {{"n", many}, {"stride", std::int64_t{2}}}},
      {"matmul", "naive", extents(160, 192, 64)},
      {"matmul", "coarsen_1d", extents(320, 320, 64)},
      // Blocks traverse the tiles in groups of rows.
      {"matmul", "warp_tile", extents(1280, 640, 32)},
      {"matmul_tensor", "mma_cp_async", extents(1280, 640, 64)},
  };
  for (const Case& c : cases) {
    CAPTURE(c.family, c.variant);
    const OneKernel kernel(c.family, c.variant, c.values);
    REQUIRE(kernel.launch.grid.count() > 16);
    const GridFootprint grid = grid_footprint(kernel.launch, [] { return false; });
    REQUIRE(grid.refusal.empty());
    for (const bool writes : {false, true}) {
      CAPTURE(writes);
      const auto all = executed(kernel.launch, writes);
      const auto from_few = expected(grid, writes);
      CHECK(bytes_of(all) > 0);
      CHECK(bytes_beyond(all, from_few) == 0);
      CHECK(bytes_beyond(from_few, all) == 0);
    }
  }
}

// The vectors that a row touches at its ends depend on its alignment, which repeats.
TEST_CASE("footprints of unaligned rows exceed the accesses by at most a vector at each end",
          "[launch_traffic]") {
  if (!has_machine_code()) return;
  constexpr std::int64_t kRows = 600;
  const OneKernel kernel("softmax", "peeled", {{"rows", kRows}, {"columns", std::int64_t{257}}});
  const GridFootprint grid = grid_footprint(kernel.launch, [] { return false; });
  REQUIRE(grid.refusal.empty());
  for (const bool writes : {false, true}) {
    CAPTURE(writes);
    const auto all = executed(kernel.launch, writes);
    const auto from_few = expected(grid, writes);
    CHECK(bytes_of(all) > 0);
    CHECK(bytes_beyond(all, from_few) == 0);
    constexpr double kVectorBytes = 16;
    CHECK(bytes_beyond(from_few, all) <= kRows * 2 * kVectorBytes);
  }
}

TEST_CASE("predicted footprints at a grid's edges stay within the accessed bytes",
          "[launch_traffic]") {
  if (!has_machine_code()) return;
  const OneKernel kernel(
      "matmul", "smem_tile",
      {{"m", std::int64_t{161}}, {"n", std::int64_t{193}}, {"k", std::int64_t{33}}});
  const GridFootprint grid = grid_footprint(kernel.launch, [] { return false; });
  REQUIRE(grid.refusal.empty());
  for (const bool writes : {false, true}) {
    const auto all = executed(kernel.launch, writes);
    const auto from_few = expected(grid, writes);
    CHECK(bytes_beyond(from_few, all) == 0);
    CHECK(bytes_beyond(all, from_few) <= 0.01 * bytes_of(all));
  }
}

TEST_CASE("data-dependent addresses are marked as scattered, and no others", "[launch_traffic]") {
  if (!has_machine_code()) return;
  const auto scattered = [](const char* variant) {
    const OneKernel kernel("gather", variant, {{"n", std::int64_t{1 << 16}}});
    int count = 0;
    for (const GridPart& part : grid_footprint(kernel.launch, [] { return false; }).parts) {
      count += part.is_scattered;
      if (part.is_scattered) CHECK_FALSE(part.writes);
    }
    return count;
  };
  CHECK(scattered("gather_random") > 0);
  // Their loads are random only within a sector.
  CHECK(scattered("gather_strided") == 0);
  CHECK(scattered("gather_sequential") == 0);
}

// In rows that are not aligned to vectors, the first and the last vectors have fewer active lanes in
// some blocks than in others.
TEST_CASE("unaligned rows are read from DRAM once", "[launch_traffic]") {
  if (!has_machine_code()) return;
  constexpr std::int64_t kRows = 65'536;
  for (const auto& [family_id, variant, columns] :
       {std::tuple{"softmax", "peeled", std::int64_t{257}},
        std::tuple{"cross_entropy", "forward", std::int64_t{4099}}}) {
    CAPTURE(family_id);
    const Family& family = *Registry::global().find(family_id);
    Problem problem(family, values_with(family, {{"rows", kRows},
                                                 {"columns", columns},
                                                 {"dtype", std::string("fp32")}}));
    const LaunchToTime launch = launch_to_time(problem.host, *family.find(variant),
                                               problem.simulator, device(), kernels());
    INFO(launch.refusal);
    REQUIRE(launch.refusal.empty());
    const DramBytes dram =
        launch_traffic(launch.footprint, Mode::cold, device(), problem.simulator.stop)
            .front()
            .dram;
    const auto bytes = static_cast<double>(kRows * columns * std::int64_t{sizeof(float)});
    // Some blocks have no elements before their first vector, or after their last one, and do not
    // execute the loads of such elements. These count as scattered, with 64 fetched bytes each.
    constexpr double kFetched = 2 * 64;
    CHECK(dram.read_scattered <= kFetched * kRows);
    CHECK(dram.read - dram.read_scattered == Approx(bytes).epsilon(0.03));
  }
}

KernelTraffic traffic_of(const ResultRecord& row) {
  const Family& family = *Registry::global().find(row.family);
  Problem problem(family, values_of(family, row.parameters));
  const LaunchToTime launch = launch_to_time(problem.host, *family.find(row.variant),
                                             problem.simulator, device(), kernels());
  INFO(launch.refusal);
  REQUIRE(launch.refusal.empty());
  KernelTraffic sum;
  for (const KernelTraffic& kernel :
       launch_traffic(launch.footprint, *row.mode, device(), problem.simulator.stop))
    sum += kernel;
  return sum;
}

TEST_CASE("DRAM traffic matches the counters of an H200", "[launch_traffic]") {
  if (!has_machine_code()) return;
  struct Case {
    const char* row;
    double read;     ///< largest relative error
    double written;  ///< largest relative error; 0: not checked
  };
  const Case cases[] = {
      {"coalescing.stride/coalescing/read_strided/n=67108864,stride=16,offset=1/cold", 0.01, 0.12},
      {"gather/gather_random/n=67108864/cold", 0.03, 0.06},
      {"gather/gather_strided/n=67108864/cold", 0.01, 0.05},
      {"struct_layout/aos/n=67108864,fields=3/cold", 0.01, 0.05},
      {"partial_write/write_strided/n=67108864,stride=4/cold", 0.01, 0.05},
      {"vector_width/copy_16b/n=67108864,loads_per_thread=2/cold", 0.01, 0.05},
      {"ladder/matmul/double_buffered/m=4096,n=4096,k=4096/cold", 0.03, 0},
      {"ladder/matmul/coalesced/m=2048,n=2048,k=2048/warm", 0.05, 0},
      {"ladder_tf32/matmul_tensor/mma_cp_async/m=4096,n=4096,k=4096", 0.03, 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.row);
    const auto& rows = recording().table.rows;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const ResultRecord& r) {
      return r.key.find(c.row) != std::string::npos;
    });
    REQUIRE(row != rows.end());
    const KernelTraffic traffic = traffic_of(*row);
    const auto counted = [&](const char* name) {
      return number_in(row->counters.field(name)).value();
    };
    CHECK(traffic.dram.read == Approx(counted("dram_read_bytes")).epsilon(c.read));
    if (c.written > 0)
      CHECK(traffic.dram.written == Approx(counted("dram_write_bytes")).epsilon(c.written));
  }
}

TEST_CASE("traffic does not depend on the host addresses of buffers", "[launch_traffic]") {
  if (!has_machine_code()) return;
  // Large enough that the model samples pages of L2.
  const std::map<std::string, Value> values{{"n", std::int64_t{1} << 25}};
  const OneKernel a("gather", "gather_random", values);
  const OneKernel b("gather", "gather_random", values);
  REQUIRE(a.problem.host.buffer(0).data() != b.problem.host.buffer(0).data());
  const auto dram_of = [](const OneKernel& kernel) {
    const auto never = [] { return false; };
    const auto grid = std::make_shared<const GridFootprint>(grid_footprint(kernel.launch, never));
    const LaunchFootprint launch{{{grid, 1056, 20'000}}, ""};
    return launch_traffic(launch, Mode::warm, device(), never).front().dram;
  };
  const DramBytes of_a = dram_of(a);
  const DramBytes of_b = dram_of(b);
  CHECK(of_a.read > 0);
  CHECK(of_a.read == of_b.read);
  CHECK(of_a.written == of_b.written);
}

/// Whether an argument points into a buffer that is not completely initialized.
bool has_buffer_to_make(sim::GlobalMemory& memory, const Steps& steps) {
  bool any = false;
  for (const Step& step : steps.all()) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    if (!kernel) continue;
    const std::span<const std::byte> arguments = kernel->arguments.bytes();
    std::uint64_t word = 0;
    for (std::size_t at = 0; at + sizeof word <= arguments.size(); at += sizeof word) {
      std::memcpy(&word, arguments.data() + at, sizeof word);
      const sim::GlobalBuffer* const buffer = memory.find(word, 1);
      any |= buffer && !buffer->is_made();
    }
  }
  return any;
}

TEST_CASE("inputs that only a device computes are made on demand", "[launch_traffic]") {
  if (!has_machine_code()) return;
  const Family& family = *Registry::global().find("loss_scaling");
  const Values values = values_with(family, {{"n", std::int64_t{70'001}}});
  Problem late(family, values);
  sim::Simulator at_once(kernels(), device().compute_capability());
  const HostProblem whole(family, values, kSeed, device(), at_once);
  CHECK(has_buffer_to_make(late.simulator.memory(), late.host.steps(family.variants.front())));
  late.simulator.memory().make_all(2);
  const auto bytes = late.host.buffer(0);
  CHECK(bytes.size() == 70'001 * sizeof(float));
  CHECK(std::equal(bytes.begin(), bytes.end(), whole.buffer(0).begin()));
}

/// Share of the sectors read that several SMs of one GPC read at the same time.
double share_of_several(const char* family, const char* variant,
                        const std::map<std::string, Value>& values, std::int64_t resident) {
  const OneKernel kernel(family, variant, values);
  const auto never = [] { return false; };
  const auto grid = std::make_shared<const GridFootprint>(grid_footprint(kernel.launch, never));
  const LaunchFootprint launch{{{grid, resident, 20'000, device().sm_count}}, ""};
  const KernelTraffic traffic = launch_traffic(launch, Mode::cold, device(), never).front();
  double sum = 0;
  double of_several = 0;
  for (std::size_t sms = 1; sms <= kSmsOfGpc; ++sms) {
    sum += traffic.reads_by_sms.of(sms);
    if (sms > 1) of_several += traffic.reads_by_sms.of(sms);
  }
  CHECK(sum == Approx(traffic.read_sectors));
  return of_several / sum;
}

TEST_CASE("blocks of a product share reads within their GPC, and blocks of a copy do not",
          "[launch_traffic]") {
  if (!has_machine_code()) return;
  const std::map<std::string, Value> square{
      {"m", std::int64_t{512}}, {"n", std::int64_t{512}}, {"k", std::int64_t{64}}};
  CHECK(share_of_several("matmul", "smem_tile", square, 264) > 0.9);
  // 16 blocks, all of which are executed
  CHECK(share_of_several("matmul", "coarsen_2d", square, 264) == 1);
  CHECK(share_of_several("vector_width", "copy_4b", {{"n", std::int64_t{1} << 11}}, 1056) == 0);
  CHECK(share_of_several("vector_width", "copy_4b", {{"n", std::int64_t{1} << 18}}, 1056) == 0);
  CHECK(share_of_several("gather", "gather_random", {{"n", std::int64_t{1} << 18}}, 1056) == 0);
}

// Writes a line per recorded row.
TEST_CASE("traffic of all recorded rows, in a file", "[.traffic_table]") {
  std::ofstream csv(setting("GPUEXP_TRAFFIC", "traffic.csv"));
  const std::regex which(setting("GPUEXP_CELLS", "."));
  csv << "key,mode,why_not,read,read_scattered,written,read_sectors,written_sectors,counted_read,"
         "counted_written,footprint_s,replay_s\n";
  for (const ResultRecord& row : recording().table.rows) {
    const Family* const family = Registry::global().find(row.family);
    if (!family || row.is_vendor() || !row.time_median_us || !row.mode) continue;
    if (!std::regex_search(row.key, which)) continue;
    Problem problem(*family, values_of(*family, row.parameters));
    const Variant& variant = *family->find(row.variant);
    const auto begin = std::chrono::steady_clock::now();
    const LaunchToTime launch =
        launch_to_time(problem.host, variant, problem.simulator, device(), kernels());
    const double footprint_s = seconds_since(begin);
    const auto replay = std::chrono::steady_clock::now();
    KernelTraffic sum;
    if (launch.refusal.empty()) {
      for (const KernelTraffic& kernel :
           launch_traffic(launch.footprint, *row.mode, device(), problem.simulator.stop))
        sum += kernel;
    }
    const double replay_s = seconds_since(replay);
    csv << fmt::format(
        "\"{}\",{},\"{}\",{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.3f},{:.3f}\n",
        row.key, name_of(*row.mode), launch.refusal, sum.dram.read, sum.dram.read_scattered,
        sum.dram.written, sum.read_sectors, sum.written_sectors,
        number_in(row.counters.field("dram_read_bytes")).value_or(-1),
        number_in(row.counters.field("dram_write_bytes")).value_or(-1), footprint_s, replay_s);
    csv.flush();
  }
}

}  // namespace
}  // namespace gpuexp::test
