#include "report/run_log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "core/statistics.hpp"
#include "report/json.hpp"
#include "report/json_text.hpp"
#include "report/output.hpp"

namespace gpuexp {

namespace {

using Json = nlohmann::ordered_json;

Json json_of_fields(const std::vector<Field>& fields) {
  Json json = Json::array();
  for (const Field& field : fields)
    json.push_back(json_of(field));
  return json;
}

Field field_of(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) return json.get<double>();
  if (json.is_null()) return std::monostate{};
  throw ReportError("a field is neither a number nor a text");
}

Json json_of_origin(const RunOrigin& origin) {
  Json json{{"build_id", origin.build_id},
            {"seed", nullptr},
            {"sets", origin.sets},
            {"filter", origin.filter},
            {"profile", origin.profile}};
  if (origin.seed) json["seed"] = *origin.seed;
  return json;
}

RunOrigin origin_of(const Json& json) {
  RunOrigin origin;
  origin.build_id = json.at("build_id").get<std::string>();
  if (!json.at("seed").is_null()) origin.seed = json.at("seed").get<std::uint64_t>();
  origin.sets = json.at("sets").get<std::vector<std::string>>();
  origin.filter = json.at("filter").get<std::string>();
  origin.profile = json.at("profile").get<bool>();
  return origin;
}

std::string line_of(const Json& json) {
  return text_of(json, -1);
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

/// What the lines so far say of one cell.
struct CellLog {
  std::vector<Field> fields;
  bool has_row = false;
  struct Sample {
    int round;
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
  void read_line(std::string_view line, std::size_t number) {
    try {
      const Json json = Json::parse(line);
      if (number == 1) {
        read_head(json);
      } else if (json.is_array()) {
        read_sample(json);
      } else {
        read_event(json);
      }
    } catch (const Json::exception& e) {
      throw ReportError(fmt::format("{}:{}: not a line of a log: {}", file_, number, e.what()));
    } catch (const ReportError& e) {
      throw ReportError(fmt::format("{}:{}: {}", file_, number, e.what()));
    }
  }

  void read_head(const Json& json) {
    const int version = json.at("gpuexp_log").get<int>();
    if (version != kRunLogVersion) {
      throw ReportError(fmt::format("version {} of the log; this gpuexp reads version {}", version,
                                    kRunLogVersion));
    }
    log_.report = parse_report(json.at("report").dump(), "its report");
    log_.cells = json.at("cells").get<std::size_t>();
    log_.origin = origin_of(json.at("origin"));
  }

  void read_sample(const Json& json) {
    const double time_us = json.at(2).get<double>();
    if (!(time_us >= 0) || !std::isfinite(time_us)) throw ReportError("a time is below 0");
    cell(json.at(0)).samples.push_back({json.at(1).get<int>(), time_us});
  }

  void read_event(const Json& json) {
    if (json.contains("cell")) {
      CellLog& started = cell(json.at("cell"));
      started.fields = fields(json.at("fields"));
      started.has_row = false;
      started.resumed_at = started.samples.size();
    } else if (json.contains("row")) {
      CellLog& finished = cell(json.at("row"));
      finished.fields = fields(json.at("fields"));
      finished.has_row = true;
    } else if (json.contains("discard")) {
      for (const Json& index : json.at("discard"))
        discard(cell(index), json.at("rounds").at(0).get<int>(),
                json.at("rounds").at(1).get<int>());
    } else if (json.contains("event")) {
      log_.report.complete = json.at("event") == "complete";
    }
    // What else there is, a later version may have added.
  }

  CellLog& cell(const Json& index) {
    const auto i = index.get<std::int64_t>();
    if (i < 0 || static_cast<std::size_t>(i) >= log_.cells)
      throw ReportError(fmt::format("cell {} of {}", i, log_.cells));
    return cells_[static_cast<std::size_t>(i)];
  }

  std::vector<Field> fields(const Json& json) const {
    std::vector<Field> fields;
    for (const Json& item : json)
      fields.push_back(field_of(item));
    if (fields.size() != log_.report.table.columns.size()) {
      throw ReportError(
          fmt::format("{} fields for {} columns", fields.size(), log_.report.table.columns.size()));
    }
    return fields;
  }

  static void discard(CellLog& cell, int first, int last) {
    const auto begin = cell.samples.begin() + static_cast<std::ptrdiff_t>(cell.resumed_at);
    cell.samples.erase(std::remove_if(begin, cell.samples.end(),
                                      [&](const CellLog::Sample& s) {
                                        return s.round >= first && s.round <= last;
                                      }),
                       cell.samples.end());
  }

  RunLog finish() {
    for (auto& [index, cell] : cells_) {
      if (cell.fields.empty())
        throw ReportError(fmt::format("{}: cell {} has samples and no row", file_, index));
      const std::string status = status_of(cell.fields);
      std::vector<double> samples_us;
      for (const CellLog::Sample& sample : cell.samples)
        samples_us.push_back(sample.time_us);
      if (cell.has_row && status != "passed") samples_us.clear();
      if (!cell.has_row && status != "skipped") cut_short(cell.fields, samples_us);
      log_.cell_of_row.push_back(index);
      log_.report.table.rows.push_back(cell.fields);
      log_.report.samples_us.push_back(std::move(samples_us));
    }
    return std::move(log_);
  }

  std::string status_of(const std::vector<Field>& fields) const {
    const auto column = log_.report.table.column("status");
    const auto* status = column ? std::get_if<std::string>(&fields[*column]) : nullptr;
    return status ? *status : "";
  }

  // The row of a cell whose group was running when the log ended.
  void cut_short(std::vector<Field>& fields, const std::vector<double>& samples_us) const {
    const auto set = [&](std::string_view name, const Field& value) {
      if (const auto column = log_.report.table.column(name)) fields[*column] = value;
    };
    set("status", std::string("not_run"));
    std::string reason = "the run ended before any sample of it";
    if (!samples_us.empty()) {
      reason = fmt::format("the run ended after {} samples of it, median {:.6g} us, not verified",
                           samples_us.size(), summarize(samples_us, 0).median);
    }
    set("reason", reason);
  }

  std::string_view text_;
  std::string file_;
  RunLog log_;
  std::map<std::size_t, CellLog> cells_;
};

}  // namespace

RunLogWriter::RunLogWriter(const std::string& path, const Report& report, std::size_t cells,
                           const RunOrigin& origin)
    : path_(path),
      descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0)
    throw ReportError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
  const Json head{{"gpuexp_log", kRunLogVersion},
                  {"cells", cells},
                  {"origin", json_of_origin(origin)},
                  {"report", Json::parse(to_json(report))}};
  append(line_of(head));
}

RunLogWriter::RunLogWriter(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {
  if (descriptor_ < 0)
    throw ReportError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
  const std::string text = read_file(path);
  const std::size_t whole = text.rfind('\n') + 1;
  if (whole < text.size() && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0)
    throw ReportError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

RunLogWriter::~RunLogWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Written at once, so that nothing waits in this process when it is killed.
void RunLogWriter::append(std::string line) {
  line += '\n';
  struct stat before {};
  ::fstat(descriptor_, &before);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = ::write(descriptor_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      // Readers leave out half a line at the end; what a resumed run adds must not follow one.
      const bool whole = written == 0 || ::ftruncate(descriptor_, before.st_size) == 0;
      throw ReportError(fmt::format("{}: cannot write: {}{}", path_, std::strerror(error),
                                    whole ? "" : "; its last line is not whole"));
    }
    written += static_cast<std::size_t>(count);
  }
}

void RunLogWriter::floor(std::string_view mode, const std::vector<double>& samples_us) {
  append(line_of(Json{{"floor", mode}, {"samples_us", samples_us}}));
}

void RunLogWriter::cell_started(std::size_t cell, const std::vector<Field>& fields) {
  append(line_of(Json{{"cell", cell}, {"fields", json_of_fields(fields)}}));
}

// By hand: there are a thousand of these for one of the others.
void RunLogWriter::sample(std::size_t cell, int round, double time_us,
                          std::optional<double> sm_clock_mhz) {
  const std::string clock = sm_clock_mhz ? fmt::format(",{}", *sm_clock_mhz) : "";
  append(fmt::format("[{},{},{}{}]", cell, round, time_us, clock));
}

void RunLogWriter::discard(const std::vector<std::size_t>& cells, int first_round, int last_round) {
  append(line_of(Json{{"discard", cells}, {"rounds", {first_round, last_round}}}));
}

void RunLogWriter::clock(std::size_t cell, double mhz) {
  append(line_of(Json{{"clock", cell}, {"mhz", mhz}}));
}

void RunLogWriter::row(std::size_t cell, const std::vector<Field>& fields) {
  append(line_of(Json{{"row", cell}, {"fields", json_of_fields(fields)}}));
}

void RunLogWriter::event(const std::string& what) {
  append(line_of(Json{{"event", what}, {"utc", utc_now()}}));
}

void RunLogWriter::times(const std::vector<std::pair<std::string, double>>& seconds) {
  Json times = Json::object();
  for (const auto& [name, value] : seconds)
    times[name] = value;
  append(line_of(Json{{"times_s", times}}));
}

RunLog parse_run_log(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

RunLog read_run_log(const std::string& path) {
  return parse_run_log(read_file(path), path);
}

}  // namespace gpuexp
