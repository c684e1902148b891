// Numbers in the comments over variants, checked by execution on the CPU. Numbers of caches and
// times are checked against the counters of an H200 (docs/results/h200). Run one family with `-c
// <family>`.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "analysis/least_times.hpp"
#include "config/config_overrides.hpp"
#include "family/counters.hpp"
#include "model/occupancy.hpp"
#include "sim/recorded.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

/// Quantities that are known without executing the launch.
std::optional<double> declared(const Work& work, const std::string& quantity) {
  if (quantity == "bytes_written") return work.bytes_written;
  if (quantity == "bytes_to_peers") return work.to_peers;
  return std::nullopt;
}

/// Index of the shape with the largest number of threads.
std::size_t largest(const std::vector<Shape>& shapes) {
  const auto threads = [](const Shape& shape) { return shape.grid.count() * shape.block.count(); };
  const auto found =
      std::max_element(shapes.begin(), shapes.end(),
                       [&](const Shape& a, const Shape& b) { return threads(a) < threads(b); });
  return static_cast<std::size_t>(found - shapes.begin());
}

std::optional<double> of_shape(const Shape& shape, const std::string& quantity) {
  if (quantity == "blocks") return static_cast<double>(shape.grid.count());
  if (quantity == "threads_per_block") return static_cast<double>(shape.block.count());
  const auto found = occupancy(shape, device(), kernels());
  REQUIRE(found);
  if (quantity == "registers_per_thread") return found->registers;
  if (quantity == "shared_bytes_per_block") return static_cast<double>(found->shared_bytes);
  if (quantity == "blocks_per_sm") return found->blocks_per_sm;
  return std::nullopt;
}

double barriers_per_block(const sim::KernelExecution& execution, const Shape& shape) {
  double executed = 0;
  for (std::size_t i = 0; i < execution.counts.size(); ++i) {
    const std::string_view opcode = execution.program->listed[i].opcode;
    if (opcode.starts_with("BAR.SYNC") || opcode.starts_with("BAR.RED"))
      executed += static_cast<double>(execution.counts[i].warps);
  }
  constexpr std::int64_t kWarp = 32;
  const std::int64_t warps = (shape.block.count() + kWarp - 1) / kWarp;
  return executed / static_cast<double>(warps * execution.blocks);
}

double bank_conflict(const sim::KernelExecution& execution) {
  std::uint64_t most = 0;
  for (const sim::PlaceCounts& place : execution.places)
    most = std::max(most, place.bank_conflict);
  return static_cast<double>(most);
}

bool is_simulated(const SelectedCounter& counter) {
  const auto names = sim::metric_names();
  const auto has = [&](const std::string& metric) {
    return metric.empty() || std::find(names.begin(), names.end(), metric) != names.end();
  };
  return has(counter.numerator) && has(counter.denominator);
}

double counted(const SelectedCounter& counter,
               const std::vector<sim::KernelExecution>& executions) {
  LaunchCounts counts;
  counts.metrics.assign(sim::metric_names().begin(), sim::metric_names().end());
  for (const sim::KernelExecution& execution : executions) {
    const sim::MetricValues values = execution.metrics();
    counts.kernels.emplace_back().values.assign(values.begin(), values.end());
  }
  return gpuexp::counted(counter, counts).value_or(std::nan(""));
}

/// The family's rows in all files of docs/results/h200.
std::vector<ResultRecord> recorded_rows(const Family& family) {
  static const std::vector<Report> reports = [] {
    std::vector<std::string> files;
    const std::string folder = std::string(GPUEXP_SOURCE_DIR) + "/docs/results/h200";
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.path().string().ends_with(".json.zst")) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    std::vector<Report> read;
    for (const std::string& file : files)
      read.push_back(read_report(file));
    return read;
  }();
  std::vector<ResultRecord> rows;
  for (const Report& report : reports)
    for (const ResultRecord& row : report.table.rows)
      if (row.family == family.id) rows.push_back(row);
  return rows;
}

/// Counter that an H200 recorded with these values, in mode cold if present; else NaN.
double recorded(const std::vector<ResultRecord>& rows, const Family& family, const Variant& variant,
                const Values& values, const std::string& counter) {
  double found = std::nan("");
  for (const ResultRecord& row : rows) {
    const auto value = row.variant == variant.id ? count_of(row, counter) : std::nullopt;
    if (!value || values_of(family, row.parameters) != values) continue;
    if (row.mode == Mode::cold || std::isnan(found)) found = *value;
  }
  return found;
}

/// Values of quantities for the variants of a family.
class HeldValues {
 public:
  explicit HeldValues(const Family& family) : family_(family) {}

  double value(const Variant& variant, const Values& values, const std::string& quantity) {
    INFO(family_.id << "/" << variant.id << " at " << describe(family_, values));
    const auto problem = family_.make_problem(values);
    REQUIRE((variant.is_vendor || runs_on(device(), family_, variant, problem.get())));
    if (quantity.starts_with(kMetricMark)) {
      if (!variant.metrics) return std::nan("");
      for (const auto& [name, value] : variant.metrics(problem.get(), device()))
        if (std::string(kMetricMark) + name == quantity) return value;
      return std::nan("");
    }
    if (const auto known = declared(variant.work(problem.get()), quantity)) return *known;
    const Counter* const counter = find_counter(quantity);
    const SelectedCounter selected =
        counter ? select_counters({quantity}).front() : SelectedCounter{};
    if (counter && !is_simulated(selected)) {
      if (!rows_) rows_ = recorded_rows(family_);
      return recorded(*rows_, family_, variant, values, quantity);
    }
    if (counter) return counted(selected, executions(variant, values));
    const std::vector<Shape> shapes = variant.shapes(problem.get(), device());
    if (quantity == "kernels") return static_cast<double>(shapes.size());
    const std::size_t k = largest(shapes);
    if (quantity == "bank_conflict") return bank_conflict(executions(variant, values).at(k));
    if (quantity == "barriers_per_block")
      return barriers_per_block(executions(variant, values).at(k), shapes.at(k));
    return of_shape(shapes.at(k), quantity).value_or(std::nan(""));
  }

 private:
  const std::vector<sim::KernelExecution>& executions(const Variant& variant,
                                                      const Values& values) {
    if (!problem_ || values_ != values) {
      executions_.clear();
      problem_.reset();
      problem_ = std::make_unique<Problem>(family_, values);
      problem_->simulator.observe({true, std::nullopt});
      values_ = values;
    }
    const auto [found, is_new] = executions_.try_emplace(&variant);
    if (!is_new) return found->second;
    // With several kernels, later ones read what all blocks of earlier ones write: no sampling.
    const bool is_one = variant.shapes(problem_->host.problem(), device()).size() == 1;
    problem_->host.set_sampling(is_one ? sampling_of(variant, problem_->host.problem(), {}, kSeed)
                                       : std::nullopt);
    found->second = problem_->host.launch(variant);
    return found->second;
  }

  const Family& family_;
  Values values_;
  std::optional<std::vector<ResultRecord>> rows_;
  std::unique_ptr<Problem> problem_;
  std::map<const Variant*, std::vector<sim::KernelExecution>> executions_;
};

Values values_at(const Family& family, const Variant& variant, const HeldClaim& claim) {
  Values values = family.shown_at(variant, family.defaults());
  for (const auto& [name, text] : claim.at) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (family.parameters[i].name == name)
        values[i] = value_of(text, family.parameters[i], claim.text);
  }
  return values;
}

double value_of_claim(HeldValues& held, const Family& family, const Variant& variant,
                      const HeldClaim& claim) {
  const Values values = values_at(family, variant, claim);
  const double value = held.value(variant, values, claim.quantity);
  if (claim.of.empty()) return value;
  return value / held.value(*family.find(claim.of), values, claim.quantity);
}

TEST_CASE("numbers in a variant's comment are correct", "[held]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  for (const Family& family : Registry::global().families()) {
    DYNAMIC_SECTION(family.id) {
      HeldValues held(family);
      // Claims about one problem share its inputs and executions.
      std::vector<std::tuple<Values, const Variant*, const HeldClaim*>> claims;
      for (const Variant& variant : family.variants)
        for (const HeldClaim& claim : Registry::global().held_claims(family.id, variant.id))
          claims.emplace_back(values_at(family, variant, claim), &variant, &claim);
      std::stable_sort(claims.begin(), claims.end(), [](const auto& a, const auto& b) {
        return std::get<Values>(a) < std::get<Values>(b);
      });
      for (const auto& [values, variant, claim] : claims) {
        const double value = value_of_claim(held, family, *variant, *claim);
        INFO(family.id << "/" << variant->id << ": held: " << claim->text << ", and it is "
                       << value);
        CHECK(claim->holds(value));
      }
    }
  }
}

TEST_CASE("a false claim fails", "[held_claims]") {
  if (!has_machine_code()) return;
  const Family& family = family_of("reduction");
  HeldValues held(family);
  const auto is_true = [&](const char* variant, const char* text) {
    const auto claim = held_claim_in(text);
    REQUIRE(claim);
    return claim->holds(value_of_claim(held, family, *family.find(variant), *claim));
  };
  const std::string at = " at n=1048576";
  CHECK(is_true("interleaved_strided", ("bank_conflict = 8" + at).c_str()));
  CHECK_FALSE(is_true("interleaved_strided", ("bank_conflict = 32" + at).c_str()));
  CHECK(is_true("fully_unrolled", ("barriers_per_block = 3" + at).c_str()));
  CHECK_FALSE(is_true("fully_unrolled", ("barriers_per_block = 4" + at).c_str()));
  CHECK_FALSE(is_true("vectors", ("global_load_requests = 1/8 × shuffles" + at).c_str()));
  CHECK_FALSE(is_true("vectors", "dram_read_bytes = 1/2 × shuffles at n=1"));
}

}  // namespace
}  // namespace gpuexp::test
