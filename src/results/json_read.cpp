#include "results/json_read.hpp"

#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "base/output.hpp"
#include "results/json_fields.hpp"
#include "results/json_figures.hpp"
#include "results/json_values.hpp"

namespace gpuexp {

namespace {

using Kind = JsonScanner::Kind;

// Reads the members of a report, which may be in any order. A first pass over the text checks its
// syntax and stores the offset of each member, so that no JSON tree of the rows is needed.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : file_(file), values_(text, file), scanner_(values_.scanner()) {}

  Report read() {
    const Place root{nullptr, {}};
    note_members(root);
    check_is_no_config(root);
    check_schema_version(root);
    read_provenance(member(root, "provenance"));
    values_.read(member(root, "complete"), report_.complete);
    if (has_member(kFiguresMember))
      report_.figures = read_figures(values_, member(root, kFiguresMember));
    report_.table = RecordTable(columns(member(root, "columns"), IsOf::rows));
    read_records(member(root, "rows"));
    if (has_member(kKernelColumnsMember) && has_member(kKernelsMember)) {
      report_.kernels.columns = columns(member(root, kKernelColumnsMember), IsOf::kernels);
      read_kernels(member(root, kKernelsMember));
    }
    if (has_member(kTimesMember)) values_.members(member(root, kTimesMember), report_.times);
    if (has_member(kGroupTimesMember)) {
      values_.array(member(root, kGroupTimesMember), "an array of groups", [&](const Place& item) {
        GroupTimes& group = report_.group_times.emplace_back();
        values_.object(item, [&](const std::string& name, const Place& at) {
          read_member(values_, name, at, group);
        });
      });
    }
    return std::move(report_);
  }

 private:
  // ---- the report

  void note_members(const Place& root) {
    if (scanner_.peek() != Kind::object) {
      scanner_.skip();
      scanner_.end();
      scanner_.seek(0, 0);
      values_.fail_expecting(root, "an object");
    }
    values_.object(root, [&](const std::string& name, const Place&) {
      scanner_.peek();
      offsets_.emplace(name, scanner_.offset());
      scanner_.skip();
    });
    scanner_.end();
  }

  bool has_member(std::string_view name) const { return offsets_.count(std::string(name)) > 0; }

  Place member(const Place& root, std::string_view name) {
    const auto found = offsets_.find(std::string(name));
    if (found == offsets_.end()) values_.fail_for_absence(root, name);
    scanner_.seek(found->second, 1);
    return root.at(name);
  }

  void check_is_no_config(const Place& root) const {
    if (has_member("schema_version") || !has_member("experiments")) return;
    values_.fail(root, fmt::format("is an experiment config; expected results, which gpuexp run {} "
                                   "writes",
                                   file_));
  }

  void check_schema_version(const Place& root) {
    std::int64_t version = 0;
    values_.read(member(root, "schema_version"), version);
    if (version == kReportSchemaVersion) return;
    values_.fail(root,
                 fmt::format("has schema_version {}; this version of gpuexp reads {}: use the "
                             "version that wrote the file (gpuexp_version in its provenance), "
                             "or record the results again",
                             version, kReportSchemaVersion));
  }

  void read_provenance(const Place& place) {
    Provenance& p = report_.provenance;
    const auto names = values_.object(place, [&](const std::string& name, const Place& at) {
      if (name == "argv") {
        values_.array(at, "an array of texts",
                      [&](const Place& item) { values_.read(item, p.argv.emplace_back()); });
      } else if (name == "config") {
        values_.members(at, p.config);
      } else if (name == "settings") {
        values_.object(at, [&](const std::string& key, const Place& in) {
          p.settings.emplace_back(key, values_.scalar(in));
        });
      } else if (name == "device") {
        values_.members(at, p.device);
      } else if (name == kCeilingsMember) {
        read_ceilings(at, p.ceilings.emplace());
      } else if (name == kPartsMember) {
        values_.array(at, "an array of parts",
                      [&](const Place& item) { values_.members(item, p.parts.emplace_back()); });
      } else if (name == kRanksMember) {
        values_.array(at, "an array of ranks",
                      [&](const Place& item) { values_.members(item, p.ranks.emplace_back()); });
      } else if (name == kInputsMember) {
        values_.array(at, "an array of files",
                      [&](const Place& item) { values_.members(item, p.inputs.emplace_back()); });
      } else {
        values_.member(name, at, p);
      }
    });
    values_.require(names, place, {"argv", "config", "settings", "device"});
  }

  void read_ceilings(const Place& place, CeilingsProvenance& ceilings) {
    const auto names = values_.object(place, [&](const std::string& name, const Place& at) {
      if (name == "source") return values_.read(at, ceilings.source);
      if (name != "values") return scanner_.skip();
      values_.object(at, [&](const std::string& id, const Place& in) {
        CeilingProvenance& ceiling = ceilings.values.emplace_back();
        ceiling.id = id;
        values_.members(in, ceiling);
      });
    });
    values_.require(names, place, {"source", "values"});
  }

  enum class IsOf { rows, kernels };

  std::vector<ColumnInfo> columns(const Place& place, IsOf of) {
    std::vector<ColumnInfo> columns;
    std::unordered_set<std::string> taken;
    values_.array(place, "an array of columns", [&](const Place& item) {
      ColumnInfo column;
      const auto names = values_.object(item, [&](const std::string& name, const Place& at) {
        if (name == "name") return values_.read(at, column.name);
        if (name == "type") return values_.read(at, column.type);
        if (name == "unit") return values_.read(at, column.unit);
        if (name == "doc") return values_.read(at, column.doc);
        scanner_.skip();
      });
      values_.require(names, item, {"name", "type", "unit", "doc"});
      if (column.name == kSamplesMember)
        values_.fail(item, fmt::format("the column name '{}' is reserved", column.name));
      if (!taken.insert(column.name).second)
        values_.fail(item, fmt::format("an earlier column has the name '{}'", shown(column.name)));
      if (of == IsOf::rows) check_type(item, column);
      columns.push_back(std::move(column));
    });
    return columns;
  }

  void check_type(const Place& item, const ColumnInfo& column) const {
    const FixedColumn* fixed = find_fixed_column(column.name);
    if (!fixed || fixed->type == column.type) return;
    values_.fail(item, fmt::format("type: expected \"{}\" for '{}', found \"{}\"",
                                   name_of(fixed->type), column.name, name_of(column.type)));
  }

  // ---- rows

  void read_records(const Place& place) {
    RecordTable& table = report_.table;
    bool has_samples = false;
    read_rows(place, table.columns, [&](const Place& row) {
      ResultRecord& record = table.rows.emplace_back(table.blank_record());
      std::vector<double>& samples = report_.samples_us.emplace_back();
      read_row(
          row, table.columns,
          [&](const Place& at, const RecordColumn& column) {
            read_value(values_, at, column, record);
          },
          [&](const Place& at) { read_samples(at, samples, has_samples); });
    });
    if (!has_samples) report_.samples_us.clear();
  }

  // Kernels have no samples, so a member samples_us is unknown here and skipped.
  void read_kernels(const Place& place) {
    Table& table = report_.kernels;
    read_rows(place, table.columns, [&](const Place& row) {
      std::vector<Field>& fields = table.rows.emplace_back(table.columns.size());
      read_row(
          row, table.columns,
          [&](const Place& at, const ColumnInfo& column) {
            const auto c = static_cast<std::size_t>(&column - table.columns.data());
            fields[c] = read_field(values_, at, column);
          },
          nullptr);
    });
  }

  template <class Column, class ReadRow>
  void read_rows(const Place& place, const std::vector<Column>& columns, const ReadRow& read) {
    column_of_.clear();
    rows_read_ = 0;
    for (std::size_t c = 0; c < columns.size(); ++c)
      column_of_.emplace(columns[c].name, c);
    last_row_.assign(columns.size() + 1, 0);
    values_.array(place, "an array of rows", [&](const Place& row) {
      ++rows_read_;
      read(row);
    });
  }

  // Tries the column at `likely` first, because members are mostly in the order of the columns.
  template <class Column>
  std::size_t column_named(std::string_view name, const std::vector<Column>& columns,
                           std::size_t likely) const {
    if (likely < columns.size() && columns[likely].name == name) return likely;
    const auto found = column_of_.find(name);
    return found == column_of_.end() ? columns.size() : found->second;
  }

  // Calls read_value(place, column) for each column; `on_samples` is null for tables without
  // samples.
  template <class Column, class ReadValue, class OnSamples>
  void read_row(const Place& row, const std::vector<Column>& columns, const ReadValue& read_value,
                const OnSamples& on_samples) {
    constexpr bool kHasSamples = !std::is_null_pointer_v<OnSamples>;
    values_.expect(row, Kind::object, "an object");
    std::size_t likely = 0;
    std::size_t found = 0;
    scanner_.object([&](std::string_view name) {
      const std::size_t c = column_named(name, columns, likely);
      const bool is_samples = kHasSamples && name == kSamplesMember;
      if (c == columns.size() && !is_samples) return scanner_.skip();
      const std::string_view known =
          is_samples ? kSamplesMember : std::string_view(columns[c].name);
      if (std::exchange(last_row_[c], rows_read_) == rows_read_)
        values_.fail_for_repetition(row, known);
      const Place at = row.at(known);
      if constexpr (kHasSamples) {
        if (is_samples) return on_samples(at);
      }
      read_value(at, columns[c]);
      likely = c + 1;
      ++found;
    });
    for (std::size_t c = 0; found < columns.size(); ++c) {
      if (last_row_[c] != rows_read_) values_.fail_for_absence(row, columns[c].name);
    }
  }

  void read_samples(const Place& place, std::vector<double>& samples, bool& has_samples) {
    if (scanner_.peek() == Kind::null) return scanner_.null();
    has_samples = true;
    values_.array(place, "an array of numbers",
                  [&](const Place& item) { values_.read(item, samples.emplace_back()); });
  }

  const std::string& file_;
  JsonValues values_;
  JsonScanner& scanner_;  // the scanner of values_
  Report report_;
  std::unordered_map<std::string, std::size_t> offsets_;
  std::unordered_map<std::string_view, std::size_t> column_of_;
  std::size_t rows_read_ = 0;
  /// By column: the last row, counted from 1, that had a value. The last element is for samples.
  std::vector<std::size_t> last_row_;
};

}  // namespace

Report parse_report(std::string_view text, const std::string& file) {
  try {
    return Reader(text, file).read();
  } catch (const JsonSyntaxError& e) {
    const TextPlace place = place_at(text, e.offset());
    throw ReportError(
        fmt::format("{}:{}:{}: not a report: {}", file, place.line, place.column, e.what()));
  }
}

Report read_report(const std::string& path) {
  return parse_report(read_text(path), path);
}

}  // namespace gpuexp
