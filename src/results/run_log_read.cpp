#include "results/run_log_read.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/output.hpp"
#include "record/row.hpp"
#include "results/json_read.hpp"
#include "results/json_values.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

namespace {

/// What the lines so far say of one cell.
struct CellLog {
  std::vector<Field> fields;
  bool has_row = false;
  std::vector<std::vector<Field>> kernels;
  struct Sample {
    std::int64_t round;
    double time_us;
  };
  std::vector<Sample> samples;
  std::size_t resumed_at = 0;  ///< samples before its group last started
};

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  RunLog read() {
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text_.size();) {
      const std::size_t end = text_.find('\n', begin);
      if (end == std::string_view::npos) break;
      read_line(text_.substr(begin, end - begin), ++number);
      begin = end + 1;
    }
    if (number == 0) throw ReportError(fmt::format("{}: not a log: no line is whole", file_));
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
  }

  static void check_version(JsonValues& values, const Place& place) {
    std::int64_t version = 0;
    values.read(place, version);
    if (version == kRunLogVersion) return;
    values.fail(kLine, fmt::format("version {} of the log; this gpuexp reads version {}", version,
                                   kRunLogVersion));
  }

  // What a run does with a log rests on these columns, and on rows that are those of its cells.
  void read_report(JsonValues& values, const std::string& line) {
    log_.report = parse_report(values.text(), line + ": report");
    status_ = column_of_texts(values, "status");
    reason_ = column_of_texts(values, "reason");
    if (!log_.report.table.rows.empty())
      values.fail(kLine, "rows stand in the report and not in the log");
  }

  std::size_t column_of_texts(const JsonValues& values, std::string_view name) const {
    const Table& table = log_.report.table;
    const auto column = table.column(name);
    if (!column || table.columns[*column].type != FieldType::text)
      values.fail(kLine, fmt::format("no column of texts '{}'", name));
    return *column;
  }

  void read_origin(JsonValues& values, const Place& place) {
    RunOrigin& origin = log_.origin;
    const auto names = values.object(place, [&](const std::string& name, const Place& at) {
      if (name == "build_id") return values.read(at, origin.build_id);
      if (name == "seed") return values.read(at, origin.seed);
      if (name == "filter") return values.read(at, origin.filter);
      if (name == "profile") return values.read(at, origin.profile);
      if (name != "sets") return values.scanner().skip();
      values.array(at, "an array of texts",
                   [&](const Place& item) { values.read(item, origin.sets.emplace_back()); });
    });
    values.require(names, place, {"build_id", "seed", "sets", "filter", "profile"});
  }

  void read_sample(JsonValues& values) {
    std::size_t cell = 0;
    CellLog::Sample sample{};
    std::size_t count = 0;
    values.array(kLine, "an array", [&](const Place& at) {
      switch (count++) {
        case 0: cell = cell_at(values, at); break;
        case 1: values.read(at, sample.round); break;
        case 2: values.read(at, sample.time_us); break;
        default: values.scanner().skip();
      }
    });
    if (count < 3) values.fail(kLine, "a sample has a cell, a round and a time");
    if (!(sample.time_us >= 0)) values.fail(kLine, "a time is below 0");
    cells_[cell].samples.push_back(sample);
  }

  /// What a line's members say, as far as its kind has them.
  struct Event {
    std::string kind;  ///< the first member; a later version may have added it
    std::vector<std::size_t> cells;
    std::vector<Field> fields;
    std::vector<std::vector<Field>> kernels;
    std::vector<std::int64_t> rounds;
    std::string what;
  };

  Event event_of(JsonValues& values) const {
    Event event;
    const auto names = values.object(kLine, [&](const std::string& name, const Place& at) {
      if (event.kind.empty()) event.kind = name;
      const bool is_of_row = event.kind == "cell" || event.kind == "row";
      const bool is_discard = event.kind == "discard";
      if (is_of_row && name == event.kind) {
        event.cells = {cell_at(values, at)};
      } else if (is_of_row && name == "fields") {
        event.fields = fields(values, at, log_.report.table.columns);
      } else if (event.kind == "kernels" && name == event.kind) {
        event.cells = {cell_at(values, at)};
      } else if (event.kind == "kernels" && name == "rows") {
        values.array(at, "an array of rows", [&](const Place& item) {
          event.kernels.push_back(fields(values, item, log_.report.kernels.columns));
        });
      } else if (is_discard && name == event.kind) {
        values.array(at, "an array of cells",
                     [&](const Place& item) { event.cells.push_back(cell_at(values, item)); });
      } else if (is_discard && name == "rounds") {
        values.array(at, "an array of rounds",
                     [&](const Place& item) { values.read(item, event.rounds.emplace_back()); });
      } else if (event.kind == "event" && name == event.kind) {
        values.read(at, event.what);
      } else {
        values.scanner().skip();
      }
    });
    if (event.kind == "cell" || event.kind == "row") values.require(names, kLine, {"fields"});
    if (event.kind == "kernels") values.require(names, kLine, {"rows"});
    if (event.kind == "discard" && event.rounds.size() != 2)
      values.fail(kLine, "samples are discarded from one round to another");
    return event;
  }

  void apply(Event event) {
    if (event.kind == "cell" || event.kind == "row") {
      CellLog& cell = cells_[event.cells.front()];
      cell.fields = std::move(event.fields);
      cell.has_row = event.kind == "row";
      if (!cell.has_row) cell.resumed_at = cell.samples.size();
    } else if (event.kind == "kernels") {
      cells_[event.cells.front()].kernels = std::move(event.kernels);
    } else if (event.kind == "discard") {
      for (const std::size_t cell : event.cells)
        discard(cells_[cell], event.rounds[0], event.rounds[1]);
    } else if (event.kind == "event") {
      log_.report.complete = event.what == "complete";
    }
  }

  std::size_t cell_at(JsonValues& values, const Place& place) const {
    std::int64_t cell = 0;
    values.read(place, cell);
    if (cell < 0 || static_cast<std::size_t>(cell) >= log_.cells)
      values.fail(kLine, fmt::format("cell {} of {}", cell, log_.cells));
    return static_cast<std::size_t>(cell);
  }

  static std::vector<Field> fields(JsonValues& values, const Place& place,
                                   const std::vector<ColumnInfo>& columns) {
    std::vector<Field> fields;
    std::size_t count = 0;
    values.array(place, "an array of fields", [&](const Place& at) {
      if (count++ >= columns.size()) return values.scanner().skip();
      const ColumnInfo& column = columns[fields.size()];
      fields.push_back(takes_any_type(column) ? values.scalar(at) : values.field(at, column.type));
    });
    if (count != columns.size())
      values.fail(kLine, fmt::format("{} fields for {} columns", count, columns.size()));
    return fields;
  }

  static void discard(CellLog& cell, std::int64_t first, std::int64_t last) {
    const auto begin = cell.samples.begin() + static_cast<std::ptrdiff_t>(cell.resumed_at);
    cell.samples.erase(std::remove_if(begin, cell.samples.end(),
                                      [&](const CellLog::Sample& s) {
                                        return s.round >= first && s.round <= last;
                                      }),
                       cell.samples.end());
  }

  RunLog finish() {
    const Field passed = std::string(name_of(Status::passed));
    const Field skipped = std::string(name_of(Status::skipped));
    for (auto& [index, cell] : cells_) {
      if (cell.fields.empty())
        throw ReportError(fmt::format("{}: cell {} has lines and no row", file_, index));
      const Field& status = cell.fields[status_];
      std::vector<double> samples_us;
      for (const CellLog::Sample& sample : cell.samples)
        samples_us.push_back(sample.time_us);
      if (cell.has_row && status != passed) samples_us.clear();
      if (!cell.has_row && status != skipped) cut_short(cell.fields, samples_us);
      log_.cell_of_row.push_back(index);
      log_.report.table.rows.push_back(cell.fields);
      log_.report.samples_us.push_back(std::move(samples_us));
      if (cell.has_row && status == passed) {
        for (std::vector<Field>& kernel : cell.kernels)
          log_.report.kernels.rows.push_back(std::move(kernel));
      }
    }
    return std::move(log_);
  }

  // The row of a cell whose group was running when the log ended.
  void cut_short(std::vector<Field>& fields, std::vector<double> samples_us) const {
    std::string reason = "the run ended before any sample of it";
    if (!samples_us.empty()) {
      std::sort(samples_us.begin(), samples_us.end());
      reason = fmt::format("the run ended after {} samples of it, median {:.6g} us, not verified",
                           samples_us.size(), quantile(samples_us, 0.5));
    }
    fields[status_] = std::string(name_of(Status::not_run));
    fields[reason_] = std::move(reason);
  }

  std::string_view text_;
  std::string file_;
  RunLog log_;
  std::size_t status_ = 0;  ///< its column, and that of the reason
  std::size_t reason_ = 0;
  std::map<std::size_t, CellLog> cells_;
};

}  // namespace

RunLog parse_run_log(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

RunLog read_run_log(const std::string& path) {
  return parse_run_log(read_file(path), path);
}

}  // namespace gpuexp
