#include "results/run_merge.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "results/json_fields.hpp"

namespace gpuexp {

namespace {

// ---- whether parts belong together

[[noreturn]] void refuse_parts(const RunPart& a, const RunPart& b, const std::string& why) {
  throw ReportError(fmt::format("{} and {} are not parts of one run: {}", a.name, b.name, why));
}

std::string short_hash(const std::string& hash) {
  constexpr std::size_t kShown = 12;
  return hash.empty() ? "unknown" : hash.substr(0, kShown);
}

std::string division_of(const RunPart& part) {
  const auto& shard = part.log.origin.shard;
  return shard ? fmt::format("shard {}", to_string(*shard)) : "a whole run";
}

std::string options_of(const RunOrigin& origin) {
  std::string text = fmt::format("--set [{}] --filter [{}]", fmt::join(origin.sets, " "),
                                 fmt::join(origin.filters, " "));
  if (origin.seed) text += fmt::format(" --seed {}", *origin.seed);
  return origin.profile ? text + " --profile" : text;
}

std::size_t shard_count(const RunPart& part) {
  return part.log.origin.shard ? part.log.origin.shard->count : 0;
}

void check_build(const RunPart& a, const RunPart& b) {
  const auto build = [](const RunPart& part) {
    const Provenance& p = part.log.report.provenance;
    return fmt::format("build {} of gpuexp {}, commit {}", short_hash(part.log.origin.build_id),
                       p.gpuexp_version.value_or("unknown"), short_hash(p.git_commit.value_or("")));
  };
  const Provenance& of_a = a.log.report.provenance;
  const Provenance& of_b = b.log.report.provenance;
  if (std::tie(a.log.origin.build_id, of_a.gpuexp_version, of_a.git_commit) ==
      std::tie(b.log.origin.build_id, of_b.gpuexp_version, of_b.git_commit))
    return;
  refuse_parts(a, b, fmt::format("the first is of {}, the second of {}", build(a), build(b)));
}

// Compares contents, because paths may differ between machines.
void check_inputs(const RunPart& a, const RunPart& b) {
  const auto& in_a = a.log.report.provenance.inputs;
  const auto& in_b = b.log.report.provenance.inputs;
  const auto [first_a, first_b] =
      std::mismatch(in_a.begin(), in_a.end(), in_b.begin(), in_b.end(),
                    [](const InputProvenance& x, const InputProvenance& y) {
                      return x.file == y.file && x.sha256 == y.sha256;
                    });
  if (first_a == in_a.end() && first_b == in_b.end()) return;
  const auto shown = [](auto input, const std::vector<InputProvenance>& of) {
    return input == of.end() ? std::string("none")
                             : fmt::format("{} (sha256 {})", input->path.value_or("a file"),
                                           short_hash(input->sha256.value_or("")));
  };
  refuse_parts(
      a, b,
      fmt::format("their input files differ: {}; {}", shown(first_a, in_a), shown(first_b, in_b)));
}

void check_config(const RunPart& a, const RunPart& b) {
  const Provenance& of_a = a.log.report.provenance;
  const Provenance& of_b = b.log.report.provenance;
  if (of_a.config.sha256 != of_b.config.sha256) {
    refuse_parts(a, b,
                 fmt::format("they ran {} (sha256 {}) and {} (sha256 {})",
                             of_a.config.path.value_or("a config"),
                             short_hash(of_a.config.sha256.value_or("")),
                             of_b.config.path.value_or("a config"),
                             short_hash(of_b.config.sha256.value_or(""))));
  }
  check_inputs(a, b);
  if (options_of(a.log.origin) != options_of(b.log.origin)) {
    refuse_parts(a, b,
                 fmt::format("their options were {} and {}", options_of(a.log.origin),
                             options_of(b.log.origin)));
  }
  const auto [in_a, in_b] = std::mismatch(of_a.settings.begin(), of_a.settings.end(),
                                          of_b.settings.begin(), of_b.settings.end());
  if (in_a == of_a.settings.end() && in_b == of_b.settings.end()) return;
  const auto shown = [](auto setting, const Provenance& p) {
    return setting == p.settings.end()
               ? std::string("none")
               : fmt::format("{} {}", setting->first, gpuexp::text_of(setting->second));
  };
  refuse_parts(a, b,
               fmt::format("their settings differ: {}; {}", shown(in_a, of_a), shown(in_b, of_b)));
}

void check_plan(const RunPart& a, const RunPart& b) {
  if (shard_count(a) != shard_count(b))
    refuse_parts(a, b,
                 fmt::format("the first is {}, the second {}", division_of(a), division_of(b)));
  const auto& in_a = a.log.origin.plan;
  const auto& in_b = b.log.origin.plan;
  if (in_a == in_b) return;
  const auto [first_a, first_b] = std::mismatch(in_a.begin(), in_a.end(), in_b.begin(), in_b.end());
  const auto shown = [](auto cell, const auto& plan) {
    return cell == plan.end() ? std::string("none")
                              : fmt::format("{} in shard {}", cell->key, cell->shard);
  };
  refuse_parts(a, b,
               fmt::format("their plans differ starting at cell {} ({}; {}), as plans "
                           "for two GPU models do if a config has wave_edges",
                           first_a - in_a.begin(), shown(first_a, in_a), shown(first_b, in_b)));
}

void check_belongs(const RunPart& a, const RunPart& b) {
  const Report& of_a = a.log.report;
  const Report& of_b = b.log.report;
  if (of_a.provenance.device.is_simulated() != of_b.provenance.device.is_simulated()) {
    const auto kind = [](const Report& r) {
      return r.provenance.device.is_simulated() ? "simulated" : "measured";
    };
    refuse_parts(a, b, fmt::format("the first was {}, the second {}", kind(of_a), kind(of_b)));
  }
  check_build(a, b);
  check_config(a, b);
  check_plan(a, b);
  if (of_a.table.columns != of_b.table.columns || of_a.kernels.columns != of_b.kernels.columns)
    refuse_parts(a, b, "their columns differ");
}

// ---- selection of parts

std::vector<std::size_t> own_places(const RunPart& part) {
  const std::size_t own = part.log.origin.shard.value_or(Shard{}).index;
  std::vector<std::size_t> places;
  const auto& plan = part.log.origin.plan;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (plan[i].shard == own) places.push_back(i);
  }
  return places;
}

/// A selected part, with its rows by their cell's position in the whole plan.
struct Taken {
  RunPart part;
  std::map<std::size_t, std::size_t> rows;
  std::vector<std::string> unfinished;  ///< keys of cells without a result
};

Taken taken(RunPart part) {
  Taken t{std::move(part), {}, {}};
  const RunLog& log = t.part.log;
  const std::vector<std::size_t> places = own_places(t.part);
  for (std::size_t row = 0; row < log.cell_of_row.size(); ++row)
    t.rows[places.at(log.cell_of_row[row])] = row;
  for (const std::size_t place : places) {
    const auto row = t.rows.find(place);
    if (row == t.rows.end() || log.report.table.rows[row->second].status == Status::not_run)
      t.unfinished.push_back(log.origin.plan[place].key);
  }
  return t;
}

/// What distinguishes a part in a merged result: its shard, or its GPU.
std::string identity_of(const RunPart& part) {
  if (part.log.origin.shard) return fmt::format("shard {}", to_string(*part.log.origin.shard));
  const DeviceProvenance& device = part.log.report.provenance.device;
  if (device.is_simulated()) return "the whole run, simulated";
  return fmt::format("the whole run on {}", device.uuid.value_or("a GPU without a UUID"));
}

std::string ended(const Taken& t) {
  const RunLog& log = t.part.log;
  return log.ended_utc.empty() ? log.report.provenance.utc.value_or("") : log.ended_utc;
}

bool is_finished(const Taken& t) {
  return t.part.log.report.complete && t.unfinished.empty();
}

// True if `a` is preferred: finished parts come first, then parts that ended later.
bool is_before(const Taken& a, const Taken& b) {
  if (is_finished(a) != is_finished(b)) return is_finished(a);
  return ended(a) > ended(b);
}

std::string state_of(const Taken& t) {
  return fmt::format("{} at {}", is_finished(t) ? "finished" : "not finished, ended", ended(t));
}

std::vector<Taken> choose(std::vector<RunPart> parts, std::vector<std::string>& notes) {
  std::map<std::pair<std::size_t, std::string>, std::vector<Taken>> by_identity;
  for (RunPart& part : parts) {
    const std::size_t shard = part.log.origin.shard.value_or(Shard{}).index;
    auto& same = by_identity[{shard, identity_of(part)}];
    same.push_back(taken(std::move(part)));
  }
  std::vector<Taken> chosen;
  for (auto& [identity, same] : by_identity) {
    std::ranges::stable_sort(same, is_before);
    for (std::size_t i = 1; i < same.size(); ++i) {
      notes.push_back(fmt::format(
          "{} was given more than once: {} is used ({}), {} is ignored ({})", identity.second,
          same.front().part.name, state_of(same.front()), same[i].part.name, state_of(same[i])));
    }
    chosen.push_back(std::move(same.front()));
  }
  return chosen;
}

// ---- what is missing

std::string cells_text(const std::vector<std::string>& keys) {
  constexpr std::size_t kShown = 5;
  const std::vector<std::string> shown(
      keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(std::min(keys.size(), kShown)));
  return fmt::format("{}: {}{}", counted(keys.size(), "cell"), fmt::join(shown, ", "),
                     keys.size() > kShown ? fmt::format(" and {} more", keys.size() - kShown) : "");
}

std::vector<std::string> missing_from(const std::vector<Taken>& parts) {
  std::vector<std::string> missing;
  std::map<std::size_t, std::vector<std::string>> keys_of;  // by shard
  for (const ShardedCell& cell : parts.front().part.log.origin.plan)
    keys_of[cell.shard].push_back(cell.key);
  for (const Taken& t : parts)
    keys_of.erase(t.part.log.origin.shard.value_or(Shard{}).index);
  for (const auto& [shard, keys] : keys_of) {
    missing.push_back(fmt::format("shard {} of {} is missing ({})", shard,
                                  shard_count(parts.front().part), cells_text(keys)));
  }
  for (const Taken& t : parts) {
    if (is_finished(t)) continue;
    const std::string what = t.unfinished.empty()
                                 ? "it has all rows, but its log has no event 'complete'"
                                 : "without a result: " + cells_text(t.unfinished);
    missing.push_back(
        fmt::format("{} has not finished in {} ({})", identity_of(t.part), t.part.name, what));
  }
  return missing;
}

// ---- provenance

template <class T>
void keep_common(T& to, const T& other) {
  visit_members(to, [&](const char* name, auto& member, const char*) {
    visit_members(other, [&](const char* same, const auto& in_other, const char*) {
      if constexpr (std::is_same_v<std::decay_t<decltype(member)>,
                                   std::decay_t<decltype(in_other)>>) {
        if (std::string_view(name) == same && member != in_other) member.reset();
      }
    });
  });
}

Provenance common_provenance(const std::vector<Taken>& parts) {
  Provenance common = parts.front().part.log.report.provenance;
  std::optional<std::string> first = common.utc;
  for (const Taken& t : parts) {
    const Provenance& p = t.part.log.report.provenance;
    first = std::min(first, p.utc);
    keep_common(common, p);
    keep_common(common.config, p.config);
    keep_common(common.device, p.device);
    if (common.ceilings != p.ceilings) common.ceilings.reset();
    if (common.ranks != p.ranks) common.ranks.clear();
    const auto rows = static_cast<std::int64_t>(t.rows.size());
    common.parts.push_back({p.shard, p.utc, p.host, p.device.uuid, p.device.name, rows});
  }
  common.utc = first;
  common.shard.reset();
  return common;
}

// If the figures of the parts differ, claims lose the model's result, because the model uses the
// ceilings of one GPU.
std::vector<PublishedFigure> common_figures(const std::vector<Taken>& parts) {
  std::vector<PublishedFigure> figures = parts.front().part.log.report.figures;
  const bool same = std::ranges::all_of(
      parts, [&](const Taken& t) { return t.part.log.report.figures == figures; });
  if (same) return figures;
  for (PublishedFigure& figure : figures) {
    for (Claim& claim : figure.claims)
      claim.model = {{}, {}, "the model's results differ between the GPUs of the merged runs", ""};
  }
  return figures;
}

// ---- rows

/// Adds the rows of all parts, in the order of the plan.
class RowMerger {
 public:
  RowMerger(std::vector<Taken>& parts, Report& report) : parts_(parts), report_(report) {}

  void run() {
    const Report& first = parts_.front().part.log.report;
    report_.table = RecordTable(row_columns(first.table));
    report_.kernels.columns = first.kernels.columns;
    const FixedColumn& gpu = fixed_column(&ResultRecord::gpu_uuid);
    names_gpu_ = !first.kernels.columns.empty() && !first.kernels.column(gpu.name);
    if (names_gpu_) report_.kernels.columns.push_back(gpu);
    for (const Taken& t : parts_)
      kernels_.push_back(kernels_of(t.part.log.report.kernels));
    const std::size_t cells = parts_.front().part.log.origin.plan.size();
    for (std::size_t place = 0; place < cells; ++place) {
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        const auto row = parts_[p].rows.find(place);
        if (row != parts_[p].rows.end()) add(p, row->second);
      }
    }
  }

 private:
  using Kernels = std::vector<std::vector<Field>>;

  // Inserts host and gpu_uuid after executed_on, or at the end if executed_on is missing.
  static std::vector<ColumnInfo> row_columns(const RecordTable& table) {
    std::vector<ColumnInfo> own;
    own.push_back(fixed_column(&ResultRecord::host));
    own.push_back(fixed_column(&ResultRecord::gpu_uuid));
    std::vector<ColumnInfo> columns;
    for (const RecordColumn& column : table.columns) {
      if (column.name == own[0].name || column.name == own[1].name) continue;
      columns.push_back(column);
    }
    const auto place = std::ranges::find_if(columns, [](const ColumnInfo& column) {
      return column.name == fixed_column(&ResultRecord::executed_on).name;
    });
    columns.insert(place == columns.end() ? place : place + 1, own.begin(), own.end());
    return columns;
  }

  static std::map<std::string, Kernels> kernels_of(const Table& kernels) {
    std::map<std::string, Kernels> by_key;
    const auto key = kernels.column("key");
    for (const std::vector<Field>& fields : kernels.rows) {
      if (key) by_key[gpuexp::text_of(fields[*key])].push_back(fields);
    }
    return by_key;
  }

  void add(std::size_t p, std::size_t row) {
    Report& from = parts_[p].part.log.report;
    ResultRecord& record = from.table.rows[row];
    record.host = from.provenance.host.value_or("");
    record.gpu_uuid = from.provenance.device.uuid.value_or("");
    for (std::vector<Field>& kernel : kernels_[p][record.key]) {
      if (names_gpu_) kernel.push_back(text_field(record.gpu_uuid));
      report_.kernels.rows.push_back(std::move(kernel));
    }
    report_.table.rows.push_back(std::move(record));
    report_.samples_us.push_back(std::move(from.samples_us[row]));
  }

  std::vector<Taken>& parts_;
  Report& report_;
  std::vector<std::map<std::string, Kernels>> kernels_;  ///< for each part, by key
  bool names_gpu_ = false;                               ///< the kernels' table has gpu_uuid
};

}  // namespace

MergedRuns merge_runs(std::vector<RunPart> parts) {
  for (const RunPart& part : parts) {
    if (part.log.origin.plan.empty() && part.log.cells > 0)
      throw ReportError(fmt::format("{}: the log does not contain the plan", part.name));
    if (&part != &parts.front()) check_belongs(parts.front(), part);
  }
  MergedRuns merged;
  std::vector<Taken> chosen = choose(std::move(parts), merged.notes);
  merged.missing = missing_from(chosen);
  merged.report.provenance = common_provenance(chosen);
  merged.report.figures = common_figures(chosen);
  merged.report.complete = merged.missing.empty();
  for (const Taken& taken : chosen) {
    const Report& part = taken.part.log.report;
    merged.report.times += part.times;
    merged.report.group_times.insert(merged.report.group_times.end(), part.group_times.begin(),
                                     part.group_times.end());
  }
  RowMerger(chosen, merged.report).run();
  return merged;
}

}  // namespace gpuexp
