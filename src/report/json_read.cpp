#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "core/json_scanner.hpp"
#include "core/names.hpp"
#include "report/json.hpp"
#include "report/json_fields.hpp"
#include "report/text.hpp"

namespace gpuexp {

namespace {

using Kind = JsonScanner::Kind;

// Where a value stands, as a chain on the stack: it becomes text only in an error.
struct Place {
  const Place* parent;  // null for the report itself
  std::string_view member;
  std::size_t index = 0;
  bool is_element = false;

  Place at(std::string_view name) const { return {this, name}; }
  Place at(std::size_t i) const { return {this, {}, i, true}; }
};

// A name from the file, fit for a message.
std::string shown(std::string_view name) {
  return shorten(printable(name));
}

std::string text_of(const Place& place) {
  if (!place.parent) return "";
  const std::string parent = text_of(*place.parent);
  if (place.is_element) return fmt::format("{}[{}]", parent, place.index);
  const std::string member = shown(place.member);
  return parent.empty() ? member : fmt::format("{}.{}", parent, member);
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::null: return "null";
    case Kind::boolean: return "boolean";
    case Kind::number: return "number";
    case Kind::string: return "string";
    case Kind::array: return "array";
    case Kind::object: return "object";
  }
  return "unknown";
}

// Reads a report front to back, so that its rows are in memory once. The members of the report may
// come in any order: a first pass over the text checks its syntax and notes where each begins.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : text_(text), file_(file), scanner_(text) {}

  Report read() {
    const Place root{nullptr, {}};
    note_members(root);
    check_schema_version(member(root, "schema_version"));
    read_provenance(member(root, "provenance"));
    value(member(root, "complete"), report_.complete);
    read_columns(member(root, "columns"));
    read_rows(member(root, "rows"));
    return std::move(report_);
  }

 private:
  [[noreturn]] void fail(const Place& place, const std::string& what) const {
    const std::string at = text_of(place);
    throw ReportError(fmt::format("{}: {}{}", file_, at.empty() ? "" : at + ": ", what));
  }

  // The scanner stands before the value.
  [[noreturn]] void fail_expecting(const Place& place, const char* expected) {
    constexpr std::size_t kLongestQuote = 40;
    const Kind kind = scanner_.peek();
    const std::size_t begin = scanner_.offset();
    scanner_.skip();
    std::string found(name_of(kind));
    const std::size_t length = scanner_.offset() - begin;
    if (kind != Kind::array && kind != Kind::object && length <= kLongestQuote)
      found = printable(text_.substr(begin, length));
    fail(place, fmt::format("expected {}, found {}", expected, found));
  }

  void expect(const Place& place, Kind kind, const char* expected) {
    if (scanner_.peek() != kind) fail_expecting(place, expected);
  }

  // ---- values

  void value(const Place& place, std::string& out) {
    expect(place, Kind::string, "a text");
    out = scanner_.string();
  }
  void value(const Place& place, bool& out) {
    expect(place, Kind::boolean, "true or false");
    out = scanner_.boolean();
  }
  void value(const Place& place, std::int64_t& out) {
    constexpr const char* kExpected = "an integer of 64 bits";
    expect(place, Kind::number, kExpected);
    const std::size_t begin = scanner_.offset();
    const JsonNumber number = scanner_.number();
    if (!number.integer) {
      scanner_.seek(begin, scanner_.depth());
      fail_expecting(place, kExpected);
    }
    out = *number.integer;
  }
  void value(const Place& place, double& out) {
    expect(place, Kind::number, "a number");
    out = scanner_.number().real;
  }

  // What is null stays empty.
  template <class T>
  void value(const Place& place, std::optional<T>& out) {
    if (scanner_.peek() == Kind::null) {
      scanner_.null();
    } else {
      value(place, out.emplace());
    }
  }

  template <class T>
  Field typed(const Place& place) {
    T out{};
    value(place, out);
    return out;
  }

  Field scalar(const Place& place) {
    switch (scanner_.peek()) {
      case Kind::null: scanner_.null(); return std::monostate{};
      case Kind::string: return typed<std::string>(place);
      case Kind::number: return number(place);
      default: fail_expecting(place, "a number, a text or null");
    }
  }

  // An integer of more than 64 bits is not rounded in silence.
  Field number(const Place& place) {
    const std::size_t begin = scanner_.offset();
    const JsonNumber number = scanner_.number();
    if (number.integer) return *number.integer;
    const std::string_view written = text_.substr(begin, scanner_.offset() - begin);
    if (written.find_first_of(".eE") != std::string_view::npos) return number.real;
    scanner_.seek(begin, scanner_.depth());
    fail_expecting(place, "an integer of 64 bits");
  }

  Field field(const Place& place, const ColumnInfo& column, bool any_type) {
    if (any_type || scanner_.peek() == Kind::null) return scalar(place);
    switch (column.type) {
      case FieldType::text: return typed<std::string>(place);
      case FieldType::integer: return typed<std::int64_t>(place);
      case FieldType::real: return typed<double>(place);
    }
    fail(place, "the column has no type");
  }

  // ---- containers

  /// Calls read(name, place of the value) for each member; gives the names. No name comes twice.
  template <class Read>
  std::unordered_set<std::string> object(const Place& place, const Read& read) {
    expect(place, Kind::object, "an object");
    std::unordered_set<std::string> names;
    scanner_.object([&](std::string_view name) {
      const auto [added, is_first] = names.emplace(name);
      if (!is_first) fail(place, fmt::format("'{}' is given twice", shown(name)));
      read(*added, place.at(*added));
    });
    return names;
  }

  template <class Read>
  void array(const Place& place, const char* expected, const Read& read) {
    expect(place, Kind::array, expected);
    std::size_t count = 0;
    scanner_.array([&] { read(place.at(count++)); });
  }

  void require(const std::unordered_set<std::string>& names, const Place& place,
               std::initializer_list<const char*> required) const {
    for (const char* name : required) {
      if (names.count(name) == 0) fail(place, fmt::format("no member '{}'", name));
    }
  }

  /// Reads a member that a visit of `members` knows; passes over another.
  template <class Members, class Visit>
  void known_member(const std::string& name, const Place& place, Members& members,
                    const Visit& visit) {
    bool is_known = false;
    visit(members, [&](const char* known, auto& member, const char*) {
      if (name != known) return;
      is_known = true;
      value(place, member);
    });
    if (!is_known) scanner_.skip();
  }

  // ---- the report

  void note_members(const Place& root) {
    if (scanner_.peek() != Kind::object) {
      scanner_.skip();
      scanner_.end();
      scanner_.seek(0, 0);
      fail_expecting(root, "an object");
    }
    object(root, [&](const std::string& name, const Place&) {
      scanner_.peek();
      offsets_.emplace(name, scanner_.offset());
      scanner_.skip();
    });
    scanner_.end();
  }

  // The place of a member of the report, with the scanner before its value.
  Place member(const Place& root, const char* name) {
    const auto found = offsets_.find(name);
    if (found == offsets_.end()) fail(root, fmt::format("no member '{}'", name));
    scanner_.seek(found->second, 1);
    return root.at(name);
  }

  void check_schema_version(const Place& place) {
    std::int64_t version = 0;
    const std::size_t begin = scanner_.offset();
    value(place, version);
    if (version < 1) {
      scanner_.seek(begin, scanner_.depth());
      fail_expecting(place, "an integer from 1");
    }
    if (version > kReportSchemaVersion) {
      fail(place, fmt::format("{} is newer than {}, the newest that this gpuexp reads", version,
                              kReportSchemaVersion));
    }
  }

  void read_provenance(const Place& place) {
    Provenance& p = report_.provenance;
    const auto names = object(place, [&](const std::string& name, const Place& at) {
      if (name == "argv") {
        array(at, "an array of texts",
              [&](const Place& item) { value(item, p.argv.emplace_back()); });
      } else if (name == "config") {
        object(at, [&](const std::string& key, const Place& in) {
          known_member(key, in, p.config, [](auto& m, const auto& v) { visit_config(m, v); });
        });
      } else if (name == "settings") {
        object(at, [&](const std::string& key, const Place& in) {
          p.settings.emplace_back(key, scalar(in));
        });
      } else if (name == "device") {
        object(at, [&](const std::string& key, const Place& in) {
          known_member(key, in, p.device, [](auto& m, const auto& v) { visit_device(m, v); });
        });
      } else {
        known_member(name, at, p, [](auto& m, const auto& v) { visit_run(m, v); });
      }
    });
    require(names, place, {"argv", "config", "settings", "device"});
  }

  void read_columns(const Place& place) {
    std::unordered_set<std::string> taken;
    array(place, "an array of columns", [&](const Place& item) {
      ColumnInfo column;
      const auto names = object(item, [&](const std::string& name, const Place& at) {
        if (name == "name") return value(at, column.name);
        if (name == "type") return read_type(at, column.type);
        if (name == "unit") return value(at, column.unit);
        if (name == "doc") return value(at, column.doc);
        scanner_.skip();
      });
      require(names, item, {"name", "type", "unit", "doc"});
      if (column.name == kSamplesMember)
        fail(item, fmt::format("no column can be called '{}'", column.name));
      if (!taken.insert(column.name).second)
        fail(item, fmt::format("'{}' is the name of an earlier column", shown(column.name)));
      report_.table.columns.push_back(std::move(column));
    });
  }

  void read_type(const Place& place, FieldType& out) {
    scanner_.peek();
    const std::size_t begin = scanner_.offset();
    if (scanner_.peek() == Kind::string) {
      const std::string_view name = scanner_.string();
      for (const FieldType type : {FieldType::text, FieldType::integer, FieldType::real}) {
        if (name == gpuexp::name_of(type)) {
          out = type;
          return;
        }
      }
      scanner_.seek(begin, scanner_.depth());
    }
    fail_expecting(place, "\"text\", \"integer\" or \"real\"");
  }

  // ---- rows

  void read_rows(const Place& place) {
    const std::vector<ColumnInfo>& columns = report_.table.columns;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      column_of_.emplace(columns[c].name, c);
      // Two families may give parameters of different types the same name.
      any_type_.push_back(columns[c].name.rfind("param.", 0) == 0);
    }
    last_row_.assign(columns.size() + 1, 0);
    bool has_samples = false;
    array(place, "an array of rows", [&](const Place& row) {
      ++rows_read_;
      read_row(row, report_.table.rows.emplace_back(columns.size()), has_samples);
    });
    if (!has_samples) report_.samples_us.clear();
  }

  // Columns mostly come in their order, so the one after the last is tried first.
  std::size_t column_named(std::string_view name, std::size_t likely) const {
    const std::vector<ColumnInfo>& columns = report_.table.columns;
    if (likely < columns.size() && columns[likely].name == name) return likely;
    const auto found = column_of_.find(name);
    return found == column_of_.end() ? columns.size() : found->second;
  }

  void read_row(const Place& row, std::vector<Field>& fields, bool& has_samples) {
    const std::vector<ColumnInfo>& columns = report_.table.columns;
    std::vector<double>& samples = report_.samples_us.emplace_back();
    expect(row, Kind::object, "an object");
    std::size_t likely = 0;
    std::size_t found = 0;
    scanner_.object([&](std::string_view name) {
      const std::size_t c = column_named(name, likely);
      const bool is_samples = name == kSamplesMember;
      if (c == columns.size() && !is_samples) return scanner_.skip();
      const std::string_view known = is_samples ? kSamplesMember : columns[c].name;
      if (std::exchange(last_row_[c], rows_read_) == rows_read_)
        fail(row, fmt::format("'{}' is given twice", shown(known)));
      if (is_samples) return read_samples(row.at(known), samples, has_samples);
      fields[c] = field(row.at(known), columns[c], any_type_[c]);
      likely = c + 1;
      ++found;
    });
    if (found < columns.size()) fail_for_missing_column(row);
  }

  [[noreturn]] void fail_for_missing_column(const Place& row) const {
    for (std::size_t c = 0;; ++c) {
      if (last_row_[c] != rows_read_) {
        fail(row, fmt::format("no member '{}'", shown(report_.table.columns[c].name)));
      }
    }
  }

  void read_samples(const Place& place, std::vector<double>& samples, bool& has_samples) {
    if (scanner_.peek() == Kind::null) return scanner_.null();
    has_samples = true;
    array(place, "an array of numbers",
          [&](const Place& item) { value(item, samples.emplace_back()); });
  }

  std::string_view text_;
  const std::string& file_;
  JsonScanner scanner_;
  Report report_;
  std::unordered_map<std::string, std::size_t> offsets_;
  std::unordered_map<std::string_view, std::size_t> column_of_;
  std::vector<bool> any_type_;
  std::size_t rows_read_ = 0;
  /// The last row, from 1, in which each column was found; that of the samples comes last.
  std::vector<std::size_t> last_row_;
};

std::string read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  std::string text;
  std::error_code unknown;  // the size of a pipe
  const auto size = std::filesystem::file_size(path, unknown);
  if (!unknown) text.reserve(size);
  std::array<char, 1 << 16> chunk{};
  std::size_t count = 0;
  while (file && (count = std::fread(chunk.data(), 1, chunk.size(), file.get())) > 0)
    text.append(chunk.data(), count);
  if (!file || std::ferror(file.get()))
    throw ReportError(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
  return text;
}

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
