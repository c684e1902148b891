#pragma once

#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/csv.hpp"
#include "cli/app.hpp"
#include "cli/progress.hpp"
#include "record/record_table.hpp"
#include "results/json_write.hpp"
#include "results/report.hpp"
#include "results/run_log.hpp"
#include "results/run_log_write.hpp"
#include "run/run_observer.hpp"

namespace gpuexp::cli {

class Recorder final : public RunObserver {
 public:
  Recorder(const Plan& plan, const KernelResources& resources, RunKind kind, bool quiet);

  Report blank_report(const Provenance& provenance) const;

  void set_log(std::unique_ptr<RunLogWriter> log) { log_ = std::move(log); }
  /// Writes the first wrong elements of each cell to a file in this folder.
  void save_mismatches(std::filesystem::path folder) { mismatches_ = std::move(folder); }
  const std::filesystem::path& mismatch_folder() const { return mismatches_; }
  int mismatch_files() const { return mismatch_files_; }
  const std::map<std::string, int>& uncounted() const { return uncounted_; }
  /// Number of times that the device was lost and reopened, or that the process that simulates it
  /// was replaced, by reason.
  const std::map<std::string, int>& recoveries() const { return recoveries_; }
  /// Samples of an empty kernel, in µs, by mode.
  const std::map<Mode, std::vector<double>>& floors_us() const { return floors_us_; }
  /// Writes each row to this CSV output as soon as the row is complete.
  void add_csv(std::unique_ptr<Output> output);
  /// Adds a row of the run that this run resumes.
  void keep(std::size_t cell, ResultRecord record, std::vector<double> samples_us,
            std::vector<std::vector<Field>> kernels);

  /// Adds the times of the run that this run resumes.
  void keep_times(const RunTimes& times, std::map<std::size_t, GroupTimes> groups);

  void rank_joined(const RankProvenance& rank);

  void floor_measured(Mode mode, const std::vector<double>& samples_us) override;
  void group_started(const Group& group, const std::vector<const Row*>& rows) override;
  void sample_taken(const Cell& cell, int round, const Sample& sample) override;
  void clock_read(const Group& group, int first, int last, double mhz) override;
  void sustained(const Cell& cell, const std::vector<double>& samples_us) override;
  void row_timed(const Row& row) override;
  void row_finished(const Row& row) override;
  void count_started(const Row& row) override { progress_.started({&row}); }
  void verification_started(const Row& row) override { progress_.verifying(row); }
  void uncounted(const Row& row, const std::string& why) override;
  void recovered(const std::string& why) override;
  void waiting_for_predictions(std::size_t rows) override { progress_.waiting(rows); }
  void group_timed(const Group& group, double began_s, const RunTimes& times) override;
  void run_ended(const RunTimes& times) override;

  /// `complete`: true if every planned cell has a row.
  Report finish(Provenance provenance, bool complete);

 private:
  struct Result {
    ResultRecord record;
    std::vector<double> samples_us;
    std::vector<std::vector<Field>> kernels = {};
  };

  std::vector<Field> fields_of(const Row& row) const;
  void add_result(std::size_t cell, Result result);
  void write_mismatches(const Row& row);
  void keep_cell_times(const Group& group);

  const Plan& plan_;
  RunKind kind_;
  CellTimes cell_times_;                   ///< empty for a simulated device
  RecordTable table_;                      ///< the plan's columns, without rows
  std::map<std::size_t, Result> results_;  ///< by Cell::index
  std::set<std::size_t> earlier_;          ///< cells whose rows are from an earlier run
  std::unique_ptr<RunLogWriter> log_;
  std::vector<std::unique_ptr<Output>> outputs_;
  std::vector<CsvWriter> writers_;
  std::filesystem::path mismatches_;  ///< empty: mismatches are not saved
  int mismatch_files_ = 0;
  std::map<std::string, int> uncounted_;
  std::map<std::string, int> recoveries_;
  std::map<Mode, std::vector<double>> floors_us_;
  std::vector<RankProvenance> ranks_;
  RunTimes times_;
  std::map<std::size_t, GroupTimes> group_times_;    ///< by index of the group's first cell
  std::map<std::size_t, GroupTimes> earlier_times_;  ///< group_times_ of the earlier run
  Progress progress_;
};

/// `interrupted` if the run was interrupted; else the code of the worst status of a row; `failed`
/// if all rows were skipped.
ExitCode exit_code_of(const Report& report);

/// Prints on standard error what the rows do not contain: files of wrong elements, missing
/// counters, device losses, and why no row passed.
void print_notes(const Recorder& recorder, const Report& report);

/// Creates the folder of a run's results: `out`; if that is empty, results/NAME-UTC, or
/// results/NAME-UTC-2 and so on if that exists, so that two runs never have one folder. Throws
/// ConfigError if `out` contains results or a log, and ReportError if the folder cannot be created.
std::filesystem::path claimed_folder(const std::string& out, const std::string& name,
                                     std::time_t started);

/// Writes results.csv, results.json and, if hardware counters were read, kernels.csv. Throws
/// ReportError if a file cannot be written.
void write_results(const Report& report, const std::filesystem::path& folder,
                   const JsonOptions& json);

}  // namespace gpuexp::cli
