#include "results/run_log_read.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/output.hpp"
#include "base/text.hpp"
#include "results/json_fields.hpp"
#include "results/json_read.hpp"
#include "results/json_values.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

namespace {

/// State of a cell according to the lines read so far.
struct CellLog {
  std::optional<ResultRecord> record;
  bool has_row = false;
  std::vector<std::vector<Field>> kernels;
  std::vector<double> samples_us;
};

class RunLogReader {
 public:
  RunLogReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  RunLog read() {
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = text_.find('\n', begin);
      if (end == std::string_view::npos) break;
      read_line(text_.substr(begin, end - begin), ++number);
      begin = end + 1;
    }
    if (number == 0) throw ReportError(fmt::format("{}: not a log: no complete line", file_));
    return finish();
  }

 private:
  static constexpr Place kLine{nullptr, {}};

  void read_line(std::string_view line, std::size_t number) {
    const std::string at = fmt::format("{}:{}", file_, number);
    JsonValues values(line, at);
    try {
      if (number == 1) {
        read_head(values, at);
      } else if (values.scanner().peek() == JsonScanner::Kind::array) {
        read_sample(values);
      } else {
        apply(event_of(values));
      }
      values.scanner().end();
    } catch (const JsonSyntaxError& e) {
      throw ReportError(
          fmt::format("{}:{}: not a line of a log: {}", at, e.offset() + 1, e.what()));
    }
  }

  void read_head(JsonValues& values, const std::string& line) {
    const auto names = values.object(kLine, [&](const std::string& name, const Place& at) {
      if (name == "gpuexp_log") return check_version(values, at);
      if (name == "report") return read_report(values, line);
      if (name == "cells") return values.read(at, log_.cells);
      if (name == "origin") return read_origin(values, at);
      values.scanner().skip();
    });
    values.require(names, kLine, {"gpuexp_log", "report", "cells", "origin"});
    check_plan(values);
  }

  static void check_version(JsonValues& values, const Place& place) {
    std::int64_t version = 0;
    values.read(place, version);
    if (version == kRunLogVersion) return;
    values.fail(kLine, fmt::format("log version {}; this gpuexp reads version {}", version,
                                   kRunLogVersion));
  }

  // Throws if the report lacks a column that a resumed run needs, or has rows.
  void read_report(JsonValues& values, const std::string& line) {
    log_.report = parse_report(values.text(), line + ": report");
    for (const RecordMember& member :
         {RecordMember(&ResultRecord::status), RecordMember(&ResultRecord::reason)}) {
      if (!log_.report.table.has(member))
        values.fail(kLine, fmt::format("no column '{}'", fixed_column(member).name));
    }
    if (!log_.report.table.rows.empty())
      values.fail(kLine, "the report of the log's first line must not have rows");
  }

  void read_origin(JsonValues& values, const Place& place) {
    RunOrigin& origin = log_.origin;
    const auto names = values.object(place, [&](const std::string& name, const Place& at) {
      if (name == "build_id") return values.read(at, origin.build_id);
      if (name == "seed") return values.read(at, origin.seed);
      if (name == "filter") return read_one_filter(values, at);
      if (name == "filters") return read_texts(values, at, origin.filters);
      if (name == "profile") return values.read(at, origin.profile);
      if (name == "shard") return read_shard(values, at);
      if (name == "plan") return read_plan(values, at);
      if (name == "sets") return read_texts(values, at, origin.sets);
      values.scanner().skip();
    });
    values.require(names, place, {"build_id", "seed", "sets", "profile"});
  }

  static void read_texts(JsonValues& values, const Place& place, std::vector<std::string>& texts) {
    values.array(place, "an array of texts",
                 [&](const Place& item) { values.read(item, texts.emplace_back()); });
  }

  // Logs of earlier versions have one glob, which is empty if none was given.
  void read_one_filter(JsonValues& values, const Place& place) {
    std::string filter;
    values.read(place, filter);
    if (!filter.empty()) log_.origin.filters.push_back(std::move(filter));
  }

  void read_shard(JsonValues& values, const Place& place) {
    std::vector<std::size_t> numbers;
    values.array(place, "an array of two counts",
                 [&](const Place& at) { values.read(at, numbers.emplace_back()); });
    if (numbers.size() != 2 || numbers[0] < 1 || numbers[0] > numbers[1])
      values.fail(kLine, "expected a shard from 1 to the number of shards, and that number");
    log_.origin.shard = {numbers[0], numbers[1]};
  }

  void read_plan(JsonValues& values, const Place& place) {
    values.array(place, "an array of cells", [&](const Place& at) {
      ShardedCell& cell = log_.origin.plan.emplace_back();
      std::size_t count = 0;
      values.array(at, "a shard and a key", [&](const Place& item) {
        switch (count++) {
          case 0: values.read(item, cell.shard); break;
          case 1: values.read(item, cell.key); break;
          default: values.scanner().skip();
        }
      });
      if (count < 2) values.fail(kLine, "expected a shard and a key for each cell of the plan");
    });
  }

  // Throws unless the plan is consistent with the log, as merging requires.
  void check_plan(JsonValues& values) const {
    const RunOrigin& origin = log_.origin;
    if (origin.plan.empty()) return;
    const Shard shard = origin.shard.value_or(Shard{});
    std::size_t own = 0;
    for (const ShardedCell& cell : origin.plan) {
      if (cell.shard < 1 || cell.shard > shard.count)
        values.fail(
            kLine, fmt::format("a cell of the plan is in shard {} of {}", cell.shard, shard.count));
      if (cell.shard == shard.index) ++own;
    }
    if (own != log_.cells)
      values.fail(kLine, fmt::format("{} cells, and {} in the plan", log_.cells, own));
  }

  void read_sample(JsonValues& values) {
    std::size_t cell = 0;
    std::int64_t round = 0;
    double time_us = 0;
    std::size_t count = 0;
    values.array(kLine, "an array", [&](const Place& at) {
      switch (count++) {
        case 0: cell = cell_at(values, at); break;
        case 1: values.read(at, round); break;
        case 2: values.read(at, time_us); break;
        default: values.scanner().skip();
      }
    });
    if (count < 3) values.fail(kLine, "expected a cell, a round and a time for each sample");
    if (!(time_us >= 0)) values.fail(kLine, "a time is below 0");
    cells_[cell].samples_us.push_back(time_us);
  }

  /// Members of a line. The line's kind determines which are set.
  struct Event {
    /// The first member's name. It may be unknown if a later version wrote the line.
    std::string kind;
    std::vector<std::size_t> cells;
    std::optional<ResultRecord> record;
    std::vector<std::vector<Field>> kernels;
    std::optional<RankProvenance> rank;
    std::optional<GroupTimes> group;
    RunTimes times;
    std::string what;
    std::string utc;
  };

  Event event_of(JsonValues& values) const {
    Event event;
    const auto names = values.object(kLine, [&](const std::string& name, const Place& at) {
      if (event.kind.empty()) event.kind = name;
      const bool is_of_row = event.kind == "cell" || event.kind == "row";
      if (is_of_row && name == event.kind) {
        event.cells = {cell_at(values, at)};
      } else if (is_of_row && name == "fields") {
        event.record = record(values, at);
      } else if (event.kind == "kernels" && name == event.kind) {
        event.cells = {cell_at(values, at)};
      } else if (event.kind == "kernels" && name == "rows") {
        values.array(at, "an array of rows",
                     [&](const Place& item) { event.kernels.push_back(kernel(values, item)); });
      } else if (event.kind == "rank" && name == event.kind) {
        values.members(at, event.rank.emplace());
      } else if (event.kind == "group" && name == event.kind) {
        event.cells = {cell_at(values, at)};
        event.group.emplace();
      } else if (event.group) {
        read_member(values, name, at, *event.group);
      } else if (event.kind == kTimesMember && name == event.kind) {
        values.members(at, event.times);
      } else if (event.kind == "event" && name == event.kind) {
        values.read(at, event.what);
      } else if (event.kind == "event" && name == "utc") {
        values.read(at, event.utc);
      } else {
        values.scanner().skip();
      }
    });
    if (event.kind == "cell" || event.kind == "row") values.require(names, kLine, {"fields"});
    if (event.kind == "kernels") values.require(names, kLine, {"rows"});
    return event;
  }

  void apply(Event event) {
    if (event.kind == "cell" || event.kind == "row") {
      CellLog& cell = cells_[event.cells.front()];
      cell.record = std::move(event.record);
      cell.has_row = event.kind == "row";
    } else if (event.kind == "kernels") {
      cells_[event.cells.front()].kernels = std::move(event.kernels);
    } else if (event.kind == "rank") {
      keep_rank(log_.report.provenance.ranks, *event.rank);
    } else if (event.group) {
      log_.group_times[event.cells.front()] = std::move(*event.group);
    } else if (event.kind == kTimesMember) {
      log_.report.times += event.times;
    } else if (event.kind == "event") {
      log_.report.complete = event.what == "complete";
      log_.ended_utc = std::move(event.utc);
    }
  }

  std::size_t cell_at(JsonValues& values, const Place& place) const {
    std::int64_t cell = 0;
    values.read(place, cell);
    if (cell < 0 || static_cast<std::size_t>(cell) >= log_.cells)
      values.fail(kLine, fmt::format("cell {} of {}", cell, log_.cells));
    return static_cast<std::size_t>(cell);
  }

  // Calls read_value(place, column) for each field. A line must have one field per column.
  template <class Column, class ReadValue>
  static void read_fields(JsonValues& values, const Place& place,
                          const std::vector<Column>& columns, const ReadValue& read_value) {
    std::size_t count = 0;
    values.array(place, "an array of fields", [&](const Place& at) {
      if (count++ >= columns.size()) return values.scanner().skip();
      read_value(at, columns[count - 1]);
    });
    if (count != columns.size())
      values.fail(kLine, fmt::format("{} fields for {} columns", count, columns.size()));
  }

  ResultRecord record(JsonValues& values, const Place& place) const {
    const RecordTable& table = log_.report.table;
    ResultRecord record = table.blank_record();
    read_fields(values, place, table.columns, [&](const Place& at, const RecordColumn& column) {
      read_value(values, at, column, record);
    });
    return record;
  }

  std::vector<Field> kernel(JsonValues& values, const Place& place) const {
    std::vector<Field> fields;
    read_fields(values, place, log_.report.kernels.columns,
                [&](const Place& at, const ColumnInfo& column) {
                  fields.push_back(read_field(values, at, column));
                });
    return fields;
  }

  RunLog finish() {
    for (auto& [index, cell] : cells_) {
      if (!cell.record)
        throw ReportError(fmt::format("{}: cell {} has lines but no row", file_, index));
      ResultRecord& record = *cell.record;
      std::vector<double>& samples_us = cell.samples_us;
      if (cell.has_row && !record.has_values()) samples_us.clear();
      if (cell.has_row && record.has_values()) {
        for (std::vector<Field>& kernel : cell.kernels)
          log_.report.kernels.rows.push_back(std::move(kernel));
      }
      if (!cell.has_row && record.status != Status::skipped) cut_short(record, samples_us);
      log_.cell_of_row.push_back(index);
      log_.report.table.rows.push_back(std::move(record));
      log_.report.samples_us.push_back(std::move(samples_us));
    }
    RunTimes of_groups;
    for (const auto& [cell, group] : log_.group_times) {
      log_.report.group_times.push_back(group);
      of_groups += group.times;
    }
    // The log of a killed run lacks the total time, so the groups' total replaces it.
    if (of_groups.total > log_.report.times.total) log_.report.times = of_groups;
    return std::move(log_);
  }

  // Completes the row of a cell whose group was running when the log ended.
  static void cut_short(ResultRecord& record, const std::vector<double>& samples_us) {
    record.status = Status::not_run;
    record.reason = "the run ended before its first sample";
    if (samples_us.empty()) return;
    record.reason =
        fmt::format("the run ended after {} of it, median {:.6g} us, not verified",
                    counted(samples_us.size(), "sample"), median_of(samples_us).value());
  }

  std::string_view text_;
  std::string file_;
  RunLog log_;
  std::map<std::size_t, CellLog> cells_;
};

}  // namespace

RunLog parse_run_log(std::string_view text, const std::string& file) {
  return RunLogReader(text, file).read();
}

RunLog read_run_log(const std::string& path) {
  return parse_run_log(read_file(path), path);
}

}  // namespace gpuexp
