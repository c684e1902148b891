#include "cli/resume.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/input_file.hpp"
#include "base/json_reader.hpp"
#include "base/output.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "cli/provenance.hpp"
#include "config/config_reader.hpp"
#include "family/registry.hpp"
#include "render/ceilings_text.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& folder, const std::string& why) {
  throw ConfigError(fmt::format("--resume {}: {}", folder, why));
}

RunLog read_log(const std::string& folder) {
  const fs::path path = fs::path(folder) / kRunLogName;
  if (is_missing(path)) refuse(folder, fmt::format("the folder has no {}", kRunLogName));
  try {
    return read_run_log(path);
  } catch (const ReportError& e) {
    refuse(folder, e.what());
  }
}

constexpr const char* kRemedy = "restore the file, or start a new run";

std::string change_text(const std::string& file, const std::string& now, const std::string& then) {
  constexpr std::size_t kDigits = 12;
  return fmt::format(
      "{} has changed since the run began: its SHA-256 begins with {}; the log has {}", file,
      now.substr(0, kDigits), then.substr(0, kDigits));
}

/// Throws if a config file has changed. A missing file is accepted.
void check_config_file(const std::string& folder, const ConfigProvenance& config) {
  if (!fs::is_regular_file(*config.path)) return;
  if (is_kernel_file(*config.path)) return;  // an input file, whose config is derived from it
  const std::string now = sha256(read_text_file(*config.path));
  if (now == *config.sha256) return;
  refuse(folder, fmt::format("{}; {}{}", change_text(*config.path, now, *config.sha256), kRemedy,
                             fs::path(*config.path).is_relative()
                                 ? "; if the run began in another folder, resume it from there"
                                 : ""));
}

/// Registers an unchanged input file under its name or, because the name may be relative to another
/// folder, under its absolute path. Throws if neither file has the recorded bytes.
void find_input_file(const std::string& folder, const InputProvenance& input) {
  std::string why;
  for (const std::string& path : {*input.file, *input.path}) {
    try {
      FileIdentity now = identity_of(path);
      if (now.bytes == input.bytes && now.sha256 == input.sha256) {
        now.name = *input.file;
        return plan_file(now);
      }
      why = change_text(now.path, now.sha256, *input.sha256);
    } catch (const InputError& error) {
      why = error.what();
    }
  }
  refuse(folder, fmt::format("{}; {}", why, kRemedy));
}

/// True if running the cell again would not change its row. A skipped cell runs again if the reason
/// no longer applies, for example because a library was installed.
bool is_final(const ResultRecord& row, const Cell& cell) {
  return row.has_values() || row.status == Status::incorrect ||
         (row.status == Status::skipped && !cell.skip_reason.empty());
}

std::map<std::string, std::vector<std::vector<Field>>> kernels_by_key(const Table& kernels) {
  std::map<std::string, std::vector<std::vector<Field>>> by_key;
  const auto key = kernels.column("key");
  for (const std::vector<Field>& fields : kernels.rows) {
    if (const auto* text = std::get_if<std::string>(&fields[*key])) by_key[*text].push_back(fields);
  }
  return by_key;
}

}  // namespace

Resumable read_resumable(const std::string& folder, const Registry& registry,
                         const std::optional<Shard>& requested_shard) {
  Resumable r{folder, read_log(folder), {}};
  const ConfigProvenance& config = r.log.report.provenance.config;
  if (!config.path || !config.text || !config.sha256)
    refuse(folder, "the log does not say which config it ran");
  if (r.log.origin.build_id != build_id()) {
    refuse(folder, fmt::format("the run was started by build {} of gpuexp, and this is build {}; "
                               "one table cannot mix builds: use that build, or start a new run",
                               r.log.origin.build_id.substr(0, 12), build_id().substr(0, 12)));
  }
  const auto& shard = r.log.origin.shard;
  if (requested_shard && requested_shard != shard) {
    refuse(folder, fmt::format("it is the log of {}, not of shard {}",
                               shard ? "shard " + to_string(*shard) : "a whole run",
                               to_string(*requested_shard)));
  }
  check_config_file(folder, config);
  for (const InputProvenance& input : r.log.report.provenance.inputs) {
    if (!input.file || !input.path || !input.bytes || !input.sha256)
      refuse(folder, "the log does not say which input files it read");
    find_input_file(folder, input);
  }
  const ConfigOverrides overrides{r.log.origin.seed, r.log.origin.sets, r.log.origin.filters};
  r.config = parse_config(*config.text, *config.path, registry, overrides);
  return r;
}

void check_resumable(const Resumable& resumable, const Plan& plan,
                     const std::vector<ShardedCell>& whole_plan, const DeviceInfo& device) {
  const std::string& folder = resumable.folder;
  const DeviceProvenance& began = resumable.log.report.provenance.device;
  if (began.is_simulated() != device.spec.simulated) {
    refuse(folder, fmt::format("the run was {}; resume it {}",
                               began.is_simulated() ? "simulated" : "run on a GPU",
                               began.is_simulated() ? "with --simulate" : "without --simulate"));
  }
  if (!device.spec.simulated && began.uuid != device.uuid) {
    refuse(folder, fmt::format("the run was on {} {}; device {} is {} {}",
                               began.name.value_or("a GPU"), began.uuid.value_or("without a UUID"),
                               device.index, device.spec.name, device.uuid));
  }
  if (device.spec.simulated && began.name != device.spec.name)
    refuse(folder, fmt::format("the run simulated {}; --simulate names {}",
                               began.name.value_or("another GPU"), device.spec.name));
  if (resumable.log.cells != plan.cell_count()) {
    refuse(folder, fmt::format("its plan had {}, and now has {}",
                               counted(resumable.log.cells, "cell"), plan.cell_count()));
  }
  const std::vector<ShardedCell>& planned = resumable.log.origin.plan;
  if (!planned.empty() && planned != whole_plan)
    refuse(folder, "the cells of its plan differ from those planned now; start a new run");
  const auto& recorded_ceilings = resumable.log.report.provenance.ceilings;
  const CeilingsProvenance current_ceilings = ceilings_in_force(plan.ceiling_source, device.spec);
  if (recorded_ceilings != current_ceilings) {
    refuse(folder,
           fmt::format("its predictions use {}, and would now use {}; start a new run, or restore "
                       "the ceilings",
                       recorded_ceilings ? recorded_ceilings->source : "unknown ceilings",
                       current_ceilings.source));
  }
}

void keep_finished(const Resumable& resumable, const Plan& plan, Recorder& recorder,
                   RunOptions& options) {
  const RunLog& log = resumable.log;
  recorder.keep_times(log.report.times, log.group_times);
  const auto kernels_of = kernels_by_key(log.report.kernels);
  std::map<std::size_t, std::size_t> row_of_cell;
  for (std::size_t row = 0; row < log.cell_of_row.size(); ++row)
    row_of_cell[log.cell_of_row[row]] = row;
  for (const Group& group : plan.groups) {
    const bool finished = std::ranges::all_of(group.cells, [&](const Cell& cell) {
      const auto row = row_of_cell.find(cell.index);
      if (row == row_of_cell.end()) return false;
      const ResultRecord& record = log.report.table.rows[row->second];
      const bool lacks_counters = options.counters && !plan.experiment(group).counters.empty() &&
                                  record.has_values() &&
                                  !kernels_of.count(cell_key(plan, group, cell));
      return is_final(record, cell) && !lacks_counters;
    });
    for (const Cell& cell : group.cells) {
      const auto row = row_of_cell.find(cell.index);
      if (row == row_of_cell.end()) continue;
      const std::vector<double>& samples_us = log.report.samples_us[row->second];
      if (finished) {
        options.finished.insert(cell.index);
        const auto kernels = kernels_of.find(cell_key(plan, group, cell));
        recorder.keep(
            cell.index, log.report.table.rows[row->second], samples_us,
            kernels == kernels_of.end() ? std::vector<std::vector<Field>>{} : kernels->second);
      } else if (!samples_us.empty()) {
        options.prior_samples_us[cell.index] = samples_us;
      }
    }
  }
}

}  // namespace gpuexp::cli
