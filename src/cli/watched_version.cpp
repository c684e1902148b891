#include "cli/watched_version.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

#include <fmt/format.h>

#include "base/listed_json.hpp"
#include "base/steady_clock.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/figure_models.hpp"
#include "cli/simulation.hpp"
#include "cli/small_verification.hpp"
#include "family/counters.hpp"
#include "family/function_text.hpp"
#include "plan/plan.hpp"

namespace gpuexp {

template <>
inline constexpr std::tuple kListedMembers<VersionRow>{
    &VersionRow::problem, &VersionRow::variant,  &VersionRow::status,     &VersionRow::is_wrong,
    &VersionRow::reason,  &VersionRow::bound_by, &VersionRow::checked_at, &VersionRow::values};
template <>
inline constexpr std::tuple kListedMembers<KernelVersion>{&KernelVersion::rows};
template <>
inline constexpr std::tuple kListedMembers<cli::WatchedVersion>{
    &cli::WatchedVersion::version, &cli::WatchedVersion::error, &cli::WatchedVersion::files,
    &cli::WatchedVersion::is_by_nvrtc, &cli::WatchedVersion::stages_s};

}  // namespace gpuexp

namespace gpuexp::cli {

namespace {

/// Counts are those of about this number of random blocks, scaled to all blocks.
constexpr ExecutedBlocks kCountedBlocks{128};

struct WatchInterrupted {};

/// Places in kVersionQuantities, after those of shown_counters().
enum VersionPlace : std::size_t { kRegisters = 4, kSharedBytes, kOccupancy, kPredicted };

/// The counters of kVersionQuantities, which are sums of kCounters.
const std::vector<std::vector<std::string>>& shown_counters() {
  static const std::vector<std::vector<std::string>> counters{
      {"warp_instructions"},
      {"global_load_sectors", "global_store_sectors"},
      {"dram_read_bytes", "dram_write_bytes"},
      {"shared_load_wavefronts", "shared_store_wavefronts"}};
  return counters;
}

std::vector<SelectedCounter> selected_counters() {
  std::vector<std::string> names;
  for (const auto& summed : shown_counters())
    names.insert(names.end(), summed.begin(), summed.end());
  return select_counters(names);
}

class VersionMaker {
 public:
  VersionMaker(const Context& context, const ConfigOptions& options, const DeviceSpec& device,
               double launch_timeout_s)
      : context_(context),
        options_(options),
        device_(device),
        launch_timeout_s_(launch_timeout_s) {}

  /// Throws WatchInterrupted, and errors of the user's files.
  void make(WatchedVersion& made) {
    const auto timed = [&](const char* stage, auto&& work) {
      const double start_s = steady_seconds();
      work();
      made.stages_s.emplace_back(stage, steady_seconds() - start_s);
      if (interrupted()) throw WatchInterrupted{};
    };
    timed("compile", [&] { plan(); });
    // Before the predictor's threads start.
    executor_ = simulated({});
    counting_ = simulated(kCountedBlocks);
    constexpr unsigned kThreads = 1;  // the verification uses the others
    predictor_.emplace(plan_, context_.resources, code_predictor_options(kThreads));
    timed("verify", [&] { verify(); });
    timed("count", [&] { count(); });
    timed("predict", [&] { predict(); });
    for (Entry& entry : entries_)
      made.version.rows.push_back(std::move(entry.row));
  }

 private:
  struct Entry {
    const Group* group = nullptr;
    const Cell* cell = nullptr;
    VersionRow row;
    std::optional<LaunchCounts> counts;
  };

  void plan() {
    config_ = options_.read_as_one(context_.registry);
    config_.figures.clear();
    plan_ = make_plan(config_, device_, context_.resources, device_.memory_bytes);
    plan_.ceiling_source = ceiling_source_of(device_, device_.id);
    for (const Group& group : plan_.groups) {
      const Experiment& experiment = plan_.experiment(group);
      std::string problem = values_text(*experiment.family, group.values);
      if (experiment.modes.size() > 1) problem += fmt::format(", {}", name_of(group.mode));
      for (const Cell& cell : group.cells) {
        VersionRow row;
        row.problem = problem;
        row.variant = cell.variant->id;
        row.status = name_of(Status::skipped);
        row.reason = cell.skip_reason;
        row.values.resize(kVersionQuantities.size());
        entries_.push_back({&group, &cell, std::move(row), {}});
      }
    }
  }

  std::unique_ptr<Executor> simulated(ExecutedBlocks blocks) const {
    return simulated_executor(context_, simulated_, launch_timeout_s_, blocks);
  }

  // ---- verification

  void verify() {
    SmallVerification verification(context_, plan_);
    verification.run(*executor_);
    for (Entry& entry : entries_) {
      if (!entry.cell->skip_reason.empty()) continue;
      if (const Row* const row = verification.row_of(*entry.group, *entry.cell))
        set_status(entry, row->status, row->reason);
      entry.row.checked_at = verification.other_sizes(*entry.group);
    }
  }

  static void set_status(Entry& entry, Status status, const std::string& reason) {
    entry.row.status = name_of(status);
    entry.row.is_wrong = !has_values(status) && status != Status::skipped;
    entry.row.reason = reason;
  }

  // ---- counters

  /// The executor that can count the cell: with a sample of the blocks, unless they depend on each
  /// other. Null if there is none.
  Executor* counter_of(const Entry& entry) {
    if (!entry.cell->skip_reason.empty() || entry.row.is_wrong) return nullptr;
    for (Executor* const executor : {counting_.get(), executor_.get()}) {
      SimulatedOptions options;
      if (executor == counting_.get()) options.blocks = kCountedBlocks;
      SimulationLimits limits(device_, context_.resources, options);
      if (limits.refusal(*entry.cell->variant, entry.group->problem.get()).empty()) return executor;
    }
    return nullptr;
  }

  void count() {
    const std::vector<std::string> metrics = metrics_of(selected_counters());
    for (Entry& entry : entries_) {
      Executor* const executor = counter_of(entry);
      CounterReader* const reader = executor ? executor->counter_reader() : nullptr;
      if (!reader) continue;
      const Group& group = *entry.group;
      const CountedLaunch launch{plan_.experiment(group).family, group.values, entry.cell->variant,
                                 group.mode};
      try {
        entry.counts = reader->count({launch}, config_.seed, metrics).front();
      } catch (const DeviceError& error) {
        if (interrupted()) throw WatchInterrupted{};
        set_status(entry, Status::failed, error.what());
        entry.row.checked_at.clear();
      }
    }
  }

  void add_counts(Entry& entry) {
    predictor_->count_caches(*entry.cell, *entry.counts);
    for (std::size_t i = 0; i < shown_counters().size(); ++i) {
      double sum = 0;
      bool is_complete = true;
      for (const SelectedCounter& counter : select_counters(shown_counters()[i])) {
        const std::optional<double> value = counted(counter, *entry.counts);
        is_complete = is_complete && value;
        sum += value.value_or(0);
      }
      if (is_complete) entry.row.values[i] = sum;
    }
  }

  // ---- prediction

  void predict() {
    for (Entry& entry : entries_) {
      if (interrupted()) throw WatchInterrupted{};
      auto prediction = predict_cell(plan_, *entry.group, *entry.cell, context_.resources);
      if (!prediction || entry.row.is_wrong) continue;
      predictor_->refine(*entry.cell, *prediction);
      if (entry.counts) add_counts(entry);
      if (const auto& occupancy = prediction->occupancy) {
        entry.row.values[kRegisters] = occupancy->registers;
        entry.row.values[kSharedBytes] = static_cast<double>(occupancy->shared_bytes);
        entry.row.values[kOccupancy] = occupancy->warps_pct;
      }
      entry.row.values[kPredicted] = prediction->time_us;
      entry.row.bound_by = prediction->bound_by;
      if (entry.row.reason.empty() && !prediction->time_us)
        entry.row.reason = "no predicted time: " + prediction->why_no_time;
    }
  }

  const Context& context_;
  const ConfigOptions& options_;
  const DeviceSpec& device_;
  double launch_timeout_s_;
  DeviceInfo simulated_ = simulated_device(device_.id);
  Config config_;
  Plan plan_;
  std::vector<Entry> entries_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Executor> counting_;  ///< executes a sample of the blocks
  std::optional<CodePredictor> predictor_;
};

}  // namespace

std::string line_of(const WatchedVersion& version) {
  return listed_json(version).dump();
}

WatchedVersion watched_version_from(const std::string& line) {
  return from_listed<WatchedVersion>(Json::parse(line));
}

std::optional<WatchedVersion> watched_version(const Context& context, const ConfigOptions& options,
                                              const DeviceSpec& device, double launch_timeout_s) {
  WatchedVersion made;
  try {
    VersionMaker(context, options, device, launch_timeout_s).make(made);
  } catch (const WatchInterrupted&) {
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    made.error = "not enough host memory";
  } catch (const std::exception& error) {  // one of the file, its declaration or the tools
    made.error = error.what();
  }
  if (interrupted()) return std::nullopt;  // what ended the work may also have caused the error
  made.files = context.kernel_files.files_read();
  made.is_by_nvrtc = context.kernel_files.used_nvrtc();
  return made;
}

}  // namespace gpuexp::cli
