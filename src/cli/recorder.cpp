#include "cli/recorder.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "base/config_error.hpp"
#include "base/csv.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/figure_models.hpp"
#include "cli/provenance.hpp"
#include "family/function_text.hpp"
#include "results/csv_write.hpp"
#include "results/run_log.hpp"
#include "run/record_of.hpp"

namespace gpuexp::cli {

Recorder::Recorder(const Plan& plan, const KernelResources& resources, RunKind kind, bool quiet)
    : plan_(plan),
      kind_(kind),
      cell_times_(plan.device.simulated ? CellTimes() : kept_cell_times(plan.device)),
      table_(empty_table(plan)),
      progress_(plan, resources, kind, cell_times_, !quiet && stderr_is_terminal()) {}

Report Recorder::blank_report(const Provenance& provenance) const {
  Report report;
  report.provenance = provenance;
  report.table = table_;
  report.kernels = empty_kernel_table(plan_);
  report.figures = plan_.config->figures;
  return report;
}

void Recorder::add_csv(std::unique_ptr<Output> output) {
  writers_.emplace_back(*output,
                        std::vector<ColumnInfo>(table_.columns.begin(), table_.columns.end()));
  outputs_.push_back(std::move(output));
}

void Recorder::keep(std::size_t cell, ResultRecord record, std::vector<double> samples_us,
                    std::vector<std::vector<Field>> kernels) {
  progress_.kept(cell);
  earlier_.insert(cell);
  add_result(cell, {std::move(record), std::move(samples_us), std::move(kernels)});
}

void Recorder::add_result(std::size_t cell, Result result) {
  for (CsvWriter& writer : writers_)
    writer.write_row(gpuexp::fields_of(table_.columns, result.record));
  results_[cell] = std::move(result);
}

void Recorder::floor_measured(Mode mode, const std::vector<double>& samples_us) {
  floors_us_[mode] = samples_us;
  if (log_) log_->floor(name_of(mode), samples_us);
}

std::vector<Field> Recorder::fields_of(const Row& row) const {
  return gpuexp::fields_of(table_.columns, record_of(table_, plan_, row));
}

void Recorder::group_started(const Group&, const std::vector<const Row*>& rows) {
  progress_.started(rows);
  if (!log_) return;
  for (const Row* row : rows)
    log_->cell_started(row->cell->index, fields_of(*row));
}

void Recorder::rank_joined(const RankProvenance& rank) {
  keep_rank(ranks_, rank);
  if (log_) log_->rank(rank);
}

void Recorder::sample_taken(const Cell& cell, int round, const Sample& sample) {
  progress_.tick();
  if (log_) log_->sample(cell.index, round, sample.time_us, sample.sm_clock_mhz);
}

void Recorder::clock_read(const Group& group, int first, int last, double mhz) {
  if (log_) log_->clock(group.cells.front().index, first, last, mhz);
}

void Recorder::sustained(const Cell& cell, const std::vector<double>& samples_us) {
  if (log_) log_->sustained(cell.index, samples_us);
}

void Recorder::row_timed(const Row& row) {
  if (log_) log_->row(row.cell->index, fields_of(row));
  progress_.timed(row);
}

void Recorder::row_finished(const Row& row) {
  ResultRecord record = record_of(table_, plan_, row);
  std::vector<std::vector<Field>> kernels = kernel_fields_of(plan_, row);
  if (log_ && !kernels.empty()) log_->kernels(row.cell->index, kernels);
  if (log_) log_->row(row.cell->index, gpuexp::fields_of(table_.columns, record));
  add_result(row.cell->index, {std::move(record), row.samples_us, std::move(kernels)});
  if (row.verification && !row.verification->first_wrong.empty()) write_mismatches(row);
  progress_.finished(row);
}

// Writes numbers as text, because wrong values are often NaN, which numeric CSV fields cannot
// represent.
void Recorder::write_mismatches(const Row& row) {
  if (mismatches_.empty()) return;
  Table table;
  for (const char* name : {"buffer", "index", "expected", "got", "allowed"})
    table.columns.push_back({name, "", FieldType::text, ""});
  table.columns[1].type = FieldType::integer;
  for (const Mismatch& m : row.verification->first_wrong) {
    table.rows.push_back({m.buffer, m.index, fmt::format("{}", m.expected), m.got_text(),
                          fmt::format("{}", m.allowed)});
  }
  create_folder(mismatches_);
  const std::string file = fmt::format("{}-{}.csv", row.cell->index, row.cell->variant->id);
  write_file_atomically(mismatches_ / file, to_csv(table));
  ++mismatch_files_;
}

void Recorder::uncounted(const Row& row, const std::string& why) {
  ++uncounted_[why];
  if (log_) log_->event(fmt::format("uncounted: {}: {}", row.key, why));
}

void Recorder::recovered(const std::string& why) {
  ++recoveries_[why];
  if (log_) log_->event("recovered: " + why);
}

void Recorder::keep_times(const RunTimes& times, std::map<std::size_t, GroupTimes> groups) {
  times_ = times;
  group_times_ = groups;
  earlier_times_ = std::move(groups);
}

void Recorder::group_timed(const Group& group, double began_s, const RunTimes& times) {
  const Experiment& experiment = plan_.experiment(group);
  const std::size_t cell = group.cells.front().index;
  GroupTimes& kept = group_times_[cell];
  kept = {experiment.name, values_text(*experiment.family, group.values),
          std::string(name_of(group.mode)), began_s, times};
  const auto earlier = earlier_times_.find(cell);
  if (earlier != earlier_times_.end()) kept.times += earlier->second.times;
  if (log_) log_->group_times(cell, kept);
}

void Recorder::run_ended(const RunTimes& times) {
  times_ += times;
  if (log_) log_->times(times);
  for (const Group& group : plan_.groups)
    keep_cell_times(group);
  cell_times_.save();
}

// Stores the times of a group if all of its cells passed, or are unverified, in this run. Other
// groups are not stored, because a launch that times out also distorts the times of the group's
// other cells.
void Recorder::keep_cell_times(const Group& group) {
  std::vector<const Cell*> ran;
  for (const Cell& cell : group.cells) {
    if (!cell.skip_reason.empty()) continue;
    const auto result = results_.find(cell.index);
    if (earlier_.count(cell.index) || result == results_.end() ||
        !result->second.record.has_values())
      return;
    ran.push_back(&cell);
  }
  const std::size_t first = group.cells.front().index;
  const auto spent = group_times_.find(first);
  if (spent == group_times_.end() || earlier_times_.count(first)) return;
  const RunTimes& times = spent->second.times;
  const auto sampled_us = [&](const Cell* cell) {
    const std::vector<double>& samples_us = results_.at(cell->index).samples_us;
    return std::accumulate(samples_us.begin(), samples_us.end(), 0.0);
  };
  double all_us = 0;
  for (const Cell* cell : ran)
    all_us += sampled_us(cell);
  // Divides the sampling time in proportion to the sum of each cell's samples, and the remaining
  // time evenly.
  const double sample_s = all_us > 0 ? times.sample : 0;
  for (const Cell* cell : ran) {
    const double own_s = all_us > 0 ? sample_s * sampled_us(cell) / all_us : 0;
    cell_times_.keep(plan_, group, *cell, kind_,
                     own_s + (times.total - sample_s) / static_cast<double>(ran.size()));
  }
}

Report Recorder::finish(Provenance provenance, bool complete) {
  if (log_) log_->event(complete ? "complete" : "interrupted");
  for (const RankProvenance& rank : ranks_)
    keep_rank(provenance.ranks, rank);
  Report report = blank_report(provenance);
  for (auto& [cell, result] : results_) {
    report.table.rows.push_back(std::move(result.record));
    report.samples_us.push_back(std::move(result.samples_us));
    std::move(result.kernels.begin(), result.kernels.end(),
              std::back_inserter(report.kernels.rows));
  }
  report.times = times_;
  for (const auto& [cell, group] : group_times_)
    report.group_times.push_back(group);
  report.complete = complete;
  return report;
}

ExitCode exit_code_of(const Report& report) {
  const auto any = [&](Status status) {
    return std::ranges::any_of(report.table.rows,
                               [&](const ResultRecord& row) { return row.status == status; });
  };
  if (interrupted()) return ExitCode::interrupted;
  if (any(Status::incorrect)) return ExitCode::incorrect;
  if (any(Status::failed) || any(Status::timeout) || any(Status::not_run)) return ExitCode::failed;
  const bool all_skipped =
      any(Status::skipped) &&
      std::ranges::none_of(report.table.rows, [](const auto& row) { return row.has_values(); });
  return all_skipped ? ExitCode::failed : ExitCode::ok;
}

namespace {

/// "no row passed; M of N: REASON", with the most frequent reason; empty if a row passed or there
/// are no rows.
std::string why_none_passed(const Report& report) {
  const std::vector<ResultRecord>& rows = report.table.rows;
  if (std::ranges::any_of(rows, [](const ResultRecord& row) { return row.has_values(); }))
    return "";
  std::map<std::string, std::size_t> reasons;
  for (const ResultRecord& row : rows)
    ++reasons[row.reason];
  const auto most = std::ranges::max_element(reasons, {}, [](const auto& r) { return r.second; });
  if (most == reasons.end()) return "";
  return fmt::format("no row passed; {} of {}: {}", most->second, rows.size(), most->first);
}

/// How to verify the unverified rows; empty if there are none.
std::string how_to_verify(const Report& report) {
  // The first variant is unverified if the others are compared with it, as declared.
  const auto unverified = std::ranges::count_if(report.table.rows, [](const ResultRecord& row) {
    return row.status == Status::unverified && row.reason.starts_with("no check of ");
  });
  if (unverified == 0) return "";
  return fmt::format(
      "{} unverified, because the kernel file has no check of an output: declare one, such as '// "
      "gpuexp: check y[i] = 2*x[i]'",
      unverified == 1 ? "a row is" : fmt::format("{} rows are", unverified));
}

}  // namespace

void print_notes(const Recorder& recorder, const Report& report) {
  if (recorder.mismatch_files() > 0) {
    fmt::print(stderr, "the first wrong elements of {} are in {}\n",
               counted(recorder.mismatch_files(), "cell"), recorder.mismatch_folder().string());
  }
  for (const auto& [why, rows] : recorder.uncounted())
    fmt::print(stderr, "gpuexp: no hardware counters for {}: {}\n", counted(rows, "row"), why);
  // A repeated cell that passed has no trace of the fault in its row.
  for (const auto& [why, times] : recorder.recoveries()) {
    fmt::print(stderr, "gpuexp: {} {}: {}\n",
               report.provenance.device.is_simulated()
                   ? "the process that simulated the GPU ended and was replaced"
                   : "the device was lost and reopened",
               times == 1 ? "once" : fmt::format("{} times", times), why);
  }
  if (const std::string why = why_none_passed(report); !why.empty())
    fmt::print(stderr, "gpuexp: {}\n", why);
  if (const std::string how = how_to_verify(report); !how.empty())
    fmt::print(stderr, "gpuexp: {}\n", how);
}

namespace fs = std::filesystem;

namespace {

// A run must not overwrite another one.
void check_unused(const fs::path& folder) {
  for (const char* file : {kRunLogName, kResultsName, "results.csv"}) {
    std::error_code unknown;
    if (fs::exists(folder / file, unknown)) {
      throw ConfigError(
          fmt::format("{} exists; name another folder with --out{}", (folder / file).string(),
                      file == kRunLogName ? ", or continue the run with --resume" : ""));
    }
  }
}

}  // namespace

fs::path claimed_folder(const std::string& out, const std::string& name, std::time_t started) {
  if (!out.empty()) {
    check_unused(out);
    create_folder(out);
    return out;
  }
  const std::string of_second =
      (fs::path("results") / fmt::format("{}-{}", name, utc_text(started, "%Y%m%dT%H%M%SZ")))
          .string();
  std::string folder = of_second;
  for (int run = 2; !create_new_folder(folder); ++run)
    folder = fmt::format("{}-{}", of_second, run);
  return folder;
}

void write_results(const Report& report, const fs::path& folder, const JsonOptions& json) {
  write_file_atomically(folder / "results.csv", to_csv(report.table));
  if (!report.kernels.columns.empty())
    write_file_atomically(folder / "kernels.csv", to_csv(report.kernels));
  write_json(report, folder / kResultsName, json);
}

}  // namespace gpuexp::cli
