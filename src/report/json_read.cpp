#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/json.hpp"
#include "report/json_fields.hpp"

namespace gpuexp {

namespace {

using Json = nlohmann::ordered_json;

// A value in the file that knows where it stands.
class Place {
 public:
  Place(const Json& value, const std::string& file, std::string path)
      : value_(&value), file_(&file), path_(std::move(path)) {}

  const Json& value() const { return *value_; }

  /// The member; null when the object has none of that name.
  Place optional_member(const std::string& name) const {
    static const Json kNull;
    const auto found = value_->find(name);
    return {found == value_->end() ? kNull : *found, *file_,
            path_.empty() ? name : path_ + "." + name};
  }

  Place member(const std::string& name) const {
    if (!value_->contains(name)) fail(fmt::format("no member '{}'", name));
    return optional_member(name);
  }

  Place element(std::size_t index) const {
    return {(*value_)[index], *file_, fmt::format("{}[{}]", path_, index)};
  }

  const Place& as(bool (*is)(const Json&), const char* expected) const {
    if (!is(*value_)) fail_expecting(expected);
    return *this;
  }

  [[noreturn]] void fail_expecting(const char* expected) const {
    constexpr std::size_t kLongestQuote = 40;
    std::string found = value_->is_structured()
                            ? std::string(value_->type_name())
                            : value_->dump(-1, ' ', false, Json::error_handler_t::replace);
    if (found.size() > kLongestQuote) found = value_->type_name();
    fail(fmt::format("expected {}, found {}", expected, found));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw ReportError(fmt::format("{}: {}{}", *file_, path_.empty() ? "" : path_ + ": ", what));
  }

 private:
  const Json* value_;
  const std::string* file_;
  std::string path_;
};

bool is_object(const Json& json) {
  return json.is_object();
}
bool is_array(const Json& json) {
  return json.is_array();
}
bool is_string(const Json& json) {
  return json.is_string();
}
bool is_boolean(const Json& json) {
  return json.is_boolean();
}
bool is_number(const Json& json) {
  return json.is_number();
}
// An integer that std::int64_t holds.
bool is_integer(const Json& json) {
  if (!json.is_number_integer()) return false;
  return !json.is_number_unsigned() || json.get<std::uint64_t>() <= std::uint64_t{INT64_MAX};
}

void read(const Place& place, std::string& value) {
  value = place.as(is_string, "a text").value().get<std::string>();
}
void read(const Place& place, bool& value) {
  value = place.as(is_boolean, "true or false").value().get<bool>();
}
void read(const Place& place, std::int64_t& value) {
  value = place.as(is_integer, "an integer of 64 bits").value().get<std::int64_t>();
}
void read(const Place& place, double& value) {
  value = place.as(is_number, "a number").value().get<double>();
}

// Reads optional members of an object; absent and null are empty.
auto reader_from(const Place& object) {
  return [&object](const char* name, auto& member) {
    const Place place = object.optional_member(name);
    if (!place.value().is_null()) read(place, member.emplace());
  };
}

Field read_scalar(const Place& place) {
  const Json& json = place.value();
  if (json.is_null()) return std::monostate{};
  if (json.is_string()) return json.get<std::string>();
  if (is_integer(json)) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  place.fail_expecting("a number, a text or null");
}

Field read_field(const Place& place, const ColumnInfo& column) {
  // Two families may give parameters of different types the same name.
  const bool any_type = column.name.rfind("param.", 0) == 0;
  if (any_type || place.value().is_null()) return read_scalar(place);
  const auto typed = [&](auto value) -> Field {
    read(place, value);
    return value;
  };
  switch (column.type) {
    case FieldType::text: return typed(std::string{});
    case FieldType::integer: return typed(std::int64_t{});
    case FieldType::real: return typed(double{});
  }
  place.fail("the column has no type");
}

Provenance read_provenance(const Place& place) {
  Provenance provenance;
  place.as(is_object, "an object");
  visit_run(provenance, reader_from(place));
  const Place argv = place.member("argv").as(is_array, "an array of texts");
  for (std::size_t i = 0; i < argv.value().size(); ++i)
    read(argv.element(i), provenance.argv.emplace_back());
  const Place config = place.member("config").as(is_object, "an object");
  visit_config(provenance.config, reader_from(config));
  const Place settings = place.member("settings").as(is_object, "an object");
  for (const auto& item : settings.value().items())
    provenance.settings.emplace_back(item.key(), read_scalar(settings.optional_member(item.key())));
  const Place device = place.member("device").as(is_object, "an object");
  visit_device(provenance.device, reader_from(device));
  return provenance;
}

FieldType read_type(const Place& place) {
  for (const FieldType type : {FieldType::text, FieldType::integer, FieldType::real}) {
    if (place.value() == std::string(name_of(type))) return type;
  }
  place.fail_expecting("\"text\", \"integer\" or \"real\"");
}

std::vector<ColumnInfo> read_columns(const Place& place) {
  std::vector<ColumnInfo> columns;
  std::set<std::string> names;
  place.as(is_array, "an array of columns");
  for (std::size_t i = 0; i < place.value().size(); ++i) {
    const Place item = place.element(i).as(is_object, "an object");
    ColumnInfo& column = columns.emplace_back();
    read(item.member("name"), column.name);
    column.type = read_type(item.member("type"));
    read(item.member("unit"), column.unit);
    read(item.member("doc"), column.doc);
    if (column.name == kSamplesMember)
      item.fail(fmt::format("no column can be called '{}'", column.name));
    if (!names.insert(column.name).second)
      item.fail(fmt::format("'{}' is the name of an earlier column", column.name));
  }
  return columns;
}

std::vector<double> read_samples(const Place& place) {
  std::vector<double> samples;
  if (place.value().is_null()) return samples;
  place.as(is_array, "an array of numbers");
  for (std::size_t i = 0; i < place.value().size(); ++i)
    read(place.element(i), samples.emplace_back());
  return samples;
}

void read_rows(const Place& place, Report& report) {
  place.as(is_array, "an array of rows");
  for (std::size_t i = 0; i < place.value().size(); ++i) {
    const Place row = place.element(i).as(is_object, "an object");
    std::vector<Field>& fields = report.table.rows.emplace_back();
    for (const ColumnInfo& column : report.table.columns)
      fields.push_back(read_field(row.member(column.name), column));
    report.samples_us.push_back(read_samples(row.optional_member(kSamplesMember)));
  }
}

void check_schema_version(const Place& place) {
  std::int64_t version = 0;
  read(place, version);
  if (version < 1) place.fail_expecting("an integer from 1");
  if (version > kReportSchemaVersion) {
    place.fail(fmt::format("{} is newer than {}, the newest that this gpuexp reads", version,
                           kReportSchemaVersion));
  }
}

std::string read_text(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  std::string text;
  std::array<char, 1 << 16> chunk{};
  std::size_t count = 0;
  while (file && (count = std::fread(chunk.data(), 1, chunk.size(), file.get())) > 0)
    text.append(chunk.data(), count);
  if (!file || std::ferror(file.get()))
    throw ReportError(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
  return text;
}

Json parse_json(std::string_view text, const std::string& file) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& e) {
    // The library's own prefix, "[json.exception.parse_error.101] ", helps nobody.
    std::string_view what = e.what();
    const std::size_t prefix_end = what.find("] ");
    if (prefix_end != std::string_view::npos) what.remove_prefix(prefix_end + 2);
    throw ReportError(fmt::format("{}: not a report: {}", file, what));
  }
}

}  // namespace

Report parse_report(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, file);
  const Place root = Place(json, file, "").as(is_object, "an object");
  check_schema_version(root.member("schema_version"));
  Report report;
  report.provenance = read_provenance(root.member("provenance"));
  read(root.member("complete"), report.complete);
  report.table.columns = read_columns(root.member("columns"));
  read_rows(root.member("rows"), report);
  return report;
}

Report read_report(const std::string& path) {
  return parse_report(read_text(path), path);
}

}  // namespace gpuexp
