#include "results/json_write.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/output.hpp"
#include "results/json_fields.hpp"
#include "results/json_figures.hpp"

namespace gpuexp {

namespace {

Json json_of_ceilings(const CeilingsProvenance& ceilings) {
  Json values = Json::object();
  for (const CeilingProvenance& ceiling : ceilings.values)
    values[ceiling.id] = json_of_members(ceiling);
  return {{"source", ceilings.source}, {"values", values}};
}

}  // namespace

Json json_of(const Provenance& provenance) {
  Json json = json_of_members(provenance);
  json["argv"] = provenance.argv;
  json["config"] = json_of_members(provenance.config);
  Json& settings = json["settings"] = Json::object();
  for (const auto& [name, value] : provenance.settings)
    settings[name] = json_of(value);
  json["device"] = json_of_members(provenance.device);
  if (provenance.ceilings) json[kCeilingsMember] = json_of_ceilings(*provenance.ceilings);
  for (const PartProvenance& part : provenance.parts)
    json[kPartsMember].push_back(json_of_members(part));
  for (const RankProvenance& rank : provenance.ranks)
    json[kRanksMember].push_back(json_of_members(rank));
  for (const InputProvenance& input : provenance.inputs)
    json[kInputsMember].push_back(json_of_members(input));
  return json;
}

Json json_of(const RunTimes& times) {
  // Seconds are rounded to microseconds.
  constexpr double kMicro = 1e6;
  RunTimes rounded = times;
  for (const RunTimesMember& member : kRunTimesMembers)
    rounded.*member.seconds = std::round(kMicro * rounded.*member.seconds) / kMicro;
  return json_of_members(rounded);
}

Json json_of(const GroupTimes& group) {
  Json json = json_of_members(group);
  json[kTimesMember] = json_of(group.times);
  return json;
}

namespace {

// ---- rows: written without a JSON tree, because a report may have hundreds of thousands of rows

void append(std::string& text, const std::string& value) {
  const bool is_plain = std::ranges::all_of(
      value, [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
  if (!is_plain) {
    text += Json(value).dump();
    return;
  }
  text += '"';
  text += value;
  text += '"';
}

// The shortest text that parses to the same double; always with a decimal point or an exponent.
void append(std::string& text, double value) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  const std::size_t begin = text.size();
  fmt::format_to(std::back_inserter(text), "{}", value);
  if (text.find_first_of(".e", begin) == std::string::npos) text += ".0";
}

void append(std::string& text, std::int64_t value) {
  text += fmt::format_int(value).c_str();
}

void append(std::string& text, std::monostate) {
  text += "null";
}

// The members' names, each formatted once for all rows as "name":
template <class Column>
std::vector<std::string> member_names(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (const Column& column : columns) {
    append(names.emplace_back(), column.name);
    names.back() += ':';
  }
  return names;
}

void append_samples(std::string& text, const std::vector<double>& samples) {
  text += fmt::format("\"{}\":[", kSamplesMember);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i > 0) text += ',';
    append(text, samples[i]);
  }
  text += ']';
}

void append_row(std::string& text, const std::vector<std::string>& names,
                const std::vector<Field>& fields, const std::vector<double>* samples) {
  text += '{';
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (c > 0) text += ',';
    text += names[c];
    std::visit([&](const auto& value) { append(text, value); }, fields[c]);
  }
  if (samples) {
    if (!names.empty()) text += ',';
    append_samples(text, *samples);
  }
  text += '}';
}

// Output that is written in pieces, so that the whole text is never in memory.
class Parts {
 public:
  explicit Parts(const WritePart& write) : write_(write) {}

  /// The buffer to append to.
  std::string& text() {
    if (text_.size() >= kPartBytes) flush();
    return text_;
  }
  void flush() {
    write_(text_);
    text_.clear();
  }

 private:
  const WritePart& write_;
  std::string text_;
};

// Writes one line per element, because some tools process lines.
template <class Append>
void append_lines(Parts& parts, std::size_t count, const Append& append_element) {
  for (std::size_t i = 0; i < count; ++i) {
    std::string& text = parts.text();
    text += i == 0 ? "\n    " : ",\n    ";
    append_element(text, i);
  }
  parts.text() += "\n  ]";
}

void append_kernels(Parts& parts, const Table& kernels) {
  parts.text() += fmt::format(",\n  \"{}\": [", kKernelColumnsMember);
  append_lines(parts, kernels.columns.size(), [&](std::string& text, std::size_t i) {
    text += json_of(kernels.columns[i]).dump();
  });
  parts.text() += fmt::format(",\n  \"{}\": [", kKernelsMember);
  const std::vector<std::string> names = member_names(kernels.columns);
  append_lines(parts, kernels.rows.size(), [&](std::string& text, std::size_t i) {
    append_row(text, names, kernels.rows[i], nullptr);
  });
}

void append_times(Parts& parts, const Report& report) {
  parts.text() += fmt::format(",\n  \"{}\": {},\n  \"{}\": [", kTimesMember,
                              json_of(report.times).dump(), kGroupTimesMember);
  append_lines(parts, report.group_times.size(), [&](std::string& text, std::size_t i) {
    text += json_of(report.group_times[i]).dump();
  });
}

std::string head_of(const Report& report) {
  constexpr int kIndent = 2;
  Json head = Json::object();
  head["schema_version"] = kReportSchemaVersion;
  head["provenance"] = json_of(report.provenance);
  head["complete"] = report.complete;
  if (!report.figures.empty())
    head[kFiguresMember] = json_of_figures(report.figures, report.table.rows);
  std::string text = head.dump(kIndent);
  text.resize(text.size() - 2);  // removes the final "\n}"
  return text;
}

}  // namespace

void print_json(const Report& report, const WritePart& write, const JsonOptions& options) {
  Parts parts(write);
  const std::vector<RecordColumn>& columns = report.table.columns;
  parts.text() += head_of(report) + ",\n  \"columns\": [";
  append_lines(parts, columns.size(),
               [&](std::string& text, std::size_t i) { text += json_of(columns[i]).dump(); });
  parts.text() += ",\n  \"rows\": [";
  const std::vector<std::string> names = member_names(columns);
  const bool has_samples = options.samples && !report.samples_us.empty();
  append_lines(parts, report.table.rows.size(), [&](std::string& text, std::size_t i) {
    append_row(text, names, fields_of(columns, report.table.rows[i]),
               has_samples ? &report.samples_us.at(i) : nullptr);
  });
  if (!report.kernels.columns.empty()) append_kernels(parts, report.kernels);
  if (!report.group_times.empty()) append_times(parts, report);
  parts.text() += "\n}\n";
  parts.flush();
}

std::string to_json(const Report& report, const JsonOptions& options) {
  std::string text;
  print_json(
      report, [&](std::string_view part) { text += part; }, options);
  return text;
}

void write_json(const Report& report, const std::string& path, const JsonOptions& options) {
  write_file_atomically(path, [&](const WritePart& write) { print_json(report, write, options); });
}

}  // namespace gpuexp
