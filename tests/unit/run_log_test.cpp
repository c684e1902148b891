#include "results/run_log.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <sys/resource.h>

#include "results/json_read.hpp"
#include "results/json_write.hpp"
#include "results/run_log_read.hpp"
#include "results/run_log_write.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/small_report.hpp"

namespace gpuexp {
namespace {

namespace fs = std::filesystem;

/// A folder with a run log.
class Folder : public test::ScratchFolder {
 public:
  std::string log() const { return path() / kRunLogName; }
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

Report blank() {
  Report report = small_report();
  report.table.rows.clear();
  report.samples_us.clear();
  report.complete = false;
  return report;
}

std::vector<Field> row(std::size_t i) {
  return small_table().rows[i];
}

Field field(const RunLog& log, std::size_t row, std::string_view column) {
  return test::field_in(log.report.table, row, std::string(column));
}

TEST_CASE("a log is read back") {
  const Folder folder;
  const Report original = small_report();
  const std::size_t cells = original.table.rows.size();
  {
    RunLogWriter log(folder.log(), blank(), cells, {"abc", 7, {"n=1"}, {"*/x", "y/*"}, true});
    log.floor("cold", {2.5, 2.75});
    for (std::size_t i = 0; i < cells; ++i) {
      log.cell_started(i, row(i));
      for (const double us : original.samples_us[i])
        log.sample(i, 0, us);
      log.clock(i, 0, 3, 1980.5);
      log.row(i, row(i));
    }
    log.event("complete");
  }
  const RunLog log = read_run_log(folder.log());
  CHECK(log.cells == cells);
  CHECK(log.origin.build_id == "abc");
  CHECK(log.origin.seed == 7u);
  CHECK(log.origin.sets == std::vector<std::string>{"n=1"});
  CHECK(log.origin.filters == std::vector<std::string>{"*/x", "y/*"});
  CHECK(log.origin.profile);
  CHECK(log.report.complete);
  CHECK(log.report.table.rows == parse_report(to_json(original), "x").table.rows);
  CHECK(log.report.provenance == original.provenance);
}

TEST_CASE("a log of an earlier version has one glob of --filter") {
  const Folder folder;
  { const RunLogWriter log(folder.log(), blank(), 1, {"abc", {}, {}, {"*/x"}, false}); }
  std::string text = text_of(folder.log());
  const std::string listed = R"("filters":["*/x"])";
  const std::size_t at = text.find(listed);
  REQUIRE(at != std::string::npos);
  for (const auto& [glob, filters] :
       {std::pair(std::string("*/y"), std::vector<std::string>{"*/y"}),
        std::pair(std::string(), std::vector<std::string>{})}) {
    std::string earlier = text;
    earlier.replace(at, listed.size(), R"("filter":")" + glob + '"');
    std::ofstream(folder.log()) << earlier;
    CHECK(read_run_log(folder.log()).origin.filters == filters);
  }
}

TEST_CASE("a log has the ranks that joined, the latest for each number") {
  const RankProvenance first{0, "host", "GPU", "GPU-1", "00000000:1A:00.0", 1, "0-3,8"};
  const RankProvenance second{1, "host", "GPU", "GPU-2", "00000000:1B:00.0", {}, "4-7"};
  RankProvenance other = second;
  other.gpu_uuid = "GPU-3";
  const Folder folder;
  {
    RunLogWriter log(folder.log(), blank(), 1, {"abc", {}, {}, {}, false});
    CHECK(read_run_log(folder.log()).report.provenance.ranks.empty());
    for (const RankProvenance& rank : {second, first, other})
      log.rank(rank);
  }
  const Report report = read_run_log(folder.log()).report;
  CHECK(report.provenance.ranks == std::vector<RankProvenance>{first, other});
  CHECK(parse_report(to_json(report), "x").provenance.ranks == report.provenance.ranks);
}

TEST_CASE("a log has its shard and plan") {
  const Folder folder;
  const std::vector<ShardedCell> plan{{"e/a", 1}, {"e/b", 2}, {"e/c", 2}};
  {
    RunOrigin origin{"abc", {}, {}, {}, false, Shard{2, 2}, plan};
    RunLogWriter log(folder.log(), blank(), 2, origin);
    log.event("complete");
  }
  const RunLog log = read_run_log(folder.log());
  CHECK(log.origin.shard == Shard{2, 2});
  CHECK(log.origin.plan == plan);
  CHECK(log.ended_utc.size() == std::string("2026-01-01T00:00:00Z").size());

  const std::string text = text_of(folder.log());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    REQUIRE(changed.find(from) != std::string::npos);
    changed.replace(changed.find(from), from.size(), to);
    try {
      parse_run_log(changed, "x");
    } catch (const ReportError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(with("\"shard\":[2,2]", "\"shard\":[3,2]"),
             contains_text("expected a shard from 1 to the number of shards"));
  CHECK_THAT(with("\"shard\":[2,2]", "\"shard\":[2]"), contains_text("and that number"));
  CHECK_THAT(with("[2,\"e/b\"]", "[5,\"e/b\"]"), contains_text("shard 5 of 2"));
  CHECK_THAT(with("[2,\"e/b\"]", "[1,\"e/b\"]"), contains_text("2 cells, and 1 in the plan"));
  CHECK_THAT(with("[2,\"e/b\"]", "[2]"), contains_text("expected a shard and a key"));
}

TEST_CASE("a log has counted kernels of passed rows", "[counters]") {
  const Folder folder;
  const Table kernels = small_kernels();
  Report report = blank();
  report.kernels.columns = kernels.columns;
  {
    RunLogWriter log(folder.log(), report, 6, {});
    log.cell_started(0, row(0));
    log.kernels(0, {kernels.rows[0]});
    log.row(0, row(0));
    log.cell_started(4, row(4));
    log.row(4, row(4));
    log.kernels(4, {kernels.rows[1], kernels.rows[2]});
    log.cell_started(5, row(5));
    log.kernels(5, {kernels.rows[0]});
    log.row(5, row(5));
  }
  CHECK(read_run_log(folder.log()).report.kernels == kernels);
}

TEST_CASE("a log cut anywhere is read up to its last whole line") {
  const Folder folder;
  {
    RunLogWriter log(folder.log(), blank(), 4, {});
    log.cell_started(0, row(0));
    log.sample(0, 0, 10.0);
    log.sample(0, 1, 12.0);
    log.row(0, row(0));
    log.cell_started(1, row(1));
    log.sample(1, 0, 99.0);
  }
  const std::string whole = text_of(folder.log());
  const std::size_t head = whole.find('\n') + 1;
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    INFO("cut after " << length << " of " << whole.size());
    const std::string cut = whole.substr(0, length);
    if (length < head) {
      CHECK_THROWS_AS(parse_run_log(cut, "x"), ReportError);
      continue;
    }
    const RunLog log = parse_run_log(cut, "x");
    CHECK(!log.report.complete);
    CHECK(log.report.table.rows.size() <= 2);
    // A log that was read can be written and read again.
    CHECK(parse_report(to_json(log.report), "x").table.rows == log.report.table.rows);
  }
}

TEST_CASE("a cell of an interrupted group has not passed and keeps its samples") {
  const Folder folder;
  {
    RunLogWriter log(folder.log(), blank(), 2, {});
    log.cell_started(0, row(0));
    for (const double us : {10.0, 30.0, 20.0})
      log.sample(0, 0, us);
    log.cell_started(1, row(1));
  }
  const RunLog log = read_run_log(folder.log());
  CHECK(field(log, 0, "status") == Field{std::string("not_run")});
  CHECK(field(log, 0, "reason") ==
        Field{std::string("the run ended after 3 samples of it, median 20 us, not verified")});
  CHECK(log.report.samples_us[0] == std::vector<double>{10.0, 30.0, 20.0});
  CHECK(field(log, 1, "status") == Field{std::string("not_run")});
  CHECK(log.report.samples_us[1].empty());
}

TEST_CASE("samples of an earlier attempt are kept") {
  const Folder folder;
  {
    RunLogWriter log(folder.log(), blank(), 1, {});
    log.cell_started(0, row(0));
    log.sample(0, 0, 10.0);
    log.event("resumed");
    log.cell_started(0, row(0));
    log.sample(0, 0, 22.0);
  }
  CHECK(read_run_log(folder.log()).report.samples_us[0] == std::vector<double>{10.0, 22.0});
}

TEST_CASE("a resumed log starts after an incomplete line") {
  const Folder folder;
  { RunLogWriter log(folder.log(), blank(), 1, {}); }
  { std::ofstream(folder.log(), std::ios::app) << "[0,1"; }
  {
    RunLogWriter log(folder.log());
    log.cell_started(0, row(0));
    log.sample(0, 0, 5.0);
  }
  CHECK(read_run_log(folder.log()).report.samples_us[0] == std::vector<double>{5.0});
}

TEST_CASE("an existing log is not overwritten") {
  const Folder folder;
  const RunLogWriter log(folder.log(), blank(), 1, {});
  CHECK_THROWS_WITH(RunLogWriter(folder.log(), blank(), 1, {}), contains_text("File exists"));
}

TEST_CASE("a full disk loses only the current line, and the error names the file") {
  const Folder folder;
  RunLogWriter log(folder.log(), blank(), 1, {});
  log.cell_started(0, row(0));
  const std::string before = text_of(folder.log());
  // A limit on the file size replaces a full disk; half of the next line fits.
  struct rlimit unlimited {};
  getrlimit(RLIMIT_FSIZE, &unlimited);
  struct rlimit full = unlimited;
  full.rlim_cur = before.size() + 4;
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &full);
  CHECK_THROWS_WITH(log.sample(0, 0, 1.25), contains_text(kRunLogName));
  setrlimit(RLIMIT_FSIZE, &unlimited);
  CHECK(text_of(folder.log()) == before);
  log.sample(0, 0, 1.5);
  CHECK(read_run_log(folder.log()).report.samples_us[0] == std::vector<double>{1.5});
}

TEST_CASE("invalid logs are rejected with their line") {
  const Folder folder;
  { RunLogWriter log(folder.log(), blank(), 2, {}); }
  const std::string head = text_of(folder.log());
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      parse_run_log(text, "x");
    } catch (const ReportError& e) {
      return e.what();
    }
    return "";
  };
  CHECK_THAT(error_of("{}\n"), contains_text("x:1: "));
  CHECK_THAT(error_of(head + "[2,0,1.0]\n"), contains_text("x:2: cell 2 of 2"));
  CHECK_THAT(error_of(head + "[-1,0,1.0]\n"), contains_text("x:2: cell -1 of 2"));
  CHECK_THAT(error_of(head + "[0,0,-1.0]\n"), contains_text("x:2: a time is below 0"));
  CHECK_THAT(error_of(head + "[0,0]\n"), contains_text("x:2: "));
  CHECK_THAT(error_of(head + "nonsense\n"), contains_text("x:2:1: not a line of a log"));
  CHECK_THAT(error_of(head + "{\"row\":0,\"fields\":[null]}\n"), contains_text("1 fields for"));
  CHECK_THAT(error_of(head + "[0,0,1.0]\n"), contains_text("cell 0 has lines but no row"));
  for (const int version : {1, 99}) {
    CHECK_THAT(error_of(fmt::format("{{\"gpuexp_log\":{}}}\n", version)),
               contains_text(fmt::format("log version {}; this gpuexp reads version 2", version)));
  }
  CHECK_THAT(error_of(head + "[0,1e300,1.0]\n"),
             contains_text("x:2: [1]: expected a 64-bit integer, found 1e300"));
  CHECK_THAT(error_of(head + std::string(100'000, '[') + "\n"), contains_text("x:2:65: "));
}

TEST_CASE("kernels in a log have its kernel columns", "[counters]") {
  Report report = blank();
  report.kernels.columns = small_kernels().columns;
  const Folder folder;
  { RunLogWriter log(folder.log(), report, 1, {}); }
  const std::string head = text_of(folder.log());
  const auto error_of = [&](const std::string& line) {
    try {
      parse_run_log(head + line + "\n", "x");
    } catch (const ReportError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(error_of(R"({"kernels":0,"rows":[["k",0,"n"]]})"),
             contains_text("3 fields for 4 columns"));
  CHECK_THAT(error_of(R"({"kernels":0,"rows":[["k",0,"n","text"]]})"), contains_text("number"));
  CHECK_THAT(error_of(R"({"kernels":1,"rows":[]})"), contains_text("cell 1 of 1"));
  CHECK_THAT(error_of(R"({"kernels":0})"), contains_text("rows"));
}

TEST_CASE("a field of a log must have its column's type") {
  const Folder folder;
  std::vector<Field> mistyped = row(0);
  mistyped[*small_table().column("time_median_us")] = "fast";
  {
    RunLogWriter log(folder.log(), blank(), 1, {});
    log.row(0, mistyped);
  }
  CHECK_THROWS_WITH(read_run_log(folder.log()),
                    contains_text("log.jsonl:2: fields[7]: expected a number, found \"fast\""));
}

TEST_CASE("a field of a log must be allowed in its column") {
  const Folder folder;
  std::vector<Field> unknown = row(0);
  unknown[*small_table().column("mode")] = "hot";
  {
    RunLogWriter log(folder.log(), blank(), 1, {});
    log.row(0, unknown);
  }
  CHECK_THROWS_WITH(read_run_log(folder.log()),
                    contains_text("log.jsonl:2: fields[3]: expected cold, warm, graph, "
                                  "back_to_back, back_to_back_graph or profile, "
                                  "found \"hot\""));
}

TEST_CASE("a log starts with a report that has a status, a reason and no rows") {
  const Folder folder;
  const auto error_of = [&](const Report& report) -> std::string {
    fs::remove(folder.log());
    { const RunLogWriter log(folder.log(), report, 1, {}); }
    try {
      read_run_log(folder.log());
    } catch (const ReportError& e) {
      return e.what();
    }
    return "";
  };
  CHECK(error_of(blank()).empty());
  CHECK_THAT(error_of(small_report()),
             contains_text("log.jsonl:1: the report of the log's first line must not have rows"));
  for (const char* name : {"status", "reason"}) {
    Report other = blank();
    RecordColumn& column = *std::find_if(other.table.columns.begin(), other.table.columns.end(),
                                         [&](const RecordColumn& c) { return c.name == name; });
    column.type = FieldType::integer;
    CHECK_THAT(error_of(other), contains_text(name));
    column.name = "other";
    CHECK_THAT(error_of(other), contains_text(name));
  }
}

TEST_CASE("a log keeps the largest seed") {
  const Folder folder;
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  { const RunLogWriter log(folder.log(), blank(), 1, {"abc", kLargest, {}, {}, false}); }
  CHECK(read_run_log(folder.log()).origin.seed == kLargest);
}

}  // namespace
}  // namespace gpuexp
