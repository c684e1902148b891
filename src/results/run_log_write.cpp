#include "results/run_log_write.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/output.hpp"
#include "results/json_fields.hpp"
#include "results/json_write.hpp"

namespace gpuexp {

namespace {

Json json_of_fields(const std::vector<Field>& fields) {
  return json_list(fields, [](const Field& field) { return json_of(field); });
}

Json json_of_origin(const RunOrigin& origin) {
  Json json{{"build_id", origin.build_id},
            {"seed", origin.seed},
            {"sets", origin.sets},
            {"filters", origin.filters},
            {"profile", origin.profile}};
  if (origin.shard) json["shard"] = Json::array({origin.shard->index, origin.shard->count});
  const auto json_of_cell = [](const ShardedCell& c) { return Json::array({c.shard, c.key}); };
  if (!origin.plan.empty()) json["plan"] = json_list(origin.plan, json_of_cell);
  return json;
}

ReportError cannot_write(const std::string& path) {
  return ReportError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

}  // namespace

RunLogWriter::RunLogWriter(const std::string& path, const Report& report, std::size_t cells,
                           const RunOrigin& origin)
    : path_(path),
      descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw cannot_write(path);
  const Json head{{"gpuexp_log", kRunLogVersion},
                  {"cells", cells},
                  {"origin", json_of_origin(origin)},
                  {"report", Json::parse(to_json(report))}};
  append(head.dump());
}

RunLogWriter::RunLogWriter(const std::string& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC)) {
  if (descriptor_ < 0) throw cannot_write(path);
  const std::string text = read_file(path);
  const std::size_t whole = text.rfind('\n') + 1;
  if (whole < text.size() && ::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0)
    throw cannot_write(path);
}

RunLogWriter::~RunLogWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Writes without buffering, so that a killed process loses no earlier line.
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
      // Removes the partial line, so that a resumed run does not append to it.
      const bool whole = written == 0 || ::ftruncate(descriptor_, before.st_size) == 0;
      throw ReportError(fmt::format("{}: cannot write: {}{}", path_, std::strerror(error),
                                    whole ? "" : "; its last line is incomplete"));
    }
    written += static_cast<std::size_t>(count);
  }
}

void RunLogWriter::floor(std::string_view mode, const std::vector<double>& samples_us) {
  append(Json{{"floor", mode}, {"samples_us", samples_us}}.dump());
}

void RunLogWriter::cell_started(std::size_t cell, const std::vector<Field>& fields) {
  append(Json{{"cell", cell}, {"fields", json_of_fields(fields)}}.dump());
}

// Formats without a JSON tree, because samples outnumber other lines by about a thousand to one.
void RunLogWriter::sample(std::size_t cell, int round, double time_us,
                          std::optional<double> sm_clock_mhz) {
  const std::string clock = sm_clock_mhz ? fmt::format(",{}", *sm_clock_mhz) : "";
  append(fmt::format("[{},{},{}{}]", cell, round, time_us, clock));
}

void RunLogWriter::clock(std::size_t cell, int first_round, int last_round, double mhz) {
  append(Json{{"clock", cell}, {"mhz", mhz}, {"rounds", {first_round, last_round}}}.dump());
}

void RunLogWriter::sustained(std::size_t cell, const std::vector<double>& samples_us) {
  append(Json{{"sustained", cell}, {"samples_us", samples_us}}.dump());
}

void RunLogWriter::row(std::size_t cell, const std::vector<Field>& fields) {
  append(Json{{"row", cell}, {"fields", json_of_fields(fields)}}.dump());
}

void RunLogWriter::kernels(std::size_t cell, const std::vector<std::vector<Field>>& rows) {
  append(Json{{"kernels", cell}, {"rows", json_list(rows, json_of_fields)}}.dump());
}

void RunLogWriter::event(const std::string& what) {
  append(Json{{"event", what}, {"utc", utc_text(std::time(nullptr))}}.dump());
}

void RunLogWriter::rank(const RankProvenance& rank) {
  append(Json{{"rank", json_of_members(rank)}}.dump());
}

void RunLogWriter::group_times(std::size_t cell, const GroupTimes& group) {
  Json line = {{"group", cell}};
  line.update(json_of(group));
  append(line.dump());
}

void RunLogWriter::times(const RunTimes& times) {
  append(Json{{kTimesMember, json_of(times)}}.dump());
}

}  // namespace gpuexp
